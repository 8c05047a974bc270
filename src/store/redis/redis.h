/*
 * Redis or Valkey as a backend of the cache: the exact tier and the records, shared by replicas.
 *
 * Needs plain Redis 5 or newer, no module. Records are strings with an expiry; every put and every removal is
 * published, so that other replicas load or drop the record: the search by vector is in each process. Two
 * connections, on a thread and loop of its own: one for commands, one that listens.
 */
#ifndef SR_STORE_REDIS_REDIS_H
#define SR_STORE_REDIS_REDIS_H

#include "cache/backend.h"
#include "net/tls/tls.h"
#include "store/remote.h"

struct sr_redis_options {
    const char *host;
    uint16_t port;                     /* 0: 6379 */
    const char *user;                  /* of an ACL; NULL: the default user */
    const char *password;              /* NULL: no AUTH */
    unsigned database;                 /* SELECT; 0: none is sent */
    const struct sr_tls_settings *tls; /* NULL: plain TCP. Files are read by sr_redis_backend */
    const char *server_name;           /* to verify and for SNI; NULL: host */
    const char *prefix; /* of every key and of the channel; at most SR_REDIS_PREFIX_MAX bytes */
    size_t load_max;    /* records that are loaded at a start or after a lost connection */
    struct sr_remote_limits limits;
};
#define SR_REDIS_PREFIX_MAX 128

struct sr_redis_options sr_redis_options_defaults(void);

/* Starts the thread, which connects and goes on trying: a server that is away is no error. All options are
 * copied; `events` outlives the backend. SR_EINVAL with a message (an option or a file of TLS); SR_ENOMEM;
 * SR_EIO: no descriptor or thread. */
int sr_redis_backend(struct sr_cache_backend **out, const struct sr_redis_options *options,
                     const struct sr_cache_backend_events *events, void *ctx,
                     struct sr_err *err) SR_WARN_UNUSED;

#endif
