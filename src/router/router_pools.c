/* From the entries of a model to groups of workers. A model without an entry has one pool of all backends. */
#include "router/router_pools.h"

#include "base/clock.h"
#include "base/mem.h"
#include "router/prompt/prompt.h"

static struct sr_pool_settings settings_of(const struct sr_config_pool *entry)
{
    const struct sr_config_picking *picking = &entry->picking;
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    settings.block_tokens = picking->block_tokens;
    settings.blocks = picking->blocks;
    if (entry->kv_events.endpoint[0])
        settings.kv_blocks = entry->kv_events.max_blocks;
    settings.bound = picking->session_bound;
    settings.overlap_weight = picking->overlap_weight;
    settings.temperature = picking->temperature;
    settings.threshold = picking->threshold;
    settings.recent = picking->recent;
    settings.guard = picking->load_guard;
    return settings;
}

static struct sr_pool_limits limits_of(const struct sr_config_pool *entry)
{
    return (struct sr_pool_limits){.discovered = sr_config_pool_discovers(entry),
                                   .max_in_flight = entry->max_in_flight,
                                   .queue_max = entry->queue.max,
                                   .queue_ns = entry->queue.timeout_ms * SR_NS_PER_MS,
                                   .slow_start_ns = entry->slow_start_ms * SR_NS_PER_MS};
}

/* The targets of the pool's workers, and the workers. */
static int take_targets(struct sr_router_pool *out, const struct sr_router_model *of,
                        const struct sr_config_model *model, struct sr_pool_backend *backends,
                        struct sr_arena *arena)
{
    struct sr_target *targets = sr_arena_calloc(arena, of->n_targets + 1, sizeof *targets);
    const struct sr_config_backend **from = sr_arena_calloc(arena, of->n_targets + 1, sizeof(void *));
    if (!targets || !from)
        return SR_ENOMEM;
    for (size_t i = 0; i < of->n_targets && !out->discovered; i++) {
        const struct sr_target *target = &of->targets[i];
        if (out->entry && !sr_config_pool_has(out->entry, &model->backends[i]))
            continue;
        backends[out->n_targets] = (struct sr_pool_backend){
            .scheme = target->scheme,
            .host = target->host,
            .port = target->port,
            .base_path = target->base_path,
            .weight = target->weight,
            .backup = out->entry && sr_config_pool_is_backup(out->entry, &model->backends[i]),
        };
        from[out->n_targets] = &model->backends[i];
        targets[out->n_targets++] = *target;
    }
    out->targets = targets;
    out->backends = from;
    return SR_OK;
}

static int open_pool(struct sr_router_pool *out, const struct sr_router_model *of,
                     const struct sr_config_model *model, struct sr_pool *pool, struct sr_arena *arena,
                     struct sr_err *err)
{
    const struct sr_config_pool *entry = out->entry;
    const struct sr_config_reliability *reliability = &model->reliability;
    struct sr_pool_ejection ejection = {
        reliability->consecutive_failures, reliability->base_ejection_ms * SR_NS_PER_MS,
        reliability->max_ejection_percent, SR_POOL_SLOW_TIMES, SR_POOL_RECOVERY_NS};
    const char *policy = reliability->balance == SR_BALANCE_LEAST_REQUEST ? "least_request" : NULL;
    struct sr_pool_settings settings = sr_pool_settings_defaults();
    struct sr_pool_limits limits = {0};
    if (entry) {
        settings = settings_of(entry);
        limits = limits_of(entry);
        ejection.slow_times = entry->slow.times;
        ejection.recovery_ns = entry->slow.recovery_ms * SR_NS_PER_MS;
        policy = entry->policy[0] ? entry->policy : policy;
    }
    struct sr_pool_backend *backends = sr_mem_calloc(of->n_targets + 1, sizeof *backends);
    if (!backends)
        return SR_ENOMEM;
    out->discovered = limits.discovered;
    int rc = take_targets(out, of, model, backends, arena);
    if (!rc)
        rc = sr_pool_group_get(pool, &out->group, entry ? entry->name : model->name, policy,
                               entry ? &settings : NULL, &ejection, &limits, backends, out->n_targets, err);
    sr_mem_free(backends);
    return rc;
}

/* The tokenizer of a pool that names one. */
static int open_prompts(struct sr_router_pool *out, struct sr_model_store *models, struct sr_err *err)
{
    struct sr_err why = {0};
    const struct sr_config_kv_events *events = out->entry ? &out->entry->kv_events : NULL;
    if (!events || !events->tokenizer[0])
        return SR_OK;
    int rc = sr_prompts_new(&out->prompts, models, events->tokenizer, events->chat_template, &why);
    return rc ? sr_err_set(err, rc, "pool `%.60s`: %s", out->entry->name, why.message) : SR_OK;
}

int sr_router_pools_check(const struct sr_config *config, struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t i = 0; i < config->global.n_pools && rc == SR_OK; i++) {
        struct sr_router_pool pool = {.entry = &config->global.pools[i]};
        rc = open_prompts(&pool, NULL, err);
        sr_prompts_unref(pool.prompts);
    }
    return rc;
}

int sr_router_pools_open(struct sr_router_model *out, const struct sr_config *config,
                         const struct sr_config_model *model, struct sr_model_store *models,
                         struct sr_pool *pool, struct sr_arena *arena, struct sr_err *err)
{
    size_t n = 0;
    const struct sr_config_pool *entries = config->global.pools;
    out->pools = sr_arena_calloc(arena, config->global.n_pools + 1, sizeof *out->pools);
    if (!out->pools)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->global.n_pools; i++)
        if (entries[i].model == (int)(model - config->models))
            out->pools[n++].entry = &entries[i];
    n = n ? n : 1;
    int rc = n > 1 ? sr_pool_sizes_get(pool, &out->sizes, model->name) : SR_OK;
    for (; out->n_pools < n && rc == SR_OK; out->n_pools += rc == SR_OK) {
        rc = open_prompts(&out->pools[out->n_pools], models, err);
        if (rc == SR_OK)
            rc = open_pool(&out->pools[out->n_pools], out, model, pool, arena, err);
    }
    return rc;
}

void sr_router_pools_close(struct sr_router_model *model, struct sr_pool *pool)
{
    for (size_t i = 0; i < model->n_pools; i++) {
        sr_prompts_unref(model->pools[i].prompts);
        sr_pool_group_unref(model->pools[i].group);
    }
    sr_pool_sizes_unref(pool, model->sizes);
}
