/*
 * A configuration with all that is opened for it: read, checked and compiled, or a message for its author.
 *
 * One thread; slow, so never on an event loop.
 */
#ifndef SR_ROUTER_LOADED_H
#define SR_ROUTER_LOADED_H

#include "infer/engine/engine.h"
#include "router/router.h"
#include "semroute/semroute.h"

struct sr_loaded {
    struct sr_router *router;
    struct sr_encoder *encoder; /* NULL: not asked for yet, or there is none */
    struct sr_infer *infer;     /* the store's */
};

/* What a configuration is loaded from and for; all borrowed. */
struct sr_loading {
    const char *path; /* NULL: the built-in one */
    const struct sr_runtime_options *options;
    struct sr_model_store *models;
    struct sr_pool *pool;
    struct sr_select_arms *arms;
    struct sr_holds *holds;
    bool first; /* nothing runs that has the store's memo: it gets its size now, to remember what is opened */
};

/* Loads. On an error nothing is open, and `error` [size] says what and where. Warnings go to the log. */
int sr_load(const struct sr_loading *in, struct sr_loaded *out, char *error, size_t size) SR_WARN_UNUSED;

void sr_unload(struct sr_loaded *loaded);

/* Opens the configured encoder, the same as the signals'. If none is configured, the default one is used if
 * it exists; its absence is no error. */
int sr_loaded_encoder(struct sr_loaded *loaded, const struct sr_config *config, struct sr_model_store *models,
                      struct sr_err *err) SR_WARN_UNUSED;

#endif
