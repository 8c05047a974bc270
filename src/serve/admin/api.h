/*
 * The two admin listeners: metrics (for Prometheus and probes) and the API (health, explain).
 *
 * Each is one HTTP server on one loop with small limits. Loop's thread only.
 */
#ifndef SR_SERVE_ADMIN_API_H
#define SR_SERVE_ADMIN_API_H

#include "net/server/server.h"
#include "semroute/semroute.h"

#include <stdatomic.h>

enum sr_api_kind {
    SR_API_METRICS, /* GET /metrics, /health, /ready */
    SR_API_MAIN,    /* GET /health, /ready, /ui; POST /api/v1/explain, /compress, /embeddings, /similarity */
};

#define SR_API_BODY_MAX ((size_t)4 << 20) /* limit of a request body in bytes; 413 above it */

struct sr_api;
struct sr_warm;

struct sr_api_options {
    enum sr_api_kind kind;
    struct sr_loop *loop;
    sr_runtime *runtime;
    const atomic_bool *draining; /* true: /ready says 503 */
    bool loopback;               /* only this machine can reach it */
    struct sr_warm *warm;        /* warms the response cache */
};

/* Serves `fd` (from sr_listen_open; owned from now on, also on failure). What `options` points to must
 * outlive it. */
int sr_api_new(struct sr_api **out, int fd, const struct sr_api_options *options) SR_WARN_UNUSED;

/* Closes everything. Not from a callback. NULL is allowed. */
void sr_api_free(struct sr_api *api);

#endif
