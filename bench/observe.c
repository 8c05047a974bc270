/*
 * The routers, the turns and the table. Each turn has every router once, so that what else the machine does
 * hits all of them; a cost is the median over the turns of the figure beside that of the router that nobody
 * sees. Load, upstream, collector and page share the machine: what they take is in the requests a second, and
 * not in those for each second of the router's own CPU time.
 */
#include "bench/observe.h"

#include "base/buf.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/load.h"
#include "bench/observe_peers.h"
#include "bench/options.h"
#include "bench/process.h"
#include "bench/site.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_PER_CORE 8

enum { OFF, ZERO, ONE, ALL, PAGE, ROWS };

/* How a router is seen; `goal` of its cost in percent, 0: none is set. */
static const struct {
    const char *name, *sampling;
    double goal;
} kinds[ROWS] = {
    [OFF] = {"off", NULL, 0},
    [ZERO] = {"tracing, 0 %", "{type: always_off}", 1},
    [ONE] = {"tracing, 1 %", "{type: probabilistic, rate: 0.01}", 2},
    [ALL] = {"tracing, 100 %", "{type: always_on}", 8},
    [PAGE] = {"live page open", NULL, 0},
};

struct row {
    struct sr_bench_process process;
    double p50[SR_BENCH_REPEATS_MAX], p99[SR_BENCH_REPEATS_MAX], rate[SR_BENCH_REPEATS_MAX],
        per_core[SR_BENCH_REPEATS_MAX];
    uint64_t errors;
};

struct bench {
    struct sr_bench_options o;
    int connections;
    char self[4096], directory[64];
    struct sr_bench_process mock;
    struct sr_bench_collector *collector;
    struct sr_bench_page *page;
    struct sr_buf request;
    struct row rows[ROWS];
};

/* ---- processes ---- */

static int make_request(struct bench *b)
{
    static const char body[] =
        "{\"model\": \"auto\", \"messages\": [{\"role\": \"user\", \"content\": \"A block of mass two "
        "kilograms "
        "slides down a frictionless incline of thirty degrees. Derive its acceleration from Newton's second "
        "law, the time it needs to travel three metres, and its kinetic energy at the bottom.\"}]}";
    sr_buf_init(&b->request, 64 * 1024);
    return sr_buf_printf(
        &b->request,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
        "application/json\r\nauthorization: Bearer sk-bench\r\ncontent-length: %zu\r\n\r\n%s",
        sizeof body - 1, body);
}

static void path_of(const struct bench *b, int kind, const char *end, char out[128])
{
    snprintf(out, 128, "%s/%d.%s", b->directory, kind, end);
}

static int write_config(const struct bench *b, int kind, const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return SR_EIO;
    fprintf(file, SR_BENCH_SITE "global:\n", b->mock.port, b->mock.port);
    if (kinds[kind].sampling)
        fprintf(file,
                "  services: {observability: {tracing: {enabled: true, sampling: %s,\n"
                "    exporter: {endpoint: \"http://127.0.0.1:%d\"}}}}\n",
                kinds[kind].sampling, sr_bench_collector_port(b->collector));
    fprintf(file, "  semroute:\n    inference: {ask_below: 0}\n    tracing: {protocol: http/protobuf}\n");
    return fclose(file) == 0 ? SR_OK : SR_EIO;
}

static int start_router(struct bench *b, int kind)
{
    char path[128], log[128], door[32], page[32] = "off";
    int port = sr_bench_free_port(), api_port = kind == PAGE ? sr_bench_free_port() : 0;
    path_of(b, kind, "yaml", path);
    path_of(b, kind, "log", log);
    snprintf(door, sizeof door, "127.0.0.1:%d", port);
    if (api_port)
        snprintf(page, sizeof page, "127.0.0.1:%d", api_port);
    int rc = write_config(b, kind, path);
    char serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
         metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off";
    char *argv[] = {b->self, serve, config, path, gateway, door, api, page, metrics, off, extproc, off, NULL};
    if (rc == SR_OK)
        rc = sr_bench_process_start(&b->rows[kind].process, argv, port, log);
    return rc == SR_OK && api_port ? sr_bench_page_new(&b->page, api_port) : rc;
}

static int start_all(struct bench *b)
{
    char port[16];
    int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char mock[] = "mock", flag[] = "--port";
    char *argv[] = {b->self, mock, flag, port, NULL};
    int rc = sr_bench_process_start(&b->mock, argv, number, NULL);
    if (rc == SR_OK)
        rc = sr_bench_collector_new(&b->collector);
    for (int i = 0; i < ROWS && rc == SR_OK; i++)
        rc = start_router(b, i);
    if (rc != SR_OK)
        fprintf(stderr, "semroute bench observe: a process does not start: %s\n", sr_strerror(rc));
    return rc;
}

/* ---- measuring ---- */

static int sample(struct bench *b, struct row *row, int at)
{
    struct sr_bench_load load = {.port = row->process.port,
                                 .request = sr_buf_view(&b->request),
                                 .connections = 1,
                                 .seconds = b->o.seconds};
    int rc = sr_bench_load_run(&load);
    if (rc != SR_OK)
        return rc;
    row->p50[at] = load.p50_us;
    row->p99[at] = load.p99_us;
    row->errors += load.errors;
    load.connections = b->connections;
    double before = sr_bench_process_cpu(&row->process);
    rc = sr_bench_load_run(&load);
    if (rc != SR_OK)
        return rc;
    double cpu = sr_bench_process_cpu(&row->process) - before;
    row->rate[at] = (double)load.answers / load.elapsed;
    row->per_core[at] = cpu > 0 ? (double)load.answers / cpu : 0;
    row->errors += load.errors;
    return SR_OK;
}

/* The order turns too: no router is always behind the same other. */
static int measure(struct bench *b)
{
    for (int at = -1; at < b->o.repeats; at++) /* the first turn warms up */
        for (int i = 0; i < ROWS; i++) {
            int kind = (at + 1 + i) % ROWS;
            int rc = sample(b, &b->rows[kind], at < 0 ? 0 : at);
            if (rc != SR_OK) {
                fprintf(stderr, "semroute bench observe: %s: %s\n", kinds[kind].name, sr_strerror(rc));
                return rc;
            }
        }
    return SR_OK;
}

/* ---- reporting ---- */

static double median(const struct bench *b, const double *values)
{
    double sorted[SR_BENCH_REPEATS_MAX];
    memcpy(sorted, values, (size_t)b->o.repeats * sizeof sorted[0]);
    return sr_bench_percentile(sorted, (size_t)b->o.repeats, 0.5);
}

/* Percent that a figure is worse than with nobody looking: `falls`, where less is worse. */
static double cost(const struct bench *b, const double *values, const double *off, bool falls)
{
    double each[SR_BENCH_REPEATS_MAX];
    for (int i = 0; i < b->o.repeats; i++) {
        double ratio = off[i] > 0 ? values[i] / off[i] : 1;
        each[i] = 100 * (falls ? 1 - ratio : ratio - 1);
    }
    return sr_bench_percentile(each, (size_t)b->o.repeats, 0.5);
}

static void print_cost(struct sr_bench_table *table, bool is_off, double value)
{
    if (is_off)
        sr_bench_table_cell(table, "-");
    else
        sr_bench_table_cell(table, "%+.1f %%", value);
}

static void print_table(const struct bench *b)
{
    static const char *const titles[] = {"router", "req/s",  "cost", "req/s per core", "cost",
                                         "p50 us", "p99 us", "cost", "goal",           "errors"};
    static struct sr_bench_table table;
    const struct row *off = &b->rows[OFF];
    uint64_t bytes, exports = sr_bench_collector_exports(b->collector, &bytes);
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &b->rows[i];
        sr_bench_table_cell(&table, "%s", kinds[i].name);
        sr_bench_table_cell(&table, "%.0f", median(b, r->rate));
        print_cost(&table, i == OFF, cost(b, r->rate, off->rate, true));
        sr_bench_table_cell(&table, "%.0f", median(b, r->per_core));
        print_cost(&table, i == OFF, cost(b, r->per_core, off->per_core, true));
        sr_bench_table_cell(&table, "%.1f", median(b, r->p50));
        sr_bench_table_cell(&table, "%.1f", median(b, r->p99));
        print_cost(&table, i == OFF, cost(b, r->p99, off->p99, false));
        sr_bench_table_cell(&table, kinds[i].goal > 0 ? "< %.0f %%" : "-", kinds[i].goal);
        sr_bench_table_cell(&table, "%llu", (unsigned long long)r->errors);
    }
    printf("%s\nmedians of %d turns, and of the costs within each turn; p50 and p99 with 1 connection, req/s "
           "with %d;\nload, upstream, collector and page share the machine\n\n",
           sr_bench_machine(), b->o.repeats, b->connections);
    sr_bench_table_print(&table, stdout);
    printf("\nthe collector took %llu exports, %.1f MB; the page read %.1f MB\n", (unsigned long long)exports,
           (double)bytes / 1e6, (double)sr_bench_page_bytes(b->page) / 1e6);
}

static void print_json(const struct bench *b)
{
    const struct row *off = &b->rows[OFF];
    uint64_t bytes, exports = sr_bench_collector_exports(b->collector, &bytes);
    printf("{\"bench\":\"observe\",\"machine\":\"%s\",\"repeats\":%d,\"connections\":%d,\"exports\":%llu,"
           "\"export_bytes\":%llu,\"page_bytes\":%llu,\"rows\":[",
           sr_bench_machine(), b->o.repeats, b->connections, (unsigned long long)exports,
           (unsigned long long)bytes, (unsigned long long)sr_bench_page_bytes(b->page));
    for (int i = 0; i < ROWS; i++) {
        const struct row *r = &b->rows[i];
        printf("%s{\"router\":\"%s\",\"requests_per_second\":%.2f,\"requests_per_core_second\":%.0f,"
               "\"p50_us\":%.1f,\"p99_us\":%.1f,\"rate_cost_percent\":%.2f,\"core_cost_percent\":%.2f,"
               "\"p99_cost_percent\":%.2f,\"goal_percent\":%.0f,\"errors\":%llu}",
               i ? "," : "", kinds[i].name, median(b, r->rate), median(b, r->per_core), median(b, r->p50),
               median(b, r->p99), cost(b, r->rate, off->rate, true),
               cost(b, r->per_core, off->per_core, true), cost(b, r->p99, off->p99, false), kinds[i].goal,
               (unsigned long long)r->errors);
    }
    printf("]}\n");
}

/* ---- the command ---- */

static void end(struct bench *b)
{
    sr_bench_page_free(b->page);
    for (int i = 0; i < ROWS; i++) {
        char path[128];
        sr_bench_process_stop(&b->rows[i].process);
        path_of(b, i, "yaml", path);
        remove(path);
        path_of(b, i, "log", path);
        remove(path);
    }
    sr_bench_process_stop(&b->mock);
    sr_bench_collector_free(b->collector);
    sr_buf_dispose(&b->request);
    rmdir(b->directory);
}

static int run(struct bench *b)
{
    ssize_t n = readlink("/proc/self/exe", b->self, sizeof b->self - 1);
    snprintf(b->directory, sizeof b->directory, "/tmp/semroute-bench-XXXXXX");
    if (n <= 0 || !mkdtemp(b->directory)) {
        fprintf(stderr, "semroute bench observe: cannot make a folder below /tmp\n");
        return 3;
    }
    b->connections = CONNECTIONS_PER_CORE * sr_cpu_cores();
    if (b->connections > SR_BENCH_LOAD_CONNECTIONS_MAX)
        b->connections = SR_BENCH_LOAD_CONNECTIONS_MAX;
    int rc = make_request(b);
    if (rc == SR_OK)
        rc = start_all(b);
    if (rc == SR_OK)
        rc = measure(b);
    if (rc == SR_OK && b->o.json)
        print_json(b);
    else if (rc == SR_OK)
        print_table(b);
    end(b);
    return rc == SR_OK ? 0 : 3;
}

int sr_bench_observe(int argc, char **argv)
{
    struct bench *b = sr_mem_calloc(1, sizeof *b);
    if (!b)
        return 3;
    b->o = (struct sr_bench_options){
        .name = "observe",
        .text = "What tracing and the live page cost; S seconds for each load of a turn, N turns.",
        .repeats = 15,
        .seconds = 0.5};
    int code = sr_bench_options_read(&b->o, argc, argv);
    if (code < 0)
        code = run(b);
    sr_mem_free(b);
    return code;
}
