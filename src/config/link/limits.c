/* Puts the rules of all places into one list, in their order: the peer's shape, our rules, budgets. */
#include "config/link/limits.h"

#include <stdio.h>
#include <string.h>

#define REDIS_PORT 6379

static size_t counts_of(const struct sr_config_limit *limit)
{
    return (limit->requests > 0 ? 1u : 0) + (limit->tokens > 0 ? 1u : 0) + (limit->cost > 0 ? 1u : 0);
}

static bool has_key(const struct sr_config_identity *identity, const char *name)
{
    for (size_t i = 0; i < identity->n_keys; i++)
        if (strcmp(identity->keys[i].name, name) == 0)
            return true;
    return false;
}

/* Warns of a rule that no request can match, or that treats all clients as one. */
static void check_rule(struct sr_binder *b, const struct sr_yaml_node *at, const struct sr_config *config,
                       const struct sr_config_limit *limit)
{
    const struct sr_config_global *global = &config->global;
    bool keys = global->identity.n_keys > 0;
    char hint[SR_LINK_HINT_SIZE];
    struct sr_bytes model = sr_bytes_str(limit->match.model);
    if (model.n && sr_config_find_model(config, model) < 0)
        sr_bind_error(b, at, "`match`: no model `%.60s` in providers.models%s", limit->match.model,
                      sr_link_model_hint(config, model, hint, sizeof hint));
    if (limit->match.key[0] && !has_key(&global->identity, limit->match.key))
        sr_bind_warning(b, at, "`match`: no key `%.60s` in global.semroute.identity", limit->match.key);
    if ((limit->match.user[0] || (limit->per & SR_PER_USER)) && !global->user_header[0] && !keys)
        sr_bind_warning(b, at,
                        "limit `%.60s`: no request has a user: there are no keys and no "
                        "`services.authz.identity.user_id_header`; clients count by their address",
                        limit->name);
    if (limit->match.group[0] && !global->groups_header[0] && !keys)
        sr_bind_warning(b, at,
                        "limit `%.60s`: no request has a group: there are no keys and no "
                        "`services.authz.identity.user_groups_header`",
                        limit->name);
    if ((limit->match.tenant[0] || (limit->per & SR_PER_TENANT)) && !global->guards.tenant_header[0] && !keys)
        sr_bind_warning(b, at,
                        "limit `%.60s`: no request has a tenant: there are no keys and no `tenant_header`",
                        limit->name);
    bool priced = false;
    for (size_t i = 0; i < config->n_models; i++)
        priced |= config->models[i].pricing.set;
    if (limit->cost > 0 && !priced)
        sr_bind_error(b, at, "budget `%.60s`: `cost` needs `pricing` of models", limit->name);
}

/* Takes the rules of one list; `number` counts those without a name. */
static void take_rules(struct sr_binder *b, const struct sr_yaml_node *list, struct sr_config *config,
                       struct sr_config_limit *rules, size_t n, size_t *counts)
{
    struct sr_config_limits *limits = &config->global.limits;
    for (size_t i = 0; i < n; i++) {
        const struct sr_yaml_node *at = sr_link_item(list, i);
        char name[32];
        snprintf(name, sizeof name, "rule-%zu", limits->n_all + 1);
        if (!rules[i].name[0])
            rules[i].name = sr_bind_dup(b, sr_bytes_str(name));
        for (size_t k = 0; k < limits->n_all; k++)
            if (strcmp(limits->all[k]->name, rules[i].name) == 0)
                sr_bind_error(b, at, "limit `%.60s` is given twice", rules[i].name);
        check_rule(b, at, config, &rules[i]);
        *counts += counts_of(&rules[i]);
        limits->all[limits->n_all++] = &rules[i];
    }
}

void sr_link_limits(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *global = sr_yaml_get(root, "global");
    const struct sr_yaml_node *peer = sr_yaml_get(sr_yaml_get(global, "services"), "ratelimit");
    const struct sr_yaml_node *own = sr_yaml_get(sr_yaml_get(global, "semroute"), "limits");
    const struct sr_yaml_node *providers = sr_yaml_get(peer, "providers");
    struct sr_config_limits *limits = &config->global.limits;
    size_t n = limits->n_rules + limits->n_budgets, counts = 0;
    for (size_t i = 0; i < limits->n_providers; i++)
        n += limits->providers[i].n_rules;
    if (!limits->redis.port)
        limits->redis.port = REDIS_PORT;
    if (limits->fail_open && n)
        sr_bind_warning(b, sr_bind_at(peer, "fail_open"),
                        "`fail_open`: while the store of the counters is away, no limit holds");
    limits->all = n ? sr_bind_calloc(b, n, sizeof(const struct sr_config_limit *)) : NULL;
    if (!limits->all)
        return;
    for (size_t i = 0; i < limits->n_providers; i++)
        take_rules(b, sr_yaml_get(sr_link_item(providers, i), "rules"), config, limits->providers[i].rules,
                   limits->providers[i].n_rules, &counts);
    take_rules(b, sr_yaml_get(own, "rules"), config, limits->rules, limits->n_rules, &counts);
    take_rules(b, sr_yaml_get(own, "budgets"), config, limits->budgets, limits->n_budgets, &counts);
    if (counts > SR_LIMITS_MAX)
        sr_bind_error(b, own ? own : peer,
                      "at most %d limits of requests, tokens and cost together, found %zu", SR_LIMITS_MAX,
                      counts);
}
