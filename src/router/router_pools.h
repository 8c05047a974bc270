/* The pools of a model as the router uses them: which targets are whose, and their groups of workers. */
#ifndef SR_ROUTER_ROUTER_POOLS_H
#define SR_ROUTER_ROUTER_POOLS_H

#include "router/router.h"

/* Fills the pools of `out`, whose targets are there. What is there of them after an error is closed as after
 * success. Tokenizers come from `models`. SR_ENOMEM, SR_ENOENT; those of sr_prompts_new. */
int sr_router_pools_open(struct sr_router_model *out, const struct sr_config *config,
                         const struct sr_config_model *model, struct sr_model_store *models,
                         struct sr_pool *pool, struct sr_arena *arena, struct sr_err *err) SR_WARN_UNUSED;

/* Opens the tokenizers that pools name, and closes them: for a check of the configuration alone. The errors
 * of sr_prompts_new. */
int sr_router_pools_check(const struct sr_config *config, struct sr_err *err) SR_WARN_UNUSED;

void sr_router_pools_close(struct sr_router_model *model, struct sr_pool *pool);

#endif
