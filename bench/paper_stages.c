#include "bench/paper_stages.h"

#include "bench/bench.h"
#include "bench/encoder.h"
#include "bench/guards_peer.h"
#include "bench/guards_text.h"
#include "bench/paper_http.h"
#include "bench/process_envoy.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "infer/encoder/encoder.h"
#include "infer/locate.h"
#include "text/compress/compress.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES_MAX   64
#define CLIENT_SETS   3    /* 1, 10, 20 */
#define PATIENCE_MS   60e3 /* a cell that would take longer is left out, and says so */
#define WORK_MAX      ((size_t)4 << 30)
#define MESSAGE_MAX_S 600

const size_t sr_stage_tokens[SR_STAGE_SIZES] = {512, 2048, 4096, 8192, 16384, 32768};

enum { MOCK, SIGNALS, DOMAIN, ENVOY, PROCESSES };

struct sr_stages {
    struct sr_stages_options o;
    struct sr_err broken;
    struct sr_guards *guards;
    struct sr_guards_text *texts;
    struct sr_tokenizer *tokenizer;
    sr_compressor *compressor;
    struct sr_compress_settings settings;
    struct sr_guards_peer peer;
    struct sr_encoder *shape;
    struct sr_team *team;
    struct sr_encoder_work *work;
    char shape_folder[256], shape_why[40];
    bool shape_tried, envoy_tried;
    char directory[64], self[4096], envoy_why[40];
    struct sr_bench_process processes[PROCESSES];
    struct sr_bench_listener listeners[1 + 2 * SR_STAGE_MODES];
    struct sr_stage peers[SR_STAGE_SIZES], shapes[SR_STAGE_SIZES], compressed[SR_STAGE_SIZES];
    struct sr_stage signals[SR_STAGE_READS][SR_STAGE_SIZES], domains[SR_STAGE_MODES][SR_STAGE_SIZES];
    struct sr_stage envoys[SR_STAGE_MODES][SR_STAGE_READS][SR_STAGE_SIZES][CLIENT_SETS];
};

/* True when the figure is to be measured now. */
static bool begin(const struct sr_stages *s, struct sr_stage *stage, int size)
{
    if (stage->tried)
        return false;
    stage->tried = true;
    if (sr_stage_tokens[size] <= s->o.max_tokens)
        return true;
    snprintf(stage->why, sizeof stage->why, "left out (--max-tokens)");
    return false;
}

static void say(struct sr_stage *stage, const char *why)
{
    snprintf(stage->why, sizeof stage->why, "%s", why);
}

static void keep(struct sr_stage *stage, double *samples, size_t n)
{
    if (n == 0)
        return;
    stage->p99 = sr_bench_percentile(samples, n, 0.99);
    stage->ms = sr_bench_percentile(samples, n, 0.5);
}

/* ---- texts ---- */

/* A new prompt, as it is or compressed; *ms is what the compressor took. */
static int make_prompt(struct sr_stages *s, int reads, int size, struct sr_buf *out, double *ms)
{
    struct sr_compress_result result;
    struct sr_buf whole;
    *ms = 0;
    if (reads == SR_STAGE_WHOLE)
        return sr_guards_text_make(s->texts, sr_stage_tokens[size], out, NULL);
    sr_buf_init(&whole, SR_GUARDS_TEXT_MAX);
    int rc = sr_guards_text_make(s->texts, sr_stage_tokens[size], &whole, NULL);
    uint64_t start = sr_clock_ns();
    if (rc == SR_OK)
        rc = sr_compress_text(s->compressor, &s->settings, sr_buf_view(&whole), &result);
    if (rc == SR_OK)
        rc = sr_compress_write(s->compressor, out);
    *ms = (double)(sr_clock_ns() - start) / 1e6;
    sr_buf_dispose(&whole);
    return rc;
}

/* ---- the baseline and the same shape ---- */

/* How many times as long as size b size a is. */
static double stage_share(int a, int b)
{
    bool known = a >= 0 && b >= 0 && a < SR_STAGE_SIZES && b < SR_STAGE_SIZES;
    return known ? (double)sr_stage_tokens[a] / (double)sr_stage_tokens[b] : 0;
}

const struct sr_stage *sr_stage_peer(struct sr_stages *s, int size)
{
    struct sr_stage *stage = &s->peers[size];
    double samples[SAMPLES_MAX], spent = 0;
    size_t n = 0;
    if (!begin(s, stage, size))
        return stage;
    if (sr_stage_tokens[size] > SR_GUARDS_PEER_TOKENS)
        say(stage, "does not fit");
    else if (!s->peer.pid)
        say(stage, s->o.peer ? "no ONNX Runtime here" : "left out (--no-peer)");
    for (int i = 0; i < s->o.repeats && !stage->why[0]; i++) {
        double ms = sr_guards_peer_ask(&s->peer, sr_stage_tokens[size], &stage->spare);
        if (ms < 0)
            snprintf(stage->why, sizeof stage->why, "needs %.0f GB, not free", stage->spare / 1024);
        else if (ms > 0) {
            stage->spare = 0;
            samples[n++] = ms;
        }
        spent += ms;
        if (ms <= 0 || spent > PATIENCE_MS / 3)
            break;
    }
    keep(stage, samples, n);
    if (n == 0 && !stage->why[0])
        say(stage, "the peer ended");
    if (stage->spare > 0 && n == 0 && size > SR_STAGE_2K)
        sr_stage_peer(s, SR_STAGE_2K);
    if (stage->spare > 0 && n == 0) /* in proportion to the longest that fits */
        for (int k = 0; k < size && k < SR_STAGE_SIZES; k++)
            if (s->peers[k].ms > 0)
                stage->least = s->peers[k].ms * stage_share(size, k);
    return stage;
}

static enum sr_precision precision_of(const char *name)
{
    return !strcmp(name, "int8")   ? SR_PRECISION_INT8
           : !strcmp(name, "bf16") ? SR_PRECISION_BF16
                                   : SR_PRECISION_FP32;
}

static int open_shape(struct sr_stages *s)
{
    struct sr_bench_shape shape = {"mmbert-base", true, s->o.quick ? 2 : 22, 768, 12, 1152, 32768, 64};
    struct sr_encoder_options options = {.precision = precision_of(s->o.shape_precision)};
    struct sr_err err = {0};
    if (s->shape_tried)
        return s->shape ? SR_OK : SR_EIO;
    s->shape_tried = true;
    int rc = sr_bench_encoder_folder(&shape, s->shape_folder);
    if (rc) {
        s->shape_folder[0] = '\0';
        snprintf(s->shape_why, sizeof s->shape_why, "no room for its folder");
        return rc;
    }
    rc = sr_encoder_open(&s->shape, s->shape_folder, &options, &err);
    if (rc == SR_OK)
        rc = sr_encoder_work_new(&s->work, WORK_MAX);
    if (rc == SR_OK)
        rc = sr_team_new(&s->team, (unsigned)sr_cpu_cores());
    if (rc)
        snprintf(s->shape_why, sizeof s->shape_why, "%.38s", err.message[0] ? err.message : sr_strerror(rc));
    return rc;
}

const struct sr_stage *sr_stage_shape(struct sr_stages *s, int size)
{
    struct sr_stage *stage = &s->shapes[size];
    double samples[SAMPLES_MAX], spent = 0;
    size_t n = 0, tokens = sr_stage_tokens[size];
    if (!begin(s, stage, size))
        return stage;
    if (open_shape(s)) {
        say(stage, s->shape_why);
        return stage;
    }
    const struct sr_encoder_info *info = sr_encoder_info(s->shape);
    int32_t *ids = sr_mem_calloc(tokens, sizeof *ids);
    float *out = sr_mem_calloc(info->heads[0].n_labels, sizeof *out);
    for (size_t i = 0; ids && i < tokens; i++)
        ids[i] = (int32_t)(4 + i * 7 % 50);
    struct sr_encoder_item item = {.ids = ids, .n_ids = tokens, .heads = 1, .out = {out}};
    for (int i = 0; ids && out && i < s->o.repeats; i++) {
        uint64_t start = sr_clock_ns();
        if (sr_encoder_run(s->shape, s->team, s->work, &item, 1, NULL))
            break;
        samples[n++] = (double)(sr_clock_ns() - start) / 1e6;
        spent += samples[n - 1];
        if (spent > PATIENCE_MS / 3)
            break;
    }
    keep(stage, samples, n);
    if (n == 0)
        say(stage, "did not run");
    sr_mem_free(ids);
    sr_mem_free(out);
    return stage;
}

/* ---- in the process ---- */

const struct sr_stage *sr_stage_compress(struct sr_stages *s, int size)
{
    struct sr_stage *stage = &s->compressed[size];
    double samples[SAMPLES_MAX];
    size_t n = 0;
    if (!begin(s, stage, size))
        return stage;
    for (int i = 0; i < 3 * s->o.repeats && n < SAMPLES_MAX; i++) {
        struct sr_buf brief;
        sr_buf_init(&brief, SR_GUARDS_TEXT_MAX);
        if (make_prompt(s, SR_STAGE_COMPRESSED, size, &brief, &samples[n]) == SR_OK) {
            size_t tokens = 0;
            if (s->tokenizer && sr_tokenizer_count(s->tokenizer, sr_buf_view(&brief), 0, &tokens) == SR_OK)
                stage->spare = (double)tokens;
            n++;
        }
        sr_buf_dispose(&brief);
    }
    keep(stage, samples, n);
    return stage;
}

const struct sr_stage *sr_stage_signals(struct sr_stages *s, int reads, int size)
{
    struct sr_stage *stage = &s->signals[reads][size];
    double samples[SAMPLES_MAX], each[SR_GUARDS_SIGNALS][SAMPLES_MAX], spent = 0;
    size_t n = 0;
    if (!begin(s, stage, size))
        return stage;
    for (int i = 0; i < s->o.repeats && spent < PATIENCE_MS; i++) {
        struct sr_guards_time time;
        struct sr_buf prompt;
        double ms;
        sr_buf_init(&prompt, SR_GUARDS_TEXT_MAX);
        int rc = make_prompt(s, reads, size, &prompt, &ms);
        struct sr_bytes text = sr_buf_view(&prompt);
        if (rc == SR_OK)
            rc = sr_guards_read(s->guards, &text, 1, &time, &s->broken);
        sr_buf_dispose(&prompt);
        if (rc) {
            say(stage, sr_strerror(rc));
            return stage;
        }
        for (int k = 0; k < SR_GUARDS_SIGNALS; k++) {
            each[k][n] = time.each[k];
            memcpy(stage->tier[k], time.tier[k], sizeof stage->tier[k]);
        }
        spent += time.all;
        samples[n++] = ms + time.all;
    }
    keep(stage, samples, n);
    for (int k = 0; k < SR_GUARDS_SIGNALS; k++)
        stage->each[k] = sr_bench_percentile(each[k], n, 0.5);
    return stage;
}

/* ---- through Envoy ---- */

static int start_mock(struct sr_stages *s)
{
    char port[16], mock[] = "mock", flag[] = "--port";
    int number = sr_bench_free_port();
    snprintf(port, sizeof port, "%d", number);
    char *argv[] = {s->self, mock, flag, port, NULL};
    return sr_bench_process_start(&s->processes[MOCK], argv, number, NULL);
}

static int start_router(struct sr_stages *s, int which, int *door)
{
    static const char *const decisions[] = {
        "  decisions:\n"
        "    - {name: attacks, priority: 30, rules: {type: jailbreak, name: attack}, modelRefs: [{model: "
        "m}]}\n"
        "    - {name: personal, priority: 20, rules: {type: pii, name: private}, modelRefs: [{model: m}]}\n"
        "    - {name: science, priority: 10, rules: {type: domain, name: physics}, modelRefs: [{model: "
        "m}]}\n",
        "  decisions:\n"
        "    - {name: science, priority: 10, rules: {type: domain, name: physics}, modelRefs: [{model: "
        "m}]}\n"};
    struct sr_guards_options options = {.precision = s->o.precision,
                                        .linear = s->o.linear,
                                        .domain_only = which == DOMAIN,
                                        .compress = which == DOMAIN};
    char path[128], log[128], address[32], ready[32];
    struct sr_buf text;
    int ready_port = sr_bench_free_port();
    *door = sr_bench_free_port();
    sr_buf_init(&text, 65536);
    int rc = sr_buf_printf(&text,
                           "version: v0.3\nproviders: {defaults: {default_model: m}, models: [{name: m, "
                           "backend_refs: [{endpoint: \"127.0.0.1:%d\"}]}]}\n",
                           s->processes[MOCK].port);
    if (rc == SR_OK)
        rc = sr_guards_config(&text, &options, decisions[which == DOMAIN]);
    if (rc == SR_OK)
        rc = sr_bench_write_file(s->directory, which == DOMAIN ? "domain.yaml" : "signals.yaml", path,
                                 text.data);
    sr_buf_dispose(&text);
    if (rc)
        return rc;
    snprintf(log, sizeof log, "%s/semroute.log", s->directory);
    snprintf(address, sizeof address, "127.0.0.1:%d", *door);
    snprintf(ready, sizeof ready, "127.0.0.1:%d", ready_port);
    char serve[] = "serve", config[] = "-c", gateway[] = "--gateway", api[] = "--api",
         metrics[] = "--metrics", extproc[] = "--extproc", off[] = "off";
    char *argv[] = {s->self, serve,   config, path,    gateway, off, api,
                    off,     metrics, ready,  extproc, address, NULL};
    return sr_bench_process_start(&s->processes[which], argv, ready_port, log);
}

static int start_servers(struct sr_stages *s)
{
    const char *program = sr_bench_envoy_find();
    int doors[2] = {0, 0};
    if (s->envoy_tried)
        return s->envoy_why[0] ? SR_EIO : SR_OK;
    s->envoy_tried = true;
    ssize_t n = readlink("/proc/self/exe", s->self, sizeof s->self - 1);
    snprintf(s->directory, sizeof s->directory, "/tmp/semroute-bench.XXXXXX");
    if (!program)
        snprintf(s->envoy_why, sizeof s->envoy_why, "no Envoy (make setup)");
    else if (n <= 0 || !mkdtemp(s->directory))
        snprintf(s->envoy_why, sizeof s->envoy_why, "no folder in /tmp");
    if (s->envoy_why[0]) {
        s->directory[0] = '\0';
        return SR_EIO;
    }
    int rc = start_mock(s);
    if (rc == SR_OK)
        rc = start_router(s, SIGNALS, &doors[0]);
    if (rc == SR_OK)
        rc = start_router(s, DOMAIN, &doors[1]);
    static const char *const modes[] = {"BUFFERED", "FULL_DUPLEX_STREAMED"};
    for (int i = 0; i < 2 * SR_STAGE_MODES; i++)
        s->listeners[1 + i] =
            (struct sr_bench_listener){modes[i % SR_STAGE_MODES], doors[i / SR_STAGE_MODES], 0};
    if (rc == SR_OK)
        rc = sr_bench_envoy_start(&s->processes[ENVOY], program, s->directory, s->listeners,
                                  1 + 2 * SR_STAGE_MODES, s->processes[MOCK].port, MESSAGE_MAX_S);
    if (rc)
        snprintf(s->envoy_why, sizeof s->envoy_why, "not started: %.25s", sr_strerror(rc));
    return rc;
}

/* One round of `clients` requests; their milliseconds, compression included, are added to the samples. */
static int ask_round(struct sr_stages *s, int port, int reads, int size, unsigned clients, double *samples)
{
    struct sr_buf requests[SR_PAPER_CLIENTS_MAX];
    struct sr_bytes views[SR_PAPER_CLIENTS_MAX] = {{0}};
    double extra[SR_PAPER_CLIENTS_MAX] = {0};
    int rc = SR_OK;
    for (unsigned i = 0; i < clients; i++) {
        struct sr_buf prompt;
        sr_buf_init(&prompt, SR_GUARDS_TEXT_MAX);
        sr_buf_init(&requests[i], 2 * SR_GUARDS_TEXT_MAX);
        rc = rc ? rc : make_prompt(s, reads, size, &prompt, &extra[i]);
        rc = rc ? rc : sr_paper_request(&requests[i], sr_buf_view(&prompt));
        views[i] = sr_buf_view(&requests[i]);
        sr_buf_dispose(&prompt);
    }
    rc = rc ? rc : sr_paper_ask_all(port, views, clients, samples);
    for (unsigned i = 0; i < clients; i++) {
        if (rc == SR_OK)
            samples[i] += extra[i];
        sr_buf_dispose(&requests[i]);
    }
    return rc;
}

/* Has a router that reads by itself, or whose neural classifier came late or was refused, answered otherwise
 * than it was to?
 */
static int check_router(struct sr_stages *s, int which)
{
    static const char *const metrics[] = {"semroute_neural_late_total", "semroute_signal_errors_total",
                                          "semroute_inference_refused_total"};
    double sum = 0;
    int rc = SR_OK;
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0] && rc == SR_OK; i++) {
        rc = sr_paper_metric(s->processes[which].port, metrics[i], &sum);
        if (rc == SR_OK && sum > 0)
            rc = sr_err_set(&s->broken, SR_EMISMATCH,
                            "the router behind Envoy did not read everything: %s is %.0f", metrics[i], sum);
    }
    return rc;
}

static void through_envoy(struct sr_stages *s, struct sr_stage *stage, int listener, int reads, int size,
                          unsigned clients)
{
    double samples[SAMPLES_MAX], spent = 0;
    size_t n = 0, wanted = clients > 1 ? clients : (size_t)s->o.repeats;
    if (start_servers(s)) {
        say(stage, s->envoy_why);
        return;
    }
    int rc = ask_round(s, s->listeners[listener].port, SR_STAGE_COMPRESSED, SR_STAGE_500, 1, samples);
    while (rc == SR_OK && n < wanted && n + clients <= SAMPLES_MAX && spent < PATIENCE_MS) {
        rc = ask_round(s, s->listeners[listener].port, reads, size, clients, samples + n);
        spent += samples[n];
        n += clients;
    }
    if (rc == SR_OK)
        rc = check_router(s, listener < 1 + SR_STAGE_MODES ? SIGNALS : DOMAIN);
    if (rc)
        say(stage, sr_strerror(rc));
    else
        keep(stage, samples, n);
}

const char *sr_stages_broken(const struct sr_stages *stages)
{
    return stages->broken.message;
}

const struct sr_stage *sr_stage_envoy(struct sr_stages *s, int mode, int reads, int size, unsigned clients)
{
    int set = clients == 1 ? 0 : clients == 10 ? 1 : 2;
    struct sr_stage *stage = &s->envoys[mode][reads][size][set];
    if (!begin(s, stage, size))
        return stage;
    if (clients > 1 && sr_stage_envoy(s, mode, reads, size, 1)->ms * clients > PATIENCE_MS)
        say(stage, "over a minute: not run");
    else
        through_envoy(s, stage, 1 + mode, reads, size, clients);
    return stage;
}

const struct sr_stage *sr_stage_domain(struct sr_stages *s, int mode, int size)
{
    struct sr_stage *stage = &s->domains[mode][size];
    if (begin(s, stage, size))
        through_envoy(s, stage, 1 + SR_STAGE_MODES + mode, SR_STAGE_WHOLE, size, 1);
    return stage;
}

/* ---- life ---- */

static int open_guards(struct sr_stages *s, struct sr_err *err)
{
    struct sr_guards_options options = {.precision = s->o.precision, .linear = s->o.linear};
    char folder[SR_LOCATE_MAX], path[SR_LOCATE_MAX + sizeof "/tokenizer.json"];
    struct sr_err why = {0};
    if (sr_locate_model(folder, NULL, &why) == SR_OK) {
        snprintf(path, sizeof path, "%s/tokenizer.json", folder);
        if (sr_tokenizer_open_file(&s->tokenizer, path, &why))
            s->tokenizer = NULL;
    }
    return sr_guards_new(&s->guards, &options, err);
}

int sr_stages_new(struct sr_stages **out, const struct sr_stages_options *options, struct sr_err *err)
{
    struct sr_stages *s = sr_mem_calloc(1, sizeof *s);
    *out = NULL;
    if (!s)
        return SR_ENOMEM;
    s->o = *options;
    sr_compress_profile(SR_LIT("default"), &s->settings);
    s->settings.budget = SR_COMPRESS_BUDGET;
    int rc = open_guards(s, err);
    if (rc == SR_OK)
        rc = sr_guards_text_new(&s->texts, NULL, s->tokenizer);
    if (rc == SR_OK)
        rc = sr_compressor_new(&s->compressor, SR_COMPRESS_TEXT_MAX);
    if (rc == SR_OK && options->peer && sr_guards_peer_start(&s->peer, options->python, options->quick))
        fprintf(stderr, "semroute bench paper: no peer: %s\n", s->peer.why);
    if (rc)
        sr_stages_free(s);
    else
        *out = s;
    return rc;
}

void sr_stages_free(struct sr_stages *s)
{
    static const char *const names[] = {"signals.yaml", "domain.yaml", "semroute.log", "envoy.yaml",
                                        "envoy.log"};
    if (!s)
        return;
    for (int i = PROCESSES - 1; i >= 0; i--)
        sr_bench_process_stop(&s->processes[i]);
    for (size_t i = 0; s->directory[0] && i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", s->directory, names[i]);
        unlink(path);
    }
    if (s->directory[0])
        rmdir(s->directory);
    if (s->shape_folder[0])
        sr_bench_encoder_folder_remove(s->shape_folder);
    sr_guards_peer_stop(&s->peer);
    sr_team_free(s->team);
    sr_encoder_work_free(s->work);
    sr_encoder_unref(s->shape);
    sr_compressor_free(s->compressor);
    sr_guards_free(s->guards);
    sr_guards_text_free(s->texts);
    sr_tokenizer_unref(s->tokenizer);
    sr_mem_free(s);
}
