/*
 * The rules of a decision: a tree of conditions.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_RULES_H
#define SR_CONFIG_PART_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A comparison; absent bounds are NAN. */
struct sr_config_predicate {
    double gt, gte, lt, lte;
};

/* decisions[].rules: a tree, children in `children`. OR and NOT have children; an AND without any matches
 * with confidence 0. A leaf's `type` and `name` exist. */
enum sr_rule_op {
    SR_RULE_LEAF,
    SR_RULE_AND,
    SR_RULE_OR,
    SR_RULE_NOT,
    SR_RULE_UNKNOWN, /* a condition that a lenient load dropped: neither true nor false. on_error says what a
                        tree is worth that depends on it: SR_ON_ERROR_MATCH matches (it protects) */
};

enum sr_on_error { SR_ON_ERROR_NO_MATCH, SR_ON_ERROR_MATCH };

struct sr_config_rule {
    enum sr_rule_op op;
    const char *type;                     /* leaf: "keyword", "domain", "context", "structure", "language" */
    const char *name;                     /* leaf: the signal rule's name */
    enum sr_on_error on_error;            /* leaf: its result when the signal failed or could not read all */
    bool says_on_error;                   /* the file gives it; otherwise link/on_error.c chose it */
    struct sr_config_predicate predicate; /* leaf on a numeric value, where given */
    struct sr_config_rule *children;
    size_t n_children;
    uint32_t line, column;
};

#endif
