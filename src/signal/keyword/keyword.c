/*
 * Keyword rules: the rules' operators combine the results of each method.
 *
 * All plain keywords of all rules share one automaton for each way of comparing letters, so the number of
 * rules does not multiply the passes over the text. Raw expressions run one by one and only while they can
 * change their rule.
 */
#include "signal/keyword/keyword.h"

#include "base/mem.h"
#include "signal/keyword/regex.h"
#include "signal/types.h"
#include "text/terms/match.h"

/* The methods for one way of comparing letters; NULL where no rule needs it. */
struct methods {
    struct sr_matcher *matcher;
    size_t *matcher_slots; /* slot of each literal */
    size_t n_literals;
    struct sr_bm25 *bm25;
    struct sr_ngram *ngram;
    struct sr_fuzzy *fuzzy;
};

struct sr_signal_set {
    const struct sr_config_keyword *rules;
    size_t n, n_slots;
    size_t *first_slot;        /* [n] */
    struct sr_regex **regexes; /* [n_slots]; NULL for other methods */
    struct methods methods[2]; /* folded, as written */
};

static void keyword_free(struct sr_signal_set *set)
{
    for (size_t i = 0; set->regexes && i < set->n_slots; i++)
        sr_regex_free(set->regexes[i]);
    for (int i = 0; i < 2; i++) {
        sr_matcher_free(set->methods[i].matcher);
        sr_mem_free(set->methods[i].matcher_slots);
        sr_bm25_free(set->methods[i].bm25);
        sr_ngram_free(set->methods[i].ngram);
        sr_fuzzy_free(set->methods[i].fuzzy);
    }
    sr_mem_free(set->regexes);
    sr_mem_free(set->first_slot);
    sr_mem_free(set);
}

/* The keywords of one method and one way of comparing, into `items`; returns how many. */
static size_t pick(const struct sr_signal_set *set, enum sr_keyword_method method, bool case_sensitive,
                   bool fuzzy_only, struct sr_keyword_item *items)
{
    size_t n = 0;
    for (size_t r = 0; r < set->n; r++) {
        const struct sr_config_keyword *rule = &set->rules[r];
        if (rule->method != method || rule->case_sensitive != case_sensitive ||
            (fuzzy_only && !rule->fuzzy_match))
            continue;
        for (size_t k = 0; k < rule->keywords.count; k++)
            if (*rule->keywords.items[k])
                items[n++] = (struct sr_keyword_item){sr_bytes_str(rule->keywords.items[k]),
                                                      set->first_slot[r] + k, rule};
    }
    return n;
}

static int compile_words(struct methods *methods, const struct sr_keyword_item *items, size_t n,
                         bool case_sensitive, struct sr_err *err)
{
    struct sr_bytes *literals = sr_mem_calloc(n, sizeof *literals);
    int rc = SR_ENOMEM;
    methods->matcher_slots = sr_mem_calloc(n, sizeof *methods->matcher_slots);
    methods->n_literals = n;
    if (literals && methods->matcher_slots) {
        for (size_t i = 0; i < n; i++) {
            literals[i] = items[i].text;
            methods->matcher_slots[i] = items[i].slot;
        }
        rc = sr_matcher_new(&methods->matcher, literals, n, case_sensitive, err);
    }
    sr_mem_free(literals);
    return rc;
}

static int compile_methods(struct sr_signal_set *set, bool case_sensitive, struct sr_keyword_item *items,
                           struct sr_err *err)
{
    struct methods *methods = &set->methods[case_sensitive];
    int rc = SR_OK;
    size_t n = pick(set, SR_KEYWORD_WORDS, case_sensitive, false, items);
    if (n)
        rc = compile_words(methods, items, n, case_sensitive, err);
    n = rc ? 0 : pick(set, SR_KEYWORD_WORDS, case_sensitive, true, items);
    if (n)
        rc = sr_fuzzy_new(&methods->fuzzy, items, n, case_sensitive);
    n = rc ? 0 : pick(set, SR_KEYWORD_BM25, case_sensitive, false, items);
    if (n)
        rc = sr_bm25_new(&methods->bm25, items, n, case_sensitive);
    n = rc ? 0 : pick(set, SR_KEYWORD_NGRAM, case_sensitive, false, items);
    if (n)
        rc = sr_ngram_new(&methods->ngram, items, n, case_sensitive);
    return rc;
}

static int compile_regexes(struct sr_signal_set *set, struct sr_err *err)
{
    for (size_t r = 0; r < set->n; r++) {
        const struct sr_config_keyword *rule = &set->rules[r];
        if (rule->fuzzy_match && rule->method != SR_KEYWORD_WORDS)
            return sr_err_set(err, SR_EUNSUPPORTED,
                              "keyword rule `%s`: fuzzy_match needs plain keywords (no `method`)",
                              rule->name);
        for (size_t k = 0; rule->method == SR_KEYWORD_REGEX && k < rule->keywords.count; k++) {
            struct sr_err why = {0};
            int rc = sr_regex_new(&set->regexes[set->first_slot[r] + k],
                                  sr_bytes_str(rule->keywords.items[k]), rule->case_sensitive, &why);
            if (rc) {
                rc =
                    sr_err_set(err, rc, "keyword rule `%s`, keyword %zu: %s", rule->name, k + 1, why.message);
                if (err && rule->places) {
                    err->line = rule->places[k].line;
                    err->column = rule->places[k].column;
                }
                return rc;
            }
        }
    }
    return SR_OK;
}

static int keyword_compile(struct sr_signal_set **out, const struct sr_config *config,
                           struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    if (config->n_keywords == 0)
        return SR_OK;
    struct sr_keyword_item *items = NULL;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    int rc = SR_ENOMEM;
    if (!set)
        return rc;
    set->rules = config->keywords;
    set->n = config->n_keywords;
    set->first_slot = sr_mem_calloc(set->n, sizeof *set->first_slot);
    if (!set->first_slot)
        goto out;
    for (size_t r = 0; r < set->n; r++) {
        set->first_slot[r] = set->n_slots;
        set->n_slots += set->rules[r].keywords.count;
    }
    set->regexes = sr_mem_calloc(set->n_slots + 1, sizeof(struct sr_regex *));
    items = sr_mem_calloc(set->n_slots + 1, sizeof *items);
    if (!set->regexes || !items)
        goto out;
    rc = compile_regexes(set, err);
    for (int i = 0; rc == SR_OK && i < 2; i++)
        rc = compile_methods(set, i == 1, items, err);
out:
    sr_mem_free(items);
    if (rc)
        keyword_free(set);
    else
        *out = set;
    return rc;
}

static size_t keyword_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *keyword_name(const struct sr_signal_set *set, size_t rule)
{
    return set->rules[rule].name;
}

static int run_methods(const struct methods *methods, struct sr_bytes text, struct sr_arena *arena,
                       float *scores)
{
    int rc = SR_OK;
    if (methods->matcher) {
        uint32_t *counts = sr_arena_calloc(arena, methods->n_literals, sizeof *counts);
        if (!counts)
            return SR_ENOMEM;
        sr_matcher_count(methods->matcher, text, counts);
        for (size_t i = 0; i < methods->n_literals; i++)
            scores[methods->matcher_slots[i]] = counts[i] ? 1.0f : 0.0f;
    }
    if (methods->fuzzy)
        sr_fuzzy_run(methods->fuzzy, text, scores);
    if (methods->bm25)
        rc = sr_bm25_run(methods->bm25, text, arena, scores);
    if (rc == SR_OK && methods->ngram)
        rc = sr_ngram_run(methods->ngram, text, arena, scores);
    return rc;
}

/* Runs the expressions of one rule until its result is known: AND by a miss, OR and NOR by a match. */
static int run_regexes(const struct sr_signal_set *set, size_t rule, struct sr_bytes text, float *scores)
{
    const struct sr_config_keyword *keyword = &set->rules[rule];
    for (size_t k = 0; k < keyword->keywords.count; k++) {
        size_t slot = set->first_slot[rule] + k, count = 0;
        int rc = sr_regex_count(set->regexes[slot], text, 1, &count);
        if (rc)
            return rc;
        scores[slot] = count ? 1.0f : 0.0f;
        if ((count == 0) == (keyword->op == SR_KEYWORD_AND))
            return SR_OK;
    }
    return SR_OK;
}

static float score_needed(const struct sr_config_keyword *rule)
{
    switch (rule->method) {
    case SR_KEYWORD_BM25:
        return (float)rule->bm25_threshold;
    case SR_KEYWORD_NGRAM:
        return (float)rule->ngram_threshold;
    default:
        return 1.0f;
    }
}

/* `value`: for plain keywords and expressions how many were found, else the best score. */
static void combine(const struct sr_config_keyword *rule, const float *scores, struct sr_signal_hit *hit)
{
    float needed = score_needed(rule), best = 0;
    size_t found = 0, n = rule->keywords.count;
    for (size_t k = 0; k < n; k++) {
        found +=
            !*rule->keywords.items[k] || (scores[k] > 0 && scores[k] >= needed); /* "" is in every text */
        if (scores[k] > best)
            best = scores[k];
    }
    bool graded = rule->method == SR_KEYWORD_BM25 || rule->method == SR_KEYWORD_NGRAM;
    hit->value = graded ? (double)best : (double)found;
    hit->matched =
        rule->op == SR_KEYWORD_AND ? n > 0 && found == n : (found > 0) == (rule->op == SR_KEYWORD_OR);
    hit->confidence = hit->matched ? 1.0f : 0.0f;
}

static int keyword_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                       struct sr_arena *arena, struct sr_signal_result *result)
{
    float *scores = sr_arena_calloc(arena, set->n_slots + 1, sizeof *scores);
    result->hits = sr_signal_hits(arena, set->n);
    if (!scores || !result->hits)
        return SR_ENOMEM;
    int rc = SR_OK;
    for (int i = 0; rc == SR_OK && i < 2; i++)
        rc = run_methods(&set->methods[i], input->text, arena, scores);
    for (size_t r = 0; rc == SR_OK && r < set->n; r++)
        if (set->rules[r].method == SR_KEYWORD_REGEX)
            rc = run_regexes(set, r, input->text, scores);
    if (rc)
        return rc;
    result->n_hits = set->n;
    for (size_t r = 0; r < set->n; r++)
        combine(&set->rules[r], scores + set->first_slot[r], &result->hits[r]);
    return SR_OK;
}

const struct sr_signal_ops sr_signal_keyword = {
    .name = "keyword",
    .header = "x-vsr-matched-keywords",
    .header_order = 0,
    .reads = SR_SIGNAL_READS_WHOLE,
    .cost_ns_per_kib = 500,
    .compile = keyword_compile,
    .free = keyword_free,
    .n_rules = keyword_rules,
    .rule_name = keyword_name,
    .run = keyword_run,
};
