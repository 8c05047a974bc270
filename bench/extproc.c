/*
 * The command: what the ext_proc door adds through the real Envoy, what it does alone, what remains of that
 * at a steady rate, and when an upstream sees the first byte.
 *
 * Everything shares the machine: load, Envoy, processors and upstream. Subjects take turns in each repeat.
 */
#include "bench/extproc.h"

#include "base/buf.h"
#include "base/cpu.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/extproc_client.h"
#include "bench/extproc_report.h"
#include "bench/extproc_stage.h"
#include "bench/extproc_upstream.h"
#include "bench/load.h"
#include "bench/options.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_PER_CORE 32
#define BODY_MAX             ((size_t)16 << 20)
#define STAMPS_MAX           128
#define STAMP_EVERY          1024

/* Of the gRPC client. */
#define GRPC_CONNECTIONS 4
#define GRPC_STREAMS     16

struct request {
    struct sr_buf text; /* head and body */
    size_t head;        /* bytes of the head */
    size_t n_stamps;
    char *stamps[STAMPS_MAX];
};

struct bench {
    struct sr_bench_extproc_report report;
    double seconds;
    bool json, quick;
    const char *only; /* a part's name; NULL: all */
    struct sr_bench_extproc_stage stage;
    struct sr_bench_upstream *upstream;
    struct request requests[SR_BENCH_ASKS][SR_BENCH_PROMPTS];
    struct request bodies[SR_BENCH_BODIES]; /* of an explicit model, by size */
};

/* Prompts in bytes: a body of 1 KB, then 8K and 16K tokens of four bytes. */
static const size_t PROMPT_BYTES[SR_BENCH_PROMPTS] = {900, 32768, 65536};

/* ---- requests ---- */

static const char question[] =
    "A block of mass two kilograms slides down a frictionless incline of thirty degrees. "
    "Derive its acceleration from Newton's second law and the time it needs. ";

static const char *word_of(int ask)
{
    return ask == SR_BENCH_KEYWORD ? "urgent" : ask == SR_BENCH_EMBEDDING ? "meaning" : "please";
}

/* The prompt with a number in every kilobyte, so that no request is like one before. */
static int put_prompt(struct sr_buf *out, size_t prompt, size_t at[STAMPS_MAX], size_t *n_stamps)
{
    int rc = SR_OK;
    for (size_t done = 0; done < prompt && rc == SR_OK;) {
        if (done / STAMP_EVERY >= *n_stamps && *n_stamps < STAMPS_MAX) {
            at[(*n_stamps)++] = out->len;
            rc = sr_buf_printf(out, "00000000 ");
            done += 9;
        }
        size_t left = done < prompt ? prompt - done : 0;
        size_t n = left < sizeof question - 1 ? left : sizeof question - 1;
        if (rc == SR_OK)
            rc = sr_buf_append(out, question, n);
        done += n;
    }
    return rc;
}

static int make_request(struct request *out, int ask, size_t prompt)
{
    struct sr_buf body;
    size_t at[STAMPS_MAX];
    sr_buf_init(&body, BODY_MAX);
    sr_buf_init(&out->text, BODY_MAX);
    int rc =
        sr_buf_printf(&body, "{\"model\": \"%s\", \"messages\": [{\"role\": \"user\", \"content\": \"%s ",
                      ask == SR_BENCH_EXPLICIT ? "bench" : "auto", word_of(ask));
    if (rc == SR_OK)
        rc = put_prompt(&body, prompt, at, &out->n_stamps);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&body, SR_LIT("\"}]}"));
    if (rc == SR_OK)
        rc = sr_buf_printf(&out->text,
                           "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: "
                           "application/json\r\ncontent-length: %zu\r\n\r\n",
                           body.len);
    out->head = out->text.len;
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(&out->text, sr_buf_view(&body));
    for (size_t i = 0; i < out->n_stamps && rc == SR_OK; i++)
        out->stamps[i] = out->text.data + out->head + at[i];
    sr_buf_dispose(&body);
    return rc;
}

static int make_requests(struct bench *b)
{
    int rc = SR_OK;
    for (int ask = 0; ask < SR_BENCH_ASKS; ask++)
        for (int i = 0; i < SR_BENCH_PROMPTS && rc == SR_OK; i++)
            rc = make_request(&b->requests[ask][i], ask, PROMPT_BYTES[i]);
    for (int i = 0; i < SR_BENCH_BODIES && rc == SR_OK; i++)
        rc = make_request(&b->bodies[i], SR_BENCH_EXPLICIT, sr_bench_extproc_bodies[i]);
    return rc;
}

static void dispose_requests(struct bench *b)
{
    for (int ask = 0; ask < SR_BENCH_ASKS; ask++)
        for (int i = 0; i < SR_BENCH_PROMPTS; i++)
            sr_buf_dispose(&b->requests[ask][i].text);
    for (int i = 0; i < SR_BENCH_BODIES; i++)
        sr_buf_dispose(&b->bodies[i].text);
}

/* ---- what is measured ---- */

static bool is_noop(int way)
{
    return way == SR_BENCH_WAY_NOOP_BUFFERED || way == SR_BENCH_WAY_NOOP_DUPLEX;
}

static void plan_ways(struct bench *b, int prompt)
{
    struct sr_bench_extproc_report *r = &b->report;
    for (int way = 0; way < SR_BENCH_WAYS; way++) {
        bool asks = way == SR_BENCH_WAY_BUFFERED || way == SR_BENCH_WAY_DUPLEX;
        for (int ask = 0; ask < (asks ? SR_BENCH_ASKS : 1); ask++) {
            bool slow = ask == SR_BENCH_EMBEDDING && prompt > 0;
            if ((ask == SR_BENCH_EMBEDDING && !b->stage.has_embedding) || b->stage.ports[way] == 0 ||
                (slow && b->quick))
                continue;
            r->rows[r->n_rows++] = (struct sr_bench_extproc_row){.way = way, .ask = ask, .prompt = prompt};
        }
    }
}

static bool wants(const struct bench *b, const char *part)
{
    return !b->only || strcmp(b->only, part) == 0;
}

static void plan(struct bench *b)
{
    struct sr_bench_extproc_report *r = &b->report;
    for (int prompt = 0; prompt < SR_BENCH_PROMPTS && wants(b, "envoy"); prompt++)
        plan_ways(b, prompt);
    for (int prompt = 0; prompt < SR_BENCH_PROMPTS && wants(b, "alone"); prompt += SR_BENCH_PROMPTS - 1)
        for (int duplex = 0; duplex < 2; duplex++)
            for (int noop = 0; noop <= (b->stage.has_noop ? 1 : 0); noop++)
                r->alone[r->n_alone++] =
                    (struct sr_bench_extproc_alone){.noop = noop, .duplex = duplex, .prompt = prompt};
    for (int way = 0; way < SR_BENCH_WAYS; way++) {
        if (b->stage.ports[way] == 0)
            continue;
        if (wants(b, "steady"))
            r->paced[r->n_paced++] = (struct sr_bench_extproc_row){
                .way = way, .ask = is_noop(way) ? SR_BENCH_EXPLICIT : SR_BENCH_KEYWORD};
        for (int body = 0; body < SR_BENCH_BODIES && wants(b, "first"); body++)
            r->first[r->n_first++] = (struct sr_bench_extproc_first){.way = way, .body = body};
    }
}

static struct sr_bench_load load_of(struct bench *b, const struct sr_bench_extproc_row *row, int connections)
{
    struct request *request = &b->requests[row->ask][row->prompt];
    return (struct sr_bench_load){.port = b->stage.ports[row->way],
                                  .request = sr_buf_view(&request->text),
                                  .stamps = request->stamps,
                                  .n_stamps = request->n_stamps,
                                  .connections = connections,
                                  .seconds = b->seconds};
}

/* Seconds a request are not measured again. */
static void repeat_row(struct sr_bench_extproc_row *row, int at)
{
    row->p10[at] = row->p10[0];
    row->p50[at] = row->p50[0];
    row->p99[at] = row->p99[0];
    row->rate[at] = row->rate[0];
}

/* A lone connection for latencies, then many for throughput. Where a model reads the whole text, one
 * connection keeps the machine busy, and what others had asked for would still be computed under the next
 * row. */
static int sample_row(struct bench *b, struct sr_bench_extproc_row *row, int at)
{
    if (at > 0 && row->ask == SR_BENCH_EMBEDDING) {
        repeat_row(row, at);
        return SR_OK;
    }
    struct sr_bench_load load = load_of(b, row, 1);
    int rc = sr_bench_load_run(&load);
    row->p10[at] = load.p10_us;
    row->p50[at] = load.p50_us;
    row->p99[at] = load.p99_us;
    row->errors += load.errors;
    if (rc == SR_OK && row->ask != SR_BENCH_EMBEDDING) {
        load = load_of(b, row, b->report.connections);
        rc = sr_bench_load_run(&load);
        row->errors += load.errors;
    }
    row->rate[at] = rc == SR_OK ? (double)load.answers / load.elapsed : 0;
    return rc;
}

static int sample_paced(struct bench *b, struct sr_bench_extproc_row *row, int at)
{
    struct sr_bench_load load = load_of(b, row, b->report.connections);
    load.rate = SR_BENCH_EXTPROC_PACE;
    load.seconds = b->seconds * 4;
    int rc = sr_bench_load_run(&load);
    row->p10[at] = load.p10_us;
    row->p50[at] = load.p50_us;
    row->p99[at] = load.p99_us;
    row->errors += load.errors;
    row->rate[at] = rc == SR_OK ? (double)load.answers / load.elapsed : 0;
    return rc;
}

/* The client leaves the processor's core alone. */
static void step_aside(const struct bench *b, cpu_set_t *before)
{
    cpu_set_t others;
    if (b->stage.core < 0 || sched_getaffinity(0, sizeof *before, before) != 0)
        return;
    others = *before;
    CPU_CLR((size_t)b->stage.core, &others);
    (void)!sched_setaffinity(0, sizeof others, &others);
}

static int sample_alone(struct bench *b, struct sr_bench_extproc_alone *row, int at)
{
    const struct request *request = &b->requests[SR_BENCH_EXPLICIT][row->prompt];
    struct sr_bench_process *process =
        &b->stage.processes[row->noop ? SR_BENCH_NOOP_ALONE : SR_BENCH_SEMROUTE_ALONE];
    struct sr_bytes text = sr_buf_view(&request->text);
    struct sr_bench_extproc_client client = {.port = process->port,
                                             .body =
                                                 sr_bytes_of(text.p + request->head, text.n - request->head),
                                             .full_duplex = row->duplex,
                                             .connections = GRPC_CONNECTIONS,
                                             .streams = GRPC_STREAMS,
                                             .seconds = b->seconds * 4};
    cpu_set_t before;
    step_aside(b, &before);
    double cpu = sr_bench_process_cpu(process);
    int rc = sr_bench_extproc_client_run(&client);
    cpu = sr_bench_process_cpu(process) - cpu;
    if (b->stage.core >= 0)
        (void)!sched_setaffinity(0, sizeof before, &before);
    if (rc != SR_OK)
        return rc;
    row->p50[at] = client.p50_us;
    row->p99[at] = client.p99_us;
    row->rate[at] = (double)client.requests / client.elapsed;
    row->per_core[at] = cpu > 0 ? (double)client.requests / cpu : 0;
    row->client[at] = client.cpu / client.elapsed;
    row->errors += client.errors;
    return SR_OK;
}

/* The median of a few passes. */
static int sample_first(struct bench *b, struct sr_bench_extproc_first *row, int at)
{
    enum { PASSES = 9 };
    const struct request *request = &b->bodies[row->body];
    double first[PASSES], whole[PASSES];
    int rc = SR_OK, n = b->quick ? 1 : PASSES;
    for (int i = 0; i < n && rc == SR_OK; i++)
        rc = sr_bench_upstream_time(b->upstream, b->stage.own_ports[row->way], sr_buf_view(&request->text),
                                    request->text.len - request->head, &first[i], &whole[i]);
    if (rc != SR_OK)
        return rc;
    row->first[at] = sr_bench_percentile(first, (size_t)n, 0.5);
    row->whole[at] = sr_bench_percentile(whole, (size_t)n, 0.5);
    return SR_OK;
}

static int failed(const char *what, int rc)
{
    if (rc != SR_OK)
        fprintf(stderr, "semroute bench extproc: %s: %s\n", what, sr_strerror(rc));
    return rc;
}

static void show(const struct bench *b, int at, const char *what)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%d of %d: %-32s", at + 1, b->report.repeats, what);
}

static int measure_once(struct bench *b, int at)
{
    struct sr_bench_extproc_report *r = &b->report;
    int rc = SR_OK;
    for (size_t i = 0; i < r->n_rows && rc == SR_OK; i++) {
        show(b, at, sr_bench_extproc_ways[r->rows[i].way]);
        rc = sample_row(b, &r->rows[i], at);
        if (rc != SR_OK)
            fprintf(stderr, "semroute bench extproc: %s, %s, %zu bytes: %s\n",
                    sr_bench_extproc_ways[r->rows[i].way], sr_bench_extproc_asked[r->rows[i].ask],
                    PROMPT_BYTES[r->rows[i].prompt], sr_strerror(rc));
    }
    for (size_t i = 0; i < r->n_alone && rc == SR_OK; i++) {
        show(b, at, "without Envoy");
        rc = failed("without Envoy", sample_alone(b, &r->alone[i], at));
    }
    for (size_t i = 0; i < r->n_paced && rc == SR_OK; i++) {
        show(b, at, "at a steady rate");
        rc = failed("at a steady rate", sample_paced(b, &r->paced[i], at));
    }
    for (size_t i = 0; i < r->n_first && rc == SR_OK; i++) {
        show(b, at, "first byte upstream");
        rc = failed("first byte upstream", sample_first(b, &r->first[i], at));
    }
    return rc;
}

static int measure(struct bench *b)
{
    int rc = SR_OK;
    if (getloadavg(&b->report.load_before, 1) != 1)
        b->report.load_before = 0;
    for (int at = 0; at < b->report.repeats && rc == SR_OK; at++)
        rc = measure_once(b, at);
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-48s\r", "");
    return rc;
}

/* ---- the command ---- */

static const char USAGE[] =
    "semroute bench extproc [--json] [--quick] [--repeats N] [--seconds S] [--only "
    "envoy|alone|steady|first]\n"
    "  What the external processor adds to a request through Envoy, beside Envoy without it and a processor\n"
    "  that changes nothing.\n"
    "  Defaults: --repeats 3, --seconds 0.3\n";

static int usage(const char *what)
{
    return sr_bench_wrong("extproc", what, USAGE);
}

static bool is_part(const char *name)
{
    static const char *const parts[] = {"envoy", "alone", "steady", "first"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(name, parts[i]) == 0)
            return true;
    return false;
}

static int parse(struct bench *b, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            b->json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            b->quick = true;
        else if (strcmp(argv[i], "--repeats") == 0 && i + 1 < argc)
            b->report.repeats = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            b->seconds = atof(argv[++i]);
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            b->only = argv[++i];
        else
            return usage(argv[i]);
    if (b->quick) {
        b->report.repeats = 1;
        b->seconds = 0.02;
    }
    if (b->report.repeats < 1 || b->report.repeats > SR_BENCH_EXTPROC_REPEATS_MAX || b->seconds <= 0)
        return usage("--repeats is 1 to 31, --seconds is positive");
    if (b->only && !is_part(b->only))
        return usage("--only takes envoy, alone, steady or first");
    return 0;
}

int sr_bench_extproc(int argc, char **argv)
{
    static struct bench b;
    b = (struct bench){.report = {.repeats = 3}, .seconds = 0.3};
    if (sr_bench_is_help(argc, argv, USAGE))
        return 0;
    int status = parse(&b, argc, argv);
    if (status != 0)
        return status;
    b.report.connections = CONNECTIONS_PER_CORE * sr_cpu_cores();
    if (b.report.connections > SR_BENCH_LOAD_CONNECTIONS_MAX)
        b.report.connections = SR_BENCH_LOAD_CONNECTIONS_MAX;
    b.report.streams = GRPC_CONNECTIONS * GRPC_STREAMS;
    int rc = make_requests(&b);
    if (rc == SR_OK)
        rc = sr_bench_upstream_new(&b.upstream);
    if (rc == SR_OK)
        rc = sr_bench_extproc_stage_open(&b.stage, sr_bench_upstream_port(b.upstream));
    b.report.has_noop = b.stage.has_noop;
    b.report.has_embedding = b.stage.has_embedding;
    b.report.bound = b.stage.core >= 0;
    if (rc == SR_OK)
        plan(&b);
    if (rc == SR_OK)
        rc = measure(&b);
    if (rc == SR_OK)
        (b.json ? sr_bench_extproc_print_json : sr_bench_extproc_print)(&b.report, stdout);
    sr_bench_extproc_stage_close(&b.stage);
    sr_bench_upstream_free(b.upstream);
    dispose_requests(&b);
    return rc == SR_OK ? 0 : 3;
}
