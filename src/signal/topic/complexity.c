/*
 * Complexity: whether a request is hard, medium or easy, by how much nearer its text is to hard examples than
 * to easy ones.
 *
 * Each configured rule is three: NAME:hard, NAME:medium and NAME:easy, of which one matches. Its composer
 * must match too; it is decided with the results of other types, in `settle`.
 */
#include "base/mem.h"
#include "signal/derived/composer.h"
#include "signal/topic/meaning.h"

#include <math.h>
#include <stdio.h>

enum level { HARD, MEDIUM, EASY, LEVELS };

struct complexity_rule {
    struct sr_bank hard, easy;
    char *names[LEVELS];
};

struct sr_signal_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    const struct sr_config_complexity *rules;
    size_t n;
    struct complexity_rule own[];
};

static void complexity_free(struct sr_signal_set *set)
{
    sr_embedding_reader_unref(set->reader);
    for (size_t i = 0; i < set->n; i++) {
        sr_bank_dispose(&set->own[i].hard);
        sr_bank_dispose(&set->own[i].easy);
        for (int level = 0; level < LEVELS; level++)
            sr_mem_free(set->own[i].names[level]);
    }
    sr_mem_free(set);
}

static int name_levels(struct complexity_rule *rule, const char *name)
{
    static const char *const levels[LEVELS] = {"hard", "medium", "easy"};
    size_t room = strlen(name) + sizeof ":medium";
    for (int level = 0; level < LEVELS; level++) {
        rule->names[level] = sr_mem_alloc(room);
        if (!rule->names[level])
            return SR_ENOMEM;
        snprintf(rule->names[level], room, "%s:%s", name, levels[level]);
    }
    return SR_OK;
}

static int read_rules(struct sr_signal_set *set, struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = SR_OK;
    for (size_t i = 0; i < set->n && rc == SR_OK; i++) {
        rc = name_levels(&set->own[i], set->rules[i].name);
        if (rc == SR_OK)
            rc = sr_bank_read(&set->own[i].hard, set->reader, &set->rules[i].hard, &why);
        if (rc == SR_OK)
            rc = sr_bank_read(&set->own[i].easy, set->reader, &set->rules[i].easy, &why);
    }
    return rc ? sr_err_set(err, rc, "routing.signals.complexity: %s", why.message) : SR_OK;
}

static int complexity_compile(struct sr_signal_set **out, const struct sr_config *config,
                              struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_complexities == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set + config->n_complexities * sizeof set->own[0]);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->complexities;
    set->n = config->n_complexities;
    int rc = sr_meaning_open(&set->reader, "complexity", "complexity", config, models, err);
    if (rc == SR_OK)
        rc = read_rules(set, err);
    if (rc) {
        complexity_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t complexity_rules(const struct sr_signal_set *set)
{
    return set->n * LEVELS;
}

static const char *complexity_name(const struct sr_signal_set *set, size_t rule)
{
    return set->own[rule / LEVELS].names[rule % LEVELS];
}

static const char *complexity_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule / LEVELS].description;
}

static enum level level_of(const struct sr_config_complexity *rule, double margin)
{
    bool pair = !isnan(rule->hard_above);
    double above = pair ? rule->hard_above : rule->threshold;
    double below = pair ? rule->easy_below : -rule->threshold;
    return margin > above ? HARD : margin < below ? EASY : MEDIUM;
}

/* The value of each of the three is the margin, the confidence its size. */
static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    (void)n;
    for (size_t i = 0; i < set->n; i++) {
        struct sr_signal_hit *hits = &task->result->hits[i * LEVELS];
        double margin = (double)sr_bank_nearness(&set->own[i].hard, answers[0].vector) -
                        (double)sr_bank_nearness(&set->own[i].easy, answers[0].vector);
        for (int level = 0; level < LEVELS; level++)
            hits[level].value = margin;
        enum level level = level_of(&set->rules[i], margin);
        hits[level].matched = true;
        hits[level].confidence = sr_meaning_confidence(fabs(margin));
    }
    return SR_OK;
}

static int complexity_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    return sr_meaning_start(set, task, set->reader, set->n * LEVELS, NULL, 0, write_result);
}

static uint32_t complexity_needs(const struct sr_signal_set *set, int (*find)(struct sr_bytes name))
{
    uint32_t needs = 0;
    for (size_t i = 0; i < set->n; i++)
        if (set->rules[i].has_composer)
            needs |= sr_composer_types(&set->rules[i].composer, find);
    return needs & ~(UINT32_C(1) << SR_SIGNAL_COMPLEXITY | UINT32_C(1) << SR_SIGNAL_PROJECTION);
}

static int complexity_settle(const struct sr_signal_set *set, const struct sr_signal_others *others,
                             struct sr_signal_result *result)
{
    bool unsure = false;
    for (size_t i = 0; i < set->n && result->n_hits; i++) {
        struct sr_signal_hit *hits = &result->hits[i * LEVELS];
        if (!set->rules[i].has_composer || sr_composer_matches(&set->rules[i].composer, others, &unsure))
            continue;
        for (int level = 0; level < LEVELS; level++)
            hits[level] = (struct sr_signal_hit){.value = hits[level].value};
    }
    result->unread_bytes += unsure;
    return SR_OK;
}

const struct sr_signal_ops sr_signal_complexity = {
    .name = "complexity",
    .header = "x-vsr-matched-complexity",
    .header_order = 17,
    .meaning = true,
    .cost_ns_per_kib = 5000000,
    .compile = complexity_compile,
    .free = complexity_free,
    .n_rules = complexity_rules,
    .rule_name = complexity_name,
    .rule_description = complexity_description,
    .start = complexity_start,
    .needs = complexity_needs,
    .settle = complexity_settle,
};
