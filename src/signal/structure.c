/*
 * Structure: measures the form of a text as a number.
 *
 * The source says what is searched: matches of an expression, whole words of a set, or sequences (lists of
 * words that follow one another, with anything between them). The feature says what is measured: exists (1
 * or 0), count (occurrences; for sequences, how many of the lists occur), density (count per word of the
 * text) or sequence (1 when a list occurs in its order, for a keyword set: when all its words occur in the
 * order given). Without a predicate a rule matches when the number is above 0; with one, when its bounds
 * hold.
 */
#include "base/mem.h"
#include "signal/keyword/regex.h"
#include "signal/types.h"
#include "text/terms/match.h"
#include "text/words.h"

struct structure_rule {
    struct sr_regex *regex;
    struct sr_matcher *matcher; /* the words of all lists; the id encodes list and index */
    size_t n_literals;
    size_t n_lists;
    size_t *list_first; /* [n_lists + 1]: id of the first word of each list */
};

struct sr_signal_set {
    const struct sr_config_structure *config;
    size_t n;
    struct structure_rule *rules;
};

static void structure_free(struct sr_signal_set *set)
{
    for (size_t i = 0; set->rules && i < set->n; i++) {
        sr_regex_free(set->rules[i].regex);
        sr_matcher_free(set->rules[i].matcher);
        sr_mem_free(set->rules[i].list_first);
    }
    sr_mem_free(set->rules);
    sr_mem_free(set);
}

static int compile_lists(struct structure_rule *rule, const struct sr_strings *lists, size_t n_lists,
                         bool case_sensitive, struct sr_err *err)
{
    size_t total = 0, id = 0;
    int rc = SR_ENOMEM;
    for (size_t i = 0; i < n_lists; i++)
        total += lists[i].count;
    struct sr_bytes *literals = sr_mem_calloc(total + 1, sizeof *literals);
    rule->list_first = sr_mem_calloc(n_lists + 1, sizeof *rule->list_first);
    rule->n_lists = n_lists;
    rule->n_literals = total;
    if (literals && rule->list_first) {
        for (size_t i = 0; i < n_lists; i++) {
            rule->list_first[i] = id;
            for (size_t k = 0; k < lists[i].count; k++)
                literals[id++] = sr_bytes_str(lists[i].items[k]);
        }
        rule->list_first[n_lists] = id;
        rc = sr_matcher_new(&rule->matcher, literals, total, case_sensitive, err);
    }
    sr_mem_free(literals);
    return rc;
}

static int compile_rule(struct structure_rule *rule, const struct sr_config_structure *config,
                        struct sr_err *err)
{
    struct sr_err why = {0};
    int rc;
    if (config->source == SR_STRUCTURE_REGEX)
        rc = sr_regex_new(&rule->regex, sr_bytes_str(config->pattern), config->case_sensitive, &why);
    else if (config->source == SR_STRUCTURE_KEYWORD_SET)
        rc = compile_lists(rule, &config->keywords, 1, config->case_sensitive, &why);
    else
        rc = compile_lists(rule, config->sequences, config->n_sequences, config->case_sensitive, &why);
    if (rc == SR_OK)
        return SR_OK;
    rc = sr_err_set(err, rc, "structure rule `%s`: %s", config->name, why.message);
    if (err) {
        err->line = config->pattern_at.line;
        err->column = config->pattern_at.column;
    }
    return rc;
}

static int structure_compile(struct sr_signal_set **out, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err)
{
    (void)models;
    if (config->n_structures == 0)
        return SR_OK;
    struct sr_signal_set *set = sr_mem_calloc(1, sizeof *set);
    if (!set)
        return SR_ENOMEM;
    set->config = config->structures;
    set->n = config->n_structures;
    set->rules = sr_mem_calloc(set->n, sizeof *set->rules);
    int rc = set->rules ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; rc == SR_OK && i < set->n; i++)
        rc = compile_rule(&set->rules[i], &set->config[i], err);
    if (rc)
        structure_free(set);
    else
        *out = set;
    return rc;
}

static size_t structure_rules(const struct sr_signal_set *set)
{
    return set->n;
}

static const char *structure_name(const struct sr_signal_set *set, size_t rule)
{
    return set->config[rule].name;
}

static const char *structure_description(const struct sr_signal_set *set, size_t rule)
{
    return set->config[rule].description;
}

/* The progress of each list: the index of its next word, and the end of the previous one. */
struct progress {
    const struct structure_rule *rule;
    size_t *next, *end;
};

static void follow(void *ctx, size_t id, size_t start, size_t end)
{
    struct progress *progress = ctx;
    size_t list = 0;
    while (progress->rule->list_first[list + 1] <= id)
        list++;
    if (progress->rule->list_first[list] + progress->next[list] != id || start < progress->end[list])
        return;
    progress->next[list]++;
    progress->end[list] = end;
}

/* The number of lists whose words all occur in the text in order. */
static int count_lists(const struct structure_rule *rule, struct sr_bytes text, struct sr_arena *arena,
                       size_t *count)
{
    struct progress progress = {
        .rule = rule,
        .next = sr_arena_calloc(arena, rule->n_lists + 1, sizeof(size_t)),
        .end = sr_arena_calloc(arena, rule->n_lists + 1, sizeof(size_t)),
    };
    if (!progress.next || !progress.end)
        return SR_ENOMEM;
    sr_matcher_each(rule->matcher, text, follow, &progress);
    *count = 0;
    for (size_t i = 0; i < rule->n_lists; i++) {
        size_t length = rule->list_first[i + 1] - rule->list_first[i];
        *count += length > 0 && progress.next[i] == length;
    }
    return SR_OK;
}

static int count_words(const struct structure_rule *rule, struct sr_bytes text, struct sr_arena *arena,
                       size_t *count)
{
    uint32_t *counts = sr_arena_calloc(arena, rule->n_literals + 1, sizeof *counts);
    if (!counts)
        return SR_ENOMEM;
    sr_matcher_count(rule->matcher, text, counts);
    *count = 0;
    for (size_t i = 0; i < rule->n_literals; i++)
        *count += counts[i];
    return SR_OK;
}

static int measure(const struct structure_rule *rule, const struct sr_config_structure *config,
                   struct sr_bytes text, struct sr_arena *arena, double *value)
{
    bool exists = config->feature == SR_STRUCTURE_EXISTS || config->feature == SR_STRUCTURE_SEQUENCE;
    bool lists = config->source == SR_STRUCTURE_SEQUENCES || config->feature == SR_STRUCTURE_SEQUENCE;
    size_t count = 0;
    int rc;
    if (rule->regex)
        rc = sr_regex_count(rule->regex, text, exists ? 1 : SIZE_MAX, &count);
    else if (lists)
        rc = count_lists(rule, text, arena, &count);
    else
        rc = count_words(rule, text, arena, &count);
    *value = exists ? (double)(count > 0) : (double)count;
    if (config->feature == SR_STRUCTURE_DENSITY) {
        size_t words = sr_words_count(text);
        *value = words ? (double)count / (double)words : 0.0;
    }
    return rc;
}

static int structure_run(const struct sr_signal_set *set, const struct sr_signal_input *input,
                         struct sr_arena *arena, struct sr_signal_result *result)
{
    result->hits = sr_signal_hits(arena, set->n);
    if (!result->hits)
        return SR_ENOMEM;
    for (size_t i = 0; i < set->n; i++) {
        const struct sr_config_structure *config = &set->config[i];
        struct sr_signal_hit *hit = &result->hits[i];
        int rc = measure(&set->rules[i], config, input->text, arena, &hit->value);
        if (rc)
            return rc;
        hit->matched = sr_predicate_any(&config->predicate)
                           ? sr_predicate_holds(&config->predicate, hit->value)
                           : hit->value > 0;
        hit->confidence = hit->matched ? 1.0f : 0.0f;
    }
    result->n_hits = set->n;
    return SR_OK;
}

const struct sr_signal_ops sr_signal_structure = {
    .name = "structure",
    .header = "x-vsr-matched-structure",
    .header_order = 4,
    .reads = SR_SIGNAL_READS_WHOLE,
    .cost_ns_per_kib = 2000,
    .compile = structure_compile,
    .free = structure_free,
    .n_rules = structure_rules,
    .rule_name = structure_name,
    .rule_description = structure_description,
    .run = structure_run,
};
