/*
 * Projection: names for ranges of scores, which are weighted sums of what rules of other types found.
 *
 * A rule is an output of a mapping. It reads no text: `settle` computes it when the types of its inputs have
 * results. An input that failed counts as one that does not match; then an output that does not match is not
 * sure, and on_error decides.
 */
#include "base/mem.h"
#include "signal/types.h"

#include <math.h>
#include <stdio.h>

struct sr_signal_set {
    const struct sr_config *config;
    size_t n; /* outputs of all mappings */
};

static int projection_compile(struct sr_signal_set **out, const struct sr_config *config,
                              struct sr_model_store *models, struct sr_err *err)
{
    size_t n = 0;
    (void)models;
    (void)err;
    for (size_t i = 0; i < config->n_mappings; i++)
        n += config->mappings[i].n_bands;
    if (n == 0)
        return SR_OK;
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    (*out)->config = config;
    (*out)->n = n;
    return SR_OK;
}

static void projection_free(struct sr_signal_set *set)
{
    sr_mem_free(set);
}

static size_t projection_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *projection_name(const struct sr_signal_set *set, size_t rule)
{
    const struct sr_config_mapping *mapping = set->config->mappings;
    for (; rule >= mapping->n_bands; mapping++)
        rule -= mapping->n_bands;
    return mapping->bands[rule].name;
}

static bool is_metric(const struct sr_config_score_input *input)
{
    return strcmp(input->type, "kb_metric") == 0;
}

static uint32_t projection_needs(const struct sr_signal_set *set, int (*find)(struct sr_bytes name))
{
    uint32_t needs = 0;
    for (size_t i = 0; i < set->config->n_scores; i++)
        for (size_t k = 0; k < set->config->scores[i].n_inputs; k++) {
            const struct sr_config_score_input *input = &set->config->scores[i].inputs[k];
            int type = is_metric(input) ? (int)SR_SIGNAL_KB : find(sr_bytes_str(input->type));
            if (type >= 0 && type != SR_SIGNAL_PROJECTION)
                needs |= UINT32_C(1) << type;
        }
    return needs;
}

/* What results an output is computed from. */
struct sources {
    const struct sr_signal_others *others;
    bool unsure; /* an input is not known */
};

/* A metric is a rule of type `kb` that never matches. */
static double metric_value(const struct sr_config_score_input *input, struct sources *from)
{
    char name[512];
    snprintf(name, sizeof name, "%s/%s", input->kb, input->metric);
    double value = from->others->found(from->others, "kb", name).value;
    from->unsure |= isnan(value);
    return isnan(value) ? 0 : value;
}

static double input_value(const struct sr_config_score_input *input, struct sources *from)
{
    if (is_metric(input))
        return metric_value(input, from);
    struct sr_found found = from->others->found(from->others, input->type, input->name);
    from->unsure |= !found.known;
    if (input->value == SR_PROJECTION_CONFIDENCE)
        return (double)found.confidence;
    if (input->value == SR_PROJECTION_RAW)
        return isnan(found.value) ? 0 : found.value;
    return found.matched ? input->match : input->miss;
}

static double score_value(const struct sr_config *config, const char *name, struct sources *from)
{
    double sum = 0;
    for (size_t i = 0; i < config->n_scores; i++) {
        const struct sr_config_score *score = &config->scores[i];
        for (size_t k = 0; strcmp(score->name, name) == 0 && k < score->n_inputs; k++)
            sum += score->inputs[k].weight * input_value(&score->inputs[k], from);
    }
    return sum;
}

/* The confidence grows with the distance to the nearest bound: 1 / (1 + exp(-slope * distance)), as vLLM
 * Semantic Router has it. */
static float confidence(const struct sr_config_mapping *mapping, const struct sr_config_predicate *bounds,
                        double value)
{
    const double all[] = {bounds->gt, bounds->gte, bounds->lt, bounds->lte};
    double nearest = INFINITY;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        nearest = fmin(nearest, fabs(value - all[i])); /* a NAN side gives the other */
    return (float)(1 / (1 + exp(-mapping->slope * (isinf(nearest) ? 1 : nearest))));
}

static bool fits(const struct sr_config_predicate *bounds, double value)
{
    return !sr_predicate_any(bounds) || sr_predicate_holds(bounds, value);
}

static int projection_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                          struct sr_arena *arena, struct sr_signal_result *result)
{
    (void)input;
    result->hits = sr_signal_hits(arena, set->n);
    result->n_hits = result->hits ? set->n : 0;
    return result->hits ? SR_OK : SR_ENOMEM;
}

static int projection_settle(const struct sr_signal_set *set, const struct sr_signal_others *others,
                             struct sr_signal_result *result)
{
    struct sources from = {others, false};
    size_t at = 0;
    for (size_t i = 0; i < set->config->n_mappings; i++) {
        const struct sr_config_mapping *mapping = &set->config->mappings[i];
        double value = score_value(set->config, mapping->source, &from);
        bool found = false;
        for (size_t k = 0; k < mapping->n_bands; k++) {
            const struct sr_config_predicate *bounds = &mapping->bands[k].bounds;
            struct sr_signal_hit *hit = &result->hits[at++];
            hit->value = value;
            hit->matched = (mapping->all || !found) && fits(bounds, value);
            hit->confidence = hit->matched ? confidence(mapping, bounds, value) : 0;
            found |= hit->matched;
        }
    }
    result->unread_bytes += from.unsure;
    result->all_bytes += from.unsure;
    return SR_OK;
}

const struct sr_signal_ops sr_signal_projection = {
    .name = "projection",
    .header = "x-vsr-matched-projections",
    .header_order = 19,
    .reads = SR_SIGNAL_READS_WHOLE,
    .cost_ns_per_kib = 1,
    .compile = projection_compile,
    .free = projection_free,
    .n_rules = projection_rules,
    .rule_name = projection_name,
    .run = projection_run,
    .needs = projection_needs,
    .settle = projection_settle,
};
