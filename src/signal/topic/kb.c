/*
 * Kb: labels of knowledge bases that the user's text is near to, and groups of such labels.
 *
 * Each base that a rule or a score names is a bank of example texts for each label. Beside the configured
 * rules the set has one for each metric of a base, "BASE/METRIC", which never matches and whose value is the
 * number.
 */
#include "base/mem.h"
#include "config/link/signals.h"
#include "signal/topic/kb_file.h"
#include "signal/topic/meaning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ARENA_MAX ((size_t)64 << 20)

struct base {
    const struct sr_config_kb *config;
    struct sr_kb_labels labels;
    struct sr_bank *banks; /* [labels.n] */
    float *thresholds;     /* [labels.n] */
    size_t first_metric;   /* index of its "best_score" among the rules */
};

struct sr_signal_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    struct sr_arena arena;
    const struct sr_config_kb_rule *rules;
    size_t n, n_bases, n_names;
    struct base *bases;
    const char **names; /* of metrics, after the rules */
};

static void kb_free(struct sr_signal_set *set)
{
    for (size_t i = 0; i < set->n_bases; i++)
        for (size_t k = 0; set->bases[i].banks && k < set->bases[i].labels.n; k++)
            sr_bank_dispose(&set->bases[i].banks[k]);
    sr_embedding_reader_unref(set->reader);
    sr_arena_dispose(&set->arena);
    sr_mem_free(set);
}

static struct base *find_base(const struct sr_signal_set *set, const char *name)
{
    for (size_t i = 0; i < set->n_bases; i++)
        if (strcmp(set->bases[i].config->name, name) == 0)
            return &set->bases[i];
    return NULL;
}

static void add_base(struct sr_signal_set *set, const struct sr_config *config, const char *name)
{
    const struct sr_config_kb *kb = sr_config_find_kb(config, sr_bytes_str(name));
    if (kb && !kb->absent && !find_base(set, name))
        set->bases[set->n_bases++].config = kb;
}

/* The bases that rules and scores name. */
static int list_bases(struct sr_signal_set *set, const struct sr_config *config)
{
    size_t most = config->n_kb_rules;
    for (size_t i = 0; i < config->n_scores; i++)
        most += config->scores[i].n_inputs;
    set->bases = sr_arena_calloc(&set->arena, most + 1, sizeof *set->bases);
    if (!set->bases)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->n_kb_rules; i++)
        add_base(set, config, config->kb_rules[i].kb);
    for (size_t i = 0; i < config->n_scores; i++)
        for (size_t k = 0; k < config->scores[i].n_inputs; k++)
            if (strcmp(config->scores[i].inputs[k].type, "kb_metric") == 0)
                add_base(set, config, config->scores[i].inputs[k].kb);
    return SR_OK;
}

static float threshold_of(const struct sr_config_kb *kb, const char *label)
{
    for (size_t i = 0; i < kb->label_thresholds.count; i++)
        if (strcmp(kb->label_thresholds.items[i].name, label) == 0)
            return strtof(kb->label_thresholds.items[i].value, NULL);
    return (float)kb->threshold;
}

static int open_base(struct sr_signal_set *set, struct base *base, struct sr_err *err)
{
    int rc = sr_kb_read(&base->labels, base->config, &set->arena, err);
    if (rc)
        return rc;
    struct sr_bank *banks = sr_arena_calloc(&set->arena, base->labels.n, sizeof *banks);
    base->thresholds = sr_arena_calloc(&set->arena, base->labels.n, sizeof *base->thresholds);
    if (!banks || !base->thresholds)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    base->banks = banks;
    for (size_t k = 0; k < base->labels.n && rc == SR_OK; k++) {
        base->thresholds[k] = threshold_of(base->config, base->labels.items[k].name);
        rc = sr_bank_read(&banks[k], set->reader, &base->labels.items[k].texts, err);
    }
    return rc;
}

static int name_metrics(struct sr_signal_set *set)
{
    size_t n = 0;
    for (size_t i = 0; i < set->n_bases; i++)
        n += 2 + set->bases[i].config->n_metrics;
    set->names = sr_arena_calloc(&set->arena, n + 1, sizeof *set->names);
    if (!set->names)
        return SR_ENOMEM;
    for (size_t i = 0; i < set->n_bases; i++) {
        const struct sr_config_kb *kb = set->bases[i].config;
        set->bases[i].first_metric = set->n + set->n_names;
        for (size_t k = 0; k < 2 + kb->n_metrics; k++) {
            const char *metric = k == 0   ? "best_score"
                                 : k == 1 ? "best_matched_score"
                                          : kb->metrics[k - 2].name;
            const char *name = sr_arena_printf(&set->arena, "%s/%s", kb->name, metric);
            if (!name)
                return SR_ENOMEM;
            set->names[set->n_names++] = name;
        }
    }
    return SR_OK;
}

static bool has_label(const struct base *base, const char *name)
{
    for (size_t i = 0; i < base->labels.n; i++)
        if (strcmp(base->labels.items[i].name, name) == 0)
            return true;
    return false;
}

static int check_rules(const struct sr_signal_set *set, struct sr_err *err)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_kb_rule *rule = &set->rules[i];
        const struct base *base = find_base(set, rule->kb);
        if (!base) /* a lenient load has left it out: the rule never matches */
            continue;
        bool found = !rule->is_group && has_label(base, rule->value);
        for (size_t k = 0; rule->is_group && k < base->config->n_groups; k++)
            found |= strcmp(base->config->groups[k].name, rule->value) == 0;
        if (!found)
            return sr_err_set(err, SR_EINVAL, "rule `%.60s`: knowledge base `%.60s` has no %s `%.60s`",
                              rule->name, rule->kb, rule->is_group ? "group" : "label", rule->value);
    }
    return SR_OK;
}

static int open_all(struct sr_signal_set *set, const struct sr_config *config, struct sr_model_store *models,
                    struct sr_err *err)
{
    struct sr_err why = {0};
    int rc = sr_meaning_open(&set->reader, "kb", "kb", config, models, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < set->n_bases && rc == SR_OK; i++)
        rc = open_base(set, &set->bases[i], &why);
    if (rc == SR_OK)
        rc = name_metrics(set);
    if (rc == SR_OK)
        rc = check_rules(set, &why);
    return rc ? sr_err_set(err, rc, "routing.signals.kb: %s", why.message[0] ? why.message : sr_strerror(rc))
              : SR_OK;
}

static int kb_compile(struct sr_signal_set **out, const struct sr_config *config,
                      struct sr_model_store *models, struct sr_err *err)
{
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    sr_arena_init(&set->arena, ARENA_MAX);
    set->rules = config->kb_rules;
    set->n = config->n_kb_rules;
    int rc = list_bases(set, config);
    bool empty = set->n == 0 && set->n_bases == 0;
    if (rc == SR_OK && !empty)
        rc = open_all(set, config, models, err);
    if (rc || empty) {
        kb_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t kb_rules(const struct sr_signal_set *set)
{
    return set->n + set->n_names;
}

static const char *kb_name(const struct sr_signal_set *set, size_t rule)
{
    return rule < set->n ? set->rules[rule].name : set->names[rule - set->n];
}

/* ---- evaluation ---- */

/* How near a text is to the labels of a base. */
struct scores {
    const struct base *base;
    float *label; /* [labels.n] */
};

static float best_label(const struct scores *scores, bool matched)
{
    float best = matched ? 0 : -2;
    for (size_t i = 0; i < scores->base->labels.n; i++)
        if ((!matched || scores->label[i] >= scores->base->thresholds[i]) && scores->label[i] > best)
            best = scores->label[i];
    return best;
}

/* The best of a group's labels; `*matched`: one of them reaches its threshold. */
static float group_score(const struct scores *scores, const struct sr_named_strings *group, bool *matched)
{
    float best = 0;
    *matched = false;
    for (size_t i = 0; i < scores->base->labels.n; i++)
        for (size_t k = 0; k < group->texts.count; k++)
            if (strcmp(group->texts.items[k], scores->base->labels.items[i].name) == 0) {
                *matched |= scores->label[i] >= scores->base->thresholds[i];
                best = fmaxf(best, scores->label[i]);
            }
    return best;
}

static float named_group(const struct scores *scores, const char *name, bool *matched)
{
    const struct sr_config_kb *kb = scores->base->config;
    *matched = false;
    for (size_t i = 0; i < kb->n_groups; i++)
        if (strcmp(kb->groups[i].name, name) == 0)
            return group_score(scores, &kb->groups[i], matched);
    return 0;
}

static float best_group(const struct scores *scores)
{
    bool ignored;
    float best = 0;
    for (size_t i = 0; i < scores->base->config->n_groups; i++)
        best = fmaxf(best, group_score(scores, &scores->base->config->groups[i], &ignored));
    return best;
}

static void decide(const struct sr_config_kb_rule *rule, const struct scores *scores,
                   struct sr_signal_hit *hit)
{
    bool matched = false;
    float score = 0, best = rule->is_group ? best_group(scores) : best_label(scores, false);
    if (rule->is_group)
        score = named_group(scores, rule->value, &matched);
    for (size_t i = 0; !rule->is_group && i < scores->base->labels.n; i++)
        if (strcmp(scores->base->labels.items[i].name, rule->value) == 0) {
            score = scores->label[i];
            matched = score >= scores->base->thresholds[i];
        }
    hit->value = (double)score;
    hit->matched = rule->is_best ? score >= best : matched;
    hit->confidence = hit->matched ? sr_meaning_confidence((double)score) : 0;
}

static void measure(const struct scores *scores, struct sr_signal_hit *hits)
{
    const struct sr_config_kb *kb = scores->base->config;
    hits[0].value = (double)best_label(scores, false);
    hits[1].value = (double)best_label(scores, true);
    for (size_t i = 0; i < kb->n_metrics; i++) {
        bool ignored;
        hits[2 + i].value = (double)(named_group(scores, kb->metrics[i].positive_group, &ignored) -
                                     named_group(scores, kb->metrics[i].negative_group, &ignored));
    }
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    (void)n;
    for (size_t i = 0; i < set->n_bases; i++) {
        struct scores scores = {.base = &set->bases[i]};
        scores.label = sr_arena_calloc(task->arena, scores.base->labels.n, sizeof *scores.label);
        if (!scores.label)
            return SR_ENOMEM;
        for (size_t k = 0; k < scores.base->labels.n; k++)
            scores.label[k] = sr_bank_nearness(&scores.base->banks[k], answers[0].vector);
        for (size_t k = 0; k < set->n; k++)
            if (strcmp(set->rules[k].kb, scores.base->config->name) == 0)
                decide(&set->rules[k], &scores, &task->result->hits[k]);
        measure(&scores, &task->result->hits[scores.base->first_metric]);
    }
    return SR_OK;
}

static int kb_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    return sr_meaning_start(set, task, set->reader, set->n + set->n_names, NULL, 0, write_result);
}

const struct sr_signal_ops sr_signal_kb = {
    .name = "kb",
    .header = "x-vsr-matched-kb",
    .header_order = 18,
    .meaning = true,
    .cost_ns_per_kib = 5000000,
    .compile = kb_compile,
    .free = kb_free,
    .n_rules = kb_rules,
    .rule_name = kb_name,
    .start = kb_start,
};
