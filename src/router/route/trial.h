/*
 * Decisions on trial: those that count for a share of the requests, and those in shadow, which are evaluated
 * after all others and have no effect.
 */
#ifndef SR_ROUTER_ROUTE_TRIAL_H
#define SR_ROUTER_ROUTE_TRIAL_H

#include "decide/decide.h"
#include "router/router.h"

/* Marks in without[n_decisions] the decisions that do not count for this request: those whose share it is not
 * in, by the hash of the decision's name and `key`, those that `tenant` does not have (NULL: one without
 * rules), and in shadow those for automatic requests only. */
void sr_trial_leave_out(const struct sr_router *router, bool automatic, struct sr_bytes key,
                        const struct sr_config_tenant *tenant, bool *without);

/* The decisions in shadow that match; in a member of the routing. */
struct sr_shadows {
    struct sr_match *matches; /* in the arena; NULL until it is needed */
    size_t n;
};

/* Evaluates them with the results so far. SR_AGAIN: the types in `*needed` can still make others match; it
 * may be called again. SR_ENOMEM. */
int sr_trial_shadows(const struct sr_router *router, const bool *without,
                     const struct sr_signal_result *const results[SR_SIGNAL_TYPES], struct sr_arena *arena,
                     struct sr_shadows *out, uint32_t *needed) SR_WARN_UNUSED;

#endif
