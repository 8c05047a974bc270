/*
 * Milvus as a backend of the cache: records by key and by the nearest vectors of their partition.
 *
 * gRPC on a thread and loop of its own. Creates database-side what is missing: collection, index, load. Rows
 * carry their own expiry, which every question filters by; expired rows are deleted from time to time. A
 * record that does not fit one row is cut into several; one over SR_MILVUS_RECORD_MAX is not sent and counts
 * as dropped. What another process removes is `removed` here within `purge_ms` and the time of two answers,
 * as long as the server is there, else when it is back.
 */
#ifndef SR_STORE_MILVUS_MILVUS_H
#define SR_STORE_MILVUS_MILVUS_H

#include "cache/backend.h"
#include "net/tls/tls.h"
#include "store/remote.h"

#define SR_MILVUS_RECORD_MAX ((size_t)4 << 20) /* bytes; an answer of the server holds it */

enum sr_milvus_metric { SR_MILVUS_COSINE, SR_MILVUS_IP };

/* As Milvus numbers them. */
enum sr_milvus_consistency {
    SR_MILVUS_STRONG = 0,
    SR_MILVUS_SESSION = 1,
    SR_MILVUS_BOUNDED = 2,
    SR_MILVUS_EVENTUALLY = 3,
};

struct sr_milvus_options {
    const char *host;
    uint16_t port;                     /* 0: 19530 */
    const char *user, *password;       /* NULL: none */
    const char *token;                 /* instead of user and password; NULL: none */
    const struct sr_tls_settings *tls; /* NULL: clear text. Files are read by sr_milvus_backend */
    const char *server_name;           /* to verify and for SNI; NULL: host */
    const char *database;              /* NULL: the server's default */
    const char *collection;            /* letters, digits and _ */
    size_t dimensions;                 /* of every vector; 1 to SR_VECTOR_DIMENSION_MAX */
    enum sr_milvus_metric metric;
    unsigned m, ef_construction, ef; /* of HNSW, and of its searches */
    enum sr_milvus_consistency consistency;
    uint32_t cleanup_ms; /* between two deletions of expired rows; 0: never */
    uint32_t purge_ms;   /* between two looks for removals of other processes; default 1000 */
    struct sr_remote_limits limits;
};

struct sr_milvus_options sr_milvus_options_defaults(void);

/* Starts the thread, which connects and goes on trying: a server that is away is no error; one whose
 * collection has other fields or dimensions is AWAY with a message that says so. All options are copied;
 * `events` outlives the backend. SR_EINVAL with a message; SR_ENOMEM; SR_EIO: no descriptor or thread. */
int sr_milvus_backend(struct sr_cache_backend **out, const struct sr_milvus_options *options,
                      const struct sr_cache_backend_events *events, void *ctx,
                      struct sr_err *err) SR_WARN_UNUSED;

#endif
