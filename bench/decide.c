/*
 * Times decisions over given findings, and the signals that read texts without a model, on one thread.
 *
 * Each row shows the leading Go router's own figure for such a case, measured on a machine of this
 * kind (two Zen 5 cores), and, taken in turns in this run: one PCRE2 JIT expression of all the row's keywords
 * where they are plain, and a memchr that reads the text once. The peer's texts are different: its column
 * says the order of magnitude.
 */
#include "bench/decide.h"

#include "base/buf.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/options.h"
#include "decide/decide.h"
#include "signal/keyword/regex.h"

#include <math.h>
#include <string.h>

#define TEXT_LONG ((size_t)64 << 10) /* about 16K tokens */
#define ARENA_MAX ((size_t)16 << 20)
#define RULES_MAX 64
#define KEYWORDS  200
#define DECISIONS 30
#define NO_BOUNDS                                                                                            \
    {                                                                                                        \
        NAN, NAN, NAN, NAN                                                                                   \
    }

enum kind { DECIDE, SIGNAL };

struct row {
    const char *name, *key;
    double peer_us; /* 0 = none published */
    enum kind kind;
    enum sr_signal_type type;
    const struct sr_config *config;
    const struct sr_bytes *text;
    /* made by row_open: */
    struct sr_signals *signals;
    struct sr_plan *plan;
    struct sr_signal_input *input;
    struct sr_regex *regex;
    struct sr_signal_hit hits[SR_SIGNAL_TYPES][RULES_MAX];
    struct sr_signal_result found[SR_SIGNAL_TYPES];
    const struct sr_signal_result *results[SR_SIGNAL_TYPES];
    struct sr_bench_subject subjects[3]; /* ours, the expression, memchr */
};

static const char *const english[] = {
    "please",  "explain", "how",     "the",      "service", "handles",    "a",       "request",
    "when",    "its",     "cache",   "is",       "cold",    "and",        "what",    "would",
    "change",  "if",      "we",      "moved",    "it",      "behind",     "another", "queue",
    "because", "latency", "matters", "more",     "than",    "throughput", "for",     "users",
    "in",      "Europe",  "during",  "business", "hours",   "Monday",     "report"};
static const char *const chinese[] = {"请",   "解释", "一下", "这个", "服务", "如何", "处理",
                                      "请求", "因为", "用户", "需要", "更快", "的",   "响应",
                                      "在",   "工作", "时间", "报告", "数据", "分析"};

static void fill(char *text, size_t n, const char *const *words, size_t n_words, const char *space)
{
    uint64_t state = 7;
    size_t at = 0, gap = strlen(space);
    for (;;) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const char *word = words[(state >> 33) % n_words];
        size_t length = strlen(word);
        if (length + gap > n - at)
            break;
        memcpy(text + at, word, length);
        memcpy(text + at + length, space, gap);
        at += length + gap;
    }
    memset(text + at, '.', n - at);
}

static uint64_t run_decide(void *ctx)
{
    struct row *row = ctx;
    struct sr_decision decision;
    uint32_t needed;
    return sr_plan_decide(row->plan, NULL, row->results, &decision, &needed) == SR_OK
               ? (uint64_t)(decision.decision + 2)
               : 0;
}

static uint64_t run_signal(void *ctx)
{
    struct row *row = ctx;
    struct sr_arena arena;
    struct sr_signal_run *run = NULL;
    uint64_t value = 0;
    sr_arena_init(&arena, ARENA_MAX);
    if (sr_signal_run_new(&run, row->signals, row->input, (struct sr_signal_env){NULL, NULL, 0}, &arena) ==
        SR_OK) {
        bool done = sr_signal_run_start(run, row->type, NULL, NULL) == SR_OK;
        value = done && sr_signal_run_result(run, row->type)->status == SR_OK;
        sr_signal_run_dispose(run);
    }
    sr_arena_dispose(&arena);
    return value;
}

static uint64_t run_regex(void *ctx)
{
    struct row *row = ctx;
    size_t count = 0;
    return sr_regex_count(row->regex, row->input->text, SIZE_MAX, &count) == SR_OK;
}

static uint64_t run_memchr(void *ctx)
{
    struct row *row = ctx;
    return memchr(row->input->text.p, 0, row->input->text.n) == NULL;
}

/* "(?:a|b|c)" between word borders: what one would write by hand for the row's plain keywords. */
static int make_regex(struct row *row)
{
    struct sr_buf pattern;
    int rc = SR_OK;
    sr_buf_init(&pattern, (size_t)64 << 10);
    for (size_t r = 0; rc == SR_OK && r < row->config->n_keywords; r++)
        for (size_t k = 0; rc == SR_OK && k < row->config->keywords[r].keywords.count; k++)
            rc = sr_buf_printf(&pattern, "%s%s",
                               pattern.len ? "|" : "\\b(?:", row->config->keywords[r].keywords.items[k]);
    rc = rc ? rc : sr_buf_printf(&pattern, ")\\b");
    rc = rc ? rc : sr_regex_new(&row->regex, sr_buf_view(&pattern), false, NULL);
    sr_buf_dispose(&pattern);
    return rc;
}

static int row_open(struct row *row, struct sr_err *err)
{
    int rc = sr_signals_new(&row->signals, row->config, NULL, err);
    if (rc == SR_OK && row->kind == DECIDE)
        rc = sr_plan_new(&row->plan, row->config, row->signals, err);
    for (int type = 0; type < SR_SIGNAL_TYPES; type++) {
        for (int i = 0; i < RULES_MAX; i++)
            row->hits[type][i] = (struct sr_signal_hit){i % 3 == 2, i % 3 == 2 ? 0.9f : 0.0f, NAN};
        row->found[type] =
            (struct sr_signal_result){.hits = row->hits[type], .n_hits = RULES_MAX, .top = -1, .tier = ""};
        row->results[type] = &row->found[type];
    }
    if (row->kind == DECIDE) {
        row->subjects[0] = (struct sr_bench_subject){.name = row->name, .run = run_decide, .ctx = row};
        return rc;
    }
    row->input = sr_signal_input_new(*row->text, row->text->n);
    if (rc == SR_OK && !row->input)
        rc = SR_ENOMEM;
    row->subjects[0] = (struct sr_bench_subject){.name = row->name, .run = run_signal, .ctx = row};
    row->subjects[1] = (struct sr_bench_subject){.name = "memchr", .run = run_memchr, .ctx = row};
    bool plain = row->type == SR_SIGNAL_KEYWORD && row->config->keywords[0].method == SR_KEYWORD_WORDS &&
                 !row->config->keywords[0].fuzzy_match;
    if (rc == SR_OK && plain)
        rc = make_regex(row);
    row->subjects[2] = (struct sr_bench_subject){.name = "regex", .run = run_regex, .ctx = row};
    return rc;
}

static void row_close(struct row *row)
{
    sr_plan_free(row->plan);
    sr_signals_unref(row->signals);
    sr_signal_input_unref(row->input);
    sr_regex_free(row->regex);
}

static int row_measure(struct row *row, double seconds, struct sr_err *err)
{
    int rc = row_open(row, err);
    size_t n = row->kind == DECIDE ? 1 : row->regex ? 3 : 2;
    rc = rc ? rc : sr_bench_measure(row->subjects, n, seconds);
    for (size_t i = 0; rc == SR_OK && i < n; i++)
        if (row->subjects[i].failed)
            rc = sr_err_set(err, SR_EMISMATCH, "%s: %s failed", row->name, row->subjects[i].name);
    return rc;
}

static void print_us(struct sr_bench_table *table, double us)
{
    if (us <= 0)
        sr_bench_table_cell(table, "-");
    else
        sr_bench_table_cell(table, us < 1 ? "%.3f" : us < 100 ? "%.2f" : "%.0f", us);
}

static void print_table(const struct row *rows, size_t n)
{
    static const char *const titles[] = {"case", "us",           "peer us",  "peer / ours",
                                         "GB/s", "one PCRE2 us", "memchr us"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, 7);
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        double us = row->subjects[0].median_ns / 1e3;
        sr_bench_table_cell(&table, "%s", row->name);
        print_us(&table, us);
        print_us(&table, row->peer_us);
        sr_bench_table_cell(&table, row->peer_us > 0 ? "%.1f" : "-", row->peer_us / us);
        sr_bench_table_cell(&table, row->kind == SIGNAL ? "%.2f" : "-",
                            row->kind == SIGNAL ? (double)row->text->n / row->subjects[0].median_ns : 0.0);
        print_us(&table, row->regex ? row->subjects[2].median_ns / 1e3 : 0);
        print_us(&table, row->kind == SIGNAL ? row->subjects[1].median_ns / 1e3 : 0);
    }
    printf("%s, 1 thread, medians\n", sr_bench_machine());
    sr_bench_table_print(&table, stdout);
}

static void print_json(const struct row *rows, size_t n)
{
    printf("{\"bench\":\"decide\",\"machine\":\"%s\",\"threads\":1,\"rows\":[", sr_bench_machine());
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        printf("%s{\"case\":\"%s\",\"us\":%.4f", i ? "," : "", row->key, row->subjects[0].median_ns / 1e3);
        if (row->peer_us > 0)
            printf(",\"peer_us\":%.3f", row->peer_us);
        if (row->regex)
            printf(",\"regex_us\":%.3f", row->subjects[2].median_ns / 1e3);
        if (row->kind == SIGNAL)
            printf(",\"bytes\":%zu,\"memchr_us\":%.4f", row->text->n, row->subjects[1].median_ns / 1e3);
        printf("}");
    }
    puts("]}");
}

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define WORDS(...)                                                                                           \
    {                                                                                                        \
        (const char *[]){__VA_ARGS__}, COUNT(((const char *[]){__VA_ARGS__}))                                \
    }
#define RULE(n, m, k)                                                                                        \
    {                                                                                                        \
        .name = (n), .method = (m), .keywords = k, .bm25_threshold = 0.1, .ngram_threshold = 0.4,            \
        .ngram_arity = 3, .fuzzy_threshold = 2                                                               \
    }

/* The configurations that the rows share; static, because signals and plans borrow their strings. */
static struct sr_config_keyword two_rules[] = {
    {.name = "urgent", .keywords = WORDS("urgent", "asap", "immediately", "emergency")},
    {.name = "code", .keywords = WORDS("kubernetes", "docker", "function", "compile")},
};
static struct sr_config_keyword many_rule = {.name = "many"};
static struct sr_config_keyword bm25_rules[30], bm25_chinese_rules[30];
static struct sr_config_keyword ngram_rule = {.name = "ngram",
                                              .method = SR_KEYWORD_NGRAM,
                                              .keywords =
                                                  WORDS("kubernetes", "postgres", "tensorflow", "urgent",
                                                        "machine learning", "invoice", "refund", "contract"),
                                              .ngram_threshold = 0.4,
                                              .ngram_arity = 3};
static struct sr_config_keyword fuzzy_rule = {.name = "fuzzy",
                                              .keywords =
                                                  WORDS("kubernetes", "postgres", "tensorflow", "urgent",
                                                        "machine learning", "invoice", "refund", "contract"),
                                              .fuzzy_match = true,
                                              .fuzzy_threshold = 2};
static struct sr_config_structure structure = {.name = "questions",
                                               .feature = SR_STRUCTURE_DENSITY,
                                               .source = SR_STRUCTURE_REGEX,
                                               .pattern = "[?!]",
                                               .predicate = NO_BOUNDS};
static struct sr_config_language language = {"en", 0.3};
static struct sr_config_domain domains[3] = {{.name = "math"}, {.name = "law"}, {.name = "physics"}};
static struct sr_config_context contexts[3] = {
    {"short", 0, 100}, {"middle", 101, 1000}, {"long", 1001, UINT64_MAX}};
static struct sr_config_decision one = {
    .name = "math",
    .priority = 1,
    .has_rules = true,
    .rules = {.op = SR_RULE_LEAF, .type = "domain", .name = "physics", .predicate = NO_BOUNDS}};

#define LEAF(t, n)                                                                                           \
    {                                                                                                        \
        .op = SR_RULE_LEAF, .type = (t), .name = (n), .predicate = NO_BOUNDS                                 \
    }

/* One of 30: (keyword and long) or not (law or (math and middle and keyword)) and math: none matches but the
 * last. */
static struct sr_config_rule keyword_and_long[] = {LEAF("keyword", "urgent"), LEAF("context", "long")};
static struct sr_config_rule three[] = {LEAF("domain", "math"), LEAF("context", "middle"),
                                        LEAF("keyword", "code")};
static struct sr_config_rule law_or[] = {LEAF("domain", "law"),
                                         {.op = SR_RULE_AND, .children = three, .n_children = 3}};
static struct sr_config_rule not_law[] = {{.op = SR_RULE_OR, .children = law_or, .n_children = 2}};
static struct sr_config_rule math_too[] = {{.op = SR_RULE_NOT, .children = not_law, .n_children = 1},
                                           LEAF("domain", "math")};
static struct sr_config_rule both[] = {{.op = SR_RULE_AND, .children = keyword_and_long, .n_children = 2},
                                       {.op = SR_RULE_AND, .children = math_too, .n_children = 2}};
static struct sr_config_decision thirty[DECISIONS];

static const char *many_words[KEYWORDS];
static char many_bytes[KEYWORDS][16];

static void make_rules(void)
{
    static const char *const bm25_words[] = {"code review", "pull request", "database index", "cache latency",
                                             "memory leak"};
    static const char *const chinese_words[] = {"人工智能", "数据分析", "机器学习", "税务咨询", "系统响应"};
    for (int i = 0; i < KEYWORDS; i++) {
        snprintf(many_bytes[i], sizeof many_bytes[i], "%s%c%c", i % 2 ? "data" : "kube", 'a' + i % 26,
                 'a' + i / 26);
        many_words[i] = many_bytes[i];
    }
    many_rule.keywords = (struct sr_strings){many_words, KEYWORDS};
    for (int i = 0; i < 30; i++) {
        bm25_rules[i] = (struct sr_config_keyword)RULE("bm25", SR_KEYWORD_BM25, {0});
        bm25_rules[i].keywords = (struct sr_strings){(const char **)(uintptr_t)bm25_words, 5};
        bm25_chinese_rules[i] = bm25_rules[i];
        bm25_chinese_rules[i].keywords = (struct sr_strings){(const char **)(uintptr_t)chinese_words, 5};
    }
    for (int i = 0; i < DECISIONS; i++) {
        thirty[i] =
            (struct sr_config_decision){.name = "complex", .priority = DECISIONS - i, .has_rules = true};
        thirty[i].rules = (struct sr_config_rule){.op = SR_RULE_OR, .children = both, .n_children = 2};
    }
    thirty[DECISIONS - 1].rules = one.rules;
}

#define GLOBALS .global = {.domain_threshold = 0.6, .domain_fallback = "other", .domain_model = ""}

static int measure_all(double seconds, bool json, const struct sr_bytes texts[4], struct sr_err *err)
{
    static struct row rows[16];
    struct sr_config two = {.keywords = two_rules, .n_keywords = 2},
                     many = {.keywords = &many_rule, .n_keywords = 1};
    struct sr_config bm25 = {.keywords = bm25_rules, .n_keywords = 30};
    struct sr_config bm25_zh = {.keywords = bm25_chinese_rules, .n_keywords = 30};
    struct sr_config ngram = {.keywords = &ngram_rule, .n_keywords = 1},
                     fuzzy = {.keywords = &fuzzy_rule, .n_keywords = 1};
    struct sr_config shape = {.structures = &structure, .n_structures = 1},
                     tongue = {.languages = &language, .n_languages = 1};
    struct sr_config simple = {
        .domains = domains, .n_domains = 3, .decisions = &one, .n_decisions = 1, GLOBALS};
    struct sr_config complex = {.domains = domains,
                                .n_domains = 3,
                                .keywords = two_rules,
                                .n_keywords = 2,
                                .contexts = contexts,
                                .n_contexts = 3,
                                .decisions = thirty,
                                .n_decisions = DECISIONS,
                                GLOBALS};
    const struct sr_bytes *small = &texts[0], *large = &texts[1], *han = &texts[2], *han_large = &texts[3];
    const struct row init[] = {
        {"decide, one domain rule", "decide_one", 2.1, DECIDE, 0, &simple, NULL},
        {"decide, 30 nested decisions", "decide_complex", 4.7, DECIDE, 0, &complex, NULL},
        {"8 keywords, 2 rules, 100 B", "keyword_short", 0.4, SIGNAL, SR_SIGNAL_KEYWORD, &two, small},
        {"8 keywords, 2 rules, 64 KB", "keyword_long", 105, SIGNAL, SR_SIGNAL_KEYWORD, &two, large},
        {"8 keywords, 2 rules, 64 KB Chinese", "keyword_long_zh", 0, SIGNAL, SR_SIGNAL_KEYWORD, &two,
         han_large},
        {"200 keywords, 64 KB", "keyword_many", 87, SIGNAL, SR_SIGNAL_KEYWORD, &many, large},
        {"BM25, 30 rules, 100 B", "bm25_short", 78, SIGNAL, SR_SIGNAL_KEYWORD, &bm25, small},
        {"BM25, 30 rules, 64 KB", "bm25_long", 0, SIGNAL, SR_SIGNAL_KEYWORD, &bm25, large},
        {"BM25, 30 rules, 64 KB Chinese", "bm25_long_zh", 23400, SIGNAL, SR_SIGNAL_KEYWORD, &bm25_zh,
         han_large},
        {"n-grams, 8 keywords, 64 KB", "ngram_long", 0, SIGNAL, SR_SIGNAL_KEYWORD, &ngram, large},
        {"fuzzy, 8 keywords, 64 KB", "fuzzy_long", 0, SIGNAL, SR_SIGNAL_KEYWORD, &fuzzy, large},
        {"structure, density of a regex, 64 KB", "structure_long", 0, SIGNAL, SR_SIGNAL_STRUCTURE, &shape,
         large},
        {"language, 100 B", "language_short", 0, SIGNAL, SR_SIGNAL_LANGUAGE, &tongue, small},
        {"language, 64 KB", "language_long", 0, SIGNAL, SR_SIGNAL_LANGUAGE, &tongue, large},
        {"BM25, 30 rules, 100 B Chinese", "bm25_short_zh", 0, SIGNAL, SR_SIGNAL_KEYWORD, &bm25_zh, han},
    };
    int rc = SR_OK;
    size_t n = COUNT(init);
    for (size_t i = 0; i < n && rc == SR_OK; i++) {
        rows[i] = init[i];
        rc = row_measure(&rows[i], seconds, err);
    }
    if (rc == SR_OK && json)
        print_json(rows, n);
    else if (rc == SR_OK)
        print_table(rows, n);
    for (size_t i = 0; i < n; i++)
        row_close(&rows[i]);
    return rc;
}

int sr_bench_decide(int argc, char **argv)
{
    struct sr_bench_options o = {
        .name = "decide",
        .text = "Decisions, and signals without a model, beside a peer; S seconds for each row.",
        .seconds = 0.3};
    struct sr_err err = {0};
    int code = sr_bench_options_read(&o, argc, argv);
    if (code >= 0)
        return code;
    static const size_t sizes[4] = {100, TEXT_LONG, 100, TEXT_LONG};
    struct sr_bytes texts[4] = {{NULL, 0}};
    int rc = SR_OK;
    for (int i = 0; i < 4; i++) {
        char *text = sr_mem_alloc(sizes[i]);
        if (!text) {
            rc = SR_ENOMEM;
            continue;
        }
        if (i < 2)
            fill(text, sizes[i], english, COUNT(english), " ");
        else
            fill(text, sizes[i], chinese, COUNT(chinese), "");
        texts[i] = sr_bytes_of(text, sizes[i]);
    }
    make_rules();
    rc = rc ? rc : measure_all(o.seconds, o.json, texts, &err);
    if (rc)
        fprintf(stderr, "semroute bench decide: %s\n", err.message[0] ? err.message : sr_strerror(rc));
    for (int i = 0; i < 4; i++)
        sr_mem_free((void *)(uintptr_t)texts[i].p);
    return rc ? 3 : 0;
}
