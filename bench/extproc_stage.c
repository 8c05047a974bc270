/* Configurations as text, then the processes one after the other. */
#include "bench/extproc_stage.h"

#include "base/buf.h"
#include "bench/process_envoy.h"
#include "infer/locate.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For one message, texts that a model reads included. */
#define PATIENCE_S 60

/* ---- one core ---- */

/* The last of the cores, when there is more than one; what was allowed goes into `before`. */
static int find_core(cpu_set_t *before)
{
    int last = -1;
    if (sched_getaffinity(0, sizeof *before, before) != 0 || CPU_COUNT(before) < 2)
        return -1;
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, before))
            last = i;
    return last;
}

/* What is started meanwhile inherits it. */
static int start_bound(struct sr_bench_extproc_stage *stage, struct sr_bench_process *process,
                       char *const argv[], int ready, const char *log)
{
    cpu_set_t before, one;
    stage->core = find_core(&before);
    CPU_ZERO(&one);
    if (stage->core >= 0) {
        CPU_SET(stage->core, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0)
            return SR_EIO;
    }
    int rc = sr_bench_process_start(process, argv, ready, log);
    if (stage->core >= 0 && sched_setaffinity(0, sizeof before, &before) != 0)
        return SR_EIO;
    return rc;
}

/* ---- processes ---- */

static int start_mock(struct sr_bench_extproc_stage *stage)
{
    char port[16], mock[] = "mock", flag[] = "--port";
    int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char *argv[] = {stage->self, mock, flag, port, NULL};
    return sr_bench_process_start(&stage->processes[SR_BENCH_MOCK], argv, number, NULL);
}

static int put_semroute(struct sr_buf *out, int mock, bool embedding)
{
    int rc = sr_buf_printf(out,
                           "version: v0.3\n"
                           "providers:\n"
                           "  defaults: {default_model: other}\n"
                           "  models:\n"
                           "    - {name: bench, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}\n"
                           "    - {name: other, backend_refs: [{name: mock, endpoint: \"127.0.0.1:%d\"}]}\n"
                           "routing:\n"
                           "  signals:\n"
                           "    domains: [{name: physics}]\n"
                           "    keywords: [{name: urgent, keywords: [urgent]}, {name: meaning, keywords: "
                           "[meaning]}]\n",
                           mock, mock);
    if (rc == SR_OK && embedding)
        rc = sr_buf_printf(out,
                           "    embeddings: [{name: mechanics, threshold: -1, candidates: [\"a block on an "
                           "incline\", \"the motion of a body\"]}]\n");
    if (rc == SR_OK)
        rc = sr_buf_printf(
            out,
            "  decisions:\n"
            "    - {name: urgent, priority: 30, rules: {type: keyword, name: urgent}, modelRefs: [{model: "
            "bench}]}\n");
    if (rc == SR_OK && embedding)
        rc = sr_buf_printf(out, "    - name: near\n"
                                "      priority: 20\n"
                                "      rules: {operator: AND, conditions: [{type: keyword, name: meaning}, "
                                "{type: embedding, name: mechanics}]}\n"
                                "      modelRefs: [{model: bench}]\n");
    if (rc == SR_OK)
        rc = sr_buf_printf(
            out,
            "    - {name: science, priority: 10, rules: {type: domain, name: physics}, modelRefs: [{model: "
            "bench}]}\n"
            "global: {semroute: {signal_deadline_ms: 60000, inference: {ask_below: 0%s}}}\n",
            embedding ? ", max_windows: 1024" : "");
    return rc;
}

static int start_semroute(struct sr_bench_extproc_stage *stage, enum sr_bench_extproc_process which)
{
    struct sr_buf text;
    char path[128], door[32], log[128], address[32];
    bool alone = which == SR_BENCH_SEMROUTE_ALONE;
    sr_buf_init(&text, 8192);
    int rc = put_semroute(&text, stage->processes[SR_BENCH_MOCK].port, !alone && stage->has_embedding);
    if (rc == SR_OK)
        rc = sr_bench_write_file(stage->directory, alone ? "alone.yaml" : "semroute.yaml", path, text.data);
    sr_buf_dispose(&text);
    if (rc != SR_OK)
        return rc;
    int ready = sr_bench_free_port(), port = sr_bench_free_port();
    snprintf(door, sizeof door, "127.0.0.1:%d", port);
    snprintf(address, sizeof address, "127.0.0.1:%d", ready);
    snprintf(log, sizeof log, "%s/semroute.log", stage->directory);
    char serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
         metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off";
    char *argv[] = {stage->self, serve,   config,  path,    gateway, off, api,
                    off,         metrics, address, extproc, door,    NULL};
    struct sr_bench_process *process = &stage->processes[which];
    rc = alone ? start_bound(stage, process, argv, ready, log)
               : sr_bench_process_start(process, argv, ready, log);
    process->port = port;
    return rc;
}

static int start_noop(struct sr_bench_extproc_stage *stage, enum sr_bench_extproc_process which)
{
    char port[16];
    int number = sr_bench_free_port();
    if (!stage->has_noop)
        return SR_OK;
    snprintf(port, sizeof port, "%d", number);
    char *argv[] = {stage->noop, port, NULL};
    struct sr_bench_process *process = &stage->processes[which];
    return which == SR_BENCH_NOOP_ALONE ? start_bound(stage, process, argv, number, NULL)
                                        : sr_bench_process_start(process, argv, number, NULL);
}

/* ---- Envoy ---- */

static int start_envoy(struct sr_bench_extproc_stage *stage, enum sr_bench_extproc_process which)
{
    static const char buffered[] = "BUFFERED", duplex[] = "FULL_DUPLEX_STREAMED";
    int semroute = stage->processes[SR_BENCH_SEMROUTE].port, noop = stage->processes[SR_BENCH_NOOP].port;
    struct sr_bench_listener listeners[SR_BENCH_WAYS] = {
        [SR_BENCH_WAY_PLAIN] = {.mode = NULL},
        [SR_BENCH_WAY_BUFFERED] = {.mode = buffered, .processor = semroute},
        [SR_BENCH_WAY_DUPLEX] = {.mode = duplex, .processor = semroute},
        [SR_BENCH_WAY_NOOP_BUFFERED] = {.mode = buffered, .processor = noop},
        [SR_BENCH_WAY_NOOP_DUPLEX] = {.mode = duplex, .processor = noop},
    };
    int n = stage->has_noop ? SR_BENCH_WAYS : SR_BENCH_WAY_NOOP_BUFFERED;
    bool own = which == SR_BENCH_ENVOY_OWN;
    int *ports = own ? stage->own_ports : stage->ports;
    int rc =
        sr_bench_envoy_start(&stage->processes[which], stage->envoy, stage->directory, listeners, n,
                             own ? stage->upstream_port : stage->processes[SR_BENCH_MOCK].port, PATIENCE_S);
    for (int i = 0; i < n; i++)
        ports[i] = listeners[i].port;
    return rc;
}

static int start_upstream(struct sr_bench_extproc_stage *stage, enum sr_bench_extproc_process which)
{
    (void)which;
    return start_mock(stage);
}

/* ---- the stage ---- */

/* The no-op processor is in the folder of the program, where the build writes it. */
static void look_around(struct sr_bench_extproc_stage *stage)
{
    ssize_t n = readlink("/proc/self/exe", stage->self, sizeof stage->self - 1);
    stage->self[n > 0 ? n : 0] = '\0';
    const char *slash = strrchr(stage->self, '/');
    snprintf(stage->noop, sizeof stage->noop, "%.*s/noop_extproc/noop_extproc",
             slash ? (int)(slash - stage->self) : 0, stage->self);
    stage->has_noop = access(stage->noop, X_OK) == 0;
    stage->envoy = sr_bench_envoy_find();
    char folder[SR_LOCATE_MAX];
    struct sr_err err;
    stage->has_embedding = sr_locate_model(folder, NULL, &err) == SR_OK;
}

int sr_bench_extproc_stage_open(struct sr_bench_extproc_stage *stage, int upstream_port)
{
    static const struct {
        const char *name;
        int (*start)(struct sr_bench_extproc_stage *stage, enum sr_bench_extproc_process which);
    } STARTS[SR_BENCH_PROCESSES] = {
        [SR_BENCH_MOCK] = {"the mock upstream", start_upstream},
        [SR_BENCH_SEMROUTE] = {"semroute serve", start_semroute},
        [SR_BENCH_SEMROUTE_ALONE] = {"semroute serve on one core", start_semroute},
        [SR_BENCH_NOOP] = {"the no-op external processor", start_noop},
        [SR_BENCH_NOOP_ALONE] = {"the no-op external processor on one core", start_noop},
        [SR_BENCH_ENVOY] = {"Envoy", start_envoy},
        [SR_BENCH_ENVOY_OWN] = {"Envoy before an upstream of our own", start_envoy},
    };
    *stage = (struct sr_bench_extproc_stage){.upstream_port = upstream_port, .core = -1};
    look_around(stage);
    if (!stage->envoy) {
        fprintf(stderr, "semroute bench extproc: no Envoy in PATH or tests/.venv (make setup)\n");
        return SR_ENOENT;
    }
    snprintf(stage->directory, sizeof stage->directory, "/tmp/semroute-bench.XXXXXX");
    if (!mkdtemp(stage->directory))
        return SR_EIO;
    for (int i = 0; i < SR_BENCH_PROCESSES; i++) {
        int rc = STARTS[i].start(stage, (enum sr_bench_extproc_process)i);
        if (rc != SR_OK) {
            fprintf(stderr, "semroute bench extproc: cannot start %s: %s\n", STARTS[i].name, sr_strerror(rc));
            return rc;
        }
    }
    return SR_OK;
}

void sr_bench_extproc_stage_close(struct sr_bench_extproc_stage *stage)
{
    static const char *const names[] = {"semroute.yaml", "alone.yaml", "semroute.log", "envoy.yaml",
                                        "envoy.log"};
    for (int i = SR_BENCH_PROCESSES - 1; i >= 0; i--)
        sr_bench_process_stop(&stage->processes[i]);
    if (!stage->directory[0])
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", stage->directory, names[i]);
        unlink(path);
    }
    rmdir(stage->directory);
}
