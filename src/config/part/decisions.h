/*
 * Decisions: what they want, whom they choose among, what they do.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_DECISIONS_H
#define SR_CONFIG_PART_DECISIONS_H

#include "config/algorithm.h"
#include "config/part/learning.h"
#include "config/part/models.h"
#include "config/part/plugins.h"
#include "config/part/rules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sr_config_model_ref {
    int model; /* index in models */
    const char *lora_name;
    bool use_reasoning, says_reasoning; /* its value, and whether it is set */
    const char *reasoning_effort;       /* empty = default */
    const char *reasoning_description;
};

/* What a decision that matches does. */
enum sr_decision_mode {
    SR_MODE_ENFORCE,
    SR_MODE_SHADOW, /* nothing: that it matched is recorded */
};

/* decisions[].emits: what the decision wants kept of the conversation. */
struct sr_config_retention {
    bool says_drop, says_ttl, says_model, says_prefix; /* the file gives the value */
    bool drop;                                         /* the answer is not cached */
    int64_t ttl_turns;                                 /* above 0: how long it is, in turns */
    bool keep_model, prefer_prefix;                    /* hints: only told */
};

struct sr_config_emit {
    struct sr_config_retention retention;
};

/* What a turn of a conversation counts for in seconds, where something is kept for a number of turns. */
#define SR_TURN_SECONDS 60

struct sr_config_decision {
    const char *name;
    const char *description;
    bool everywhere; /* in a recipe: it is the top-level block's, and goes before the recipe's own */
    enum sr_decision_mode mode;
    double share; /* of requests for which it counts, above 0; 1 = all */
    int64_t priority;
    int64_t tier;    /* 0 = none */
    bool of_tenants; /* it counts only for tenants that name it */
    bool has_rules;
    struct sr_config_rule rules; /* without rules: matches always, confidence 0 */
    struct sr_config_model_ref *refs;
    size_t n_refs;
    struct sr_config_algorithm algorithm;
    struct sr_config_plugins plugins;
    struct sr_config_emit *emits; /* at most one */
    size_t n_emits;
    struct sr_config_adaptations adaptations;
    struct sr_config_retry retry; /* goes before that of the model */
};

enum sr_strategy { SR_STRATEGY_PRIORITY, SR_STRATEGY_CONFIDENCE };

#endif
