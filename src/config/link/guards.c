/* Guards and what they refer to: thresholds of global, types of private data, models, rules. */
#include "config/link/guards.h"

#include "base/hash.h"
#include "base/hex.h"
#include "config/bind/hint.h"
#include "config/link/names.h"

#include <stdlib.h>

#define CONTRASTIVE_THRESHOLD 0.1

/* The bit of a type's name; 0 with a problem when there is no such type. */
static uint32_t type_bit(struct sr_binder *b, const struct sr_yaml_node *node, struct sr_bytes name)
{
    char hint[SR_LINK_HINT_SIZE];
    struct sr_nearest nearest = {.word = name};
    int type = sr_entity_find_type(name);
    if (type >= 0)
        return UINT32_C(1) << type;
    for (int i = 0; i < SR_ENTITY_TYPES; i++)
        sr_nearest_try(&nearest, sr_entity_names[i]);
    sr_bind_error(b, node, "`%.*s` is not a type of private data%s", (int)(name.n < 60 ? name.n : 60), name.p,
                  sr_nearest_hint(&nearest, hint, sizeof hint));
    return 0;
}

static uint32_t types_mask(struct sr_binder *b, const struct sr_yaml_node *list,
                           const struct sr_strings *names)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < names->count; i++) {
        bool placed = list && list->kind == SR_YAML_LIST && i < list->count;
        mask |= type_bit(b, placed ? list->items[i] : list, sr_bytes_str(names->items[i]));
    }
    return mask;
}

static void link_type_thresholds(struct sr_binder *b, const struct sr_yaml_node *node,
                                 struct sr_config_pii *pii)
{
    const struct sr_yaml_node *map = sr_yaml_get(node, "type_thresholds");
    for (int type = 0; type < SR_ENTITY_TYPES; type++)
        pii->thresholds[type] = pii->threshold;
    for (size_t i = 0; i < pii->type_thresholds.count; i++) {
        const struct sr_name_value *pair = &pii->type_thresholds.items[i];
        const struct sr_yaml_node *at = sr_bind_at(map, pair->name);
        char *end;
        double value = strtod(pair->value, &end);
        int type = sr_entity_find_type(sr_bytes_str(pair->name));
        if (!type_bit(b, at, sr_bytes_str(pair->name)))
            continue;
        if (end == pair->value || *end || !(value > 0 && value <= 1))
            sr_bind_error(b, at, "`%.40s`: expected a number above 0 and at most 1, found `%.40s`",
                          pair->name, pair->value);
        else
            pii->thresholds[type] = value;
    }
}

static void link_signals(struct sr_binder *b, const struct sr_yaml_node *signals, struct sr_config *config)
{
    const struct sr_yaml_node *piis = sr_yaml_get(signals, "pii");
    for (size_t i = 0; i < config->n_jailbreaks; i++)
        if (!(config->jailbreaks[i].threshold > 0))
            config->jailbreaks[i].threshold = config->jailbreaks[i].method == SR_JAILBREAK_CONTRASTIVE
                                                  ? CONTRASTIVE_THRESHOLD
                                                  : config->global.jailbreak_threshold;
    for (size_t i = 0; i < config->n_piis; i++) {
        struct sr_config_pii *pii = &config->piis[i];
        const struct sr_yaml_node *node = sr_link_item(piis, i);
        if (!(pii->threshold > 0))
            pii->threshold = config->global.pii_threshold;
        pii->allowed = types_mask(b, sr_yaml_get(node, "pii_types_allowed"), &pii->types_allowed);
        link_type_thresholds(b, node, pii);
    }
}

static void link_policies(struct sr_binder *b, const struct sr_yaml_node *models, struct sr_config *config)
{
    char hint[SR_LINK_HINT_SIZE];
    for (size_t i = 0; i < config->global.n_policies; i++) {
        struct sr_config_policy *policy = &config->global.policies[i];
        const struct sr_yaml_node *node = sr_yaml_get(models, policy->model);
        const struct sr_yaml_node *types = sr_yaml_get(sr_yaml_get(node, "pii_policy"), "pii_types_allowed");
        uint32_t mask = types_mask(b, types, &policy->types_allowed);
        policy->allowed = policy->allow_by_default ? ~UINT32_C(0) : mask;
        policy->index = sr_config_find_model(config, sr_bytes_str(policy->model));
        if (policy->index < 0)
            sr_bind_error(b, node ? node : models, "no model `%.60s` in providers.models%s", policy->model,
                          sr_link_model_hint(config, sr_bytes_str(policy->model), hint, sizeof hint));
        else if (policy->allow_by_default && mask)
            sr_bind_warning(b, types, "`pii_types_allowed` changes nothing while `allow_by_default` is true");
    }
}

static void link_decisions(struct sr_binder *b, const struct sr_yaml_node *decisions,
                           const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        const struct sr_yaml_node *node = sr_link_item(decisions, i);
        if (!decision->plugins.guard.set)
            continue;
        if (decision->plugins.guard.action == SR_GUARD_ROUTE && decision->n_refs == 0)
            sr_bind_error(b, node, "decision `%.60s` routes, but has no modelRefs to route to",
                          decision->name);
        bool names_what = config->n_piis || (b->shared && b->shared->n_piis);
        if (decision->plugins.guard.action == SR_GUARD_REDACT && !names_what)
            sr_bind_error(b, node,
                          "decision `%.60s` redacts, but routing.signals.pii has no rule that says what",
                          decision->name);
    }
}

static bool is_sha256(struct sr_bytes text)
{
    uint8_t digest[SR_SHA256_SIZE];
    return text.n == 2 * sizeof digest && sr_hex_read(text.p, sizeof digest, digest);
}

static void check_system_prompts(struct sr_binder *b, const struct sr_yaml_node *guards,
                                 const struct sr_config_guards *values)
{
    const struct sr_yaml_node *prompts = sr_yaml_get(guards, "system_prompts");
    const struct sr_config_system_prompts *own = &values->system_prompts;
    for (size_t i = 0; i < own->sha256.count; i++)
        if (!is_sha256(sr_bytes_str(own->sha256.items[i])))
            sr_bind_error(b, sr_bind_at(prompts, "sha256"),
                          "`%.70s` is not a SHA-256: 64 hexadecimal digits in small letters",
                          own->sha256.items[i]);
    if (own->trusted_tenants.count && !values->tenant_header[0])
        sr_bind_error(b, sr_bind_at(prompts, "trusted_tenants"),
                      "`trusted_tenants` needs `tenant_header`, which says who the tenant is");
}

/* Problems and warnings of keys by which guards are left open. */
static void check_open(struct sr_binder *b, const struct sr_yaml_node *root, const struct sr_config *config)
{
    const struct sr_yaml_node *global = sr_yaml_get(root, "global");
    const struct sr_yaml_node *guards = sr_yaml_get(sr_yaml_get(global, "semroute"), "guards");
    const struct sr_config_guards *values = &config->global.guards;
    bool any = config->global.n_policies > 0;
    check_system_prompts(b, guards, values);
    for (size_t i = 0; i < config->n_decisions; i++)
        any |= config->decisions[i].plugins.guard.set;
    if (any && !values->explicit_models)
        sr_bind_warning(b, sr_bind_at(guards, "explicit_models"),
                        "guards are open: requests that name their model pass unread");
    if (!values->skip_tenants.count)
        return;
    const struct sr_yaml_node *skip = sr_bind_at(guards, "skip_tenants");
    if (!values->tenant_header[0])
        sr_bind_error(b, skip, "`skip_tenants` needs `tenant_header`, which says who the tenant is");
    else if (!config->global.skip_processing)
        sr_bind_warning(
            b, skip, "`skip_tenants` changes nothing while global.router.skip_processing.enabled is false");
    else
        sr_bind_warning(b, skip, "guards are open: these tenants skip them with a header");
}

void sr_link_guards(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *semroute = sr_yaml_get(sr_yaml_get(root, "global"), "semroute");
    link_policies(b, sr_yaml_get(semroute, "models"), config);
    check_open(b, root, config);
}

void sr_link_guard_rules(struct sr_binder *b, const struct sr_yaml_node *routing, struct sr_config *config)
{
    link_signals(b, sr_yaml_get(routing, "signals"), config);
    link_decisions(b, sr_yaml_get(routing, "decisions"), config);
}
