/*
 * Asks the workers of pools a GET, each at its interval: those of the configuration, and those that are
 * discovered, as they come and go.
 *
 * Health checks and the scraper are made of it. One of the process's loops does it, over the gateway's
 * client. Loop's thread only.
 */
#ifndef SR_SERVE_GATEWAY_POLL_H
#define SR_SERVE_GATEWAY_POLL_H

#include "config/config.h"
#include "net/client/client.h"
#include "pool/pool.h"
#include "semroute/semroute.h"
#include "serve/gateway/upstream_tls.h"

/* Milliseconds after which discovered workers are looked up again. */
#define SR_POLL_LOOK_MS 1000

#define SR_POLL_TARGET_MAX 1024 /* bytes of base path and path */

struct sr_poll;

/* What a worker is asked. Strings are of the configuration. */
struct sr_poll_question {
    const char *path;
    bool below_base; /* after the worker's base path, else at the root */
    uint32_t interval_ms, timeout_ms;
};

/* One worker of one pool. */
struct sr_polled {
    struct sr_pool_backend worker; /* its identity */
    const char *model;
    struct sr_poll_question question;
    int status;  /* of the answer; 0: none yet */
    void *state; /* the owner's, zeroed when the worker comes */
};

struct sr_poll_ops {
    const char *name; /* in logs */
    size_t state_bytes;
    /* Fills what the workers of this model and pool are asked; `pool` NULL: the model has no entry. False:
     * nothing. Mandatory, as the others. */
    bool (*asks)(const struct sr_config_model *model, const struct sr_config_pool *pool,
                 struct sr_poll_question *out);
    void (*begins)(void *ctx, struct sr_polled *polled);
    void (*body)(void *ctx, struct sr_polled *polled, struct sr_bytes slice);
    /* An answer is complete, with its status; or `failure` says why there is none. */
    void (*answered)(void *ctx, struct sr_polled *polled, const char *failure);
    /* It is asked no more. */
    void (*gone)(void *ctx, struct sr_polled *polled);
};

/* Asks nothing yet. All must outlive it. SR_ENOMEM. */
int sr_poll_new(struct sr_poll **out, struct sr_loop *loop, struct sr_client *client, sr_runtime *runtime,
                struct sr_upstream_tls *tls, const struct sr_poll_ops *ops, void *ctx) SR_WARN_UNUSED;

/* Asks the workers of `config`, to which it takes a reference, from now on; a worker that was asked before
 * keeps its state. SR_ENOMEM: some are not asked until the next look. */
int sr_poll_configure(struct sr_poll *poll, const struct sr_config *config) SR_WARN_UNUSED;

/* Cancels what is in progress; all workers are gone. NULL is allowed. */
void sr_poll_free(struct sr_poll *poll);

#endif
