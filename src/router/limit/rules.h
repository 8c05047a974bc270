/*
 * From the rules of the configuration to the counters of one request.
 *
 * Decides which rules match and which counter each has; counts nothing.
 */
#ifndef SR_ROUTER_LIMIT_RULES_H
#define SR_ROUTER_LIMIT_RULES_H

#include "limit/table.h"
#include "router/identity/identity.h"

enum sr_limit_what { SR_LIMIT_REQUESTS, SR_LIMIT_TOKENS, SR_LIMIT_COST };

/* What a counter counts; beside struct sr_limit. */
struct sr_limit_item {
    const struct sr_config_limit *rule;
    enum sr_limit_what what;
    uint64_t taken_ms; /* when the request took from it, by the clock that counted; 0: not yet */
};

struct sr_limit_subject {
    const struct sr_identity *identity;
    uint64_t client; /* sr_identity_client */
    int model;       /* index of the configuration; -1: only rules that hold for all models match */
    bool look;       /* the counters are for a question whether there is room for one: nothing is taken */
    uint64_t prompt_tokens; /* estimated */
    uint64_t now_ms;        /* since 1970 */
};

/* Millionths of the currency: cost is counted in these. */
#define SR_LIMIT_COST_UNIT 1e6

/* Fills limits and items [SR_LIMIT_MAX]; *n may be 0. SR_ENOMEM. */
int sr_limit_rules(const struct sr_config *config, const struct sr_limit_subject *subject,
                   struct sr_arena *arena, struct sr_limit *limits, struct sr_limit_item *items,
                   size_t *n) SR_WARN_UNUSED;

/* True when the rules need the tokens of prompts. */
bool sr_limit_needs_tokens(const struct sr_config *config);

#endif
