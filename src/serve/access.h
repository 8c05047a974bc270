/*
 * Who may use the admin listeners: holders of the token, and programs on the same machine.
 *
 * Web pages are neither: a browser sends their requests from the operator's machine, also to loopback, and a
 * page may give its own name an address of that machine. Decides from the head alone and holds no state.
 */
#ifndef SR_SERVE_ACCESS_H
#define SR_SERVE_ACCESS_H

#include "config/config.h"
#include "net/http1/http1.h"

struct sr_access_refusal {
    int status;          /* 401, 403 or 415 */
    const char *message; /* constant; says what to do */
};

/* True when the request has a token that may do this: that of `semroute.admin`, or one of `management_api`,
 * of which some may only read. Takes the same time for every wrong token. */
bool sr_access_has_token(const struct sr_config_access *access, const struct sr_http_head *head);

/* Do the listeners answer holders of a token alone? */
bool sr_access_needs_token(const struct sr_config_access *access);

/* May this request use a listener on a loopback address (`loopback`), or on another one? With the token
 * always. Without it never where one is configured or the listener is reachable from other machines and not
 * opened (`admin.open`); never for a request of a web page: an `Origin` or `Sec-Fetch-Site` of another
 * site, a `Host` that is a name and not listed in `admin.hosts`, or a POST whose content type a page can
 * send unasked. False: `refusal` is filled. */
bool sr_access_admits(const struct sr_config_access *access, const struct sr_http_head *head, bool loopback,
                      struct sr_access_refusal *refusal);

/* May this request read /metrics of the gateway, which is open but where the listeners need a token? False:
 * `refusal` is filled. */
bool sr_access_admits_metrics(const struct sr_config_access *access, const struct sr_http_head *head,
                              struct sr_access_refusal *refusal);

/* Is this host of a listener's address ("" = every address) a loopback address? */
bool sr_access_is_loopback(const char *host);

#endif
