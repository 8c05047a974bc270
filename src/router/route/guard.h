/*
 * Guards: what happens to a request that holds an attack or private data.
 *
 * Guard decisions are decided first, among themselves; one that has no model of its own leaves the choice
 * to the other decisions. The policies of models come last: if a model may not see the request's private
 * data, another candidate that may replaces it, else the request is blocked.
 */
#ifndef SR_ROUTER_ROUTE_GUARD_H
#define SR_ROUTER_ROUTE_GUARD_H

#include "decide/decide.h"
#include "router/request/units.h"
#include "router/router.h"

/* What the request asks for and what is known of it; borrowed from the route stage. */
struct sr_guard_inputs {
    const struct sr_router *router;
    const struct sr_signal_result *const *results; /* [SR_SIGNAL_TYPES], filled as they arrive */
    struct sr_arena *arena;
    bool automatic; /* the client asked for an automatic model */
    int model;      /* the model that it named; -1 */
    bool instructs; /* the client's system prompts are the operator's */
};

struct sr_guard {
    struct sr_guard_inputs in;
    int decision; /* guard that matched, index of the configuration; -1 = none */
    float confidence;
    uint32_t errors; /* signal types that failed while guards were decided */
    struct sr_units units;
    const char *why;   /* it applies to what could not be read: a code of router/refusal.h; "" = no */
    bool blind;        /* there is unread text that a guard would have to redact: it blocks */
    bool denied;       /* the policy of the model blocks the request */
    bool moved;        /* the policy of the first choice moved the request to another model */
    uint32_t types;    /* private data that guards consider: mask over enum sr_entity_type */
    float risk;        /* risk of the attack; negative = none found */
    const char *kind;  /* type of the attack: "jailbreak", "classification_error", ... */
    const bool *rules; /* pii rules that apply, one for each of the configuration; NULL = all */
};

/* Initialises the guards; allocates nothing. */
void sr_guard_init(struct sr_guard *guard);

/* True when a request that names this model (-1: not known yet) is guarded. */
bool sr_guard_names(const struct sr_router *router, int model);

/* True when a signal reads units. Then memoised results depend on the request's tenant. */
bool sr_guard_reads_units(const struct sr_config *config);

/* The order of actions by what they let pass: higher is stricter. */
int sr_guard_strictness(enum sr_guard_action action);

/* Stores the inputs, and adds the units to the signals' input if a signal reads them. SR_ENOMEM. */
int sr_guard_begin(struct sr_guard *guard, const struct sr_guard_inputs *in, const struct sr_request *doc,
                   struct sr_bytes tenant, struct sr_signal_input *input) SR_WARN_UNUSED;

/* The guards' plan is decided: notes what matched. True when the guard's decision also routes the request. */
bool sr_guard_decided(struct sr_guard *guard, const struct sr_decision *decision);

/* True when the request's private data must be known before this choice is allowed. */
bool sr_guard_wants_pii(const struct sr_guard *guard, const struct sr_decision *decision,
                        const struct sr_choice *choice);

/* Checks whether the chosen model may see the request's private data, else changes `*choice` or denies.
 * SR_ENOMEM. */
int sr_guard_apply_policy(struct sr_guard *guard, const struct sr_plan *plan,
                          const struct sr_decision *decision, struct sr_choice *choice) SR_WARN_UNUSED;

/* Marks the models, of `barred` [n_models], that may not see the request's private data. What was not read
 * may hold any type. */
void sr_guard_bar(const struct sr_guard *guard, bool *barred);

/* The action to take, enum sr_guard_action; -1 when there is none. A denial is a block, and so is a
 * redaction of text that could not be read. */
int sr_guard_action(const struct sr_guard *guard);

/* The findings to redact, ordered by unit and offset, in the arena. None unless the action is to redact.
 * SR_ENOMEM. */
int sr_guard_redactions(const struct sr_guard *guard, const struct sr_signal_finding **findings,
                        size_t *n) SR_WARN_UNUSED;

#endif
