/*
 * Times what it costs to compress a prompt to 512 tokens: all of it, and what is left when the text has
 * ended, because the rest is done while it arrives. Texts are real ones from a data folder (prose in English
 * and in many languages, dialogues, agent requests as JSON) and a file of code; without a folder, prose made
 * here.
 *
 * In comparison: the paper's table VII, and its published implementation (Go, two threads) measured on a
 * machine of this kind. Goals are printed, never asserted.
 */
#include "bench/compress.h"

#include "bench/bench.h"
#include "bench/texts.h"

#include "base/clock.h"
#include "base/mem.h"
#include "model/tokenizer/tokenizer.h"
#include "text/compress/compress.h"

#include <stdlib.h>
#include <string.h>

#define SIZES 5
static const size_t sizes[SIZES] = {2048, 4096, 8192, 16384, 32768};
static const double paper_ms[SIZES] = {2, 4, 9, 19, 0};

enum kind { ENGLISH, MIXED, CHAT, AGENT, CODE, KINDS };

/* A peer's milliseconds for the same budget; 0: not measured. */
static const struct {
    const char *name;
    double peer_ms[SIZES];
} kinds[KINDS] = {
    {"English", {2.1, 5.7, 17.8, 28.6, 29.9}},
    {"28 languages", {1.5, 3.9, 12.2, 42.9, 41.7}},
    {"dialogues", {0, 0, 0, 0, 0}},
    {"agent JSON", {0, 0, 0, 0, 0}},
    {"code", {1.9, 0, 0, 14.7, 15.7}},
};

#define ENDS    4096
#define WINDOWS 16
#define PIECE   ((size_t)16 << 10) /* bytes that arrive at a time */

struct subject {
    sr_compressor *compressor;
    struct sr_compress_settings settings;
    struct sr_bytes texts[WINDOWS]; /* taken in turns, so that no run meets a text that it has just learnt */
    size_t n_texts, turn;
    struct sr_compress_result result;
    double ends[ENDS]; /* nanoseconds after the last piece, of the latest runs */
    size_t n_ends;
};

struct row {
    enum kind kind;
    size_t size;
    struct sr_bench_subject timing;
    struct subject subject;
    double end_ns; /* median */
    size_t memory;
};

static size_t count_tokens(void *ctx, struct sr_bytes text)
{
    size_t n;
    return sr_tokenizer_count(ctx, text, 0, &n) == SR_OK ? n : SIZE_MAX;
}

static size_t fit_tokens(void *ctx, struct sr_bytes text, size_t tokens)
{
    size_t length;
    return sr_tokenizer_fit(ctx, text, 0, tokens, &length) == SR_OK ? length : 0;
}

static struct sr_compress_counter counter = {count_tokens, fit_tokens, NULL};
static bool is_exact; /* a tokenizer counts */

static uint64_t run_once(void *ctx)
{
    struct subject *s = ctx;
    struct sr_bytes text = s->texts[s->turn++ % s->n_texts];
    int rc = sr_compress_begin(s->compressor, &s->settings);
    for (size_t at = 0; rc == SR_OK && at < text.n; at += PIECE)
        rc = sr_compress_feed(s->compressor,
                              sr_bytes_of(text.p + at, text.n - at < PIECE ? text.n - at : PIECE));
    uint64_t start = sr_clock_ns();
    if (rc == SR_OK)
        rc = sr_compress_end(s->compressor, &s->result);
    s->ends[s->n_ends++ % ENDS] = (double)(sr_clock_ns() - start);
    return rc == SR_OK ? s->result.compressed_tokens + 1 : 0;
}

static int measure_row(struct row *row, struct sr_bytes text, double seconds)
{
    struct subject *s = &row->subject;
    size_t at = 0;
    do {
        struct sr_bytes part = sr_bench_cut(sr_bytes_of(text.p + at, text.n - at), row->size);
        at += part.n;
        if (at == text.n && s->n_texts) /* the last one is short */
            break;
        s->texts[s->n_texts++] = part;
    } while (s->n_texts < WINDOWS && at < text.n);
    sr_compress_profile(SR_LIT("default"), &s->settings);
    s->settings.counter = is_exact ? &counter : NULL;
    int rc = sr_compressor_new(&s->compressor, SR_COMPRESS_TEXT_MAX);
    row->timing = (struct sr_bench_subject){.name = kinds[row->kind].name, .run = run_once, .ctx = s};
    if (rc == SR_OK)
        rc = sr_bench_measure(&row->timing, 1, seconds);
    if (rc == SR_OK && row->timing.failed)
        rc = SR_EINVAL;
    if (s->n_ends)
        row->end_ns = sr_bench_percentile(s->ends, s->n_ends < ENDS ? s->n_ends : ENDS, 0.5);
    if (s->compressor)
        row->memory = sr_compressor_memory(s->compressor);
    sr_compressor_free(s->compressor);
    s->compressor = NULL;
    return rc;
}

static int make_prose(struct sr_buf *out)
{
    static const char *const subjects[] = {"The router", "A model", "Our team", "The market", "Each cell"};
    static const char *const verbs[] = {"reads", "measures", "forgets", "keeps", "moves"};
    static const char *const objects[] = {"the request", "its budget", "old memory", "a sentence",
                                          "the price"};
    uint64_t x = 42;
    int rc = SR_OK;
    while (rc == SR_OK && out->len < ((size_t)1 << 18)) {
        x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        rc = sr_buf_printf(out, "%s %s %s in case %u, and nothing of part %u is lost. ",
                           subjects[x >> 33 & 3], verbs[(x >> 36) % 5], objects[(x >> 40) % 5],
                           (unsigned)(x >> 44) % 997, (unsigned)(x >> 54));
    }
    return rc;
}

/* The text of a kind; empty when there is none. */
static int load_text(enum kind kind, const char *data, const char *code, struct sr_buf *out)
{
    const size_t max = (size_t)1 << 20;
    if (kind == CODE)
        return code ? sr_bench_file(code, out, max) : SR_OK;
    if (!data)
        return kind == ENGLISH ? make_prose(out) : SR_OK;
    switch (kind) {
    case ENGLISH:
        return sr_bench_texts(data, "longdocs-opensourceguide/docs.jsonl", "text", "lang", "en", out, max);
    case MIXED:
        return sr_bench_texts(data, "longdocs-opensourceguide/docs.jsonl", "text", NULL, NULL, out,
                              (size_t)6 << 20);
    case CHAT:
        return sr_bench_texts(data, "chat-agent-taubench/few_shot_text.jsonl", "messages_display", NULL, NULL,
                              out, max);
    default: {
        char path[1024];
        snprintf(path, sizeof path, "%s/chat-agent-taubench/airline_trajectories.jsonl", data);
        return sr_bench_file(path, out, max);
    }
    }
}

/* Every language gets its turn: paragraphs of the documents are dealt out one by one. */
static int deal_out(struct sr_buf *text)
{
    enum { DECKS = 64 };
    struct sr_buf dealt;
    size_t at[DECKS], end[DECKS];
    sr_buf_init(&dealt, text->max);
    for (size_t i = 0; i < DECKS; i++) {
        at[i] = text->len * i / DECKS;
        end[i] = text->len * (i + 1) / DECKS;
    }
    int rc = SR_OK;
    for (bool more = true; more && rc == SR_OK;) {
        more = false;
        for (size_t i = 0; i < DECKS && rc == SR_OK; i++) {
            const char *newline = at[i] < end[i] ? memchr(text->data + at[i], '\n', end[i] - at[i]) : NULL;
            size_t stop = newline ? (size_t)(newline - text->data) + 1 : end[i];
            if (at[i] < end[i])
                rc = sr_buf_append(&dealt, text->data + at[i], stop - at[i]);
            at[i] = stop;
            more |= at[i] < end[i];
        }
    }
    sr_buf_dispose(text);
    *text = dealt;
    return rc;
}

/* Mean over the windows. */
static size_t bytes_of(const struct row *row)
{
    size_t sum = 0;
    for (size_t i = 0; i < row->subject.n_texts; i++)
        sum += row->subject.texts[i].n;
    return row->subject.n_texts ? sum / row->subject.n_texts : 0;
}

static double us_of(const struct row *row)
{
    return row->timing.median_ns / 1e3;
}

/* The 10th percentile: the time without interruptions. */
static double low_us(const struct row *row)
{
    return row->timing.low_ns / 1e3;
}

static double end_us(const struct row *row)
{
    return row->end_ns / 1e3;
}

static double ratio_of(const struct row *row)
{
    const struct sr_compress_result *r = &row->subject.result;
    return r->original_tokens ? (double)r->compressed_tokens / (double)r->original_tokens : 1;
}

static void print_json(const struct row *rows, size_t n, bool real)
{
    printf("{\"bench\":\"compress\",\"machine\":\"%s\",\"threads\":1,\"budget\":512,\"count\":\"%s\","
           "\"texts\":\"%s\",\"rows\":[",
           sr_bench_machine(), is_exact ? "exact" : "estimated", real ? "real" : "made");
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        printf("%s{\"text\":\"%s\",\"tokens\":%zu,\"bytes\":%zu,\"us\":%.1f,\"low_us\":%.1f,\"end_us\":%.1f,"
               "\"mb_per_s\":%.1f,"
               "\"original_tokens\":%zu,\"compressed_tokens\":%zu,\"ratio\":%.4f,\"memory_bytes\":%zu,"
               "\"paper_ms\":%g,\"peer_ms\":%g}",
               i ? "," : "", kinds[r->kind].name, r->size, bytes_of(r), us_of(r), low_us(r), end_us(r),
               (double)bytes_of(r) / us_of(r), r->subject.result.original_tokens,
               r->subject.result.compressed_tokens, ratio_of(r), r->memory, paper_ms[i % SIZES],
               kinds[r->kind].peer_ms[i % SIZES]);
    }
    printf("],\"goals\":{\"tokens\":16384,\"us\":1000,\"end_us\":300}}\n");
}

static void cell_ms(struct sr_bench_table *table, double ms)
{
    if (ms > 0)
        sr_bench_table_cell(table, "%g", ms);
    else
        sr_bench_table_cell(table, "-");
}

static void print_table(const struct row *rows, size_t n, bool real)
{
    static const char *const titles[] = {"text",        "tokens",     "KB",      "us",
                                         "undisturbed", "at the end", "MB/s",    "ratio",
                                         "memory KB",   "paper ms",   "peer ms", "x peer"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    const struct row *goal = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        double peer = kinds[r->kind].peer_ms[i % SIZES];
        goal = r->kind == ENGLISH && r->size == 16384 ? r : goal;
        sr_bench_table_cell(&table, "%s", kinds[r->kind].name);
        sr_bench_table_cell(&table, "%zuK", r->size >> 10);
        sr_bench_table_cell(&table, "%zu", bytes_of(r) >> 10);
        sr_bench_table_cell(&table, "%.0f", us_of(r));
        sr_bench_table_cell(&table, "%.0f", low_us(r));
        sr_bench_table_cell(&table, "%.0f", end_us(r));
        sr_bench_table_cell(&table, "%.0f", (double)bytes_of(r) / us_of(r));
        sr_bench_table_cell(&table, "%.1f %%", ratio_of(r) * 100);
        sr_bench_table_cell(&table, "%zu", r->memory >> 10);
        cell_ms(&table, paper_ms[i % SIZES]);
        cell_ms(&table, peer);
        if (peer > 0)
            sr_bench_table_cell(&table, "%.0f", peer * 1e3 / us_of(r));
        else
            sr_bench_table_cell(&table, "-");
    }
    printf("Prompt compression to 512 tokens, %s count, %s, 1 thread; medians, and the 10th percentile "
           "beside it\n",
           is_exact ? "exact" : "estimated", sr_bench_machine());
    sr_bench_table_print(&table, stdout);
    if (!real)
        printf("the text was made here; --data DIR (with longdocs-opensourceguide and chat-agent-taubench) "
               "takes "
               "real ones, --code FILE code\n");
    printf(
        "paper: arXiv 2603.12646, table VII; peer: vLLM Semantic Router (Go, 2 threads) on a machine of this "
        "kind, which samples 500 sentences first\n");
    if (goal)
        printf("goal at 16K tokens of English: 1000 us (1500 counted exactly), 300 us of it at the end; this "
               "run: %.0f us (undisturbed %.0f), %.0f us\n",
               us_of(goal), low_us(goal), end_us(goal));
}

static int usage(FILE *out)
{
    fprintf(out,
            "semroute bench compress [--json] [--data DIR] [--code FILE] [--tokenizer FILE] [--seconds S]\n  "
            "Compresses texts of "
            "2K to 32K tokens to 512. DIR holds longdocs-opensourceguide/ and chat-agent-taubench/ (JSON\n"
            "  Lines); FILE is source code of at least 200 KB, or a tokenizer.json for exact counts; S "
            "seconds for each row (0.3).\n");
    return out == stdout ? 0 : 2;
}

struct options {
    bool json;
    double seconds;
    const char *data, *code, *tokenizer;
};

static int measure_all(const struct options *o, struct row *rows, size_t *n)
{
    int rc = SR_OK;
    for (int kind = 0; kind < KINDS && rc == SR_OK; kind++) {
        struct sr_buf text;
        sr_buf_init(&text, (size_t)8 << 20);
        rc = load_text((enum kind)kind, o->data, o->code, &text);
        if (rc)
            fprintf(stderr, "semroute bench compress: no %s text in %s\n", kinds[kind].name,
                    kind == CODE ? o->code : o->data);
        if (rc == SR_OK && kind == MIXED && text.len)
            rc = deal_out(&text);
        for (size_t i = 0; i < SIZES && rc == SR_OK && text.len; i++, ++*n) {
            rows[*n] = (struct row){.kind = (enum kind)kind, .size = sizes[i]};
            rc = measure_row(&rows[*n], sr_buf_view(&text), o->seconds);
        }
        sr_buf_dispose(&text);
    }
    return rc;
}

int sr_bench_compress(int argc, char **argv)
{
    static struct row rows[KINDS * SIZES];
    struct options o = {.seconds = 0.3};
    size_t n = 0;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            o.json = true;
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc && atof(argv[i + 1]) > 0)
            o.seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
            o.data = argv[++i];
        else if (strcmp(argv[i], "--tokenizer") == 0 && i + 1 < argc)
            o.tokenizer = argv[++i];
        else if (strcmp(argv[i], "--code") == 0 && i + 1 < argc)
            o.code = argv[++i];
        else
            return usage(strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 ? stdout : stderr);
    struct sr_tokenizer *tokenizer = NULL;
    struct sr_err err = {0};
    int rc = o.tokenizer ? sr_tokenizer_open_file(&tokenizer, o.tokenizer, &err) : SR_OK;
    counter.ctx = tokenizer;
    is_exact = tokenizer != NULL;
    if (rc)
        fprintf(stderr, "semroute bench compress: %s: %s\n", o.tokenizer, err.message);
    else
        rc = measure_all(&o, rows, &n);
    sr_tokenizer_unref(tokenizer);
    if (rc) {
        fprintf(stderr, "semroute bench compress: %s\n", sr_strerror(rc));
        return 3;
    }
    if (o.json)
        print_json(rows, n, o.data != NULL);
    else
        print_table(rows, n, o.data != NULL);
    return 0;
}
