/*
 * Times what a chat body costs before it is forwarded: scanning it by the router's own table of paths,
 * scanning it and writing it out with another model, and, in comparison, what a parser that builds a tree
 * needs (jansson: parse, set the model, dump). The bodies are made here, the same ones on each machine.
 *
 * Goals are printed next to the figures, never asserted.
 */
#include "bench/scan.h"

#include "bench/bench.h"
#include "bench/options.h"

#include "base/buf.h"
#include "dialect/registry.h"
#include "json/simd.h"
#include "json/splice.h"

#include <jansson.h>
#include <stdlib.h>

#define ARENA_MAX    ((size_t)64 << 20)
#define MESSAGE_TEXT 1500 /* bytes of content in a message, about */

/* A peer's figures for 16K tokens in microseconds, from the benchmarks in its own repository. */
#define PEER_EXTRACT_US 1000.0
#define PEER_REWRITE_US 110.0

enum flavour { ENGLISH, ESCAPED, CJK, FLAVOURS };

static const char *const flavour_names[FLAVOURS] = {"English", "escaped", "CJK"};

#define WORDS 16
static const char *const words[FLAVOURS][WORDS] = {
    {"the ", "router ", "reads ", "what ", "a ", "request ", "means, ", "and ", "decides ", "which ",
     "model ", "should ", "answer ", "it. ", "Explain how that works in detail.\\n", "compression "},
    {"\\n    ", "if (x == \\\"a\\\") ", "{\\n\\t", "return ", "f(x);\\n", "}\\n", "\\\\d+\\\\s* ",
     "\\u00e9t\\u00e9 ", "path\\\\to\\\\file ", "\\\"key\\\": ", "value,\\n", "for i in ",
     "range(10):\\n\\t\\t", "\\u4e2d\\u6587 ", "\\/* c *\\/ ", "\\r\\n"},
    {"请解释", "量子纠缠", "是什么，", "并给出", "一个简单的", "例子。", "模型", "语义路由", "为什么",
     "重要？\\n", "機械学習", "について", "説明して", "ください。", "에너지는 ", "무엇인가요? "},
};

struct body {
    struct sr_buf text;
    struct sr_paths *paths;
    struct sr_arena arena;
    char *out; /* room for the edited body */
};

static int make_body(struct sr_buf *out, enum flavour flavour, size_t size)
{
    static const char *const roles[] = {"user", "assistant"};
    uint64_t state = 42;
    int rc = sr_buf_printf(out, "{\"model\":\"auto\",\"stream\":true,\"temperature\":0.7,\"messages\":["
                                "{\"role\":\"system\",\"content\":\"You are a helpful assistant.\"}");
    for (size_t i = 0; rc == SR_OK && out->len + 64 < size; i++) {
        rc = sr_buf_printf(out, ",{\"role\":\"%s\",\"content\":\"", roles[i % 2]);
        size_t end = out->len + MESSAGE_TEXT < size - 64 ? out->len + MESSAGE_TEXT : size - 64;
        while (rc == SR_OK && out->len < end) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const char *word = words[flavour][(state >> 33) % WORDS];
            rc = sr_buf_append(out, word, strlen(word));
        }
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\"}", 2);
    }
    return rc ? rc : sr_buf_printf(out, "],\"user\":\"u-1\",\"max_tokens\":512}");
}

static struct sr_scan *scan_body(struct body *body)
{
    struct sr_scan *scan;
    sr_arena_dispose(&body->arena);
    if (sr_scan_new(&scan, body->paths, sr_scan_limits_defaults(), &body->arena) ||
        sr_scan_feed(scan, body->text.data, body->text.len, NULL) || sr_scan_finish(scan, NULL))
        return NULL;
    return scan;
}

static uint64_t run_scan(void *ctx)
{
    size_t n = 0;
    struct sr_scan *scan = scan_body(ctx);
    if (scan)
        sr_scan_spans(scan, &n);
    return n;
}

/* Scan, replace the model, and put the new body together in one piece as a dump would. */
static uint64_t run_rewrite(void *ctx)
{
    struct body *body = ctx;
    struct sr_scan *scan = scan_body(body);
    struct sr_edits *edits;
    const struct sr_bytes *slices;
    size_t n_spans, n = 0, total = 0, at = 0;
    if (!scan)
        return 0;
    const struct sr_span *spans = sr_scan_spans(scan, &n_spans);
    if (sr_edits_new(&edits, sr_buf_view(&body->text), spans, n_spans, sr_scan_root_open(scan), 16,
                     &body->arena) ||
        sr_edits_set_member(edits, SR_SPAN_NONE, SR_LIT("model"), SR_LIT("\"small\"")) ||
        sr_edits_render(edits, &slices, &n, &total, NULL) || total > body->text.len + 64)
        return 0;
    for (size_t i = 0; i < n; i++) {
        memcpy(body->out + at, slices[i].p, slices[i].n);
        at += slices[i].n;
    }
    return at;
}

/* Scan, and decode the text of every message. */
static uint64_t run_extract(void *ctx)
{
    struct body *body = ctx;
    struct sr_scan *scan = scan_body(body);
    size_t n, bytes = 0;
    const struct sr_span *spans = scan ? sr_scan_spans(scan, &n) : NULL;
    for (size_t i = 0; spans && i < n; i++)
        if (spans[i].id == SR_AT_CONTENT || spans[i].id == SR_AT_PART_TEXT)
            bytes += sr_span_text(&spans[i], sr_buf_view(&body->text), &body->arena).n;
    return bytes;
}

static uint64_t run_jansson(void *ctx)
{
    struct body *body = ctx;
    json_t *root = json_loadb(body->text.data, body->text.len, 0, NULL);
    json_object_set_new(root, "model", json_string("small"));
    char *out = json_dumps(root, JSON_COMPACT);
    uint64_t n = out ? strlen(out) : 0;
    free(out);
    json_decref(root);
    return n;
}

enum { SCAN, REWRITE, EXTRACT, TREE, SUBJECTS };

struct row {
    enum flavour flavour;
    size_t bytes;
    struct sr_bench_subject subjects[SUBJECTS];
};

static double gb_per_s(const struct row *row, int subject)
{
    return (double)row->bytes / row->subjects[subject].median_ns;
}

static double times_tree(const struct row *row, int subject)
{
    return row->subjects[TREE].median_ns / row->subjects[subject].median_ns;
}

static int measure_row(struct row *row, struct sr_paths *paths, double seconds)
{
    struct body body = {.paths = paths};
    sr_buf_init(&body.text, row->bytes + 4096);
    sr_arena_init(&body.arena, ARENA_MAX);
    int rc = make_body(&body.text, row->flavour, row->bytes);
    if (rc == SR_OK && !(body.out = malloc(body.text.len + 64)))
        rc = SR_ENOMEM;
    row->bytes = body.text.len;
    row->subjects[SCAN] = (struct sr_bench_subject){.name = "scan", .run = run_scan, .ctx = &body};
    row->subjects[REWRITE] = (struct sr_bench_subject){.name = "rewrite", .run = run_rewrite, .ctx = &body};
    row->subjects[EXTRACT] = (struct sr_bench_subject){.name = "extract", .run = run_extract, .ctx = &body};
    row->subjects[TREE] = (struct sr_bench_subject){.name = "jansson", .run = run_jansson, .ctx = &body};
    if (rc == SR_OK)
        rc = sr_bench_measure(row->subjects, SUBJECTS, seconds);
    for (int i = 0; i < SUBJECTS && rc == SR_OK; i++)
        if (row->subjects[i].failed)
            rc = SR_EINVAL;
    free(body.out);
    sr_arena_dispose(&body.arena);
    sr_buf_dispose(&body.text);
    return rc;
}

static const size_t sizes[] = {1 << 10, 8 << 10, 64 << 10, 512 << 10, 1 << 20};
#define SIZES   (sizeof sizes / sizeof sizes[0])
#define ROWS    (SIZES * FLAVOURS)
#define ROW_64K 2 /* of English */

static void print_json(const struct row *rows)
{
    printf("{\"bench\":\"scan\",\"machine\":\"%s\",\"kernel\":\"%s\",\"threads\":1,\"rows\":[",
           sr_bench_machine(), sr_simd_name(sr_simd_skip()));
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        printf("%s{\"text\":\"%s\",\"bytes\":%zu", i ? "," : "", flavour_names[r->flavour], r->bytes);
        for (int s = 0; s < SUBJECTS; s++)
            printf(",\"%s_us\":%.3f", r->subjects[s].name, r->subjects[s].median_ns / 1e3);
        printf(",\"scan_gb_per_s\":%.3f,\"rewrite_gb_per_s\":%.3f,\"jansson_gb_per_s\":%.4f,\"ratio\":%.1f}",
               gb_per_s(r, SCAN), gb_per_s(r, REWRITE), gb_per_s(r, TREE), times_tree(r, REWRITE));
    }
    printf("],\"goals\":{\"bytes\":65536,\"gb_per_s\":1.0,\"ratio\":20},"
           "\"peer_16k_tokens\":{\"extract_us\":%.0f,\"rewrite_us\":%.0f}}\n",
           PEER_EXTRACT_US, PEER_REWRITE_US);
}

static void print_table(const struct row *rows)
{
    static const char *const titles[] = {"text", "body",          "scan us",    "GB/s", "scan+model us",
                                         "GB/s", "scan+texts us", "jansson us", "GB/s", "model: x jansson"};
    struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < ROWS; i++) {
        const struct row *r = &rows[i];
        char size[24];
        sr_bench_table_cell(&table, "%s", flavour_names[r->flavour]);
        sr_bench_table_cell(&table, "%s", sr_bench_size(size, sizes[i % SIZES]));
        sr_bench_table_cell(&table, "%.1f", r->subjects[SCAN].median_ns / 1e3);
        sr_bench_table_cell(&table, "%.2f", gb_per_s(r, SCAN));
        sr_bench_table_cell(&table, "%.1f", r->subjects[REWRITE].median_ns / 1e3);
        sr_bench_table_cell(&table, "%.2f", gb_per_s(r, REWRITE));
        sr_bench_table_cell(&table, "%.1f", r->subjects[EXTRACT].median_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", r->subjects[TREE].median_ns / 1e3);
        sr_bench_table_cell(&table, "%.3f", gb_per_s(r, TREE));
        sr_bench_table_cell(&table, "%.0f", times_tree(r, REWRITE));
    }
    const struct row *goal = &rows[ROW_64K];
    printf("JSON scan, %s, %s kernel, 1 thread; medians\n", sr_bench_machine(), sr_simd_name(sr_simd_skip()));
    sr_bench_table_print(&table, stdout);
    printf(
        "goal at 64 KB: 1 GB/s and 20 x jansson (parse, set the model, dump); this run: %.2f GB/s, %.0f x\n",
        gb_per_s(goal, SCAN), times_tree(goal, REWRITE));
    printf("16K tokens (64 KB): vLLM Semantic Router's own fast path needs %.0f us to extract the text and "
           "%.0f us to "
           "rewrite the model,\n  on a machine of this kind; this run: %.1f us and %.1f us\n",
           PEER_EXTRACT_US, PEER_REWRITE_US, goal->subjects[EXTRACT].median_ns / 1e3,
           goal->subjects[REWRITE].median_ns / 1e3);
}

int sr_bench_scan(int argc, char **argv)
{
    static struct row rows[ROWS];
    struct sr_bench_options o = {
        .name = "scan",
        .text = "Scans chat bodies of 1 KB to 1 MB beside jansson; S seconds for each row.",
        .seconds = 0.3};
    int code = sr_bench_options_read(&o, argc, argv);
    if (code >= 0)
        return code;
    struct sr_paths *paths;
    struct sr_err err = {0};
    const struct sr_dialect_table *chat = &sr_dialect_chat.request;
    int rc = sr_paths_new_complete(&paths, chat->specs, chat->n, &err);
    for (size_t i = 0; i < ROWS && rc == SR_OK; i++) {
        rows[i] = (struct row){.flavour = (enum flavour)(i / SIZES), .bytes = sizes[i % SIZES]};
        rc = measure_row(&rows[i], paths, o.seconds);
    }
    sr_paths_unref(paths);
    if (rc) {
        fprintf(stderr, "semroute bench scan: %s\n", sr_strerror(rc));
        return 3;
    }
    if (o.json)
        print_json(rows);
    else
        print_table(rows);
    return 0;
}
