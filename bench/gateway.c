/*
 * The processes, the requests, the turns and the table. Load and process handling are in load.c and
 * process.c.
 *
 * Latency is measured with one connection, throughput with 32 for each core. Load generator, proxy and
 * upstream share the machine, so the honest figure of throughput is requests for each second of the proxy's
 * own CPU time.
 */
#include "bench/gateway.h"

#include "base/buf.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/load.h"
#include "bench/options.h"
#include "bench/process.h"
#include "bench/site.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONNECTIONS_PER_CORE 32
#define SMALL_BODY           1024
#define LARGE_PROMPT         2048

/* Goals, printed with the figures. */
#define GOAL_RATIO       1.5
#define GOAL_ADDED_US    100.0
#define GOAL_DECISION_US 200.0
#define GOAL_READY_MS    1000.0
#define GOAL_RESIDENT_MB 60.0

enum { MOCK, PROXY, SEMROUTE, PROCESSES };
enum { SMALL, LARGE, SIZES };

struct row {
    const char *what;
    int process;
    int size;
    bool automatic;
    double p50[SR_BENCH_REPEATS_MAX], p99[SR_BENCH_REPEATS_MAX], rate[SR_BENCH_REPEATS_MAX],
        per_core[SR_BENCH_REPEATS_MAX];
    uint64_t errors;
};

struct bench {
    struct sr_bench_options o;
    char self[4096], directory[64], proxy_path[64];
    const char *proxy; /* "nginx", "haproxy", NULL */
    struct sr_bench_process processes[PROCESSES];
    double idle_mb, loaded_mb;
    struct sr_buf requests[2 * SIZES]; /* by size, named model first, then automatic */
    struct row rows[6];
    size_t n_rows;
};

/* ---- requests ---- */

/* A question about physics, so that the domain decision has something to find. */
static const char question[] = "A block of mass two kilograms slides down a frictionless incline of thirty "
                               "degrees. Derive its acceleration from "
                               "Newton's second law, the time it needs to travel three metres, and its "
                               "kinetic energy at the bottom; then say how "
                               "friction changes each result. ";

static int make_request(struct sr_buf *out, const char *model, size_t prompt)
{
    struct sr_buf body;
    sr_buf_init(&body, 64 * 1024);
    sr_buf_init(out, 64 * 1024);
    int rc = sr_buf_printf(&body, "{\"model\": \"%s\", \"messages\": [{\"role\": \"user\", \"content\": \"",
                           model);
    for (size_t left = prompt; left > 0 && rc == SR_OK;) {
        size_t n = left < sizeof question - 1 ? left : sizeof question - 1;
        rc = sr_buf_append(&body, question, n);
        left -= n;
    }
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&body, SR_LIT("\"}], \"temperature\": 0.2}"));
    if (rc == SR_OK)
        rc = sr_buf_printf(
            out,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
            "application/json\r\nauthorization: Bearer sk-bench\r\nuser-agent: semroute-bench\r\naccept: "
            "application/json\r\ncontent-length: %zu\r\n\r\n%s",
            body.len, body.data);
    sr_buf_dispose(&body);
    return rc;
}

static int make_requests(struct bench *b)
{
    static const size_t prompts[SIZES] = {SMALL_BODY - 100, LARGE_PROMPT};
    int rc = SR_OK;
    for (int size = 0; size < SIZES && rc == SR_OK; size++) {
        rc = make_request(&b->requests[size], "bench", prompts[size]);
        if (rc == SR_OK)
            rc = make_request(&b->requests[SIZES + size], "auto", prompts[size]);
    }
    return rc;
}

/* ---- processes ---- */

static int write_file(const struct bench *b, const char *name, char *path, size_t path_size, const char *text)
{
    snprintf(path, path_size, "%s/%s", b->directory, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return SR_EIO;
    bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good ? SR_OK : SR_EIO;
}

static int start_mock(struct bench *b)
{
    char port[16];
    int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char mock[] = "mock", flag[] = "--port";
    char *argv[] = {b->self, mock, flag, port, NULL};
    return sr_bench_process_start(&b->processes[MOCK], argv, number, NULL);
}

static int start_semroute(struct bench *b)
{
    char text[2048], path[128], door[32];
    int port = sr_bench_free_port();
    snprintf(text, sizeof text,
             SR_BENCH_SITE
             "global: {semroute: {inference: {ask_below: 0}}}\n", /* the linear tier: the path is measured */
             b->processes[MOCK].port, b->processes[MOCK].port);
    int rc = write_file(b, "semroute.yaml", path, sizeof path, text);
    if (rc != SR_OK)
        return rc;
    snprintf(door, sizeof door, "127.0.0.1:%d", port);
    char serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
         metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off", log[128];
    snprintf(log, sizeof log, "%s/semroute.log", b->directory);
    char *argv[] = {b->self, serve, config, path, gateway, door, api, off, metrics, off, extproc, off, NULL};
    rc = sr_bench_process_start(&b->processes[SEMROUTE], argv, port, log);
    if (rc == SR_OK)
        b->idle_mb = sr_bench_process_resident(&b->processes[SEMROUTE]) / 1e6;
    return rc;
}

static bool find_program(struct bench *b, const char *name)
{
    static const char *const folders[] = {"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(b->proxy_path, sizeof b->proxy_path, "%s/%s", folders[i], name);
        if (access(b->proxy_path, X_OK) == 0)
            return true;
    }
    return false;
}

static int start_nginx(struct bench *b)
{
    char text[2048], path[128];
    const char *d = b->directory;
    int port = sr_bench_free_port();
    snprintf(
        text, sizeof text,
        "daemon off; worker_processes %d; pid %s/nginx.pid; error_log %s/nginx.log crit;\n"
        "events { worker_connections 4096; }\n"
        "http { access_log off; client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f;\n"
        "  uwsgi_temp_path %s/u; scgi_temp_path %s/s; client_body_buffer_size 64k;\n"
        "  keepalive_requests 1000000000;\n"
        "  upstream mock { server 127.0.0.1:%d; keepalive 256; keepalive_requests 1000000000; }\n"
        "  server { listen 127.0.0.1:%d reuseport; location / { proxy_pass http://mock;\n"
        "    proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_buffering off; } } }\n",
        sr_cpu_cores(), d, d, d, d, d, d, d, b->processes[MOCK].port, port);
    int rc = write_file(b, "nginx.conf", path, sizeof path, text);
    if (rc != SR_OK)
        return rc;
    char config[] = "-c", prefix[] = "-p", log[128];
    snprintf(log, sizeof log, "%s/nginx.out", d);
    char *argv[] = {b->proxy_path, config, path, prefix, b->directory, NULL};
    return sr_bench_process_start(&b->processes[PROXY], argv, port, log);
}

static int start_haproxy(struct bench *b)
{
    char text[1024], path[128];
    int port = sr_bench_free_port();
    snprintf(text, sizeof text,
             "global\n  nbthread %d\n"
             "defaults\n  mode http\n  timeout client 60s\n  timeout server 60s\n  timeout connect 5s\n"
             "  http-reuse always\n"
             "frontend in\n  bind 127.0.0.1:%d\n  default_backend mock\n"
             "backend mock\n  server mock 127.0.0.1:%d\n",
             sr_cpu_cores(), port, b->processes[MOCK].port);
    int rc = write_file(b, "haproxy.cfg", path, sizeof path, text);
    if (rc != SR_OK)
        return rc;
    char flag[] = "-db", config[] = "-f";
    char *argv[] = {b->proxy_path, flag, config, path, NULL};
    return sr_bench_process_start(&b->processes[PROXY], argv, port, NULL);
}

static int start_proxy(struct bench *b)
{
    if (find_program(b, "nginx")) {
        b->proxy = "nginx";
        return start_nginx(b);
    }
    if (find_program(b, "haproxy")) {
        b->proxy = "haproxy";
        return start_haproxy(b);
    }
    return SR_OK;
}

static int start_all(struct bench *b)
{
    static const char *const names[] = {"the mock upstream", "the plain proxy", "semroute serve"};
    int (*const starts[])(struct bench *) = {start_mock, start_proxy, start_semroute};
    for (int i = 0; i < PROCESSES; i++) {
        int rc = starts[i](b);
        if (rc != SR_OK) {
            fprintf(stderr, "semroute bench gateway: cannot start %s: %s\n", names[i], sr_strerror(rc));
            return rc;
        }
    }
    return SR_OK;
}

/* ---- measuring ---- */

static void add_row(struct bench *b, const char *what, int process, int size, bool automatic)
{
    if (process != PROXY || b->proxy)
        b->rows[b->n_rows++] =
            (struct row){.what = what, .process = process, .size = size, .automatic = automatic};
}

static void plan(struct bench *b)
{
    add_row(b, "mock, direct", MOCK, SMALL, false);
    add_row(b, b->proxy, PROXY, SMALL, false);
    add_row(b, "semroute, explicit model", SEMROUTE, SMALL, false);
    add_row(b, "mock, direct", MOCK, LARGE, false);
    add_row(b, b->proxy, PROXY, LARGE, false);
    add_row(b, "semroute, domain decision", SEMROUTE, LARGE, true);
}

static int sample(struct bench *b, struct row *row, int at)
{
    const struct sr_bench_process *process = &b->processes[row->process];
    struct sr_bench_load load = {.port = process->port,
                                 .request =
                                     sr_buf_view(&b->requests[(row->automatic ? SIZES : 0) + row->size]),
                                 .connections = 1,
                                 .seconds = b->o.seconds};
    int rc = sr_bench_load_run(&load);
    if (rc != SR_OK)
        return rc;
    row->p50[at] = load.p50_us;
    row->p99[at] = load.p99_us;
    row->errors += load.errors;
    load.connections = CONNECTIONS_PER_CORE * sr_cpu_cores();
    if (load.connections > SR_BENCH_LOAD_CONNECTIONS_MAX)
        load.connections = SR_BENCH_LOAD_CONNECTIONS_MAX;
    load.seconds = 2 * b->o.seconds;
    double before = sr_bench_process_cpu(process);
    rc = sr_bench_load_run(&load);
    if (rc != SR_OK)
        return rc;
    double cpu = sr_bench_process_cpu(process) - before;
    row->rate[at] = (double)load.answers / load.elapsed;
    row->per_core[at] = cpu > 0 ? (double)load.answers / cpu : 0;
    row->errors += load.errors;
    return SR_OK;
}

static int measure(struct bench *b)
{
    bool show = isatty(STDERR_FILENO);
    for (int at = 0; at < b->o.repeats; at++) {
        for (size_t i = 0; i < b->n_rows; i++) {
            if (show)
                fprintf(stderr, "\r%d of %d: %-28s", at + 1, b->o.repeats, b->rows[i].what);
            int rc = sample(b, &b->rows[i], at);
            if (rc != SR_OK) {
                fprintf(stderr, "semroute bench gateway: %s: %s\n", b->rows[i].what, sr_strerror(rc));
                return rc;
            }
        }
    }
    if (show)
        fprintf(stderr, "\r%-48s\r", "");
    b->loaded_mb = sr_bench_process_resident(&b->processes[SEMROUTE]) / 1e6;
    return SR_OK;
}

/* ---- reporting ---- */

/* `values` ends sorted. */
static double median(const struct bench *b, double *values)
{
    return sr_bench_percentile(values, (size_t)b->o.repeats, 0.5);
}

static struct row *find_row(struct bench *b, int process, int size)
{
    for (size_t i = 0; i < b->n_rows; i++)
        if (b->rows[i].process == process && b->rows[i].size == size)
            return &b->rows[i];
    return NULL;
}

/* What the process adds to the p50 of the direct way; with no such row 0. */
static double added_us(struct bench *b, int process, int size)
{
    struct row *row = find_row(b, process, size);
    return row ? median(b, row->p50) - median(b, find_row(b, MOCK, size)->p50) : 0;
}

static double ratio(struct bench *b, int size)
{
    double proxy = added_us(b, PROXY, size);
    return proxy > 0 ? added_us(b, SEMROUTE, size) / proxy : 0;
}

static void print_table(struct bench *b)
{
    static const char *const titles[] = {"request",      "by",    "p50 us",         "p99 us",
                                         "added p50 us", "req/s", "req/s per core", "errors"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, 8);
    for (size_t i = 0; i < b->n_rows; i++) {
        struct row *r = &b->rows[i];
        sr_bench_table_cell(&table, r->size == SMALL ? "1 KB body" : "2 KB prompt");
        sr_bench_table_cell(&table, "%s", r->what);
        sr_bench_table_cell(&table, "%.1f", median(b, r->p50));
        sr_bench_table_cell(&table, "%.1f", median(b, r->p99));
        sr_bench_table_cell(&table, r->process == MOCK ? "-" : "%.1f", added_us(b, r->process, r->size));
        sr_bench_table_cell(&table, "%.0f", median(b, r->rate));
        sr_bench_table_cell(&table, "%.0f", median(b, r->per_core));
        sr_bench_table_cell(&table, "%llu", (unsigned long long)r->errors);
    }
    printf("%s\nmedians of %d repeats that take turns; p50 and p99 with 1 connection, req/s with %d; load, "
           "proxy and\n"
           "upstream share the machine, so req/s per core counts the proxy's own CPU time only\n\n",
           sr_bench_machine(), b->o.repeats, CONNECTIONS_PER_CORE * sr_cpu_cores());
    sr_bench_table_print(&table, stdout);
    printf("\nexplicit model adds %.1f us at p50 (goal: under %.0f)", added_us(b, SEMROUTE, SMALL),
           GOAL_ADDED_US);
    if (b->proxy)
        printf(", %.2f times what %s adds (goal: at most %.1f)", ratio(b, SMALL), b->proxy, GOAL_RATIO);
    else
        printf("; no plain proxy beside it: nginx and haproxy are not installed");
    printf("\ndomain decision adds %.1f us more (goal: at most %.0f)\n",
           added_us(b, SEMROUTE, LARGE) - added_us(b, SEMROUTE, SMALL), GOAL_DECISION_US);
    printf("start to ready %.0f ms (goal: under %.0f); resident idle %.1f MB (goal: under %.0f), after the "
           "load %.1f MB\n",
           b->processes[SEMROUTE].ready_ms, GOAL_READY_MS, b->idle_mb, GOAL_RESIDENT_MB, b->loaded_mb);
}

static void print_json(struct bench *b)
{
    printf("{\"bench\":\"gateway\",\"machine\":\"%s\",\"repeats\":%d,\"connections\":%d,\"proxy\":",
           sr_bench_machine(), b->o.repeats, CONNECTIONS_PER_CORE * sr_cpu_cores());
    printf("%s%s%s,\"rows\":[", b->proxy ? "\"" : "", b->proxy ? b->proxy : "null", b->proxy ? "\"" : "");
    for (size_t i = 0; i < b->n_rows; i++) {
        struct row *r = &b->rows[i];
        printf("%s{\"request\":\"%s\",\"by\":\"%s\",\"p50_us\":%.1f,\"p99_us\":%.1f,\"added_p50_us\":%.1f,"
               "\"requests_per_second\":%.2f,\"requests_per_core_second\":%.0f,\"errors\":%llu}",
               i ? "," : "", r->size == SMALL ? "1 KB body" : "2 KB prompt", r->what, median(b, r->p50),
               median(b, r->p99), added_us(b, r->process, r->size), median(b, r->rate),
               median(b, r->per_core), (unsigned long long)r->errors);
    }
    printf(
        "],\"explicit_added_us\":%.1f,\"explicit_ratio\":%.3f,\"decision_added_us\":%.1f,\"ready_ms\":%.1f,"
        "\"idle_mb\":%.1f,\"loaded_mb\":%.1f,\"goals\":{\"explicit_added_us\":%.0f,\"explicit_ratio\":%.1f,"
        "\"decision_added_us\":%.0f,\"ready_ms\":%.0f,\"idle_mb\":%.0f}}\n",
        added_us(b, SEMROUTE, SMALL), ratio(b, SMALL),
        added_us(b, SEMROUTE, LARGE) - added_us(b, SEMROUTE, SMALL), b->processes[SEMROUTE].ready_ms,
        b->idle_mb, b->loaded_mb, GOAL_ADDED_US, GOAL_RATIO, GOAL_DECISION_US, GOAL_READY_MS,
        GOAL_RESIDENT_MB);
}

/* ---- the command ---- */

static void remove_directory(const struct bench *b)
{
    static const char *const names[] = {"semroute.yaml",
                                        "semroute.log",
                                        "nginx.conf",
                                        "nginx.log",
                                        "nginx.out",
                                        "nginx.pid",
                                        "haproxy.cfg",
                                        "b",
                                        "p",
                                        "f",
                                        "u",
                                        "s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", b->directory, names[i]);
        remove(path);
    }
    rmdir(b->directory);
}

static int run(struct bench *b)
{
    ssize_t n = readlink("/proc/self/exe", b->self, sizeof b->self - 1);
    snprintf(b->directory, sizeof b->directory, "/tmp/semroute-bench-XXXXXX");
    if (n <= 0 || !mkdtemp(b->directory)) {
        fprintf(stderr, "semroute bench gateway: cannot make a folder below /tmp\n");
        return SR_EIO;
    }
    int rc = make_requests(b);
    if (rc == SR_OK)
        rc = start_all(b);
    if (rc == SR_OK) {
        plan(b);
        rc = measure(b);
    }
    if (rc == SR_OK && b->o.json)
        print_json(b);
    else if (rc == SR_OK)
        print_table(b);
    for (int i = PROCESSES; i-- > 0;)
        sr_bench_process_stop(&b->processes[i]);
    remove_directory(b);
    return rc;
}

int sr_bench_gateway(int argc, char **argv)
{
    struct bench *b = sr_mem_calloc(1, sizeof *b);
    if (!b)
        return 3;
    b->o = (struct sr_bench_options){
        .name = "gateway",
        .text =
            "A request through the gateway beside other proxies; S seconds for each load of a turn, N turns.",
        .repeats = 7,
        .seconds = 0.5};
    int code = sr_bench_options_read(&b->o, argc, argv);
    if (code < 0)
        code = run(b) == SR_OK ? 0 : 3;
    for (int i = 0; i < 2 * SIZES; i++)
        sr_buf_dispose(&b->requests[i]);
    sr_mem_free(b);
    return code;
}
