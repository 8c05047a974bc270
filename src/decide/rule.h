/*
 * Compiled rules: a decision's tree as flat nodes, evaluated with three values. Private to the layer.
 *
 * While signals are missing a node is yes, no or open, and its confidence is an interval: the possible
 * values if the node becomes yes. With all signals the interval is a point and no node is open.
 */
#ifndef SR_DECIDE_RULE_H
#define SR_DECIDE_RULE_H

#include "signal/signal.h"

#define SR_RULE_DEPTH_MAX     32
#define SR_PLAN_DECISIONS_MAX 1024

/* Preorder: children follow their parent, `size` counts the node and all below it. */
struct sr_rule_node {
    uint8_t op;       /* enum sr_rule_op */
    uint8_t type;     /* leaf: enum sr_signal_type */
    uint8_t on_error; /* leaf, unknown: enum sr_on_error */
    bool has_predicate;
    bool partial;  /* it has a condition that is not understood, here or below */
    uint32_t rule; /* leaf: index in the signal's rules */
    uint32_t size;
    const struct sr_config_predicate *predicate;
    const struct sr_signals *signals; /* leaf; the plan's */
};

enum sr_rule_state { SR_RULE_NO, SR_RULE_YES, SR_RULE_OPEN };

struct sr_rule_value {
    enum sr_rule_state state;
    float low, high; /* confidence if yes */
    uint32_t open;   /* mask of missing types that can still change state or confidence */
};

typedef const struct sr_signal_result *const sr_rule_results[SR_SIGNAL_TYPES];

struct sr_rule_value sr_rule_eval(const struct sr_rule_node *node, sr_rule_results results);

/* For a tree that is yes: false when it is so only because on_error says it of a signal that failed or did
 * not read all. */
bool sr_rule_is_sure(const struct sr_rule_node *node, sr_rule_results results);

/* For a tree that is yes: false when it is so only because a condition that is not understood
 * (SR_RULE_UNKNOWN) may hold. */
bool sr_rule_is_known(const struct sr_rule_node *node, sr_rule_results results);

/* Nodes of a configured tree. SR_ELIMIT: deeper than SR_RULE_DEPTH_MAX. */
int sr_rule_count(const struct sr_config_rule *rule, const char *decision, size_t *count,
                  struct sr_err *err) SR_WARN_UNUSED;

/* Compiles into nodes[0..), which has room for sr_rule_count; returns the nodes written in `*used`.
 * SR_ENOENT: no such signal type or rule. SR_EINVAL: NOT without exactly one child. */
int sr_rule_compile(const struct sr_config_rule *rule, const struct sr_signals *signals, const char *decision,
                    struct sr_rule_node *nodes, uint32_t *used, struct sr_err *err) SR_WARN_UNUSED;

#endif
