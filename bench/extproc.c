/*
 * One Envoy with three listeners (no filter, BUFFERED, FULL_DUPLEX_STREAMED), the requests, the turns and the
 * table.
 *
 * Latency is measured with one connection, throughput with 32 for each core; load generator, Envoy, semroute
 * and upstream share the machine.
 */
#include "bench/extproc.h"

#include "base/buf.h"
#include "base/cpu.h"
#include "bench/bench.h"
#include "bench/load.h"
#include "bench/process_envoy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define REPEATS_MAX          31
#define CONNECTIONS_PER_CORE 32
#define BODY_MAX             ((size_t)1 << 20)

enum { MOCK, SEMROUTE, ENVOY, PROCESSES };
enum { NO_FILTER, BUFFERED, FULL_DUPLEX, LISTENERS };
enum { EXPLICIT, KEYWORD, DOMAIN, ASKS };

static const char *const MODES[LISTENERS] = {"Envoy, no filter", "BUFFERED", "FULL_DUPLEX_STREAMED"};
static const char *const ASKED[ASKS] = {"explicit model", "keyword decision", "domain decision"};

/* Prompts in bytes: a body of 1 KB, then 8K and 16K tokens of four bytes. */
static const struct {
    const char *name;
    size_t bytes;
} SIZES[] = {{"1 KB", 900}, {"8K tokens", 32768}, {"16K tokens", 65536}};
#define N_SIZES (sizeof SIZES / sizeof SIZES[0])

/* vLLM Semantic Router through Envoy, BUFFERED, added p50 in ms, as measured on a machine of two cores. */
#define PEER                                                                                                 \
    "peer (vLLM Semantic Router, 2 cores): explicit model 1.1 ms at 1 KB, 9.5 ms at 16K tokens; keyword "    \
    "1.5 and 23 ms"

struct row {
    int listener, ask;
    size_t size;
    double p50[REPEATS_MAX], p99[REPEATS_MAX], rate[REPEATS_MAX];
    uint64_t errors;
};

struct bench {
    int repeats;
    double seconds;
    bool json;
    char self[4096], directory[64];
    const char *envoy;
    int extproc_port, ports[LISTENERS];
    struct sr_bench_process processes[PROCESSES];
    struct sr_buf requests[ASKS][N_SIZES];
    struct row rows[N_SIZES * (1 + ASKS * (LISTENERS - 1))];
    size_t n_rows;
};

/* ---- requests ---- */

static const char question[] =
    "A block of mass two kilograms slides down a frictionless incline of thirty degrees. "
    "Derive its acceleration from Newton's second law and the time it needs. ";

static int make_request(struct sr_buf *out, int ask, size_t prompt)
{
    struct sr_buf body;
    sr_buf_init(&body, BODY_MAX);
    sr_buf_init(out, BODY_MAX);
    int rc =
        sr_buf_printf(&body, "{\"model\": \"%s\", \"messages\": [{\"role\": \"user\", \"content\": \"%s ",
                      ask == EXPLICIT ? "bench" : "auto", ask == KEYWORD ? "urgent" : "please");
    for (size_t left = prompt; left > 0 && rc == SR_OK;) {
        size_t n = left < sizeof question - 1 ? left : sizeof question - 1;
        rc = sr_buf_append(&body, question, n);
        left -= n;
    }
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&body, SR_LIT("\"}]}"));
    if (rc == SR_OK)
        rc = sr_buf_printf(out,
                           "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
                           "application/json\r\ncontent-length: %zu\r\n\r\n%s",
                           body.len, body.data);
    sr_buf_dispose(&body);
    return rc;
}

/* ---- processes ---- */

static int start_mock(struct bench *b)
{
    char port[16], mock[] = "mock", flag[] = "--port";
    int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char *argv[] = {b->self, mock, flag, port, NULL};
    return sr_bench_process_start(&b->processes[MOCK], argv, number, NULL);
}

static int start_semroute(struct bench *b)
{
    char text[2048], path[128], door[32], log[128], address[32];
    snprintf(text, sizeof text,
             "version: v0.3\n"
             "providers:\n"
             "  defaults: {default_model: other}\n"
             "  models:\n"
             "    - {name: bench, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}\n"
             "    - {name: other, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}\n"
             "routing:\n"
             "  signals: {domains: [{name: physics}], keywords: [{name: urgent, keywords: [urgent]}]}\n"
             "  decisions:\n"
             "    - {name: urgent, priority: 20, rules: {type: keyword, name: urgent}, modelRefs: [{model: "
             "bench}]}\n"
             "    - {name: science, priority: 10, rules: {type: domain, name: physics}, modelRefs: [{model: "
             "bench}]}\n",
             b->processes[MOCK].port, b->processes[MOCK].port);
    int rc = sr_bench_write_file(b->directory, "semroute.yaml", path, text);
    if (rc != SR_OK)
        return rc;
    int ready = sr_bench_free_port();
    b->extproc_port = sr_bench_free_port();
    snprintf(door, sizeof door, "127.0.0.1:%d", b->extproc_port);
    snprintf(address, sizeof address, "127.0.0.1:%d", ready);
    snprintf(log, sizeof log, "%s/semroute.log", b->directory);
    char serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
         metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off";
    char *argv[] = {b->self, serve,   config,  path,    gateway, off, api,
                    off,     metrics, address, extproc, door,    NULL};
    return sr_bench_process_start(&b->processes[SEMROUTE], argv, ready, log);
}

static int start_envoy(struct bench *b)
{
    struct sr_bench_listener listeners[LISTENERS] = {{0}};
    for (int i = 0; i < LISTENERS; i++)
        listeners[i] = (struct sr_bench_listener){i == NO_FILTER ? NULL : MODES[i], b->extproc_port, 0};
    int rc = sr_bench_envoy_start(&b->processes[ENVOY], b->envoy, b->directory, listeners, LISTENERS,
                                  b->processes[MOCK].port, 5);
    for (int i = 0; i < LISTENERS; i++)
        b->ports[i] = listeners[i].port;
    return rc;
}

static int start_all(struct bench *b)
{
    static const char *const names[] = {"the mock upstream", "semroute serve", "Envoy"};
    int (*const starts[])(struct bench *) = {start_mock, start_semroute, start_envoy};
    for (int i = 0; i < PROCESSES; i++) {
        int rc = starts[i](b);
        if (rc != SR_OK) {
            fprintf(stderr, "semroute bench extproc: cannot start %s: %s\n", names[i], sr_strerror(rc));
            return rc;
        }
    }
    return SR_OK;
}

/* ---- measuring ---- */

static int plan(struct bench *b)
{
    int rc = SR_OK;
    for (size_t size = 0; size < N_SIZES; size++) {
        b->rows[b->n_rows++] = (struct row){.listener = NO_FILTER, .size = size};
        for (int ask = 0; ask < ASKS && rc == SR_OK; ask++) {
            rc = make_request(&b->requests[ask][size], ask, SIZES[size].bytes);
            for (int listener = BUFFERED; listener < LISTENERS; listener++)
                b->rows[b->n_rows++] = (struct row){.listener = listener, .ask = ask, .size = size};
        }
    }
    return rc;
}

static int sample(struct bench *b, struct row *row, int at)
{
    struct sr_bench_load load = {.port = b->ports[row->listener],
                                 .request = sr_buf_view(&b->requests[row->ask][row->size]),
                                 .connections = 1,
                                 .seconds = b->seconds};
    int rc = sr_bench_load_run(&load);
    if (rc != SR_OK)
        return rc;
    row->p50[at] = load.p50_us;
    row->p99[at] = load.p99_us;
    row->errors += load.errors;
    load.connections = CONNECTIONS_PER_CORE * sr_cpu_cores();
    if (load.connections > SR_BENCH_LOAD_CONNECTIONS_MAX)
        load.connections = SR_BENCH_LOAD_CONNECTIONS_MAX;
    rc = sr_bench_load_run(&load);
    row->rate[at] = rc == SR_OK ? (double)load.answers / load.elapsed : 0;
    row->errors += load.errors;
    return rc;
}

static int measure(struct bench *b)
{
    bool show = isatty(STDERR_FILENO);
    for (int at = 0; at < b->repeats; at++) {
        for (size_t i = 0; i < b->n_rows; i++) {
            struct row *row = &b->rows[i];
            if (show)
                fprintf(stderr, "\r%d of %d: %-24s", at + 1, b->repeats, MODES[row->listener]);
            int rc = sample(b, row, at);
            if (rc != SR_OK) {
                fprintf(stderr, "semroute bench extproc: %s: %s\n", MODES[row->listener], sr_strerror(rc));
                return rc;
            }
        }
    }
    if (show)
        fprintf(stderr, "\r%-48s\r", "");
    return SR_OK;
}

/* ---- reporting ---- */

/* `values` ends sorted. */
static double median(const struct bench *b, double *values)
{
    return sr_bench_percentile(values, (size_t)b->repeats, 0.5);
}

static struct row *without_filter(struct bench *b, size_t size)
{
    size_t i = 0;
    while (b->rows[i].listener != NO_FILTER || b->rows[i].size != size)
        i++;
    return &b->rows[i];
}

static void print_table(struct bench *b)
{
    static const char *const titles[] = {"prompt",       "mode",         "request", "p50 us", "p99 us",
                                         "added p50 us", "added p99 us", "req/s",   "errors"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, 9);
    for (size_t i = 0; i < b->n_rows; i++) {
        struct row *r = &b->rows[i], *base = without_filter(b, r->size);
        bool plain = r->listener == NO_FILTER;
        sr_bench_table_cell(&table, "%s", SIZES[r->size].name);
        sr_bench_table_cell(&table, "%s", MODES[r->listener]);
        sr_bench_table_cell(&table, "%s", plain ? "-" : ASKED[r->ask]);
        sr_bench_table_cell(&table, "%.0f", median(b, r->p50));
        sr_bench_table_cell(&table, "%.0f", median(b, r->p99));
        sr_bench_table_cell(&table, plain ? "-" : "%.0f", median(b, r->p50) - median(b, base->p50));
        sr_bench_table_cell(&table, plain ? "-" : "%.0f", median(b, r->p99) - median(b, base->p99));
        sr_bench_table_cell(&table, "%.0f", median(b, r->rate));
        sr_bench_table_cell(&table, "%llu", (unsigned long long)r->errors);
    }
    printf("%s\nmedians of %d repeats that take turns; p50 and p99 with 1 connection, req/s with %d; load, "
           "Envoy,\n"
           "semroute and upstream share the machine\n\n",
           sr_bench_machine(), b->repeats, CONNECTIONS_PER_CORE * sr_cpu_cores());
    sr_bench_table_print(&table, stdout);
    printf("\n" PEER "\n");
}

static void print_json(struct bench *b)
{
    printf("{\"bench\":\"extproc\",\"machine\":\"%s\",\"repeats\":%d,\"connections\":%d,\"rows\":[",
           sr_bench_machine(), b->repeats, CONNECTIONS_PER_CORE * sr_cpu_cores());
    for (size_t i = 0; i < b->n_rows; i++) {
        struct row *r = &b->rows[i], *base = without_filter(b, r->size);
        bool plain = r->listener == NO_FILTER;
        printf("%s{\"prompt\":\"%s\",\"mode\":\"%s\",\"request\":\"%s\",\"p50_us\":%.1f,\"p99_us\":%.1f,"
               "\"added_p50_us\":%.1f,\"added_p99_us\":%.1f,\"requests_per_second\":%.0f,\"errors\":%llu}",
               i ? "," : "", SIZES[r->size].name, MODES[r->listener], plain ? "any" : ASKED[r->ask],
               median(b, r->p50), median(b, r->p99), median(b, r->p50) - median(b, base->p50),
               median(b, r->p99) - median(b, base->p99), median(b, r->rate), (unsigned long long)r->errors);
    }
    printf("],\"peer\":\"" PEER "\"}\n");
}

/* ---- the command ---- */

static int usage(const char *what)
{
    fprintf(
        stderr,
        "semroute bench extproc: %s\nusage: semroute bench extproc [--json] [--repeats N] [--seconds S]\n",
        what);
    return 2;
}

static void end(struct bench *b)
{
    static const char *const names[] = {"semroute.yaml", "semroute.log", "envoy.yaml", "envoy.log"};
    for (int i = PROCESSES - 1; i >= 0; i--)
        sr_bench_process_stop(&b->processes[i]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", b->directory, names[i]);
        unlink(path);
    }
    rmdir(b->directory);
    for (int ask = 0; ask < ASKS; ask++)
        for (size_t size = 0; size < N_SIZES; size++)
            sr_buf_dispose(&b->requests[ask][size]);
}

int sr_bench_extproc(int argc, char **argv)
{
    static struct bench b;
    b = (struct bench){.repeats = 3, .seconds = 0.3};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            b.json = true;
        else if (strcmp(argv[i], "--repeats") == 0 && i + 1 < argc)
            b.repeats = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            b.seconds = atof(argv[++i]);
        else
            return usage(strcmp(argv[i], "--help") == 0 ? "Envoy's door beside Envoy without it"
                                                        : "unknown option");
    }
    if (b.repeats < 1 || b.repeats > REPEATS_MAX || b.seconds <= 0)
        return usage("--repeats is 1 to 31, --seconds is positive");
    b.envoy = sr_bench_envoy_find();
    if (!b.envoy) {
        fprintf(stderr, "semroute bench extproc: no Envoy in PATH or tests/.venv (make setup)\n");
        return 3;
    }
    ssize_t n = readlink("/proc/self/exe", b.self, sizeof b.self - 1);
    snprintf(b.directory, sizeof b.directory, "/tmp/semroute-bench.XXXXXX");
    if (n <= 0 || !mkdtemp(b.directory))
        return 3;
    int rc = plan(&b);
    if (rc == SR_OK)
        rc = start_all(&b);
    if (rc == SR_OK)
        rc = measure(&b);
    if (rc == SR_OK)
        (b.json ? print_json : print_table)(&b);
    end(&b);
    return rc == SR_OK ? 0 : 3;
}
