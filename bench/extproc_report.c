/* Medians of the repeats, differences to Envoy without a filter, and shares of what the no-op processor adds.
 */
#include "bench/extproc_report.h"

#include "bench/bench.h"

#include <stdlib.h>

const char *const sr_bench_extproc_ways[SR_BENCH_WAYS] = {
    "Envoy, no filter", "BUFFERED", "FULL_DUPLEX_STREAMED", "BUFFERED, no-op", "FULL_DUPLEX_STREAMED, no-op"};
const size_t sr_bench_extproc_bodies[SR_BENCH_BODIES] = {900, 65536, 1 << 20, 8 << 20};

const char *const sr_bench_extproc_asked[SR_BENCH_ASKS] = {"explicit model", "keyword decision",
                                                           "domain decision", "embedding decision"};
static const char *const PROMPTS[SR_BENCH_PROMPTS] = {"1 KB", "8K tokens", "16K tokens"};

/* vLLM Semantic Router through Envoy, BUFFERED, on a machine of two cores: p50 over Envoy alone, in
 * microseconds. */
static const double PEER_US[2][SR_BENCH_PROMPTS] = {{1070, 4900, 9450}, {1530, 15080, 22940}};

/* `values` ends sorted. */
static double median(const struct sr_bench_extproc_report *r, double *values)
{
    return sr_bench_percentile(values, (size_t)r->repeats, 0.5);
}

static struct sr_bench_extproc_row *find_row(struct sr_bench_extproc_row *rows, size_t n, int way, int prompt)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].way == way && rows[i].prompt == prompt)
            return &rows[i];
    return NULL;
}

/* Over Envoy without a filter, at p50 or at p10. */
static double added(struct sr_bench_extproc_report *r, struct sr_bench_extproc_row *row, bool low)
{
    struct sr_bench_extproc_row *plain = find_row(r->rows, r->n_rows, SR_BENCH_WAY_PLAIN, row->prompt);
    return low ? median(r, row->p10) - median(r, plain->p10) : median(r, row->p50) - median(r, plain->p50);
}

static bool is_ours(int way)
{
    return way == SR_BENCH_WAY_BUFFERED || way == SR_BENCH_WAY_DUPLEX;
}

/* What passing through adds, by what the no-op adds in the same mode; 0: there is nothing to compare. */
static double of_noop(struct sr_bench_extproc_report *r, struct sr_bench_extproc_row *row, bool low)
{
    int way = row->way == SR_BENCH_WAY_BUFFERED ? SR_BENCH_WAY_NOOP_BUFFERED : SR_BENCH_WAY_NOOP_DUPLEX;
    if (!r->has_noop || !is_ours(row->way) || row->ask != SR_BENCH_EXPLICIT)
        return 0;
    double floor = added(r, find_row(r->rows, r->n_rows, way, row->prompt), low), own = added(r, row, low);
    return floor > 0 && own > 0 ? own / floor : 0;
}

static double peer_us(const struct sr_bench_extproc_row *row)
{
    return row->way == SR_BENCH_WAY_BUFFERED && row->ask <= SR_BENCH_KEYWORD ? PEER_US[row->ask][row->prompt]
                                                                             : 0;
}

static void cell_if(struct sr_bench_table *table, bool there, double value)
{
    char text[SR_BENCH_CELL_MAX];
    snprintf(text, sizeof text, "%.0f", value);
    sr_bench_table_cell(table, "%s", there ? text : "-");
}

static void cell_us(struct sr_bench_table *table, bool there, double middle, double low)
{
    char text[SR_BENCH_CELL_MAX];
    snprintf(text, sizeof text, "%.0f (%.0f)", middle, low);
    sr_bench_table_cell(table, "%s", there ? text : "-");
}

static void cell_share(struct sr_bench_table *table, double middle, double low)
{
    char text[SR_BENCH_CELL_MAX];
    snprintf(text, sizeof text, "%.2f (%.2f)", middle, low);
    sr_bench_table_cell(table, "%s", middle > 0 || low > 0 ? text : "-");
}

static void print_rows(struct sr_bench_extproc_report *r, FILE *out)
{
    static const char *const titles[] = {
        "prompt",     "through", "request", "p50 us", "p99 us", "added (p10)", "of the no-op (p10)",
        "peer added", "req/s",   "errors"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < r->n_rows; i++) {
        struct sr_bench_extproc_row *row = &r->rows[i];
        sr_bench_table_cell(&table, "%s", PROMPTS[row->prompt]);
        sr_bench_table_cell(&table, "%s", sr_bench_extproc_ways[row->way]);
        sr_bench_table_cell(&table, "%s", is_ours(row->way) ? sr_bench_extproc_asked[row->ask] : "-");
        sr_bench_table_cell(&table, "%.0f", median(r, row->p50));
        sr_bench_table_cell(&table, "%.0f", median(r, row->p99));
        cell_us(&table, row->way != SR_BENCH_WAY_PLAIN, added(r, row, false), added(r, row, true));
        cell_share(&table, of_noop(r, row, false), of_noop(r, row, true));
        cell_if(&table, peer_us(row) > 0, peer_us(row));
        sr_bench_table_cell(&table, "%.0f", median(r, row->rate));
        sr_bench_table_cell(&table, "%llu", (unsigned long long)row->errors);
    }
    sr_bench_table_print(&table, out);
    fprintf(out,
            "p50 and p99 with 1 connection, req/s with %d (embedding: with 1, in the first repeat); added: "
            "microseconds at p50 "
            "over Envoy "
            "without a\nfilter, and at p10; the no-op is a C++ gRPC server that changes nothing%s. Peer: "
            "vLLM Semantic "
            "Router, "
            "measured on 2 cores.\nGoals: an explicit model at most 1.15 of the no-op, a keyword at 16K "
            "tokens under "
            "1,000.\n",
            r->connections, r->has_noop ? "" : " (not built: tools/setup.sh bench, make bench)");
    if (!r->has_embedding)
        fprintf(out, "no encoder was found (make setup): embedding decisions are left out\n");
}

static void print_alone(struct sr_bench_extproc_report *r, FILE *out)
{
    static const char *const titles[] = {"without Envoy", "mode",           "processor",
                                         "req/s",         "per CPU second", "p50 us",
                                         "p99 us",        "client's core",  "errors"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < r->n_alone; i++) {
        struct sr_bench_extproc_alone *row = &r->alone[i];
        sr_bench_table_cell(&table, "%s", PROMPTS[row->prompt]);
        sr_bench_table_cell(&table, "%s", row->duplex ? "FULL_DUPLEX_STREAMED" : "BUFFERED");
        sr_bench_table_cell(&table, "%s", row->noop ? "no-op" : "semroute");
        sr_bench_table_cell(&table, "%.0f", median(r, row->rate));
        sr_bench_table_cell(&table, "%.0f", median(r, row->per_core));
        sr_bench_table_cell(&table, "%.0f", median(r, row->p50));
        sr_bench_table_cell(&table, "%.0f", median(r, row->p99));
        sr_bench_table_cell(&table, "%.0f %%", 100 * median(r, row->client));
        sr_bench_table_cell(&table, "%llu", (unsigned long long)row->errors);
    }
    fprintf(out, "\n");
    sr_bench_table_print(&table, out);
    fprintf(out,
            "explicit model, %d streams at a time over gRPC: headers, body, headers of the answer; the "
            "processor has "
            "%s.\nGoal: 10,000 requests for each second of its CPU at 1 KB.\n",
            r->streams, r->bound ? "one core, the client the others" : "the same core as the client");
}

static void print_paced(struct sr_bench_extproc_report *r, FILE *out)
{
    static const char *const titles[] = {"1,000 requests/s", "request",   "req/s", "p50 us",
                                         "p99 us",           "added p99", "errors"};
    static struct sr_bench_table table;
    double plain = median(r, find_row(r->paced, r->n_paced, SR_BENCH_WAY_PLAIN, 0)->p99);
    sr_bench_table_init(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < r->n_paced; i++) {
        struct sr_bench_extproc_row *row = &r->paced[i];
        sr_bench_table_cell(&table, "%s", sr_bench_extproc_ways[row->way]);
        sr_bench_table_cell(&table, "%s", is_ours(row->way) ? sr_bench_extproc_asked[row->ask] : "-");
        sr_bench_table_cell(&table, "%.0f", median(r, row->rate));
        sr_bench_table_cell(&table, "%.0f", median(r, row->p50));
        sr_bench_table_cell(&table, "%.0f", median(r, row->p99));
        cell_if(&table, row->way != SR_BENCH_WAY_PLAIN, median(r, row->p99) - plain);
        sr_bench_table_cell(&table, "%llu", (unsigned long long)row->errors);
    }
    fprintf(out, "\n");
    sr_bench_table_print(&table, out);
    fprintf(out, "1 KB, sent when they are due, latencies from then on. Goal: p99 added under 10,000.\n");
}

static void print_first(struct sr_bench_extproc_report *r, FILE *out)
{
    static const char *const titles[] = {"first byte upstream", "body", "first us", "last us"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < r->n_first; i++) {
        struct sr_bench_extproc_first *row = &r->first[i];
        char size[24];
        sr_bench_table_cell(&table, "%s", sr_bench_extproc_ways[row->way]);
        sr_bench_table_cell(&table, "%s", sr_bench_size(size, sr_bench_extproc_bodies[row->body]));
        sr_bench_table_cell(&table, "%.0f", median(r, row->first));
        sr_bench_table_cell(&table, "%.0f", median(r, row->whole));
    }
    fprintf(out, "\n");
    sr_bench_table_print(&table, out);
    fprintf(out,
            "explicit model, a new connection each time. Goal: the first byte does not wait for the body in "
            "FULL_DUPLEX_STREAMED.\n");
}

void sr_bench_extproc_print(struct sr_bench_extproc_report *r, FILE *out)
{
    double load = 0;
    if (getloadavg(&load, 1) != 1)
        load = 0;
    fprintf(out,
            "%s\nmedians of %d repeats that take turns; load, Envoy, processors and upstream share the "
            "machine, load "
            "average %.1f to %.1f\n\n",
            sr_bench_machine(), r->repeats, r->load_before, load);
    if (r->n_rows > 0)
        print_rows(r, out);
    if (r->n_alone > 0)
        print_alone(r, out);
    if (r->n_paced > 0)
        print_paced(r, out);
    if (r->n_first > 0)
        print_first(r, out);
}

/* ---- JSON ---- */

static void json_row(struct sr_bench_extproc_report *r, struct sr_bench_extproc_row *row, FILE *out)
{
    fprintf(out,
            "{\"prompt\":\"%s\",\"through\":\"%s\",\"request\":\"%s\",\"p50_us\":%.1f,\"p99_us\":%.1f,"
            "\"requests_per_second\":%.2f,\"errors\":%llu",
            PROMPTS[row->prompt], sr_bench_extproc_ways[row->way],
            is_ours(row->way) ? sr_bench_extproc_asked[row->ask] : "any", median(r, row->p50),
            median(r, row->p99), median(r, row->rate), (unsigned long long)row->errors);
}

static void json_rows(struct sr_bench_extproc_report *r, FILE *out)
{
    for (size_t i = 0; i < r->n_rows; i++) {
        fprintf(out, "%s", i ? "," : "");
        json_row(r, &r->rows[i], out);
        fprintf(out, ",\"added_p50_us\":%.1f,\"added_p10_us\":%.1f", added(r, &r->rows[i], false),
                added(r, &r->rows[i], true));
        if (of_noop(r, &r->rows[i], false) > 0)
            fprintf(out, ",\"of_noop\":%.3f", of_noop(r, &r->rows[i], false));
        if (of_noop(r, &r->rows[i], true) > 0)
            fprintf(out, ",\"of_noop_p10\":%.3f", of_noop(r, &r->rows[i], true));
        if (peer_us(&r->rows[i]) > 0)
            fprintf(out, ",\"peer_added_p50_us\":%.0f", peer_us(&r->rows[i]));
        fprintf(out, "}");
    }
}

void sr_bench_extproc_print_json(struct sr_bench_extproc_report *r, FILE *out)
{
    fprintf(
        out,
        "{\"bench\":\"extproc\",\"machine\":\"%s\",\"repeats\":%d,\"connections\":%d,\"load_average\":%.1f,"
        "\"noop\":%s,\"embedding\":%s,\"rows\":[",
        sr_bench_machine(), r->repeats, r->connections, r->load_before, r->has_noop ? "true" : "false",
        r->has_embedding ? "true" : "false");
    json_rows(r, out);
    fprintf(out, "],\"without_envoy\":[");
    for (size_t i = 0; i < r->n_alone; i++) {
        struct sr_bench_extproc_alone *row = &r->alone[i];
        fprintf(
            out,
            "%s{\"prompt\":\"%s\",\"mode\":\"%s\",\"processor\":\"%s\",\"requests_per_second\":%.2f,"
            "\"per_cpu_second\":%.0f,\"p50_us\":%.1f,\"p99_us\":%.1f,\"client_core\":%.3f,\"errors\":%llu}",
            i ? "," : "", PROMPTS[row->prompt], row->duplex ? "FULL_DUPLEX_STREAMED" : "BUFFERED",
            row->noop ? "no-op" : "semroute", median(r, row->rate), median(r, row->per_core),
            median(r, row->p50), median(r, row->p99), median(r, row->client),
            (unsigned long long)row->errors);
    }
    fprintf(out, "],\"steady\":[");
    for (size_t i = 0; i < r->n_paced; i++) {
        fprintf(out, "%s", i ? "," : "");
        json_row(r, &r->paced[i], out);
        fprintf(out, "}");
    }
    fprintf(out, "],\"first_byte\":[");
    for (size_t i = 0; i < r->n_first; i++) {
        struct sr_bench_extproc_first *row = &r->first[i];
        fprintf(out, "%s{\"through\":\"%s\",\"body_bytes\":%zu,\"first_us\":%.1f,\"last_us\":%.1f}",
                i ? "," : "", sr_bench_extproc_ways[row->way], sr_bench_extproc_bodies[row->body],
                median(r, row->first), median(r, row->whole));
    }
    fprintf(out, "]}\n");
}
