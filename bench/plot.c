/* One row of a table says which members of a measurement's rows are drawn, and what they are called. */
#include "bench/plot.h"

#include "base/mem.h"
#include "bench/chart.h"
#include "cli/cmd.h"
#include "json/doc.h"

#include <stdio.h>
#include <string.h>

#define DOCUMENT_MAX ((size_t)16 << 20)
#define PICTURE_MAX  ((size_t)1 << 20)
#define PATH_PARTS   64

static const struct drawn {
    const char *bench, *rows; /* its name, and the member that has its rows */
    const char *title;
    const char *x, *x_label;  /* a number of each row; NULL: bars, named by `names` */
    const char *names, *also; /* members that name a bar; `also` NULL: one is enough */
    const char *only;         /* of several rows at one `x`: those whose member equals the first row's */
    const char *y_label;
    struct {
        const char *path, *name; /* "batched.per_s" is inside an object */
    } series[SR_CHART_SERIES];
} ALL[] = {
    {"scan", "rows", "JSON scanner: time for a body in English", "bytes", "bytes of the body", .only = "text",
     .y_label = "microseconds",
     .series = {{"scan_us", "find every text"},
                {"rewrite_us", "find them and put a new model name in"},
                {"jansson_us", "jansson: parse, set, dump"}}},
    {"classify", "sizes", "Linear classifier: time for a new text", "bytes", "bytes of the text",
     .y_label = "microseconds",
     .series = {{"us", "classify"},
                {"random_reads_us", "as many random reads of a table as large"},
                {"scan_us", "one read of the text"}}},
    {"tools", "rows", "Ranking a tool database for one question", "tools", "tools in the database",
     .y_label = "microseconds", .series = {{"us", "rank"}, {"read_us", "one read of all vectors"}}},
    {"compress", "rows", "Prompt compressor: time for a text", "tokens", "tokens of the text", .only = "text",
     .y_label = "microseconds", .series = {{"us", "compress to 512 tokens"}}},
    {"signals", "rows", "What a signal adds to the trunk's pass", .names = "signal",
     .y_label = "microseconds", .series = {{"us", "added"}}},
    {"decide", "rows", "Signals without a model, and decisions", .names = "case", .y_label = "microseconds",
     .series = {{"us", "semroute"},
                {"peer_us", "vLLM Semantic Router, as published: other texts and machine"}}},
    {"gateway", "rows", "A request through the gateway", .names = "by", .also = "request",
     .y_label = "microseconds", .series = {{"p50_us", "p50"}, {"p99_us", "p99"}}},
    {"isolation", "rows", "Small requests, p99", .names = "rules", .y_label = "milliseconds",
     .series = {{"alone.p99_ms", "alone"}, {"beside.p99_ms", "beside clients with prompts of 140 KB"}}},
    {"tokenizer", "rows", "Tokenizers: ids and offsets", .names = "tokenizer", .also = "bytes",
     .y_label = "megabytes a second",
     .series = {{"encode_mb_per_s", "semroute"}, {"peer_mb_per_s", "Hugging Face tokenizers"}}},
    {"cache", "rows", "A lookup in the cache's vector index", .names = "by", .also = "entries",
     .y_label = "microseconds", .series = {{"p50_us", "p50"}, {"p99_us", "p99"}}},
    {"pool", "rows", "Time to the first token over a pool of workers", .names = "policy", .also = "workload",
     .y_label = "milliseconds", .series = {{"ttft_ms.p50", "p50"}, {"ttft_ms.p99", "p99"}}},
    {"pick", "rows", "Choosing a worker", .names = "policy", .y_label = "microseconds",
     .series = {{"choose_p50_us", "p50"}, {"choose_p99_us", "p99"}}},
    {"guards", "rows", "Domain, attacks and private data in a prompt", "tokens", "tokens of the prompt",
     .y_label = "milliseconds",
     .series = {{"ms", "semroute"}, {"jailbreak_ms", "of it attacks"}, {"peer_ms", "ONNX Runtime"}}},
    {"encoder", "rows", "The encoder's passes over one text", .names = "what", .also = "tokens",
     .only = "model", .y_label = "milliseconds", .series = {{"ms", "one pass"}}},
    {"observe", "rows", "A request, by what looks at it", .names = "router", .y_label = "microseconds",
     .series = {{"p50_us", "p50"}, {"p99_us", "p99"}}},
};
#define N_DRAWN (sizeof ALL / sizeof ALL[0])

/* The value at a path of names with dots; NULL: there is none. */
static const sr_doc_value *at(const sr_doc_value *value, const char *path)
{
    char part[PATH_PARTS];
    for (const char *dot; value && (dot = strchr(path, '.')); path = dot + 1) {
        snprintf(part, sizeof part, "%.*s", (int)(dot - path), path);
        value = sr_doc_get(value, part);
    }
    return value ? sr_doc_get(value, path) : NULL;
}

static double number_at(const sr_doc_value *row, const char *path)
{
    double value = 0;
    return sr_doc_number(at(row, path), &value) ? value : 0;
}

static void text_at(const sr_doc_value *row, const char *path, char out[64])
{
    double value = 0;
    struct sr_bytes text = sr_doc_string(at(row, path));
    if (text.p)
        snprintf(out, 64, "%.*s", text.n < 63 ? (int)text.n : 63, text.p);
    else if (sr_doc_number(at(row, path), &value))
        snprintf(out, 64, "%g", value);
    else
        out[0] = '\0';
}

static void take_row(const struct drawn *drawn, const sr_doc_value *row, struct sr_chart *chart)
{
    struct sr_chart_point *point = &chart->points[chart->n_points];
    char also[64] = "";
    if (chart->n_points == SR_CHART_POINTS)
        return;
    *point = (struct sr_chart_point){.x = drawn->x ? number_at(row, drawn->x) : 0};
    if (drawn->names)
        text_at(row, drawn->names, point->name);
    if (drawn->also)
        text_at(row, drawn->also, also);
    size_t n = strlen(point->name);
    if (also[0])
        snprintf(point->name + n, sizeof point->name - n, ", %s", also);
    for (size_t s = 0; s < chart->n_series; s++)
        point->values[s] = number_at(row, drawn->series[s].path);
    chart->n_points++;
}

/* Series without any value go: a measurement without a peer. */
static void drop_empty(struct sr_chart *chart)
{
    for (size_t s = chart->n_series; s-- > 0;) {
        bool any = false;
        for (size_t i = 0; i < chart->n_points; i++)
            any |= chart->points[i].values[s] > 0;
        if (!any && s + 1 == chart->n_series)
            chart->n_series--;
    }
}

static const struct drawn *find(const sr_doc_value *root)
{
    struct sr_bytes bench = sr_doc_string(sr_doc_get(root, "bench"));
    for (size_t i = 0; i < N_DRAWN; i++)
        if (bench.p && sr_bytes_eq(bench, sr_bytes_str(ALL[i].bench)))
            return &ALL[i];
    return NULL;
}

static void fill(const struct drawn *drawn, const sr_doc_value *root, struct sr_chart *chart)
{
    const sr_doc_value *rows = sr_doc_get(root, drawn->rows);
    char first[64] = "", own[64] = "";
    for (size_t s = 0; s < SR_CHART_SERIES && drawn->series[s].path; s++) {
        snprintf(chart->series[s].name, sizeof chart->series[s].name, "%s", drawn->series[s].name);
        chart->n_series++;
    }
    for (size_t i = 0; i < sr_doc_size(rows); i++) {
        const sr_doc_value *row = sr_doc_at(rows, i);
        if (drawn->only)
            text_at(row, drawn->only, i ? own : first);
        if (!drawn->only || i == 0 || strcmp(own, first) == 0)
            take_row(drawn, row, chart);
    }
    drop_empty(chart);
}

static int draw(const struct drawn *drawn, const sr_doc_value *root, struct sr_buf *out)
{
    char machine[64], subtitle[160];
    struct sr_chart *chart = sr_mem_calloc(1, sizeof *chart);
    if (!chart)
        return SR_ENOMEM;
    text_at(root, "machine", machine);
    snprintf(subtitle, sizeof subtitle, "semroute bench %s, %s; logarithmic", drawn->bench,
             machine[0] ? machine : "the machine is not named");
    chart->title = drawn->title;
    chart->subtitle = subtitle;
    chart->x_label = drawn->x_label;
    chart->y_label = drawn->y_label;
    fill(drawn, root, chart);
    int rc = sr_chart_svg(chart, out);
    sr_mem_free(chart);
    return rc;
}

static int usage(FILE *out)
{
    fprintf(out, "semroute bench plot FILE|-\n"
                 "  Draws a picture (SVG) of what a measurement says with --json:\n"
                 "  semroute bench NAME --json | semroute bench plot - > NAME.svg\n"
                 "  Measurements that have one:");
    for (size_t i = 0; i < N_DRAWN; i++)
        fprintf(out, " %s", ALL[i].bench);
    fprintf(out, "\n");
    return out == stdout ? SR_EXIT_DONE : SR_EXIT_USAGE;
}

static int fail(int code, const char *message)
{
    fprintf(stderr, "semroute bench plot: %s\n", message);
    return code;
}

static int plot(struct sr_bytes text, struct sr_buf *picture)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    if (sr_doc_parse(&doc, text, DOCUMENT_MAX, &err) != SR_OK)
        return fail(SR_EXIT_NO, "the document is no JSON");
    const struct drawn *drawn = find(sr_doc_root(doc));
    int rc = drawn ? draw(drawn, sr_doc_root(doc), picture) : SR_EINVAL;
    sr_doc_free(doc);
    if (rc == SR_EINVAL)
        return fail(SR_EXIT_NO,
                    drawn ? "the measurement has no numbers" : "no measurement that has a picture");
    if (rc != SR_OK)
        return fail(SR_EXIT_FAILED, sr_strerror(rc));
    return sr_cmd_put(sr_buf_view(picture)) ? SR_EXIT_DONE : fail(SR_EXIT_FAILED, "cannot write the picture");
}

int sr_bench_plot(int argc, char **argv)
{
    struct sr_buf text, picture;
    struct sr_err err = {0};
    if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
        return usage(stdout);
    if (argc != 2 || (argv[1][0] == '-' && argv[1][1]))
        return usage(stderr);
    sr_buf_init(&text, DOCUMENT_MAX);
    sr_buf_init(&picture, PICTURE_MAX);
    int code = sr_cmd_read(argv[1], &text, &err) == SR_OK ? plot(sr_buf_view(&text), &picture)
                                                          : fail(SR_EXIT_FAILED, err.message);
    sr_buf_dispose(&text);
    sr_buf_dispose(&picture);
    return code;
}
