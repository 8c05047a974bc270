/*
 * Domain: what the text is about, by the linear classifier.
 *
 * A rule stands for one or more labels of the classifier. A sure answer (entropy below 0.4) is its best label
 * alone; an unsure one is every label that reaches the threshold. When none does, the rules of the fallback
 * category match.
 */
#include "base/mem.h"
#include "infer/store.h"
#include "signal/types.h"

#define ENTROPY_LOW 0.4f

struct domain_rule {
    const char *name;
    uint64_t labels; /* mask of label indices; SR_CLASSIFIER_LABELS_MAX fit */
    bool fallback;
};

struct sr_signal_set {
    struct sr_linear *model;
    float threshold;
    size_t n;
    struct domain_rule rules[];
};

/* Case does not matter, and "computer_science" is "computer science". */
static bool same_label(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '_' || *a == '-' ? ' ' : sr_ascii_lower(*a);
        char y = *b == '_' || *b == '-' ? ' ' : sr_ascii_lower(*b);
        if (x != y)
            return false;
    }
    return *a == *b;
}

static void add_label(struct domain_rule *rule, const struct sr_linear *model, const char *label,
                      const char *fallback)
{
    const char *const *labels = sr_linear_labels(model);
    for (size_t i = 0; i < sr_linear_n_labels(model); i++)
        if (same_label(labels[i], label))
            rule->labels |= UINT64_C(1) << i;
    rule->fallback |= same_label(label, fallback);
}

static void domain_free(struct sr_signal_set *set)
{
    sr_linear_unref(set->model);
    sr_mem_free(set);
}

static int domain_compile(struct sr_signal_set **out, const struct sr_config *config,
                          struct sr_models *models, struct sr_err *err)
{
    const char *path = config->global.domain_model, *fallback = config->global.domain_fallback;
    if (config->n_domains == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_domains * sizeof *set->rules);
    if (!set)
        return SR_ENOMEM;
    struct sr_err why = {0};
    int rc = sr_models_linear(models, path ? path : "", &set->model, &why);
    if (rc) {
        bool names = rc == SR_ENOENT || rc == SR_EIO || !path || !*path;
        sr_err_set(err, rc, "%s%s%s", names ? "" : path, names ? "" : ": ", why.message);
        domain_free(set);
        return rc;
    }
    set->threshold = (float)config->global.domain_threshold;
    set->n = config->n_domains;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_domain *domain = &config->domains[i];
        struct domain_rule *rule = &set->rules[i];
        rule->name = domain->name;
        rule->fallback = same_label(domain->name, fallback ? fallback : "");
        for (size_t k = 0; k < domain->mmlu_categories.count; k++)
            add_label(rule, set->model, domain->mmlu_categories.items[k], fallback ? fallback : "");
        if (domain->mmlu_categories.count == 0)
            add_label(rule, set->model, domain->name, fallback ? fallback : "");
    }
    *out = set;
    return SR_OK;
}

static size_t domain_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *domain_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

/* The labels that count as found. */
static uint64_t found_labels(const struct sr_signal_set *set, const struct sr_signal_result *result)
{
    uint64_t found = 0;
    if (result->entropy < ENTROPY_LOW)
        return result->probabilities[result->top] >= set->threshold ? UINT64_C(1) << result->top : 0;
    for (size_t i = 0; i < result->n_labels; i++)
        if (result->probabilities[i] >= set->threshold)
            found |= UINT64_C(1) << i;
    return found;
}

static float best_of(const struct sr_signal_result *result, uint64_t labels)
{
    float best = 0;
    for (size_t i = 0; i < result->n_labels; i++)
        if ((labels >> i & 1) && result->probabilities[i] > best)
            best = result->probabilities[i];
    return best;
}

static int domain_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                      struct sr_arena *arena, struct sr_signal_result *result)
{
    size_t n = sr_linear_n_labels(set->model);
    float *probabilities = sr_arena_calloc(arena, n, sizeof *probabilities);
    result->hits = sr_signal_hits(arena, set->n);
    if (!probabilities || !result->hits)
        return SR_ENOMEM;
    sr_linear_scores(set->model, input->text, probabilities);
    result->tier = "linear";
    result->labels = sr_linear_labels(set->model);
    result->probabilities = probabilities;
    result->n_labels = n;
    result->top = (int)sr_classifier_top(probabilities, n);
    result->entropy = sr_classifier_entropy(probabilities, n);
    result->n_hits = set->n;
    uint64_t found = found_labels(set, result);
    for (size_t i = 0; i < set->n; i++) {
        const struct domain_rule *rule = &set->rules[i];
        struct sr_signal_hit *hit = &result->hits[i];
        hit->value = best_of(result, rule->labels);
        hit->matched = found ? (rule->labels & found) != 0 : rule->fallback;
        if (hit->matched)
            hit->confidence = found ? best_of(result, rule->labels & found) : probabilities[result->top];
    }
    return SR_OK;
}

const struct sr_signal_ops sr_signal_domain = {
    .name = "domain",
    .cost_ns_per_kib = 60000,
    .compile = domain_compile,
    .free = domain_free,
    .n_rules = domain_rules,
    .rule_name = domain_name,
    .run = domain_run,
};
