/*
 * Guards: what happens to a request that holds an attack or private data.
 *
 * Guard decisions are decided first, among themselves; one that has no model of its own leaves the choice to
 * the other decisions. The policies of models come last: a model that may not see what is in a request gives
 * way to another candidate that may, else the request is blocked.
 */
#ifndef SR_ROUTER_ROUTE_GUARD_H
#define SR_ROUTER_ROUTE_GUARD_H

#include "decide/decide.h"
#include "router/request/turns.h"
#include "router/router.h"

/* What is asked for, and what is known of it: borrowed from the route stage. */
struct sr_guard_inputs {
    const struct sr_router *router;
    const struct sr_signal_result *const *results; /* [SR_SIGNAL_TYPES], filled as they come */
    struct sr_arena *arena;
    bool automatic; /* the client asked for an automatic model */
    int model;      /* that it named; -1 */
};

struct sr_guard {
    struct sr_guard_inputs in;
    int decision; /* that matched, of the configuration; -1 = none */
    float confidence;
    uint32_t errors; /* signal types that failed while guards were decided */
    struct sr_turns turns;
    bool denied;       /* the policy of the model blocks the request */
    bool moved;        /* the policy of the first choice moved the request to another model */
    uint32_t types;    /* private data that counted: mask over enum sr_entity_type */
    float risk;        /* of the attack; negative = none was found */
    const char *kind;  /* of the attack: "jailbreak", "classification_error", ... */
    const bool *rules; /* pii rules that say what counts, one for each of the configuration; NULL = all */
};

/* Prepares guards that have not been asked. */
void sr_guard_init(struct sr_guard *guard);

/* Is a request that names this model (-1: not known yet) to be guarded? */
bool sr_guard_names(const struct sr_router *router, int model);

/* Does any signal read turns? Then the request's tenant matters to what signals remember. */
bool sr_guard_reads_turns(const struct sr_config *config);

/* Takes the inputs over, and puts the turns into the signals' input where a signal reads them. SR_ENOMEM. */
int sr_guard_begin(struct sr_guard *guard, const struct sr_guard_inputs *in, const struct sr_request *doc,
                   struct sr_bytes tenant, struct sr_signal_input *input) SR_WARN_UNUSED;

/* The guards' plan is decided: notes what matched. True when the guard's decision also routes the request. */
bool sr_guard_decided(struct sr_guard *guard, const struct sr_decision *decision);

/* Must private data be known before the request may go to this choice? */
bool sr_guard_wants_pii(const struct sr_guard *guard, const struct sr_decision *decision,
                        const struct sr_choice *choice);

/* Looks whether the chosen model may see what there is, and moves `*choice` or denies. SR_ENOMEM. */
int sr_guard_apply_policy(struct sr_guard *guard, const struct sr_plan *plan,
                          const struct sr_decision *decision, struct sr_choice *choice) SR_WARN_UNUSED;

/* The action that is taken, enum sr_guard_action; -1 when there is none. A denial is a block. */
int sr_guard_action(const struct sr_guard *guard);

/* What is to be redacted: findings that count, by turn and place, in the arena. None unless that is the
 * action. SR_ENOMEM. */
int sr_guard_redactions(const struct sr_guard *guard, const struct sr_signal_finding **findings,
                        size_t *n) SR_WARN_UNUSED;

#endif
