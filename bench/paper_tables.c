/*
 * Each table asks the stages for the figures it needs; what two tables share is measured once. Cells without
 * a figure say why there is none.
 */
#include "bench/paper_tables.h"

#include "bench/bench.h"
#include "bench/paper_stages.h"

#include <stdlib.h>
#include <string.h>

enum { IV, VI, VII, VIII, IX, X, XII, TABLES };
static const char *const names[TABLES] = {"IV", "VI", "VII", "VIII", "IX", "X", "XII"};
static const char *const signals[SR_GUARDS_SIGNALS] = {"domain", "jailbreak", "pii"};

#define WHOLE      SR_STAGE_WHOLE
#define COMPRESSED SR_STAGE_COMPRESSED
#define BUFFERED   SR_STAGE_BUFFERED
#define STREAMED   SR_STAGE_STREAMED

/* One printed table; --json prints the same cells. */
struct page {
    struct sr_bench_table table;
    const char *name, *title;
    const char *const *titles;
};

struct options {
    struct sr_stages_options stages;
    bool wanted[TABLES], json;
};

static void start(struct page *page, int table, const char *title, const char *const *titles, size_t n)
{
    page->name = names[table];
    page->title = title;
    page->titles = titles;
    sr_bench_table_init(&page->table, titles, n);
}

static void text(struct page *page, const char *words)
{
    sr_bench_table_cell(&page->table, "%s", words);
}

static void number(struct page *page, double ms, const char *why)
{
    if (ms > 0)
        sr_bench_table_cell(&page->table, ms < 10 ? "%.2f" : ms < 100 ? "%.1f" : "%.0f", ms);
    else
        text(page, why && *why ? why : "-");
}

static void cell(struct page *page, const struct sr_stage *stage)
{
    number(page, stage->ms, stage->why);
}

static void ratio(struct page *page, double base, double ms)
{
    if (base > 0 && ms > 0)
        sr_bench_table_cell(&page->table, "%.1f x", base / ms);
    else
        text(page, "-");
}

/* Over the baseline, or over what it would take at least. */
static void over(struct page *page, const struct sr_stage *peer, double ms)
{
    if (peer->ms > 0 || ms <= 0 || peer->least <= 0)
        ratio(page, peer->ms, ms);
    else
        sr_bench_table_cell(&page->table, "> %.1f x", peer->least / ms);
}

static const char *tokens_of(int size)
{
    static const char *const words[SR_STAGE_SIZES] = {"512", "2K", "4K", "8K", "16K", "32K"};
    return words[size];
}

/* ---- the tables ---- */

static void table_iv(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"tokens",     "what",     "paper GPU",       "paper CPU", "3 x ONNX",
                                         "same shape", "embedded", "ONNX / embedded", "tier"};
    static const int sizes[] = {SR_STAGE_500, SR_STAGE_2K, SR_STAGE_8K};
    static const char *const paper[][2] = {{"22", "803"}, {"31", "1773"}, {"127", "4918"}};
    static const char *const each[][SR_GUARDS_SIGNALS][2] = {
        {{"9.0", "601"}, {"14.2", "780"}, {"8.6", "665"}},
        {{"-", "-"}, {"20.8", "1684"}, {"18.7", "1745"}},
        {{"-", "-"}, {"58.1", "1519"}, {"118.2", "4906"}}};
    start(page, IV, "ms of a request, BUFFERED through Envoy; of each signal, in the process", titles, 9);
    for (int i = 0; i < 3; i++) {
        const struct sr_stage *peer = sr_stage_peer(s, sizes[i]), *shape = sr_stage_shape(s, sizes[i]);
        const struct sr_stage *ours = sr_stage_envoy(s, BUFFERED, WHOLE, sizes[i], 1);
        text(page, tokens_of(sizes[i]));
        text(page, "all, end to end");
        text(page, paper[i][0]);
        text(page, paper[i][1]);
        cell(page, peer);
        cell(page, shape);
        cell(page, ours);
        over(page, peer, ours->ms);
        text(page, "as below, counted by the router");
    }
    for (int i = 0; i < 3; i++) {
        const struct sr_stage *peer = sr_stage_peer(s, sizes[i]),
                              *ours = sr_stage_signals(s, WHOLE, sizes[i]);
        for (int k = 0; k < SR_GUARDS_SIGNALS; k++) {
            text(page, tokens_of(sizes[i]));
            text(page, signals[k]);
            text(page, each[i][k][0]);
            text(page, each[i][k][1]);
            number(page, peer->ms / 3, peer->why);
            text(page, "one pass for all");
            number(page, ours->each[k], ours->why);
            ratio(page, peer->ms / 3, ours->each[k]);
            text(page, ours->tier[k]);
        }
    }
}

static void table_vi(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"tokens",     "signal",     "paper",    "paper, compressed",
                                         "same shape", "compressed", "embedded", "compressed",
                                         "tier"};
    static const struct {
        int size, signal;
        const char *whole, *compressed;
    } rows[] = {{SR_STAGE_500, SR_GUARDS_JAILBREAK, "10.1", "9.3"},
                {SR_STAGE_2K, SR_GUARDS_JAILBREAK, "18.0", "11.1"},
                {SR_STAGE_8K, SR_GUARDS_JAILBREAK, "45.3", "10.5"},
                {SR_STAGE_16K, SR_GUARDS_JAILBREAK, "126.6", "10.4"},
                {SR_STAGE_16K, SR_GUARDS_DOMAIN, "85.3", "7.1"},
                {SR_STAGE_16K, SR_GUARDS_PII, "84.6", "6.2"}};
    start(page, VI,
          "ms of a signal, whole and compressed to 512 tokens; the same shape gives all three in one pass",
          titles, 9);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct sr_stage *whole = sr_stage_signals(s, WHOLE, rows[i].size);
        const struct sr_stage *brief = sr_stage_signals(s, COMPRESSED, rows[i].size);
        text(page, tokens_of(rows[i].size));
        text(page, signals[rows[i].signal]);
        text(page, rows[i].whole);
        text(page, rows[i].compressed);
        cell(page, sr_stage_shape(s, rows[i].size));
        cell(page, sr_stage_shape(s, SR_STAGE_500));
        number(page, whole->each[rows[i].signal], whole->why);
        number(page, brief->each[rows[i].signal], brief->why);
        text(page, whole->tier[rows[i].signal]);
    }
}

static void table_vii(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"tokens", "paper out", "paper ms", "out", "share", "ms"};
    static const struct {
        int size;
        const char *out, *ms;
    } rows[] = {{SR_STAGE_2K, "510", "2"},
                {SR_STAGE_4K, "511", "4"},
                {SR_STAGE_8K, "512", "9"},
                {SR_STAGE_16K, "512", "19"}};
    start(page, VII, "compression to 512 (estimated); out: by the embedded encoder's tokenizer", titles, 6);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct sr_stage *stage = sr_stage_compress(s, rows[i].size);
        text(page, tokens_of(rows[i].size));
        text(page, rows[i].out);
        text(page, rows[i].ms);
        sr_bench_table_cell(&page->table, "%.0f", stage->spare);
        sr_bench_table_cell(&page->table, "%.1f %%",
                            100 * stage->spare / (double)sr_stage_tokens[rows[i].size]);
        cell(page, stage);
    }
}

static void stage_row(struct page *page, const char *what, const char *paper, const struct sr_stage *stage,
                      double extra, const struct sr_stage *base, double last, const char *goal)
{
    double ms = stage->ms > 0 ? stage->ms + extra : 0;
    text(page, what);
    text(page, paper);
    number(page, ms, stage->why);
    ratio(page, last, ms);
    over(page, base, ms);
    text(page, goal);
}

static void table_viii(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"8K tokens", "paper ms", "ms", "stage", "over the baseline", "goal"};
    const struct sr_stage *peer = sr_stage_peer(s, SR_STAGE_8K), *short_peer = sr_stage_peer(s, SR_STAGE_500);
    const struct sr_stage *whole = sr_stage_shape(s, SR_STAGE_8K), *brief = sr_stage_shape(s, SR_STAGE_500);
    double compress = sr_stage_compress(s, SR_STAGE_8K)->ms;
    static const struct sr_stage none = {.why = "no other attention here"};
    const struct sr_stage pass = {.ms = short_peer->ms / 3};
    start(page, VIII, "the stages at 8K tokens", titles, 6);
    stage_row(page, "3 x ONNX Runtime, CPU (baseline)", "4918", peer, 0, peer, 0, "");
    stage_row(page, "ours with plain attention", "OOM", &none, 0, &none, 0, "");
    stage_row(page, "same shape, one pass, in the process", "127", whole, 0, peer, peer->ms, "24 x");
    stage_row(page, "  + compression to 512", "62", brief, compress, peer, whole->ms, "500 x");
    stage_row(page, "  beside 3 x ONNX on the same 512", "-", brief, 0, short_peer, 0, "-");
    stage_row(page, "  beside 1 x ONNX on the same 512", "-", brief, 0, &pass, 0, "2.2 x");
    const struct sr_stage *e = sr_stage_envoy(s, BUFFERED, WHOLE, SR_STAGE_8K, 1);
    const struct sr_stage *c = sr_stage_envoy(s, BUFFERED, COMPRESSED, SR_STAGE_8K, 1);
    const struct sr_stage *t = sr_stage_envoy(s, STREAMED, COMPRESSED, SR_STAGE_8K, 1);
    stage_row(page, "embedded models, BUFFERED, whole", "127", e, 0, peer, peer->ms, "500 x");
    stage_row(page, "  + compression to 512", "62", c, 0, peer, e->ms, "50 ms");
    stage_row(page, "  + FULL_DUPLEX_STREAMED", "50", t, 0, peer, c->ms, "50 ms");
    stage_row(page, "  whole, FULL_DUPLEX_STREAMED", "-", sr_stage_envoy(s, STREAMED, WHOLE, SR_STAGE_8K, 1),
              0, peer, 0, "");
    stage_row(page, "  16K, compressed, streamed", "108",
              sr_stage_envoy(s, STREAMED, COMPRESSED, SR_STAGE_16K, 1), 0, &none, 0, "");
    const struct sr_stage *small = sr_stage_envoy(s, BUFFERED, WHOLE, SR_STAGE_500, 1);
    stage_row(page, "  512 tokens, BUFFERED, whole", "22", small, 0, &none, 0, "50 ms at p99");
    text(page, "  the same at p99");
    text(page, "-");
    number(page, small->p99, small->why);
    text(page, "-");
    text(page, "-");
    text(page, "50 ms at p99");
}

static void table_ix(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"tokens",   "paper BUFFERED", "STREAMED",
                                         "BUFFERED", "FULL_DUPLEX",    "less by"};
    static const struct {
        int size;
        const char *buffered, *streamed;
    } rows[] = {{SR_STAGE_500, "12", "11"},
                {SR_STAGE_2K, "15", "14"},
                {SR_STAGE_8K, "30", "20"},
                {SR_STAGE_16K, "61", "31"}};
    start(page, IX, "the domain signal alone, compressed by the router, through Envoy; embedded models",
          titles, 6);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct sr_stage *buffered = sr_stage_domain(s, BUFFERED, rows[i].size);
        const struct sr_stage *streamed = sr_stage_domain(s, STREAMED, rows[i].size);
        text(page, tokens_of(rows[i].size));
        text(page, rows[i].buffered);
        text(page, rows[i].streamed);
        cell(page, buffered);
        cell(page, streamed);
        if (buffered->ms > 0 && streamed->ms > 0)
            sr_bench_table_cell(&page->table, "%.1f %%", 100 * (1 - streamed->ms / buffered->ms));
        else
            text(page, "-");
    }
}

static void table_x(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"tokens", "mode", "paper 1/10/20", "1", "10", "20 at once"};
    static const struct {
        int size;
        const char *whole, *compressed;
    } rows[] = {{SR_STAGE_500, "19 / 77 / 142", "17 / 75 / 140"},
                {SR_STAGE_2K, "32 / 141 / 275", "24 / 92 / 157"},
                {SR_STAGE_8K, "105 / 601 / 1058", "50 / 118 / 183"},
                {SR_STAGE_16K, "259 / 1567 / 3089", "108 / 166 / 231"},
                {SR_STAGE_32K, "756 / 5406 / 9872", "125 / 183 / 248"}};
    static const unsigned clients[] = {1, 10, 20};
    start(page, X, "median ms for clients at once, all three signals, through Envoy, embedded models", titles,
          6);
    for (int reads = 0; reads < SR_STAGE_READS; reads++)
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            text(page, tokens_of(rows[i].size));
            text(page, reads ? "compressed, streamed" : "whole, BUFFERED");
            text(page, reads ? rows[i].compressed : rows[i].whole);
            for (int k = 0; k < 3; k++)
                cell(page, sr_stage_envoy(s, reads ? STREAMED : BUFFERED, reads, rows[i].size, clients[k]));
        }
}

static void rate_row(struct page *page, const char *what, const char *paper, const struct sr_stage *stage)
{
    text(page, what);
    text(page, paper);
    cell(page, stage);
    if (stage->ms > 0)
        sr_bench_table_cell(&page->table, stage->ms > 100 ? "%.2f" : "%.1f", 1000 / stage->ms);
    else
        text(page, "-");
}

static void table_xii(struct sr_stages *s, struct page *page)
{
    static const char *const titles[] = {"configuration", "paper ms, req/s", "ms", "req/s"};
    start(page, XII, "requests a second of one client", titles, 4);
    rate_row(page, "3 x ONNX Runtime, CPU, 8K (baseline)", "4918, 0.2", sr_stage_peer(s, SR_STAGE_8K));
    rate_row(page, "same shape, 512, in the process", "22, 45.5", sr_stage_shape(s, SR_STAGE_500));
    rate_row(page, "same shape, 8K, in the process", "127, 7.9", sr_stage_shape(s, SR_STAGE_8K));
    rate_row(page, "embedded, 512, BUFFERED", "22, 45.5",
             sr_stage_envoy(s, BUFFERED, WHOLE, SR_STAGE_500, 1));
    rate_row(page, "embedded, 8K, BUFFERED", "127, 7.9", sr_stage_envoy(s, BUFFERED, WHOLE, SR_STAGE_8K, 1));
    rate_row(page, "embedded, 512, compressed, streamed", "17, 58.8",
             sr_stage_envoy(s, STREAMED, COMPRESSED, SR_STAGE_500, 1));
    rate_row(page, "embedded, 8K, compressed, streamed", "50, 20.0",
             sr_stage_envoy(s, STREAMED, COMPRESSED, SR_STAGE_8K, 1));
    rate_row(page, "embedded, 16K, compressed, streamed", "108, 9.3",
             sr_stage_envoy(s, STREAMED, COMPRESSED, SR_STAGE_16K, 1));
}

static void (*const fill[TABLES])(struct sr_stages *s, struct page *page) = {
    table_iv, table_vi, table_vii, table_viii, table_ix, table_x, table_xii};

/* ---- the command ---- */

static void print_cell(const char *cell, const char *before)
{
    printf("%s\"", before);
    for (; *cell; cell++)
        putchar(*cell == '"' || *cell == '\\' ? '\'' : *cell);
    putchar('"');
}

static void print_json(const struct page *page, bool first)
{
    printf("%s\n{\"table\":\"%s\",\"title\":\"%s\",\"columns\":[", first ? "" : ",", page->name, page->title);
    for (size_t k = 0; k < page->table.columns; k++)
        printf("%s\"%s\"", k ? "," : "", page->titles[k]);
    printf("],\"rows\":[");
    for (size_t i = 1; i < page->table.rows; i++) {
        printf("%s[", i > 1 ? "," : "");
        for (size_t k = 0; k < page->table.columns; k++)
            print_cell(page->table.cells[i][k], k ? "," : "");
        printf("]");
    }
    printf("]}");
}

static int usage(FILE *out)
{
    fprintf(
        out,
        "semroute bench paper [--table IV|VI|VII|VIII|IX|X|XII] [--json] [--repeats N] [--max-tokens N]\n"
        "                     [--precision fp32|bf16|int8] [--shape-precision fp32|bf16|int8] [--linear]\n"
        "                     [--no-peer] [--python PATH] [--quick]\n"
        "semroute bench paper --table XI --data DIR [-c FILE] [--every N] [--json]\n"
        "  Rebuilds tables of arXiv 2603.12646 on this machine, all but XI by default: ONNX Runtime as its "
        "baseline,\n  mmBERT-base's shape with random weights, and the embedded models through the real "
        "Envoy. "
        "--linear: without\n  the neural classifier. --quick: short texts once, two layers of the shape; to "
        "see that it "
        "works.\n");
    return out == stdout ? 0 : 2;
}

static bool choose(struct options *o, const char *table)
{
    for (int i = 0; i < TABLES; i++)
        if (strcmp(names[i], table) == 0)
            return o->wanted[i] = true;
    return false;
}

static bool is_precision(const char *word)
{
    return !strcmp(word, "fp32") || !strcmp(word, "bf16") || !strcmp(word, "int8");
}

static bool read_options(int argc, char **argv, struct options *o)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--json"))
            o->json = true;
        else if (!strcmp(argv[i], "--no-peer"))
            o->stages.peer = false;
        else if (!strcmp(argv[i], "--linear"))
            o->stages.linear = true;
        else if (!strcmp(argv[i], "--quick"))
            o->stages.quick = true;
        else if (!strcmp(argv[i], "--python") && more)
            o->stages.python = argv[++i];
        else if (!strcmp(argv[i], "--repeats") && more)
            o->stages.repeats = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--max-tokens") && more)
            o->stages.max_tokens = (size_t)atol(argv[++i]);
        else if (!strcmp(argv[i], "--precision") && more && is_precision(argv[i + 1]))
            o->stages.precision = argv[++i];
        else if (!strcmp(argv[i], "--shape-precision") && more && is_precision(argv[i + 1]))
            o->stages.shape_precision = argv[++i];
        else if (!strcmp(argv[i], "--table") && more && choose(o, argv[i + 1]))
            any = ++i > 0;
        else
            return false;
    }
    if (o->stages.quick) {
        o->stages.repeats = 1;
        o->stages.max_tokens = 600;
    }
    for (int i = 0; i < TABLES; i++)
        o->wanted[i] |= !any;
    return o->stages.repeats >= 1 && o->stages.repeats <= 20 && o->stages.max_tokens >= 1;
}

static void say_setting(const struct options *o)
{
    printf("%s\nmedians of %d new prompts each; embedded models in %s, mmBERT-base's shape (random "
           "weights%s) in %s\n",
           sr_bench_machine(), o->stages.repeats,
           o->stages.precision ? o->stages.precision : "the default precision",
           o->stages.quick ? ", TWO LAYERS ONLY" : "", o->stages.shape_precision);
    fputs("Guards read originals by design: a compressed prompt is made before it is sent, and its time "
          "counts.\n"
          "\"Same shape\" is one pass of the trunk in the process, heads (51 rows of 768) not counted; it "
          "has no\n"
          "tokenizer, so it is not behind Envoy. Paper: arXiv 2603.12646, AMD MI300X.\n"
          ">: over what the baseline takes at least where it does not fit, the longest that does in "
          "proportion.\n",
          stdout);
}

int sr_bench_paper_tables(int argc, char **argv)
{
    static struct page page;
    struct options o = {.stages = {.python = "bench/.venv/bin/python",
                                   .shape_precision = "bf16",
                                   .repeats = 10,
                                   .max_tokens = 32768,
                                   .peer = true}};
    struct sr_stages *stages = NULL;
    struct sr_err err = {0};
    if (!read_options(argc, argv, &o)) {
        bool help = argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
        return usage(help ? stdout : stderr);
    }
    int rc = sr_stages_new(&stages, &o.stages, &err);
    if (rc) {
        fprintf(stderr, "semroute bench paper: %s%s\n", err.message[0] ? err.message : sr_strerror(rc),
                rc == SR_ENOENT && err.message[0] ? "; --linear measures the linear tier alone" : "");
        return 3;
    }
    if (o.json)
        printf("{\"bench\":\"paper\",\"machine\":\"%s\",\"quick\":%s,\"tables\":[", sr_bench_machine(),
               o.stages.quick ? "true" : "false");
    else
        say_setting(&o);
    bool first = true;
    for (int i = 0; i < TABLES; i++) {
        if (!o.wanted[i])
            continue;
        fill[i](stages, &page);
        if (o.json)
            print_json(&page, first);
        else {
            printf("\nTable %s: %s\n", page.name, page.title);
            sr_bench_table_print(&page.table, stdout);
            fflush(stdout);
        }
        first = false;
    }
    if (o.json)
        printf("]}\n");
    bool broken = sr_stages_broken(stages)[0] != '\0';
    if (broken)
        fprintf(stderr, "semroute bench paper: %s\n", sr_stages_broken(stages));
    sr_stages_free(stages);
    return broken ? 3 : 0;
}
