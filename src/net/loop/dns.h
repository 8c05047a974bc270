/*
 * Names to addresses: IP literals at once, names through getaddrinfo on detached threads, with a small cache
 * for each loop. Loop's thread only.
 */
#ifndef SR_NET_LOOP_DNS_H
#define SR_NET_LOOP_DNS_H

#include "base/err.h"
#include "net/loop/loop.h"

#include <stddef.h>
#include <sys/socket.h>

#define SR_DNS_ADDRESSES_MAX 8
#define SR_DNS_CACHE_MAX     128  /* names; the oldest is removed */
#define SR_DNS_TTL_MS        5000 /* getaddrinfo gives no TTL */

struct sr_dns_result {
    size_t count;
    struct sockaddr_storage address[SR_DNS_ADDRESSES_MAX]; /* without port */
};

struct sr_dns_query;

/* SR_OK: *result is filled now (literal or cache). SR_AGAIN: `done` is called later with SR_OK or SR_ENOENT,
 * exactly once unless *query is cancelled. SR_ENOMEM, SR_EINVAL (too long). */
int sr_dns_resolve(struct sr_dns_query **query, struct sr_loop *loop, const char *host,
                   struct sr_dns_result *result,
                   void (*done)(void *ctx, int code, const struct sr_dns_result *result, const char *text),
                   void *ctx) SR_WARN_UNUSED;

/* Cancels the query: `done` is not called. *query becomes NULL and may be NULL already. */
void sr_dns_cancel(struct sr_dns_query **query);

#endif
