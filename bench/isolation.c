/*
 * Small requests alone, and then beside clients that send long prompts, through this program's own gateway.
 *
 * Small requests leave on a schedule. Beside them, other clients send prompts of 140 KB as fast as they are
 * answered. Every prompt is new, so no memo answers. Load, server and upstream share the machine.
 * `--self` starts the server of another build, so that one measurement compares two.
 */
#include "bench/isolation.h"

#include "base/buf.h"
#include "bench/bench.h"
#include "bench/load.h"
#include "bench/process.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_CLIENTS_MAX  64
#define LONG_BYTES        (140u << 10)
#define STAMPS_MAX        256
#define SMALL_CONNECTIONS 64
#define SMALL_RATE        25   /* a second */
#define LARGE_LEAD_S      2    /* before the small requests begin */
#define LARGE_MORE_S      3600 /* they end when the small requests have */
#define GOAL_P50          2.0
#define GOAL_P99          5.0

struct way {
    const char *name, *signals, *rules; /* of the configuration */
};

static const struct way ways[] = {
    {"keyword", "keywords: [{name: found, operator: OR, keywords: [\"incline\", \"kinetic energy\"]}]",
     "{name: found, priority: 10, rules: {type: keyword, name: found}, modelRefs: [{model: bench}]}"},
    {"guards", "jailbreak: [{name: attack}]\n    pii: [{name: private}]",
     "{name: attack, priority: 10, rules: {type: jailbreak, name: attack}, plugins: [{type: guard, "
     "configuration: {action: block}}]}, {name: private, priority: 9, rules: {type: pii, name: private}, "
     "plugins: [{type: guard, configuration: {action: redact}}]}"},
};
#define WAYS (sizeof ways / sizeof *ways)

struct request {
    struct sr_buf bytes;
    char *stamps[STAMPS_MAX];
    size_t n_stamps;
};

struct bench {
    char self[4096], config[64], log[64];
    const char *rules; /* NULL: every way */
    int clients;
    double seconds;
    bool json, stubborn;
    struct sr_bench_process mock, server;
    struct request small, large;
};

struct row {
    struct sr_bench_load alone, beside, large;
    double idle_mb, peak_mb;
};

/* ---- requests ---- */

static const char question[] =
    "Case 00000000: a block of mass two kilograms slides down a frictionless incline of thirty degrees. "
    "Derive its acceleration from Newton's second law, the time it needs to travel three metres, and its "
    "kinetic energy at the bottom; then say how friction changes each result. ";
#define STAMP "Case 00000000"

static void find_stamps(struct request *request)
{
    char *at = request->bytes.data, *end = at + request->bytes.len;
    while (request->n_stamps < STAMPS_MAX && (at = memmem(at, (size_t)(end - at), STAMP, sizeof STAMP - 1))) {
        at += sizeof STAMP - 1;
        request->stamps[request->n_stamps++] = at - 8;
    }
}

/* At least `bytes` of prompt. Every second sentence is new in every request, up to STAMPS_MAX of them. */
static int make_request(struct request *out, size_t bytes)
{
    struct sr_buf body;
    sr_buf_init(&body, 2 * LONG_BYTES);
    sr_buf_init(&out->bytes, 2 * LONG_BYTES);
    int rc = sr_buf_printf(&body, "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (size_t i = 0; rc == SR_OK && (i == 0 || body.len < bytes); i++) {
        size_t skip = i % 2 ? sizeof STAMP : 0;
        rc = sr_buf_append(&body, question + skip, sizeof question - 1 - skip);
    }
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&body, SR_LIT("\"}]}"));
    if (rc == SR_OK)
        rc = sr_buf_printf(&out->bytes,
                           "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
                           "application/json\r\ncontent-length: %zu\r\n\r\n%s",
                           body.len, body.data);
    sr_buf_dispose(&body);
    if (rc == SR_OK)
        find_stamps(out);
    return rc;
}

/* ---- processes ---- */

static int write_config(struct bench *b, const struct way *way)
{
    snprintf(b->config, sizeof b->config, "/tmp/semroute-bench-XXXXXX");
    int fd = mkstemp(b->config);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return SR_EIO;
    fprintf(file,
            "version: v0.3\n"
            "providers:\n"
            "  defaults: {default_model: bench}\n"
            "  models: [{name: bench, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}]\n"
            "routing:\n"
            "  modelCards: [{name: bench}]\n"
            "  signals:\n    %s\n"
            "  decisions: [%s]\n",
            b->mock.port, way->signals, way->rules);
    return fclose(file) ? SR_EIO : SR_OK;
}

static int start_mock(struct bench *b)
{
    char port[16], mock[] = "mock", flag[] = "--port";
    int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char *argv[] = {b->self, mock, flag, port, NULL};
    return sr_bench_process_start(&b->mock, argv, number, NULL);
}

static int start_server(struct bench *b, const struct way *way)
{
    char door[32], serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
                   metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off";
    int port = sr_bench_free_port(), rc = write_config(b, way);
    snprintf(door, sizeof door, "127.0.0.1:%d", port);
    char *argv[] = {b->self, serve,   config, b->config, gateway, door, api,
                    off,     metrics, off,    extproc,   off,     NULL};
    return rc ? rc : sr_bench_process_start(&b->server, argv, port, b->log[0] ? b->log : NULL);
}

/* ---- measuring ---- */

static struct sr_bench_load load_of(const struct bench *b, struct request *request)
{
    return (struct sr_bench_load){.port = b->server.port,
                                  .request = sr_buf_view(&request->bytes),
                                  .stamps = request->stamps,
                                  .n_stamps = request->n_stamps,
                                  .seconds = b->seconds};
}

/* On a schedule: a request that waits long does not keep the next ones from being measured. */
static int run_small(struct bench *b, struct sr_bench_load *load)
{
    *load = load_of(b, &b->small);
    load->connections = SMALL_CONNECTIONS;
    load->rate = SMALL_RATE;
    return sr_bench_load_run(load);
}

static void *run_large(void *load)
{
    struct sr_bench_load *large = load;
    int rc = sr_bench_load_run(large);
    if (rc)
        large->answers = 0;
    return NULL;
}

static int measure(struct bench *b, struct row *row)
{
    pthread_t thread;
    row->idle_mb = sr_bench_process_resident(&b->server) / 1e6;
    int rc = run_small(b, &row->alone);
    if (rc)
        return rc;
    atomic_bool stop = false;
    row->large = load_of(b, &b->large);
    row->large.connections = b->clients;
    row->large.seconds += LARGE_LEAD_S + LARGE_MORE_S;
    row->large.stop = &stop;
    row->large.stubborn = b->stubborn;
    if (pthread_create(&thread, NULL, run_large, &row->large))
        return SR_ENOMEM;
    usleep(LARGE_LEAD_S * 1000000);
    rc = run_small(b, &row->beside);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    row->peak_mb = sr_bench_process_peak(&b->server) / 1e6;
    return rc;
}

static int measure_way(struct bench *b, const struct way *way, struct row *row)
{
    int rc = start_server(b, way);
    if (rc == SR_OK)
        rc = measure(b, row);
    sr_bench_process_stop(&b->server);
    unlink(b->config);
    return rc;
}

/* ---- reporting ---- */

static void print_row(const struct bench *b, struct sr_bench_table *table, const struct way *way,
                      const struct row *row)
{
    uint64_t errors = row->alone.errors + row->beside.errors;
    double p50 = row->beside.p50_us / row->alone.p50_us, p99 = row->beside.p99_us / row->alone.p99_us;
    if (b->json) {
        printf("%s{\"rules\":\"%s\",\"alone\":{\"p50_ms\":%.3f,\"p99_ms\":%.3f},\"beside\":{\"p50_ms\":%.3f,"
               "\"p99_ms\":%.3f},\"p50_ratio\":%.2f,\"p99_ratio\":%.2f,\"long\":{\"per_s\":%.1f,\"p50_ms\":"
               "%.1f,\"refused\":%llu},\"errors\":%llu,\"idle_mb\":%.1f,\"peak_mb\":%.1f}",
               way == ways || b->rules ? "" : ",", way->name, row->alone.p50_us / 1e3,
               row->alone.p99_us / 1e3, row->beside.p50_us / 1e3, row->beside.p99_us / 1e3, p50, p99,
               (double)row->large.answers / row->large.elapsed, row->large.p50_us / 1e3,
               (unsigned long long)row->large.refused, (unsigned long long)errors, row->idle_mb,
               row->peak_mb);
        return;
    }
    sr_bench_table_cell(table, "%s", way->name);
    sr_bench_table_cell(table, "%.2f", row->alone.p50_us / 1e3);
    sr_bench_table_cell(table, "%.2f", row->alone.p99_us / 1e3);
    sr_bench_table_cell(table, "%.2f", row->beside.p50_us / 1e3);
    sr_bench_table_cell(table, "%.2f", row->beside.p99_us / 1e3);
    sr_bench_table_cell(table, "%.2f", p50);
    sr_bench_table_cell(table, "%.2f", p99);
    sr_bench_table_cell(table, "%.1f", (double)row->large.answers / row->large.elapsed);
    sr_bench_table_cell(table, "%llu", (unsigned long long)row->large.refused);
    sr_bench_table_cell(table, "%llu", (unsigned long long)errors);
    sr_bench_table_cell(table, "%.0f", row->idle_mb);
    sr_bench_table_cell(table, "%.0f", row->peak_mb);
}

static int report(struct bench *b)
{
    static const char *const titles[] = {"rules",   "alone p50 ms", "p99",       "beside p50 ms",
                                         "p99",     "p50 ratio",    "p99 ratio", "long/s",
                                         "refused", "errors",       "idle MB",   "peak MB"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof *titles);
    printf(b->json
               ? "{\"bench\":\"isolation\",\"machine\":\"%s\",\"clients\":%d,\"bytes\":%u,\"rows\":["
               : "%s\nsmall requests of one client, alone and beside %d clients with prompts of %u bytes\n",
           sr_bench_machine(), b->clients, LONG_BYTES);
    for (size_t i = 0; i < WAYS; i++) {
        if (b->rules && strcmp(b->rules, ways[i].name) != 0)
            continue;
        struct row row = {.idle_mb = 0};
        int rc = measure_way(b, &ways[i], &row);
        if (rc) {
            fprintf(stderr, "semroute bench isolation: %s: %s\n", ways[i].name, sr_strerror(rc));
            return rc;
        }
        print_row(b, &table, &ways[i], &row);
    }
    if (b->json) {
        printf("],\"goals\":{\"p50_ratio\":%.0f,\"p99_ratio\":%.0f}}\n", GOAL_P50, GOAL_P99);
        return SR_OK;
    }
    sr_bench_table_print(&table, stdout);
    printf("goals: p50 within %.0f times, p99 within %.0f times of alone\n", GOAL_P50, GOAL_P99);
    return SR_OK;
}

static int usage(FILE *out)
{
    fprintf(out,
            "semroute bench isolation [--clients N] [--seconds S] [--rules keyword|guards] [--self PROGRAM]\n"
            "                          [--stubborn] [--log FILE] [--json]\n"
            "  Small requests alone, and beside N clients (8) with prompts of 140 KB: latency, memory.\n"
            "  A client that is refused asks again a second later; with --stubborn at once.\n"
            "  --self measures another build's server.\n");
    return out == stdout ? 0 : 2;
}

/* 0: go on; else the exit code plus 1. */
static int read_options(int argc, char **argv, struct bench *b)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--json"))
            b->json = true;
        else if (!strcmp(argv[i], "--stubborn"))
            b->stubborn = true;
        else if (!strcmp(argv[i], "--clients") && more)
            b->clients = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && more)
            b->seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--rules") && more)
            b->rules = argv[++i];
        else if (!strcmp(argv[i], "--log") && more)
            snprintf(b->log, sizeof b->log, "%s", argv[++i]);
        else if (!strcmp(argv[i], "--self") && more)
            snprintf(b->self, sizeof b->self, "%s", argv[++i]);
        else if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return usage(stdout) + 1;
        else
            return usage(stderr) + 1;
    }
    bool good = b->clients > 0 && b->clients <= LONG_CLIENTS_MAX && b->seconds > 0 && b->seconds <= 600;
    return good ? 0 : usage(stderr) + 1;
}

int sr_bench_isolation(int argc, char **argv)
{
    static struct bench b;
    b = (struct bench){.clients = 8, .seconds = 8};
    ssize_t length = readlink("/proc/self/exe", b.self, sizeof b.self - 1);
    if (length < 0)
        return 3;
    int stop = read_options(argc, argv, &b);
    if (stop)
        return stop - 1;
    int rc = make_request(&b.small, 0);
    if (rc == SR_OK)
        rc = make_request(&b.large, LONG_BYTES);
    if (rc == SR_OK)
        rc = start_mock(&b);
    if (rc == SR_OK)
        rc = report(&b);
    sr_bench_process_stop(&b.mock);
    sr_buf_dispose(&b.small.bytes);
    sr_buf_dispose(&b.large.bytes);
    return rc ? 3 : 0;
}
