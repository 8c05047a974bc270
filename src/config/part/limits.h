/*
 * Rate limits and budgets, as configured: how much of what over which time, for whom.
 *
 * Plain data of a snapshot, as config.h. router/limit makes counters of them.
 */
#ifndef SR_CONFIG_PART_LIMITS_H
#define SR_CONFIG_PART_LIMITS_H

#include "config/part/store_server.h"
#include "config/part/strings.h"

#include <stdint.h>

#define SR_LIMITS_MAX 32 /* kinds of counts in all rules together */

enum sr_limit_unit { SR_UNIT_SECOND, SR_UNIT_MINUTE, SR_UNIT_HOUR, SR_UNIT_DAY, SR_UNIT_WEEK, SR_UNIT_MONTH };

/* What has counters of its own: bits. */
enum sr_limit_per {
    SR_PER_USER = 1,
    SR_PER_TENANT = 2,
    SR_PER_TEAM = 4,
    SR_PER_KEY = 8,
    SR_PER_MODEL = 16,
    SR_PER_PEER = SR_PER_USER | SR_PER_MODEL, /* of vLLM Semantic Router's rules */
};

/* A rule of services.ratelimit, semroute.limits.rules or .budgets. */
struct sr_config_limit {
    const char *name; /* unique over all */
    struct {
        const char *user, *group, *tenant, *key, *model; /* "": any */
    } match;
    struct sr_strings per_words;
    uint32_t per;             /* bits of enum sr_limit_per */
    int64_t requests, tokens; /* 0: not counted */
    double cost;              /* in the currency of the models' pricing; 0: not counted */
    int unit;                 /* enum sr_limit_unit */
    bool budget;              /* of a day, week or month of the calendar in UTC; false: the window slides */
};

struct sr_config_limit_provider {
    struct sr_config_limit *rules;
    size_t n_rules;
};

enum sr_limit_store { SR_LIMITS_MEMORY, SR_LIMITS_REDIS };

struct sr_config_limits {
    bool fail_open; /* a store that is away lets requests pass */
    struct sr_config_limit_provider *providers;
    size_t n_providers;
    struct sr_config_limit *rules, *budgets;
    size_t n_rules, n_budgets;
    const struct sr_config_limit **all; /* [n_all], linked */
    size_t n_all;
    int store; /* enum sr_limit_store */
    struct sr_config_store_server redis;
    const char *prefix;
    uint64_t timeout_ms; /* of the store */
    const char *path;    /* of the file that keeps budgets over a restart; "" = none */
    size_t max_counters;
};

#endif
