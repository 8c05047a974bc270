/*
 * Which pools of a model take a request, and in which order: by its workload and its estimated size.
 *
 * A pool fits when the prompt is within its `max_prompt_tokens`, and prompt and answer are within its
 * `max_tokens`. First come the pools that name the workload, then those that name none, each the smallest
 * first. Pools that are only for other workloads come in only where no other one fits. What fits nowhere goes
 * to the largest pool of all: sizes are estimates, and the engine has the exact ones.
 * Pure; docs/internals/pool.md.
 */
#ifndef SR_ROUTER_PICK_TIERS_H
#define SR_ROUTER_PICK_TIERS_H

#include "config/config.h"
#include "router/router.h"

/* The size of a request for one model. */
struct sr_tier_size {
    enum sr_workload workload;
    const char *from;                      /* how the workload is known: "header", "metadata", "shape" */
    uint64_t bytes;                        /* of the prompt, as it was received; 0: with attachments */
    uint64_t prompt_tokens, answer_tokens; /* estimates */
    bool is_limited;                       /* the second is the request's own limit */
};

struct sr_tiers {
    size_t n;                          /* 0: the model has one pool */
    uint8_t order[SR_MODEL_POOLS_MAX]; /* indices of the model's pools */
    const char *why;                   /* of the first: "fits", "other_workloads", "over_budget" */
};

/* The pools of a model with several for a request of this size; at least one. */
struct sr_tiers sr_tiers_rank(const struct sr_router_model *model, const struct sr_tier_size *size);

#endif
