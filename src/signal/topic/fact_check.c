/*
 * Fact check: whether an answer to the user's text states facts that could be checked, by a small classifier
 * over the text's vector. One of its two labels always counts.
 */
#include "signal/topic/labels.h"

#include "base/mem.h"

/* In the order of the head, and of the labels of config/section/signal_meaning.c. */
static const char *const labels[] = {"no_fact_check_needed", "needs_fact_check"};
enum { NO_FACT_CHECK };

struct sr_signal_set {
    struct sr_label_set labels;
    float threshold; /* of needs_fact_check */
};

static void fact_check_free(struct sr_signal_set *set)
{
    sr_label_set_dispose(&set->labels);
    sr_mem_free(set);
}

static int fact_check_compile(struct sr_signal_set **out, const struct sr_config *config,
                              struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_fact_checks == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->labels.rules = config->fact_checks;
    set->labels.n = config->n_fact_checks;
    set->threshold = (float)config->global.fact_check_threshold;
    int rc = sr_label_set_open(&set->labels, "fact_check", "fact_check", labels,
                               sizeof labels / sizeof labels[0], config, models, err);
    if (rc) {
        fact_check_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t fact_check_rules(const struct sr_signal_set *set)
{
    return set->labels.n;
}

static const char *fact_check_name(const struct sr_signal_set *set, size_t rule)
{
    return set->labels.rules[rule].name;
}

static const char *fact_check_description(const struct sr_signal_set *set, size_t rule)
{
    return set->labels.rules[rule].description;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    (void)n;
    return sr_label_set_write(&set->labels, task, answers[0].vector, set->threshold, NO_FACT_CHECK);
}

static int fact_check_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    return sr_meaning_start(set, task, set->labels.reader, set->labels.n, NULL, 0, write_result);
}

const struct sr_signal_ops sr_signal_fact_check = {
    .name = "fact_check",
    .header = "x-vsr-matched-fact-check",
    .header_order = 13,
    .meaning = true,
    .cost_ns_per_kib = 5000000,
    .compile = fact_check_compile,
    .free = fact_check_free,
    .n_rules = fact_check_rules,
    .rule_name = fact_check_name,
    .rule_description = fact_check_description,
    .start = fact_check_start,
};
