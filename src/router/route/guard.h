/*
 * Guards: what happens to a request that holds an attack or private data.
 *
 * Guard decisions are decided first, among themselves; one that has no model of its own leaves the choice to
 * the other decisions. The policies of models come last: a model that may not see what is in a request gives
 * way to another candidate that may, else the request is blocked. What is done is a header, a metric and a
 * line of the audit log, none of which holds any of the text.
 */
#ifndef SR_ROUTER_ROUTE_GUARD_H
#define SR_ROUTER_ROUTE_GUARD_H

#include "decide/decide.h"
#include "router/edit/redact.h"
#include "semroute/semroute.h"

struct sr_guard {
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
    struct sr_redaction redaction;
};

/* Prepares the guards of an exchange without any. */
void sr_guard_init(struct sr_guard *guard);

/* Is a request that names its model to be guarded? */
bool sr_guard_names(const sr_exchange *x);

/* Whose the request is to what signals remember; empty where no signal reads turns. */
struct sr_bytes sr_guard_tenant(const sr_exchange *x);

/* Puts the turns into the exchange's input where a signal reads them. SR_ENOMEM. */
int sr_guard_begin(sr_exchange *x) SR_WARN_UNUSED;

/* The guards' plan is settled: notes what matched. True when the guard's decision also routes the request. */
bool sr_guard_decided(sr_exchange *x, const struct sr_decision *decision);

/* Must private data be known before the request may go to the exchange's choice? */
bool sr_guard_wants_pii(const sr_exchange *x);

/* Looks whether the chosen model may see what there is, and moves or denies. SR_ENOMEM. */
int sr_guard_apply_policy(sr_exchange *x) SR_WARN_UNUSED;

/* The action that is taken, -1 when there is none. A denial is a block. */
int sr_guard_action(const sr_exchange *x);

/* Turns a block into the exchange's reply. */
void sr_guard_block(sr_exchange *x);

/* Is this find private data that counts? */
bool sr_guard_counts(const sr_exchange *x, const struct sr_signal_finding *find);

/* "EMAIL_ADDRESS,PERSON" in the arena, NULL when memory is out. */
const char *sr_guard_type_names(uint32_t types, struct sr_arena *arena);

#endif
