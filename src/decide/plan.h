/* The internals of a compiled plan, shared by plan.c, select.c and explain.c. Private to the layer. */
#ifndef SR_DECIDE_PLAN_H
#define SR_DECIDE_PLAN_H

#include "decide/decide.h"
#include "decide/rule.h"

struct sr_plan_entry {
    int decision;   /* index in config->decisions */
    uint32_t group; /* entries of one group differ by confidence first; groups go in order */
    uint32_t first; /* its tree in `nodes`; no tree when `has_rules` is false */
    bool has_rules;
    bool by_classifier; /* all its leaves are answered by a classifier */
    bool lexical;       /* none is */
    uint32_t types;     /* mask of its leaves' types */
};

struct sr_plan {
    const struct sr_config *config;
    struct sr_signals *signals;
    uint32_t types; /* mask over all entries */
    size_t n;
    struct sr_plan_entry *entries; /* in the order in which decisions win */
    struct sr_rule_node *nodes;
};

/* The same as a decision's of sr_plan_decide: no where `without` marks it. */
struct sr_rule_value sr_plan_eval_entry(const struct sr_plan *plan, const struct sr_plan_entry *entry,
                                        const bool *without, sr_rule_results results);

#endif
