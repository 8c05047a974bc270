/*
 * Profiles: what a routing block makes of a router. The whole router has the profile of the top-level block;
 * each recipe, and the new side of each canary, is a router with a profile of its own that borrows all else
 * from the whole one.
 */
#ifndef SR_ROUTER_ROUTER_PROFILE_H
#define SR_ROUTER_ROUTER_PROFILE_H

#include "router/router.h"

#define SR_ROUTER_ARENA_MAX ((size_t)64 << 20) /* for the targets and headers of a large configuration */

/* Makes the signals, plans, algorithms and tools of `router->config`. What is there of them after an error is
 * disposed of as after success. `models` NULL: for a check alone. */
int sr_profile_prepare(struct sr_router *router, struct sr_model_store *models,
                       struct sr_err *err) SR_WARN_UNUSED;
void sr_profile_dispose(struct sr_router *router);

/* Makes a profile of `config`, of which it takes a reference, beside that of `whole`, which owns what is
 * shared and outlives it. `profile` and `recipe` are kept as pointers. `*out` is to be freed, after an error
 * too. */
int sr_profile_new(struct sr_router **out, struct sr_router *whole, const struct sr_config *config,
                   const char *profile, const char *recipe, struct sr_model_store *models,
                   struct sr_err *err) SR_WARN_UNUSED;
void sr_profile_free(struct sr_router *router); /* NULL is allowed */

#endif
