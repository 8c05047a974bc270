/*
 * Preference: of all rules the one whose example texts are nearest to the user's text matches, if it is near
 * enough.
 */
#include "base/mem.h"
#include "signal/topic/meaning.h"

struct sr_signal_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    const struct sr_config_preference *rules;
    size_t n;
    struct sr_bank banks[];
};

static void preference_free(struct sr_signal_set *set)
{
    sr_embedding_reader_unref(set->reader);
    for (size_t i = 0; i < set->n; i++)
        sr_bank_dispose(&set->banks[i]);
    sr_mem_free(set);
}

static int read_banks(struct sr_signal_set *set, struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = SR_OK;
    for (size_t i = 0; i < set->n && rc == SR_OK; i++) {
        const char *description[] = {set->rules[i].description};
        struct sr_strings texts = set->rules[i].examples;
        if (!texts.count)
            texts = (struct sr_strings){description, 1};
        rc = sr_bank_read(&set->banks[i], set->reader, &texts, &why);
    }
    return rc ? sr_err_set(err, rc, "routing.signals.preferences: %s", why.message) : SR_OK;
}

static int preference_compile(struct sr_signal_set **out, const struct sr_config *config,
                              struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_preferences == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_preferences * sizeof set->banks[0]);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->preferences;
    set->n = config->n_preferences;
    int rc = sr_meaning_open(&set->reader, "preference", "preferences", config, models, err);
    if (rc == SR_OK)
        rc = read_banks(set, err);
    if (rc) {
        preference_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t preference_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *preference_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *preference_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    size_t best = 0;
    (void)n;
    for (size_t i = 0; i < set->n; i++) {
        task->result->hits[i].value = (double)sr_bank_nearness(&set->banks[i], answers[0].vector);
        if (task->result->hits[i].value > task->result->hits[best].value)
            best = i;
    }
    struct sr_signal_hit *hit = &task->result->hits[best];
    hit->matched = set->rules[best].threshold <= 0 || hit->value >= set->rules[best].threshold;
    hit->confidence = hit->matched ? sr_meaning_confidence(hit->value) : 0;
    return SR_OK;
}

static int preference_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    return sr_meaning_start(set, task, set->reader, set->n, NULL, 0, write_result);
}

const struct sr_signal_ops sr_signal_preference = {
    .name = "preference",
    .header = "x-vsr-matched-preference",
    .header_order = 16,
    .meaning = true,
    .cost_ns_per_kib = 5000000,
    .compile = preference_compile,
    .free = preference_free,
    .n_rules = preference_rules,
    .rule_name = preference_name,
    .rule_description = preference_description,
    .start = preference_start,
};
