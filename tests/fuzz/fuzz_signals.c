/*
 * Any bytes through every signal that reads text, and through a plan.
 *
 * Besides not crashing: every result is complete or an error, confidences stay in 0..1, a second
 * run finds the same unless a limit of time cut one of them short, and NOR is the contrary of OR over the
 * same keywords.
 */
#include "decide/decide.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define STRINGS(...)                                                                                         \
    {                                                                                                        \
        (const char *[]){__VA_ARGS__}, COUNT(((const char *[]){__VA_ARGS__}))                                \
    }
#define BASE  .fuzzy_threshold = 2, .bm25_threshold = 0.1, .ngram_threshold = 0.4, .ngram_arity = 3
#define WORDS STRINGS("a", "sql", "größe", "人工智能", "credit card", "파이썬", "C++", "ss")
#define NO_PREDICATE                                                                                         \
    {                                                                                                        \
        NAN, NAN, NAN, NAN                                                                                   \
    }
#define LEAF(t, n)                                                                                           \
    {                                                                                                        \
        .op = SR_RULE_LEAF, .type = (t), .name = (n), .predicate = NO_PREDICATE                              \
    }

enum { OR, NOR, RAW, BM25, NGRAM, FUZZY, EXACT, KEYWORD_RULES };

static struct sr_config_keyword keywords[] = {
    [OR] = {.name = "or", .op = SR_KEYWORD_OR, .keywords = WORDS, BASE},
    [NOR] = {.name = "nor", .op = SR_KEYWORD_NOR, .keywords = WORDS, BASE},
    [RAW] = {.name = "raw",
             .method = SR_KEYWORD_REGEX,
             .keywords = STRINGS("(a+)+b", "\\bx*$", "[^\\w\\s]{3}"),
             BASE},
    [BM25] = {.name = "bm25", .method = SR_KEYWORD_BM25, .keywords = WORDS, BASE},
    [NGRAM] = {.name = "ngram", .method = SR_KEYWORD_NGRAM, .keywords = WORDS, BASE},
    [FUZZY] = {.name = "fuzzy", .keywords = WORDS, .fuzzy_match = true, BASE},
    [EXACT] = {.name = "exact", .keywords = WORDS, .case_sensitive = true, BASE},
};
static struct sr_strings sequences[] = {STRINGS("a", "b", "a"), STRINGS("first", "then")};
static struct sr_config_structure structures[] = {
    {.name = "marks",
     .feature = SR_STRUCTURE_DENSITY,
     .source = SR_STRUCTURE_REGEX,
     .pattern = "[?!]|",
     .predicate = NO_PREDICATE},
    {.name = "set",
     .feature = SR_STRUCTURE_COUNT,
     .source = SR_STRUCTURE_KEYWORD_SET,
     .keywords = WORDS,
     .predicate = NO_PREDICATE},
    {.name = "order",
     .feature = SR_STRUCTURE_SEQUENCE,
     .source = SR_STRUCTURE_SEQUENCES,
     .sequences = sequences,
     .n_sequences = 2,
     .predicate = NO_PREDICATE},
};
static struct sr_config_language languages[] = {{"en", 0.3}, {"zh", 0.3}};
static struct sr_config_context contexts[] = {{"short", 0, 20}};
static struct sr_config_domain domains[] = {{.name = "math"}, {.name = "other"}};
static struct sr_config_rule conditions[] = {LEAF("keyword", "fuzzy"), LEAF("domain", "math"),
                                             LEAF("structure", "order")};
static struct sr_config_decision decisions[] = {
    {.name = "all",
     .priority = 2,
     .has_rules = true,
     .rules = {.op = SR_RULE_AND, .children = conditions, .n_children = 3}},
    {.name = "any",
     .priority = 1,
     .has_rules = true,
     .rules = {.op = SR_RULE_OR, .children = conditions, .n_children = 3}},
};
static const struct sr_config config = {
    .keywords = keywords,
    .n_keywords = KEYWORD_RULES,
    .structures = structures,
    .n_structures = 3,
    .languages = languages,
    .n_languages = 2,
    .contexts = contexts,
    .n_contexts = 1,
    .domains = domains,
    .n_domains = 2,
    .decisions = decisions,
    .n_decisions = 2,
    .global = {.domain_threshold = 0.6, .domain_fallback = "other", .domain_model = ""}};

static struct sr_signals *signals;
static struct sr_plan *plan;

static void setup(void)
{
    if (!signals &&
        (sr_signals_new(&signals, &config, NULL, NULL) || sr_plan_new(&plan, &config, signals, NULL)))
        abort();
}

static void check(enum sr_signal_type type, const struct sr_signal_result *result)
{
    if (result->status) {
        if (result->status != SR_ELIMIT || result->n_hits)
            abort();
        return;
    }
    if (result->n_hits != sr_signals_rules(signals, type))
        abort();
    for (size_t i = 0; i < result->n_hits; i++)
        if (!(result->hits[i].confidence >= 0.0f && result->hits[i].confidence <= 1.0f))
            abort();
    if (type == SR_SIGNAL_KEYWORD && result->hits[OR].matched == result->hits[NOR].matched)
        abort();
    if (type == SR_SIGNAL_KEYWORD && result->hits[OR].matched && !result->hits[FUZZY].matched)
        abort();
}

/* *cut: an expression took too long, which depends on the machine's load, too. */
static int run_all(struct sr_signal_input *input, struct sr_arena *arena, uint32_t *matched, bool *cut)
{
    struct sr_signal_run *run = NULL;
    const struct sr_signal_result *results[SR_SIGNAL_TYPES];
    struct sr_decision decision;
    uint32_t needed = 0;
    *matched = 0;
    if (sr_signal_run_new(&run, signals, input, (struct sr_signal_env){NULL, NULL, 0}, arena))
        abort();
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        if (sr_signal_run_start(run, (enum sr_signal_type)type, NULL, NULL))
            abort();
        results[type] = sr_signal_run_result(run, (enum sr_signal_type)type);
        check((enum sr_signal_type)type, results[type]);
        *cut |= results[type]->status == SR_ELIMIT;
        for (size_t i = 0; i < results[type]->n_hits; i++)
            *matched = *matched << 1 | results[type]->hits[i].matched;
    }
    if (sr_plan_decide(plan, NULL, results, &decision, &needed))
        abort();
    sr_signal_run_dispose(run);
    return decision.decision;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_arena arena;
    uint32_t first, second;
    setup();
    sr_arena_init(&arena, (size_t)16 << 20);
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_of(data, size), size);
    if (!input)
        abort();
    bool cut = false;
    int one = run_all(input, &arena, &first, &cut), two = run_all(input, &arena, &second, &cut);
    if (!cut && (one != two || first != second))
        abort();
    sr_signal_input_unref(input);
    sr_arena_dispose(&arena);
    return 0;
}
