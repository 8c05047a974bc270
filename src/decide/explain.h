/*
 * Explains why a decision won, and the results of every decision's rules.
 *
 * Two renderings, members of a JSON document and a picture for a terminal. Neither contains the user's
 * text. Pure; reads the results that the decision was made from, so signals that were not evaluated are
 * shown so.
 */
#ifndef SR_DECIDE_EXPLAIN_H
#define SR_DECIDE_EXPLAIN_H

#include "base/json_write.h"
#include "decide/decide.h"

/* All borrowed for the call. */
struct sr_explanation {
    const struct sr_plan *plan;   /* of the decision */
    const struct sr_plan *before; /* decided before it, without a winner that routes; NULL: none */
    const struct sr_plan *after;  /* would have been decided after it; NULL: none */
    const struct sr_signal_result *const *results; /* [SR_SIGNAL_TYPES], as sr_plan_decide took them */
    const struct sr_decision *decision;
    const bool *without; /* as sr_plan_decide took them */
    const char *guard;   /* blocked the request; NULL: none did */
};

/* Writes two members into the JSON object that is open:
 * "decisions":[{name,description,priority,tier,matched,confidence,rules}] of the three plans in the order in
 * which they win, `guard` true of a guard, `left_out` true where it did not count for this request;
 * rules being {type,name,matched} or {operator,matched,conditions}, matched null where it was not needed; and
 * "why", the sentence of sr_plan_explain_why. */
void sr_plan_explain_json(const struct sr_explanation *e, struct sr_json_writer *w);

/* Appends why the winner won and every decision with its tree, each line behind `indent` spaces and at most
 * `width` columns long (at least 20 more than the indent), with ANSI colours if `colour`. SR_ELIMIT,
 * SR_ENOMEM. */
int sr_plan_explain_picture(const struct sr_explanation *e, int indent, int width, bool colour,
                            struct sr_buf *out) SR_WARN_UNUSED;

/* One sentence: why this decision and not another. Fits SR_ERR_MESSAGE_MAX. */
void sr_plan_explain_why(const struct sr_explanation *e, char out[SR_ERR_MESSAGE_MAX]);

#endif
