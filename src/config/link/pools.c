/* Pools: their models, and their names, which are unique. */
#include "config/link/pools.h"

#include "config/link/names.h"
#include "config/link/tiers.h"

#include <string.h>

/* The name of pool `at` is its own: it is no other pool's, also not of a model that has no entry. */
static void check_name(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                       size_t at)
{
    const struct sr_config_pool *pools = config->global.pools, *pool = &pools[at];
    int model = sr_config_find_model(config, sr_bytes_str(pool->name));
    if (model >= 0 && model != pool->model)
        sr_bind_error(b, node, "a pool of another model cannot be named `%.60s`, as a model is", pool->name);
    for (size_t k = 0; k < at; k++) {
        if (strcmp(pools[k].name, pool->name) == 0) {
            sr_bind_error(b, node, "pool `%.60s` is given twice%s", pool->name,
                          pools[k].model == pool->model ? ": each pool of a model needs its own `name`" : "");
            return;
        }
    }
}

static bool has_decision(const struct sr_config *config, struct sr_bytes name)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (sr_bytes_eq(name, sr_bytes_str(config->decisions[i].name)))
            return true;
    return false;
}

/* The decisions that `queue.priorities` names. */
static void check_priorities(struct sr_binder *b, const struct sr_yaml_node *map,
                             const struct sr_config *config)
{
    for (size_t i = 0; map && map->kind == SR_YAML_MAP && i < map->count; i++) {
        bool found = has_decision(config, map->keys[i]->text);
        for (size_t k = 0; k < config->n_recipes && !found; k++)
            found = has_decision(&config->recipes[k].config, map->keys[i]->text);
        if (!found)
            sr_bind_error(b, map->keys[i], "no decision `%.60s` in routing.decisions", map->keys[i]->text.p);
    }
}

void sr_link_pools(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *list =
        sr_yaml_get(sr_yaml_get(sr_yaml_get(root, "global"), "semroute"), "pools");
    char hint[SR_LINK_HINT_SIZE];
    for (size_t i = 0; i < config->global.n_pools; i++) {
        struct sr_config_pool *pool = &config->global.pools[i];
        const struct sr_yaml_node *node = sr_link_item(list, i), *name = sr_link_name(node, "model");
        if (!name)
            continue;
        pool->model = sr_config_find_model(config, name->text);
        if (pool->model < 0)
            sr_bind_error(b, name, "no model `%.60s` in providers.models%s", name->text.p,
                          sr_link_model_hint(config, name->text, hint, sizeof hint));
        check_name(b, sr_bind_at(node, "name"), config, i);
        if (strcmp(pool->policy, "kv") == 0 && !pool->kv_events.endpoint[0])
            sr_bind_error(b, sr_bind_at(node, "policy"), "the policy `kv` needs `kv_events`");
        sr_link_tier(b, list, config, i);
        check_priorities(b, sr_yaml_get(sr_yaml_get(node, "queue"), "priorities"), config);
    }
}
