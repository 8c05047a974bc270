/* The processes, the requests, and repeats that take turns. */
#include "bench/cache_hit.h"

#include "base/buf.h"
#include "bench/bench.h"
#include "bench/load.h"
#include "bench/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPEATS  7u
#define SECONDS  0.4
#define SMALL    1024u
#define LARGE    16384u
#define BODY_MAX ((size_t)64 << 10)

enum { HEALTH, STATIC, HIT_SMALL, HIT_LARGE };
enum { MOCK, NGINX, GATEWAY, PROCESSES };

static const char nginx_path[] = "/usr/sbin/nginx";
static const char *const names[] = {"semroute, GET /health", "nginx, constant answer", "semroute, exact hit",
                                    "semroute, exact hit"};

struct stage {
    struct sr_bench_process processes[PROCESSES];
    char self[4096], directory[64];
    struct sr_buf requests[SR_CACHE_HIT_ROWS];
    bool has_nginx;
    double p50[SR_CACHE_HIT_ROWS][REPEATS], p99[SR_CACHE_HIT_ROWS][REPEATS];
};

/* ---- requests ---- */

static int make_post(struct sr_buf *out, size_t bytes)
{
    static const char begin[] = "{\"model\": \"auto\", \"temperature\": 0.2, \"messages\": [{\"role\": "
                                "\"user\", \"content\": \"",
                      end[] = "\"}]}",
                      sentence[] = "Derive the acceleration of a block that slides down a frictionless "
                                   "incline of thirty degrees from Newton's second law. ";
    int rc = sr_buf_printf(out,
                           "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
                           "application/json\r\nauthorization: Bearer sk-bench\r\nuser-agent: "
                           "semroute-bench\r\ncontent-length: %zu\r\n\r\n%s",
                           bytes, begin);
    for (size_t left = bytes - (sizeof begin - 1) - (sizeof end - 1); left > 0 && rc == SR_OK;) {
        const size_t n = left < sizeof sentence - 1 ? left : sizeof sentence - 1;
        rc = sr_buf_append(out, sentence, n);
        left -= n;
    }
    return rc ? rc : sr_buf_append(out, end, sizeof end - 1);
}

static int make_requests(struct stage *stage)
{
    static const char get[] = "GET /health HTTP/1.1\r\nhost: localhost\r\nuser-agent: semroute-bench\r\n\r\n";
    for (size_t i = 0; i < SR_CACHE_HIT_ROWS; i++)
        sr_buf_init(&stage->requests[i], BODY_MAX);
    int rc = sr_buf_append(&stage->requests[HEALTH], get, sizeof get - 1);
    if (rc == SR_OK)
        rc = make_post(&stage->requests[STATIC], SMALL);
    if (rc == SR_OK)
        rc = make_post(&stage->requests[HIT_SMALL], SMALL);
    return rc ? rc : make_post(&stage->requests[HIT_LARGE], LARGE);
}

/* ---- processes ---- */

static int write_file(const struct stage *stage, const char *name, char path[128], const char *text)
{
    snprintf(path, 128, "%s/%s", stage->directory, name);
    FILE *file = fopen(path, "we");
    if (!file)
        return SR_EIO;
    const bool good = fputs(text, file) >= 0;
    return fclose(file) == 0 && good ? SR_OK : SR_EIO;
}

static int start_mock(struct stage *stage)
{
    char port[16], mock[] = "mock", flag[] = "--port";
    const int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char *argv[] = {stage->self, mock, flag, port, NULL};
    return sr_bench_process_start(&stage->processes[MOCK], argv, number, NULL);
}

static int start_nginx(struct stage *stage)
{
    char text[2048], path[128], program[sizeof nginx_path];
    const char *d = stage->directory;
    const int port = sr_bench_free_port();
    snprintf(
        text, sizeof text,
        "daemon off; worker_processes 1; pid %s/nginx.pid; error_log %s/nginx.log crit;\n"
        "events { worker_connections 64; }\n"
        "http { access_log off; client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f;\n"
        "  uwsgi_temp_path %s/u; scgi_temp_path %s/s; keepalive_requests 1000000000;\n"
        "  server { listen 127.0.0.1:%d; default_type application/json;\n"
        "    location / { return 200 '{\"id\":\"mock-0\",\"object\":\"chat.completion\",\"created\":"
        "1700000000,\"model\":\"bench\",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
        "\"content\":\"This is the answer of worker 0 to 929 bytes, from bench.\"},\"logprobs\":null,"
        "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":47,\"completion_tokens\":8,"
        "\"total_tokens\":55}}'; } } }\n",
        d, d, d, d, d, d, d, port);
    int rc = write_file(stage, "nginx.conf", path, text);
    if (rc)
        return rc;
    memcpy(program, nginx_path, sizeof program);
    char config[] = "-c", prefix[] = "-p";
    char *argv[] = {program, config, path, prefix, stage->directory, NULL};
    return sr_bench_process_start(&stage->processes[NGINX], argv, port, NULL);
}

static int start_gateway(struct stage *stage)
{
    char text[1024], path[128], door[32], log[128];
    const int mock = stage->processes[MOCK].port, port = sr_bench_free_port();
    snprintf(text, sizeof text,
             "version: v0.3\n"
             "providers:\n"
             "  defaults: {default_model: bench}\n"
             "  models: [{name: bench, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}]\n"
             "routing:\n"
             "  modelCards: [{name: bench}]\n"
             "  signals: {domains: [{name: physics}, {name: math}]}\n"
             "  decisions:\n"
             "    - name: science\n"
             "      rules: {operator: OR, conditions: [{type: domain, name: physics}, {type: domain, name: "
             "math}]}\n"
             "      modelRefs: [{model: bench, use_reasoning: false}]\n"
             "      plugins: [{type: response_cache, configuration: {scope: global, ttl_seconds: 3600}}]\n",
             mock);
    int rc = write_file(stage, "semroute.yaml", path, text);
    if (rc)
        return rc;
    snprintf(door, sizeof door, "127.0.0.1:%d", port);
    snprintf(log, sizeof log, "%s/semroute.log", stage->directory);
    char serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
         metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off";
    char *argv[] = {stage->self, serve,   config, path,    gateway, door, api,
                    off,         metrics, off,    extproc, off,     NULL};
    return sr_bench_process_start(&stage->processes[GATEWAY], argv, port, log);
}

/* ---- measuring ---- */

static int load(struct stage *stage, size_t row, double seconds, struct sr_bench_load *got)
{
    *got = (struct sr_bench_load){.port = stage->processes[row == STATIC ? NGINX : GATEWAY].port,
                                  .request = sr_buf_view(&stage->requests[row]),
                                  .connections = 1,
                                  .seconds = seconds};
    const int rc = sr_bench_load_run(got);
    return rc == SR_OK && got->errors + got->refused > 0 ? SR_EPROTO : rc;
}

/* Has the answers kept, and ends who gave them. */
static int prime(struct stage *stage)
{
    struct sr_bench_load got;
    int rc = load(stage, HIT_SMALL, SECONDS / 4, &got);
    if (rc == SR_OK)
        rc = load(stage, HIT_LARGE, SECONDS / 4, &got);
    sr_bench_process_stop(&stage->processes[MOCK]);
    return rc;
}

static int measure(struct stage *stage)
{
    int rc = prime(stage);
    for (unsigned at = 0; at < REPEATS && rc == SR_OK; at++)
        for (size_t row = 0; row < SR_CACHE_HIT_ROWS && rc == SR_OK; row++) {
            struct sr_bench_load got = {0};
            if (row != STATIC || stage->has_nginx)
                rc = load(stage, row, SECONDS, &got);
            stage->p50[row][at] = got.p50_us;
            stage->p99[row][at] = got.p99_us;
        }
    return rc;
}

static void report(struct stage *stage, struct sr_cache_hits *out)
{
    static const size_t bodies[] = {0, SMALL, SMALL, LARGE};
    for (size_t row = 0; row < SR_CACHE_HIT_ROWS; row++) {
        const double p50 = sr_bench_percentile(stage->p50[row], REPEATS, 0.5);
        if (row == STATIC && !stage->has_nginx)
            continue;
        out->rows[out->n++] =
            (struct sr_cache_hit_row){.who = names[row],
                                      .body = bodies[row],
                                      .p50 = p50,
                                      .p99 = sr_bench_percentile(stage->p99[row], REPEATS, 0.5),
                                      .ratio = p50 / out->rows[0].p50};
        if (row == HEALTH)
            out->rows[0].ratio = 1;
    }
}

static void remove_directory(const struct stage *stage)
{
    static const char *const files[] = {
        "semroute.yaml", "semroute.log", "nginx.conf", "nginx.log", "nginx.pid", "b", "p", "f", "u", "s"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", stage->directory, files[i]);
        remove(path);
    }
    rmdir(stage->directory);
}

int sr_cache_hits_run(struct sr_cache_hits *out, struct sr_err *err)
{
    static struct stage stage;
    stage = (struct stage){.has_nginx = access(nginx_path, X_OK) == 0};
    *out = (struct sr_cache_hits){0};
    const ssize_t n = readlink("/proc/self/exe", stage.self, sizeof stage.self - 1);
    snprintf(stage.directory, sizeof stage.directory, "/tmp/semroute-bench-XXXXXX");
    if (n <= 0 || !mkdtemp(stage.directory))
        return sr_err_set(err, SR_EIO, "no folder can be made below /tmp");
    int rc = make_requests(&stage);
    if (rc == SR_OK)
        rc = start_mock(&stage);
    if (rc == SR_OK && stage.has_nginx)
        rc = start_nginx(&stage);
    if (rc == SR_OK)
        rc = start_gateway(&stage);
    if (rc == SR_OK)
        rc = measure(&stage);
    if (rc == SR_OK)
        report(&stage, out);
    for (size_t i = 0; i < PROCESSES; i++)
        sr_bench_process_stop(&stage.processes[i]);
    for (size_t i = 0; i < SR_CACHE_HIT_ROWS; i++)
        sr_buf_dispose(&stage.requests[i]);
    remove_directory(&stage);
    return rc ? sr_err_set(err, rc, "exact hits cannot be measured: %s", sr_strerror(rc)) : SR_OK;
}
