/* Metadata: a value of the request's `metadata` object, as the client wrote it. */
#include "base/mem.h"
#include "signal/types.h"

struct sr_signal_set {
    const struct sr_config_metadata *rules;
    size_t n;
};

static int metadata_compile(struct sr_signal_set **set, const struct sr_config *config,
                            struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    (void)err;
    if (config->n_metadatas == 0)
        return SR_OK;
    *set = sr_mem_calloc(1, sizeof **set);
    if (!*set)
        return SR_ENOMEM;
    (*set)->rules = config->metadatas;
    (*set)->n = config->n_metadatas;
    return SR_OK;
}

static void metadata_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t metadata_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *metadata_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *metadata_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

/* The value of a key, of a repeated one the last; `p` NULL: absent. */
static struct sr_bytes value_of(const struct sr_signal_facts *facts, const char *key)
{
    struct sr_bytes value = {NULL, 0};
    for (size_t i = 0; facts && i < facts->n_metadata; i++)
        if (sr_bytes_eq(facts->metadata[i].key, sr_bytes_str(key)))
            value = facts->metadata[i].value;
    return value;
}

static bool holds(const struct sr_config_metadata *rule, struct sr_bytes value)
{
    if (rule->equals)
        return value.p && sr_bytes_eq(value, sr_bytes_str(rule->equals));
    for (size_t i = 0; value.p && i < rule->in.count; i++)
        if (sr_bytes_eq(value, sr_bytes_str(rule->in.items[i])))
            return true;
    return !rule->in.count && rule->exists == (value.p != NULL);
}

static int metadata_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                        struct sr_arena *arena, struct sr_signal_result *result)
{
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    result->n_hits = set->n;
    for (size_t i = 0; i < set->n; i++) {
        result->hits[i].matched = holds(&set->rules[i], value_of(input->facts, set->rules[i].key));
        result->hits[i].confidence = result->hits[i].matched ? 1.0f : 0.0f;
    }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_metadata = {
    .name = "metadata",
    .header = "x-vsr-matched-metadata",
    .header_order = 9,
    .reads = SR_SIGNAL_READS_WHOLE,
    .facts = true,
    .cost_ns_per_kib = 1,
    .compile = metadata_compile,
    .free = metadata_free,
    .n_rules = metadata_rules,
    .rule_name = metadata_name,
    .rule_description = metadata_description,
    .run = metadata_run,
};
