/* Context: matches when the estimated token count of the whole request is inside a rule's bounds (both
 * inclusive). */
#include "base/mem.h"
#include "signal/types.h"

struct sr_signal_set {
    const struct sr_config_context *rules;
    size_t n;
};

static int context_compile(struct sr_signal_set **set, const struct sr_config *config,
                           struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    (void)err;
    if (config->n_contexts == 0)
        return SR_OK;
    *set = sr_mem_calloc(1, sizeof **set);
    if (!*set)
        return SR_ENOMEM;
    (*set)->rules = config->contexts;
    (*set)->n = config->n_contexts;
    return SR_OK;
}

static void context_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t context_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *context_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static int context_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                       struct sr_arena *arena, struct sr_signal_result *result)
{
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = set->n;
    for (size_t i = 0; i < set->n; i++) {
        struct sr_signal_hit *hit = &result->hits[i];
        hit->value = (double)input->total_tokens;
        hit->matched = input->total_tokens >= set->rules[i].min_tokens &&
                       input->total_tokens <= set->rules[i].max_tokens;
        hit->confidence = hit->matched ? 1.0f : 0.0f;
    }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_context = {
    .name = "context",
    .header = "x-vsr-matched-context",
    .header_order = 3,
    .reads = SR_SIGNAL_READS_WHOLE,
    .cost_ns_per_kib = 1,
    .compile = context_compile,
    .free = context_free,
    .n_rules = context_rules,
    .rule_name = context_name,
    .run = context_run,
};
