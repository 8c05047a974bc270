/*
 * Times what each signal takes when the vector of the text is there, and, taken in turns in the same run, one
 * pass of the trunk over the same text: the share of the pass is what a signal adds to it.
 *
 * The vector comes from the memo, whose look-up counts; the user's earlier turns are in it too, because each
 * was the newest once. No network, one thread beside those of the encoder.
 */
#include "bench/signals.h"

#include "base/mem.h"
#include "bench/bench.h"
#include "bench/options.h"
#include "config/load.h"
#include "infer/locate.h"
#include "probe/probe.h"
#include "signal/facts.h"
#include "signal/signal.h"

#include <string.h>

#define ARENA_MAX ((size_t)16 << 20)
#define TEXT      "Why does the cache of our service stay cold for minutes after each release, and what can we do?"
#define TURN      "Why is the cache of our service cold for minutes when we release?"

static const char site[] =
    "version: v0.3\n"
    "providers: {defaults: {default_model: m}, models: [{name: m, backend_refs: [{endpoint: "
    "'127.0.0.1:1'}]}]}\n"
    "routing:\n"
    "  signals:\n"
    "    embeddings: [{name: e, threshold: 0.5, candidates: [a cold cache, a slow release, a failed test]}]\n"
    "    reasks: [{name: r}]\n"
    "    preferences: [{name: code, examples: [write a function, fix this bug]}, {name: prose, examples: "
    "[write a "
    "letter]}]\n"
    "    complexity: [{name: c, hard: {candidates: [prove this theorem, design a database]}, easy: "
    "{candidates: "
    "[say hello, what is the time]}}]\n"
    "    kb: [{name: k, kb: mmlu_kb, target: {kind: label, value: math}}]\n"
    "    fact_check: [{name: needs_fact_check}]\n"
    "    user_feedbacks: [{name: wrong_answer}]\n"
    "    conversation: [{name: n, feature: {type: count, source: {type: message}}, predicate: {gte: 2}}]\n"
    "    metadata: [{name: d, key: cohort, predicate: {equals: canary}}]\n"
    "    events: [{name: v, event_types: [outage], action_codes: [restart]}]\n"
    "    role_bindings: [{name: b, role: admin, subjects: [{kind: User, name: ann}]}]\n"
    "    modality: [{name: DIFFUSION}]\n"
    "  decisions: [{name: w, priority: 1, rules: {type: workload, name: agent}, modelRefs: [{model: m}]}]\n"
    "global: {services: {authz: {identity: {user_id_header: x-user}}}, semroute: {identity: {trusted_peers: "
    "[10.0.0.0/8]}}}\n";

static const struct {
    enum sr_signal_type type;
    const char *name;
    bool reads; /* the vector */
} kinds[] = {
    {SR_SIGNAL_EMBEDDING, "embedding", true},
    {SR_SIGNAL_REASK, "reask", true},
    {SR_SIGNAL_PREFERENCE, "preference", true},
    {SR_SIGNAL_COMPLEXITY, "complexity", true},
    {SR_SIGNAL_KB, "kb", true},
    {SR_SIGNAL_FACT_CHECK, "fact_check", true},
    {SR_SIGNAL_USER_FEEDBACK, "user_feedback", true},
    {SR_SIGNAL_CONVERSATION, "conversation", false},
    {SR_SIGNAL_METADATA, "metadata", false},
    {SR_SIGNAL_EVENT, "event", false},
    {SR_SIGNAL_AUTHZ, "authz", false},
    {SR_SIGNAL_MODALITY, "modality", false},
    {SR_SIGNAL_WORKLOAD, "workload", false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0], PASS = KINDS, SUBJECTS };

struct bench {
    struct sr_model_store *models;
    struct sr_signals *signals;
    struct subject {
        struct bench *bench;
        enum sr_signal_type type;
        bool fresh; /* a text that was not read before */
        uint64_t count;
    } of[SUBJECTS];
    struct sr_bench_subject subjects[SUBJECTS];
};

static struct sr_signal_input *make_input(const char *text)
{
    struct sr_bytes turn = SR_LIT(TURN);
    struct sr_signal_entry entry = {SR_LIT("cohort"), SR_LIT("stable")};
    struct sr_signal_facts facts = {.users = 2,
                                    .assistants = 1,
                                    .replied = true,
                                    .user = SR_LIT("ann"),
                                    .metadata = &entry,
                                    .n_metadata = 1,
                                    .turns = &turn,
                                    .n_turns = 1};
    struct sr_signal_input *input = sr_signal_input_new(sr_bytes_str(text), strlen(text));
    if (input && sr_signal_input_add_facts(input, &facts)) {
        sr_signal_input_unref(input);
        input = NULL;
    }
    return input;
}

/* One signal of one request, from its input on. */
static uint64_t run_one(void *ctx)
{
    struct subject *subject = ctx;
    struct sr_arena arena;
    struct sr_signal_run *run = NULL;
    char text[sizeof TEXT + 32] = TEXT;
    uint64_t value = 0;
    if (subject->fresh)
        snprintf(text, sizeof text, "%s %llu", TEXT, (unsigned long long)subject->count++);
    sr_arena_init(&arena, ARENA_MAX);
    struct sr_signal_input *input = make_input(text);
    if (input && sr_signal_run_new(&run, subject->bench->signals, input, (struct sr_signal_env){NULL},
                                   &arena) == SR_OK) {
        bool done = sr_signal_run_start(run, subject->type, NULL, NULL) == SR_OK;
        value = done && sr_signal_run_result(run, subject->type)->status == SR_OK;
        sr_signal_run_dispose(run);
    }
    sr_signal_input_unref(input);
    sr_arena_dispose(&arena);
    return value;
}

static int bench_open(struct bench *bench, struct sr_err *err)
{
    const struct sr_config *config = NULL;
    struct sr_problems problems = {0};
    char folder[SR_LOCATE_MAX];
    int rc = sr_locate_model(folder, NULL, err);
    if (rc == SR_OK)
        rc =
            sr_config_load_text(&config, sr_bytes_str(site), "bench",
                                (struct sr_load_options){.files = true, .probe = sr_probe_models}, &problems);
    if (rc && problems.count)
        sr_err_set(err, rc, "%s", problems.items[0].message);
    sr_problems_dispose(&problems);
    if (rc == SR_OK)
        rc = sr_model_store_new(&bench->models, NULL);
    if (rc == SR_OK)
        sr_memo_resize(sr_model_store_memo(bench->models), config->global.guards.memo_bytes);
    if (rc == SR_OK)
        rc = sr_signals_new(&bench->signals, config, bench->models, err);
    sr_config_unref(config);
    for (size_t i = 0; i < SUBJECTS; i++) {
        bool pass = i == PASS;
        bench->of[i] = (struct subject){bench, pass ? SR_SIGNAL_EMBEDDING : kinds[i].type, pass, 0};
        bench->subjects[i] = (struct sr_bench_subject){
            .name = pass ? "one pass of the trunk" : kinds[i].name, .run = run_one, .ctx = &bench->of[i]};
    }
    return rc;
}

static void bench_close(struct bench *bench)
{
    sr_signals_unref(bench->signals);
    sr_model_store_free(bench->models);
}

static void print_table(const struct bench *bench)
{
    static const char *const titles[] = {"signal", "us", "10 % us", "share of a pass"};
    static struct sr_bench_table table;
    double pass = bench->subjects[PASS].median_ns;
    sr_bench_table_init(&table, titles, 4);
    for (size_t i = 0; i < SUBJECTS; i++) {
        const struct sr_bench_subject *s = &bench->subjects[i];
        sr_bench_table_cell(&table, "%s", s->name);
        sr_bench_table_cell(&table, "%.1f", s->median_ns / 1e3);
        sr_bench_table_cell(&table, "%.1f", s->low_ns / 1e3);
        sr_bench_table_cell(&table, "%.4f", s->median_ns / pass);
    }
    printf(
        "One signal of one request of %zu bytes whose vector is there, beside the pass that makes it; %s\n\n",
        sizeof TEXT - 1, sr_bench_machine());
    sr_bench_table_print(&table, stdout);
}

static void print_json(const struct bench *bench)
{
    double pass = bench->subjects[PASS].median_ns;
    printf("{\"bench\":\"signals\",\"machine\":\"%s\",\"pass_us\":%.1f,\"rows\":[", sr_bench_machine(),
           pass / 1e3);
    for (size_t i = 0; i < KINDS; i++)
        printf("%s{\"signal\":\"%s\",\"reads_vector\":%s,\"us\":%.2f,\"share\":%.5f}", i ? "," : "",
               kinds[i].name, kinds[i].reads ? "true" : "false", bench->subjects[i].median_ns / 1e3,
               bench->subjects[i].median_ns / pass);
    puts("]}");
}

int sr_bench_signals(int argc, char **argv)
{
    static struct bench bench;
    struct sr_err err = {0};
    struct sr_bench_options o = {.name = "signals",
                                 .text =
                                     "What each signal adds to the one pass of the trunk; S seconds in all.",
                                 .seconds = 5};
    int code = sr_bench_options_read(&o, argc, argv);
    if (code >= 0)
        return code;
    int rc = bench_open(&bench, &err);
    if (rc == SR_OK)
        rc = sr_bench_measure(bench.subjects, SUBJECTS, o.seconds);
    for (size_t i = 0; rc == SR_OK && i < SUBJECTS; i++)
        if (bench.subjects[i].failed)
            rc = sr_err_set(&err, SR_EMISMATCH, "%s failed", bench.subjects[i].name);
    if (rc)
        fprintf(stderr, "semroute bench signals: %s\n", err.message[0] ? err.message : sr_strerror(rc));
    else if (o.json)
        print_json(&bench);
    else
        print_table(&bench);
    bench_close(&bench);
    return rc ? 3 : 0;
}
