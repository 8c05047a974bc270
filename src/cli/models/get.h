/*
 * One GET of a URL for a command: follows redirects, and gives the body as it comes.
 *
 * Blocks; each hop has a loop of its own. Takes no proxy and undoes no content coding. Knows no hub.
 */
#ifndef SR_CLI_MODELS_GET_H
#define SR_CLI_MODELS_GET_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_GET_URL_MAX 4096

struct sr_get {
    const char *url;    /* http or https */
    const char *bearer; /* NULL: none. Goes to the origin of `url` alone, never to where that redirects */
    uint64_t from;      /* the first byte that is wanted; not 0: a Range */
    /* Before the first slice of a 200 or 206: where the body begins, 0 where the server gives all of it. An
     * error of one of the two ends the fetch, and is what sr_get returns. */
    int (*begin)(void *ctx, uint64_t from);
    int (*body)(void *ctx, struct sr_bytes slice);
    void *ctx;
};

/* SR_OK: there was an answer with this status; of one that is not 200 or 206 the body was dropped.
 * SR_EINVAL: no URL, or a redirect to none, to http from https, or for the sixth time. SR_ECLOSED,
 * SR_ETIMEOUT, SR_ENOENT (no such host), SR_EMISMATCH (certificate), SR_EPROTO, SR_EIO with a message that
 * names the host; SR_ENOMEM; what `begin` or `body` returned. */
int sr_get(const struct sr_get *get, int *status, struct sr_err *err) SR_WARN_UNUSED;

#endif
