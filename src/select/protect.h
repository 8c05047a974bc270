/*
 * Whether a conversation keeps the model that it has (`global.router.learning.protection`). Pure.
 *
 * Another candidate takes over when its score is better by switch_margin + stability_weight * cost, where the
 * cost of a switch is 0.2 for a prompt that the model has wholly read, 0.05 for the handoff, and 0.04 for
 * each earlier switch up to five.
 */
#ifndef SR_SELECT_PROTECT_H
#define SR_SELECT_PROTECT_H

#include "config/part/learning.h"
#include "select/state/holds.h"

#define SR_PROTECT_FAILURES 2 /* of the model in a row, after which it is left */

/* Names of what is done and why are constants, for headers and records. */
struct sr_protect_verdict {
    const char *action; /* "new", "hold_current", "allow_switch", "rescue_switch" */
    const char *reason;
    bool holds; /* the conversation's candidate is to be taken, and not the best one */
};

/* What is known of the request. */
struct sr_protect_ask {
    const struct sr_config_protection *config;
    const struct sr_hold *hold; /* NULL: the conversation is not known */
    uint64_t decision;          /* hash of the name of the decision that won */
    int64_t now_ms;
    uint64_t bytes; /* of the request's body */
    bool tool_loop; /* it goes on with calls of tools */
};

/* Before candidates are ranked. True: it is a later turn of a conversation that may keep its model, so no
 * candidate is drawn by chance. False: `out` says why not. */
bool sr_protect_continues(const struct sr_protect_ask *ask, struct sr_protect_verdict *out);

/* After that: `best` and `held` are the scores of the best candidate and of the conversation's own, which may
 * be the same one (`same`). -HUGE_VAL: it may not be used. */
void sr_protect_decide(const struct sr_protect_ask *ask, double best, double held, bool same,
                       struct sr_protect_verdict *out);

#endif
