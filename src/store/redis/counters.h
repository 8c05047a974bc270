/*
 * The counters of limits in a Redis or Valkey, shared by processes.
 *
 * Each counter is a key of its own: a hash with a count for each part of its window, or a number that ends at
 * a moment. A script looks at all counters of a request and takes from all or from none, by the server's
 * clock. Needs plain Redis 5 or newer. One connection, on a thread and loop of its own; while the server is
 * away queries end at once with SR_ECLOSED.
 */
#ifndef SR_STORE_REDIS_COUNTERS_H
#define SR_STORE_REDIS_COUNTERS_H

#include "limit/query.h"
#include "net/tls/tls.h"
#include "store/redis/resp.h"

#define SR_REDIS_COUNTERS_WAITING_MAX 10000 /* queries and changes that are on their way */

struct sr_redis_counters_options {
    const char *host;
    uint16_t port;
    const char *user, *password; /* NULL: none */
    unsigned database;
    const struct sr_tls_settings *tls; /* NULL: plain TCP */
    const char *prefix;                /* of every key; visible ASCII, at most 64 characters */
    uint32_t timeout_ms;               /* of a query; later the server counts as away */
};

/* Starts the thread, which connects and goes on trying. All options are copied. SR_EINVAL with a message;
 * SR_ENOMEM; SR_EIO: no descriptor or thread. */
int sr_redis_counters(struct sr_limit_remote **out, const struct sr_redis_counters_options *options,
                      struct sr_err *err) SR_WARN_UNUSED;

/* Reads the script's reply for these limits. SR_EPROTO: it is none. */
int sr_redis_counters_read(const struct sr_resp *reply, const struct sr_limit *limits, size_t n,
                           struct sr_limit_result *result) SR_WARN_UNUSED;

#endif
