/* Collects the pools of each group of the order, and sorts them by size. */
#include "router/pick/tiers.h"

enum kind { NAMES_IT, FOR_ALL, FOR_OTHERS };

static enum kind kind_of(const struct sr_config_pool *pool, enum sr_workload workload)
{
    if (!pool->workloads)
        return FOR_ALL;
    return pool->workloads >> workload & 1 ? NAMES_IT : FOR_OTHERS;
}

static uint64_t limit(uint64_t tokens)
{
    return tokens ? tokens : UINT64_MAX;
}

static bool fits(const struct sr_config_pool *pool, const struct sr_tier_size *size)
{
    return size->prompt_tokens <= limit(pool->max_prompt_tokens) &&
           size->prompt_tokens + size->answer_tokens <= limit(pool->max_tokens);
}

static bool is_smaller(const struct sr_config_pool *a, const struct sr_config_pool *b)
{
    if (a->max_tokens != b->max_tokens)
        return limit(a->max_tokens) < limit(b->max_tokens);
    return limit(a->max_prompt_tokens) < limit(b->max_prompt_tokens);
}

/* Adds the pools of a kind, the smallest first; equal ones as they are configured. */
static void add(struct sr_tiers *tiers, const struct sr_router_model *model, const struct sr_tier_size *size,
                enum kind kind, bool must_fit)
{
    size_t first = tiers->n;
    for (size_t i = 0; i < model->n_pools && tiers->n < SR_MODEL_POOLS_MAX; i++) {
        const struct sr_config_pool *pool = model->pools[i].entry;
        if (kind_of(pool, size->workload) != kind || (must_fit && !fits(pool, size)))
            continue;
        size_t at = tiers->n++;
        for (; at > first && is_smaller(pool, model->pools[tiers->order[at - 1]].entry); at--)
            tiers->order[at] = tiers->order[at - 1];
        tiers->order[at] = (uint8_t)i;
    }
}

/* Leaves only the largest one. */
static void keep_largest(struct sr_tiers *tiers, const struct sr_router_model *model)
{
    uint8_t largest = tiers->order[0];
    for (size_t i = 1; i < tiers->n; i++)
        if (is_smaller(model->pools[largest].entry, model->pools[tiers->order[i]].entry))
            largest = tiers->order[i];
    tiers->order[0] = largest;
    tiers->n = 1;
}

struct sr_tiers sr_tiers_rank(const struct sr_router_model *model, const struct sr_tier_size *size)
{
    struct sr_tiers tiers = {.why = "fits"};
    add(&tiers, model, size, NAMES_IT, true);
    add(&tiers, model, size, FOR_ALL, true);
    if (tiers.n)
        return tiers;
    tiers.why = "other_workloads";
    add(&tiers, model, size, FOR_OTHERS, true);
    if (tiers.n)
        return tiers;
    tiers.why = "over_budget";
    add(&tiers, model, size, NAMES_IT, false);
    add(&tiers, model, size, FOR_ALL, false);
    add(&tiers, model, size, FOR_OTHERS, false);
    keep_largest(&tiers, model);
    return tiers;
}
