/*
 * Reask: the user's text repeats the meaning of the turns before it.
 *
 * A rule matches when each of the last `lookback_turns` turns is similar enough. Of rules that match, those
 * with the most turns stay. The vectors of earlier turns are usually remembered: each was a request's text.
 */
#include "base/mem.h"
#include "signal/topic/meaning.h"

struct sr_signal_set {
    struct sr_embedding_reader *reader; /* NULL: there is no encoder */
    const struct sr_config_reask *rules;
    size_t n, lookback; /* the most turns of a rule */
};

static void reask_free(struct sr_signal_set *set)
{
    sr_embedding_reader_unref(set->reader);
    sr_mem_free(set);
}

static int reask_compile(struct sr_signal_set **out, const struct sr_config *config,
                         struct sr_model_store *models, struct sr_err *err)
{
    if (config->n_reasks == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->rules = config->reasks;
    set->n = config->n_reasks;
    for (size_t i = 0; i < set->n; i++)
        if ((size_t)set->rules[i].lookback_turns > set->lookback)
            set->lookback = (size_t)set->rules[i].lookback_turns;
    int rc = sr_meaning_open(&set->reader, "reask", "reasks", config, models, err);
    if (rc) {
        reask_free(set);
        return rc;
    }
    *out = set;
    return SR_OK;
}

static size_t reask_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *reask_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static const char *reask_description(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].description;
}

/* Turns in a row, from the newest, that are as near as `threshold`; `*least`: the least of the rule's. */
static size_t streak(const struct sr_config_reask *rule, const double *near, size_t n, double *least)
{
    size_t turns = 0;
    *least = 1;
    for (; turns < n && near[turns] >= rule->threshold; turns++)
        if (turns < (size_t)rule->lookback_turns && near[turns] < *least)
            *least = near[turns];
    return turns;
}

static int write_result(const struct sr_signal_set *set, struct sr_signal_task *task,
                        const struct sr_embedding_answer *answers, size_t n)
{
    size_t d = sr_embedding_reader_dimensions(set->reader);
    double near[SR_MEANING_TEXTS] = {0}, least;
    int longest = 0;
    for (size_t i = 1; i < n; i++)
        near[i - 1] = (double)sr_meaning_cosine(answers[0].vector, answers[i].vector, d);
    for (size_t i = 0; i < set->n; i++) {
        struct sr_signal_hit *hit = &task->result->hits[i];
        size_t turns = streak(&set->rules[i], near, n - 1, &least);
        hit->value = (double)turns;
        hit->matched = turns >= (size_t)set->rules[i].lookback_turns;
        hit->confidence = hit->matched ? sr_meaning_confidence(least) : 0;
        if (hit->matched && set->rules[i].lookback_turns > longest)
            longest = set->rules[i].lookback_turns;
    }
    for (size_t i = 0; i < set->n; i++)
        if (task->result->hits[i].matched && set->rules[i].lookback_turns < longest)
            task->result->hits[i] = (struct sr_signal_hit){.value = task->result->hits[i].value};
    return SR_OK;
}

static int reask_start(const struct sr_signal_set *set, struct sr_signal_task *task)
{
    const struct sr_signal_facts *facts = task->input->facts;
    size_t n = facts ? facts->n_turns : 0;
    if (n > set->lookback)
        n = set->lookback;
    if (n)
        return sr_meaning_start(set, task, set->reader, set->n, facts->turns, n, write_result);
    task->result->hits = sr_signal_hits(task->arena, set->n);
    task->result->n_hits = set->n;
    return task->result->hits ? SR_OK : SR_ENOMEM;
}

const struct sr_signal_ops sr_signal_reask = {
    .name = "reask",
    .header = "x-vsr-matched-reask",
    .header_order = 15,
    .facts = true,
    .turns = true,
    .meaning = true,
    .cost_ns_per_kib = 5200000,
    .compile = reask_compile,
    .free = reask_free,
    .n_rules = reask_rules,
    .rule_name = reask_name,
    .rule_description = reask_description,
    .start = reask_start,
};
