/* The pools of one model: each needs workers of its own, and requests that go to it first. */
#include "config/link/tiers.h"

#include "config/link/names.h"

#include <string.h>

#define ALL ((1u << SR_WORKLOADS) - 1)

/* A pool of the configuration with what it is compared by. */
struct tier {
    const struct sr_config *config;
    const struct sr_config_pool *pool;
    const struct sr_config_model *model;
    const struct sr_yaml_node *node;
    size_t of_model; /* pools that the model has */
};

static uint32_t workloads_of(const struct sr_config_pool *pool)
{
    return pool->workloads ? pool->workloads : ALL;
}

static bool names_backend(const struct sr_config_model *model, const char *name)
{
    for (size_t i = 0; i < model->n_backends; i++)
        if (model->backends[i].name && strcmp(model->backends[i].name, name) == 0)
            return true;
    return false;
}

static void check_names(struct sr_binder *b, const struct tier *tier, const char *key,
                        const struct sr_strings *names)
{
    const struct sr_yaml_node *list = sr_yaml_get(tier->node, key);
    for (size_t i = 0; i < names->count; i++) {
        const struct sr_yaml_node *at = sr_link_item(list, i);
        if (!names_backend(tier->model, names->items[i]))
            sr_bind_error(b, at ? at : list, "`%s`: model `%.60s` has no backend with the name `%.60s`", key,
                          tier->model->name, names->items[i]);
    }
}

/* The names of the pool's own workers. */
static void check_workers(struct sr_binder *b, const struct tier *tier)
{
    const struct sr_config_pool *pool = tier->pool;
    bool discovers = sr_config_pool_discovers(pool);
    size_t workers = 0, backups = 0;
    check_names(b, tier, "backends", &pool->backends);
    check_names(b, tier, "backups", &pool->backups);
    if (discovers && (pool->backends.count || pool->backups.count))
        sr_bind_error(b, sr_bind_at(tier->node, pool->backends.count ? "backends" : "backups"),
                      "a pool has `endpoints`, or workers that it names, not both");
    for (size_t i = 0; i < tier->model->n_backends && !discovers; i++) {
        const struct sr_config_backend *backend = &tier->model->backends[i];
        bool backup = sr_config_pool_is_backup(pool, backend), own = sr_config_pool_has(pool, backend);
        workers += own;
        backups += own && backup;
        if (backup && !own)
            sr_bind_error(b, sr_bind_at(tier->node, "backups"),
                          "`backups`: backend `%.60s` is not among the pool's `backends`", backend->name);
    }
    if (workers && backups == workers)
        sr_bind_error(b, sr_bind_at(tier->node, "backups"),
                      "all workers of pool `%.60s` are backups: leave one out, it is used first", pool->name);
    if (tier->of_model > 1 && !discovers && !pool->backends.count)
        sr_bind_error(b, tier->node,
                      "model `%.60s` has several pools: name the workers of this one in `backends`, or where "
                      "they are found in `endpoints`",
                      pool->model_name);
}

static bool same_worker(const struct sr_config_backend *a, const struct sr_config_backend *b)
{
    return a->port == b->port && strcmp(a->scheme, b->scheme) == 0 &&
           strcmp(a->base_path, b->base_path) == 0 &&
           sr_bytes_eq_nocase(sr_bytes_str(a->host), sr_bytes_str(b->host));
}

/* A backend of this pool that is one of the other's too; NULL: none. */
static const struct sr_config_backend *shared(const struct tier *tier, const struct sr_config_pool *other)
{
    const struct sr_config_model *model = tier->model;
    for (size_t i = 0; i < model->n_backends; i++)
        for (size_t k = 0; k < model->n_backends; k++)
            if (sr_config_pool_has(tier->pool, &model->backends[i]) &&
                sr_config_pool_has(other, &model->backends[k]) &&
                same_worker(&model->backends[i], &model->backends[k]))
                return &model->backends[i];
    return NULL;
}

static bool same_endpoints(const struct sr_config_pool *a, const struct sr_config_pool *b)
{
    return strcmp(a->endpoints.file, b->endpoints.file) == 0 &&
           strcmp(a->endpoints.dns, b->endpoints.dns) == 0 && strcmp(a->endpoints.srv, b->endpoints.srv) == 0;
}

/* The pool against one before it, of the same model. */
static void check_pair(struct sr_binder *b, const struct tier *tier, const struct sr_config_pool *other)
{
    const struct sr_config_pool *pool = tier->pool;
    const char *both = "each worker belongs to one pool of a model: its limit and its cache are that pool's";
    if (pool->max_tokens == other->max_tokens && pool->max_prompt_tokens == other->max_prompt_tokens &&
        workloads_of(pool) & workloads_of(other) && !pool->workloads == !other->workloads)
        sr_bind_error(b, tier->node,
                      "pools `%.60s` and `%.60s` take the same requests: give one a smaller `max_tokens`, or "
                      "other `workloads`",
                      other->name, pool->name);
    if (sr_config_pool_discovers(pool) && sr_config_pool_discovers(other)) {
        if (same_endpoints(pool, other))
            sr_bind_error(b, sr_bind_at(tier->node, "endpoints"),
                          "pools `%.60s` and `%.60s` have the same `endpoints`; %s", other->name, pool->name,
                          both);
    } else if (pool->backends.count && other->backends.count) {
        const struct sr_config_backend *backend = shared(tier, other);
        if (backend)
            sr_bind_error(b, sr_bind_at(tier->node, "backends"),
                          "`%.60s` (%.60s:%d) is in pool `%.60s` too; %s", backend->name, backend->host,
                          backend->port, other->name, both);
    }
}

/* ---- all pools of a model ---- */

/* A backend of the model that no pool has. */
static void check_left(struct sr_binder *b, const struct tier *tier)
{
    const struct sr_config_global *global = &tier->config->global;
    for (size_t i = 0; i < tier->model->n_backends; i++) {
        const struct sr_config_backend *backend = &tier->model->backends[i];
        bool found = false, all_discover = true;
        for (size_t k = 0; k < global->n_pools; k++) {
            if (global->pools[k].model != tier->pool->model)
                continue;
            bool discovers = sr_config_pool_discovers(&global->pools[k]);
            all_discover &= discovers;
            found |= !discovers && sr_config_pool_has(&global->pools[k], backend);
        }
        if (!found && !all_discover) /* the first backend is the pattern of workers that are discovered */
            sr_bind_warning(b, tier->node,
                            "backend `%.60s` (%.60s:%d) of model `%.60s` is in no pool: it gets no requests",
                            backend->name && backend->name[0] ? backend->name : "(no name)", backend->host,
                            backend->port, tier->model->name);
    }
}

/* Workloads that are for no pool, and the largest size of each. */
static void check_cover(struct sr_binder *b, const struct tier *tier)
{
    const struct sr_config_global *global = &tier->config->global;
    uint64_t largest = 0;
    for (size_t k = 0; k < global->n_pools; k++) {
        const struct sr_config_pool *pool = &global->pools[k];
        uint64_t size = pool->max_tokens ? pool->max_tokens : UINT64_MAX;
        if (pool->model == tier->pool->model && size > largest)
            largest = size;
    }
    for (int workload = 0; workload < SR_WORKLOADS; workload++) {
        uint64_t own = 0;
        for (size_t k = 0; k < global->n_pools; k++) {
            const struct sr_config_pool *pool = &global->pools[k];
            uint64_t size = pool->max_tokens ? pool->max_tokens : UINT64_MAX;
            if (pool->model == tier->pool->model && workloads_of(pool) >> workload & 1 && size > own)
                own = size;
        }
        if (!own)
            sr_bind_warning(
                b, tier->node,
                "no pool of model `%.60s` is for workload `%s`: the size of its requests alone decides",
                tier->model->name, sr_config_workload_name((enum sr_workload)workload));
        else if (own < largest)
            sr_bind_warning(
                b, tier->node,
                "requests of workload `%s` over %llu tokens have no pool of model `%.60s` of their own: they "
                "go to a pool of other workloads",
                sr_config_workload_name((enum sr_workload)workload), (unsigned long long)own,
                tier->model->name);
    }
}

void sr_link_tier(struct sr_binder *b, const struct sr_yaml_node *list, const struct sr_config *config,
                  size_t at)
{
    const struct sr_config_pool *pools = config->global.pools, *pool = &pools[at];
    struct tier tier = {.config = config, .pool = pool, .node = sr_link_item(list, at)};
    size_t before = 0;
    if (pool->model < 0)
        return;
    tier.model = &config->models[pool->model];
    for (size_t k = 0; k < config->global.n_pools; k++) {
        const struct sr_yaml_node *name = sr_link_name(sr_link_item(list, k), "model");
        tier.of_model += name && sr_bytes_eq(name->text, sr_bytes_str(tier.model->name));
        before += k < at && pools[k].model == pool->model;
    }
    check_workers(b, &tier);
    for (size_t k = 0; k < at; k++)
        if (pools[k].model == pool->model)
            check_pair(b, &tier, &pools[k]);
    if (tier.of_model == 1 && (pool->max_tokens || pool->max_prompt_tokens || pool->workloads))
        sr_bind_warning(
            b, tier.node,
            "pool `%.60s` is the only one of model `%.60s`: its sizes and workloads choose nothing",
            pool->name, tier.model->name);
    if (before == SR_MODEL_POOLS_MAX)
        sr_bind_error(b, tier.node, "model `%.60s` has more than %d pools", tier.model->name,
                      SR_MODEL_POOLS_MAX);
    if (tier.of_model == before + 1) { /* the last one */
        check_left(b, &tier);
        if (tier.of_model > 1)
            check_cover(b, &tier);
    }
}
