/*
 * The plan: decisions in the order in which they win, and the lazy search for the winner.
 *
 * The strategy decides what comes before confidence: with `priority` a group is one priority, with
 * `confidence` all decisions are one group, with tiers a group is a tier. Inside a group the highest
 * confidence wins, then the order in the plan (priority descending, name ascending). Groups are decided
 * one after the other, so signals of groups after the winner's are not evaluated. In a recipe, what it takes
 * over from the top-level block goes before all of its own.
 */
#include "decide/plan.h"

#include "base/mem.h"

#include <stdlib.h>

/* Types whose labels exclude each other: bits. */
static uint32_t classifier_types(void)
{
    uint32_t types = 0;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (sr_signal_registry[type]->classifies)
            types |= UINT32_C(1) << type;
    return types;
}

typedef bool decision_filter(const struct sr_config_decision *decision);

struct order_key {
    bool late; /* after what holds in every recipe */
    uint64_t group;
    int64_t priority;
    const char *name;
    int decision;
};

static int by_order(const void *a, const void *b)
{
    const struct order_key *x = a, *y = b;
    if (x->late != y->late)
        return x->late ? 1 : -1;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    int names = strcmp(x->name, y->name);
    return names ? names : x->decision - y->decision;
}

/* Smaller is earlier. Tier 0 (none) comes after all tiers. */
static uint64_t group_of(const struct sr_config *config, const struct sr_config_decision *decision,
                         bool tiers)
{
    if (tiers)
        return decision->tier > 0 ? (uint64_t)decision->tier : UINT64_MAX;
    if (config->strategy == SR_STRATEGY_CONFIDENCE)
        return 0;
    return UINT64_MAX - ((uint64_t)decision->priority ^ (UINT64_C(1) << 63));
}

/* Returns how many decisions the plan has. */
static size_t sort_decisions(const struct sr_config *config, decision_filter *takes, struct order_key *keys)
{
    bool tiers = false;
    size_t n = 0;
    for (size_t i = 0; i < config->n_decisions; i++)
        tiers |= takes(&config->decisions[i]) && config->decisions[i].tier > 0;
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        if (takes(decision))
            keys[n++] = (struct order_key){!decision->everywhere, group_of(config, decision, tiers),
                                           decision->priority, decision->name, (int)i};
    }
    if (n)
        qsort(keys, n, sizeof *keys, by_order);
    return n;
}

static int compile_entry(struct sr_plan *plan, struct sr_plan_entry *entry, uint32_t *used,
                         struct sr_err *err)
{
    const struct sr_config_decision *decision = &plan->config->decisions[entry->decision];
    entry->first = *used;
    entry->has_rules = decision->has_rules;
    if (entry->has_rules) {
        int rc = sr_rule_compile(&decision->rules, plan->signals, decision->name, plan->nodes, used, err);
        if (rc)
            return rc;
    }
    for (uint32_t i = entry->first; i < *used; i++)
        if (plan->nodes[i].op == SR_RULE_LEAF)
            entry->types |= UINT32_C(1) << plan->nodes[i].type;
    uint32_t classifiers = classifier_types();
    entry->by_classifier = entry->types && !(entry->types & ~classifiers);
    entry->lexical = !(entry->types & classifiers);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if (entry->types >> type & 1)
            entry->types |= sr_signals_needs(plan->signals, (enum sr_signal_type)type);
    plan->types |= entry->types;
    return SR_OK;
}

static int count_all(const struct sr_config *config, size_t *total, struct sr_err *err)
{
    if (config->n_decisions > SR_PLAN_DECISIONS_MAX)
        return sr_err_set(err, SR_ELIMIT, "more than %d decisions", SR_PLAN_DECISIONS_MAX);
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        size_t count = 0;
        int rc = decision->has_rules ? sr_rule_count(&decision->rules, decision->name, &count, err) : SR_OK;
        if (rc)
            return rc;
        *total += count;
    }
    return SR_OK;
}

static int compile_all(struct sr_plan *plan, decision_filter *takes, struct order_key *keys,
                       struct sr_err *err)
{
    uint32_t used = 0;
    plan->n = sort_decisions(plan->config, takes, keys);
    for (size_t i = 0; i < plan->n; i++) {
        struct sr_plan_entry *entry = &plan->entries[i];
        entry->decision = keys[i].decision;
        bool next = i > 0 && (keys[i].group != keys[i - 1].group || keys[i].late != keys[i - 1].late);
        entry->group = i == 0 ? 0 : plan->entries[i - 1].group + next;
        int rc = compile_entry(plan, entry, &used, err);
        if (rc)
            return rc;
    }
    return SR_OK;
}

static bool takes_all(const struct sr_config_decision *decision)
{
    (void)decision;
    return true;
}

int sr_plan_new(struct sr_plan **out, const struct sr_config *config, struct sr_signals *signals,
                struct sr_err *err)
{
    return sr_plan_new_of(out, config, signals, takes_all, err);
}

int sr_plan_new_of(struct sr_plan **out, const struct sr_config *config, struct sr_signals *signals,
                   decision_filter *takes, struct sr_err *err)
{
    size_t total = 0;
    int rc = count_all(config, &total, err);
    if (rc)
        return rc;
    struct sr_plan *plan = sr_mem_calloc(1, sizeof *plan);
    struct order_key *keys = sr_mem_calloc(config->n_decisions + 1, sizeof *keys);
    rc = sr_err_set(err, SR_ENOMEM, "out of memory");
    if (!plan || !keys)
        goto out;
    plan->config = sr_config_ref(config);
    plan->signals = sr_signals_ref(signals);
    plan->entries = sr_mem_calloc(config->n_decisions + 1, sizeof *plan->entries);
    plan->nodes = sr_mem_calloc(total + 1, sizeof *plan->nodes);
    if (plan->entries && plan->nodes)
        rc = compile_all(plan, takes, keys, err);
    if (rc) {
        sr_plan_free(plan);
        plan = NULL;
        goto out;
    }
    *out = plan;
    plan = NULL;
    if (err)
        *err = (struct sr_err){0};
out:
    sr_mem_free(keys);
    sr_mem_free(plan);
    return rc;
}

void sr_plan_free(struct sr_plan *plan)
{
    if (!plan)
        return;
    sr_signals_unref(plan->signals);
    sr_config_unref(plan->config);
    sr_mem_free(plan->entries);
    sr_mem_free(plan->nodes);
    sr_mem_free(plan);
}

uint32_t sr_plan_signals(const struct sr_plan *plan)
{
    return plan->types;
}

enum sr_signal_type sr_plan_cheapest(uint32_t mask)
{
    enum sr_signal_type best = SR_SIGNAL_TYPES;
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if ((mask >> type & 1) && (best == SR_SIGNAL_TYPES || sr_signal_registry[type]->cost_ns_per_kib <
                                                                  sr_signal_registry[best]->cost_ns_per_kib))
            best = (enum sr_signal_type)type;
    return best;
}

/* The value of an entry's tree; without rules yes with confidence 0. */
static struct sr_rule_value eval(const struct sr_plan *plan, const struct sr_plan_entry *entry,
                                 sr_rule_results results)
{
    if (!entry->has_rules)
        return (struct sr_rule_value){.state = SR_RULE_YES};
    return sr_rule_eval(&plan->nodes[entry->first], results);
}

struct sr_rule_value sr_plan_eval_entry(const struct sr_plan *plan, const struct sr_plan_entry *entry,
                                        const bool *without, sr_rule_results results)
{
    static const struct sr_rule_value no = {.state = SR_RULE_NO};
    return without && without[entry->decision] ? no : eval(plan, entry, results);
}

/* Picks among the entries [from, to) by values[0..): `*winner` is an index in the plan or -1. SR_AGAIN
 * when some of them that are open could still win. Entries that are not in `allowed` (NULL: all) are
 * ignored. */
static int pick(const struct sr_rule_value *values, size_t from, size_t to, const bool *allowed, int *winner,
                uint32_t *needed)
{
    int best = -1;
    uint32_t open = 0;
    bool rival = false;
    for (size_t i = from; i < to; i++)
        if ((!allowed || allowed[i - from]) && values[i - from].state == SR_RULE_YES &&
            (best < 0 || values[i - from].low > values[(size_t)best - from].low))
            best = (int)i;
    for (size_t i = from; i < to; i++) {
        const struct sr_rule_value *value = &values[i - from];
        if ((allowed && !allowed[i - from]) || value->state == SR_RULE_NO)
            continue;
        float beaten = best < 0 ? -1.0f : values[(size_t)best - from].low;
        bool safe =
            (int)i != best && best >= 0 && (value->high < beaten || (value->high == beaten && (int)i > best));
        if (safe)
            continue;
        rival |= (int)i != best;
        open |= value->open;
    }
    *winner = best;
    if (!rival || !open)
        return SR_OK;
    *needed = open;
    return SR_AGAIN;
}

/* The override of fusion: a classifier decision above the threshold in the winner's group, of at least its
 * priority. */
static int override(const struct sr_plan *plan, const struct sr_rule_value *values, size_t from, size_t to,
                    int *winner, bool *overridden, uint32_t *needed)
{
    const struct sr_config_decision *decisions = plan->config->decisions;
    float enough = (float)plan->config->global.override_confidence;
    bool allowed[SR_PLAN_DECISIONS_MAX];
    bool any = false;
    int other = -1;
    if (!(enough > 0) || !plan->entries[*winner].lexical)
        return SR_OK;
    int64_t priority = decisions[plan->entries[*winner].decision].priority;
    for (size_t i = from; i < to; i++) {
        const struct sr_plan_entry *entry = &plan->entries[i];
        allowed[i - from] = entry->by_classifier && decisions[entry->decision].priority >= priority &&
                            values[i - from].state != SR_RULE_NO && values[i - from].high >= enough;
        any |= allowed[i - from];
    }
    if (!any)
        return SR_OK;
    uint32_t open = 0;
    for (size_t i = from; i < to; i++)
        if (allowed[i - from])
            open |= values[i - from].open;
    if (open) {
        *needed = open;
        return SR_AGAIN;
    }
    int rc = pick(values, from, to, allowed, &other, needed);
    if (rc == SR_OK && other >= 0) {
        *winner = other;
        *overridden = true;
    }
    return rc;
}

/* The first matching leaf of the winner's tree whose type categorizes names the category. */
static void name_category(const struct sr_plan *plan, int winner, sr_rule_results results,
                          struct sr_decision *out)
{
    int type = sr_signal_category_type();
    const struct sr_signal_result *categories = type < 0 ? NULL : results[type];
    const struct sr_plan_entry *entry = winner < 0 ? NULL : &plan->entries[winner];
    int rule = -1;
    if (!categories || categories->status)
        return;
    for (uint32_t i = 0; entry && entry->has_rules && rule < 0 && i < plan->nodes[entry->first].size; i++) {
        const struct sr_rule_node *node = &plan->nodes[entry->first + i];
        if (node->op == SR_RULE_LEAF && (int)node->type == type && node->rule < categories->n_hits &&
            categories->hits[node->rule].matched)
            rule = (int)node->rule;
    }
    for (size_t i = 0; rule < 0 && i < categories->n_hits; i++)
        if (categories->hits[i].matched)
            rule = (int)i;
    if (rule < 0)
        return;
    out->category_name = sr_signals_rule_name(plan->signals, (enum sr_signal_type)type, (size_t)rule);
    out->category = categories->top;
    for (size_t i = 0; i < categories->n_labels; i++)
        if (categories->probabilities[i] == categories->hits[rule].confidence)
            out->category = (int)i;
}

static bool is_unsure(const struct sr_plan *plan, const struct sr_plan_entry *entry, sr_rule_results results)
{
    return entry->has_rules && !sr_rule_is_sure(&plan->nodes[entry->first], results);
}

static void finish(const struct sr_plan *plan, int winner, float confidence, bool overridden,
                   sr_rule_results results, struct sr_decision *out)
{
    *out = (struct sr_decision){.decision = winner < 0 ? -1 : plan->entries[winner].decision,
                                .confidence = winner < 0 ? 0.0f : confidence,
                                .category = -1,
                                .category_name = "",
                                .overridden = overridden};
    for (int type = 0; type < SR_SIGNAL_TYPES; type++)
        if ((plan->types >> type & 1) && results[type] && (results[type]->status || results[type]->over))
            out->errors |= UINT32_C(1) << type;
    out->unsure = winner >= 0 && is_unsure(plan, &plan->entries[winner], results);
    out->unknown = winner >= 0 && plan->entries[winner].has_rules &&
                   !sr_rule_is_known(&plan->nodes[plan->entries[winner].first], results);
    name_category(plan, winner, results, out);
}

int sr_plan_decide(const struct sr_plan *plan, const bool *without, sr_rule_results results,
                   struct sr_decision *out, uint32_t *needed)
{
    struct sr_rule_value values[SR_PLAN_DECISIONS_MAX];
    for (size_t from = 0, to; from < plan->n; from = to) {
        int winner = -1;
        bool overridden = false;
        for (to = from; to < plan->n && plan->entries[to].group == plan->entries[from].group; to++)
            values[to - from] = sr_plan_eval_entry(plan, &plan->entries[to], without, results);
        int rc = pick(values, from, to, NULL, &winner, needed);
        if (rc == SR_OK && winner >= 0)
            rc = override(plan, values, from, to, &winner, &overridden, needed);
        if (rc)
            return rc;
        if (winner >= 0) {
            finish(plan, winner, values[(size_t)winner - from].low, overridden, results, out);
            return SR_OK;
        }
    }
    finish(plan, -1, 0.0f, false, results, out);
    return SR_OK;
}

size_t sr_plan_size(const struct sr_plan *plan)
{
    return plan->n;
}

int sr_plan_matches(const struct sr_plan *plan, const bool *without, sr_rule_results results,
                    struct sr_match *out, size_t *n, uint32_t *needed)
{
    *n = 0;
    *needed = 0;
    for (size_t i = 0; i < plan->n; i++) {
        const struct sr_plan_entry *entry = &plan->entries[i];
        struct sr_rule_value value = sr_plan_eval_entry(plan, entry, without, results);
        *needed |= value.state == SR_RULE_OPEN ? value.open : 0;
        if (value.state == SR_RULE_YES)
            out[(*n)++] = (struct sr_match){entry->decision, value.low, is_unsure(plan, entry, results)};
    }
    return *needed ? SR_AGAIN : SR_OK;
}
