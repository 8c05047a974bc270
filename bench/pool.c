/*
 * Options, the order of the runs. Each run has workers with empty caches and a router of its own; policies
 * take turns within a workload and a budget.
 */
#include "bench/pool.h"

#include "base/mem.h"
#include "bench/pool_plan.h"
#include "bench/pool_report.h"
#include "bench/pool_sim.h"
#include "bench/pool_soak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS_MAX  600 /* of one run */
#define FAULT_BUDGET 50

struct bench {
    const char *data, *workload, *policy, *peer;
    size_t requests;
    unsigned speed;
    int budget; /* 0: all */
    bool json, faults_only, no_faults, soak, pass_through, plan, simulate, trace, printed;
    uint64_t seed;
    struct sr_plan_settings plan_settings;
    double rate, seconds;
    struct sr_bench_site site;
    struct sr_bench_way ways[SR_BENCH_POOL_WAYS_MAX];
    size_t n_ways;
    struct sr_bench_pool_row rows[SR_BENCH_POOL_ROWS_MAX];
    size_t n_rows;
};

static int usage(FILE *out)
{
    fprintf(
        out,
        "semroute bench pool [--data DIR] [--workload NAME] [--policy NAME] [--cache PERCENT] "
        "[--requests N]\n"
        "                    [--speed N] [--faults | --no-faults] [--peer PATH | --no-peer] [--quick] "
        "[--json]\n"
        "                    [--simulate] [--seed N] [--trace]\n"
        "  Eight mock engines behind every policy: KV hit rate, time to the first token, throughput.\n"
        "  --data DIR        folders chat-agent-taubench, chat-rag-bills, chat-rag-opensourceguide and\n"
        "                    benign-real-users; without it a small set of our own\n"
        "  --workload NAME   agents, rag, paraphrases or chat alone\n"
        "  --policy NAME     one policy alone\n"
        "  --cache PERCENT   one budget of 25, 50 and 100 alone\n"
        "  --requests N      of each workload, about; default 400\n"
        "  --speed N         of the engines' clock; default 10, with --faults 1: a worker that is slow on a "
        "fast\n"
        "                    clock is not slow in real time, by which routers judge\n"
        "  --faults          only runs with a worker killed and one slow, and their pairs without\n"
        "  --peer PATH       the Rust vllm-router, by default tests/.venv/bin/vllm-router\n"
        "  --quick           a few requests, to see that everything runs\n"
        "  --simulate        on a simulated clock, in this process: the same figures in every run, "
        "without\n"
        "                    the router's own time; peers and vectors are left out\n"
        "  --seed N          another choice of texts and times; default 0\n"
        "  --trace           only prints the requests, a JSON object each, for other routers "
        "(tools/dynamo_trace.py)\n"
        "semroute bench pool --pass-through | --soak [--policy NAME] [--rate N] [--seconds S] [--json]\n"
        "  Requests on a schedule (10000 or 1000 a second for 600 s) to plain workers; in a soak they "
        "join, leave\n"
        "  and fail meanwhile, and an answer that is not 200 is an error (exit code 1).\n"
        "semroute bench pool --plan [--data DIR] [--rate N] [--blocks N] [--longest TOKENS] [--split TOKENS] "
        "[--json]\n"
        "  GPUs that one pool of engines needs, and a pool of short and one of long requests: arithmetic "
        "over "
        "the\n"
        "  lengths of texts and of published traces (docs/sizing.md); 1000 requests a second, 32768 blocks "
        "of 16\n"
        "  tokens, requests of up to 65536 tokens, and the split that saves most.\n");
    return out == stdout ? 0 : 2;
}

static size_t budget_blocks(const struct sr_bench_workload *workload, unsigned budget)
{
    size_t blocks = (workload->distinct_blocks * budget + 100 * SR_BENCH_POOL_WORKERS - 1) /
                    (100 * SR_BENCH_POOL_WORKERS);
    return blocks > workload->largest_blocks ? blocks : workload->largest_blocks;
}

static void simulate(struct sr_bench_pool_row *row, const struct sr_bench_workload *workload)
{
    struct sr_bench_run run = {.workload = workload, .faults = row->faults};
    row->rc = sr_bench_sim_trace(&run, row->way.policy, row->blocks);
    if (run.answers)
        sr_bench_pool_fill(row, &run, 0);
    sr_mem_free(run.answers);
    if (row->rc != SR_OK)
        fprintf(stderr, "semroute bench pool: %s: %s\n", row->way.policy, sr_strerror(row->rc));
}

static void run_one(struct bench *b, const struct sr_bench_workload *workload, const struct sr_bench_way *way,
                    unsigned budget, bool faults)
{
    if (b->n_rows == SR_BENCH_POOL_ROWS_MAX)
        return;
    struct sr_bench_pool_row *row = &b->rows[b->n_rows++];
    *row = (struct sr_bench_pool_row){.workload = workload->name,
                                      .way = *way,
                                      .budget = budget,
                                      .faults = faults,
                                      .blocks = budget_blocks(workload, budget)};
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-12s %-12s %-20s %3u %% %-8s", workload->name, way->router, way->policy, budget,
                faults ? "faults" : "");
    if (b->simulate) {
        simulate(row, workload);
        return;
    }
    row->rc = sr_bench_site_start(&b->site, way, row->blocks, b->speed);
    if (row->rc == SR_OK) {
        struct sr_bench_run run = {.workload = workload,
                                   .port = b->site.port,
                                   .admin_port = b->site.admin_port,
                                   .speed = b->speed,
                                   .faults = faults,
                                   .seconds_max = SECONDS_MAX};
        double cpu = sr_bench_site_cpu(&b->site);
        row->rc = sr_bench_run_trace(&run);
        if (run.answers)
            sr_bench_pool_fill(row, &run, sr_bench_site_cpu(&b->site) - cpu);
        sr_mem_free(run.answers);
    }
    sr_bench_site_stop(&b->site);
    if (row->rc != SR_OK)
        fprintf(stderr, "semroute bench pool: %s %s: %s\n", way->router, way->policy, sr_strerror(row->rc));
}

static void run_workload(struct bench *b, const struct sr_bench_workload *workload)
{
    static const unsigned budgets[] = {25, 50, 100};
    for (size_t at = 0; at < 3; at++)
        for (size_t w = 0; w < b->n_ways; w++) {
            bool faults = !b->no_faults && budgets[at] == FAULT_BUDGET;
            if ((b->budget && (unsigned)b->budget != budgets[at]) || (b->faults_only && !faults) ||
                (b->policy && strcmp(b->policy, b->ways[w].policy) != 0))
                continue;
            run_one(b, workload, &b->ways[w], budgets[at], false);
            if (faults)
                run_one(b, workload, &b->ways[w], budgets[at], true);
        }
}

static void print_trace(struct bench *b, const struct sr_bench_workload *workload)
{
    b->printed = true;
    for (size_t i = 0; i < workload->n; i++)
        for (size_t k = 0; k < workload->sessions[i].n; k++) {
            const struct sr_bench_turn *turn = &workload->sessions[i].turns[k];
            printf("{\"workload\":\"%s\",\"session\":%zu,\"start_ms\":%llu,\"pause_ms\":%u,\"body\":%.*s}\n",
                   workload->name, i, (unsigned long long)workload->sessions[i].start_ms, turn->pause_ms,
                   (int)turn->n, turn->body);
        }
}

static int run_all(struct bench *b)
{
    int rc = SR_OK;
    for (int which = 0; which < SR_BENCH_POOL_WORKLOADS && rc == SR_OK; which++) {
        struct sr_bench_workload workload;
        struct sr_err err = {0};
        rc = sr_bench_workload_make(&workload, which, b->data, b->requests, b->seed, &err);
        if (rc != SR_OK)
            fprintf(stderr, "semroute bench pool: %s\n", err.message);
        else if (!b->workload || strcmp(b->workload, workload.name) == 0)
            (b->trace ? print_trace : run_workload)(b, &workload);
        sr_bench_workload_dispose(&workload);
    }
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%-64s\r", "");
    for (size_t i = 0; i < b->n_rows && rc == SR_OK; i++)
        rc = b->rows[i].rc;
    return b->n_rows > 0 || b->printed ? rc : SR_ENOENT;
}

/* The value of an option in `*value`; false when `argv[*i]` is another one. */
static bool option(int argc, char **argv, int *i, const char *name, const char **value)
{
    if (strcmp(argv[*i], name) != 0 || *i + 1 >= argc)
        return false;
    *value = argv[++*i];
    return true;
}

/* False: a number that makes no sense. */
static bool read_plan(struct bench *b, double blocks, double longest, double split)
{
    b->plan_settings = (struct sr_plan_settings){.rate = b->rate,
                                                 .kv_tokens = (uint64_t)blocks * SR_PLAN_BLOCK_TOKENS,
                                                 .longest = (uint64_t)longest,
                                                 .split = (uint64_t)split};
    return blocks >= 64 && blocks <= 1e9 && longest >= 2 && longest <= 1e9 && split >= 0 && split < longest;
}

static bool read_options(struct bench *b, int argc, char **argv)
{
    const char *requests = "400", *speed = NULL, *budget = "0", *rate = NULL, *seconds = "600", *seed = "0";
    const char *blocks = "32768", *longest = "65536", *split = "0";
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            b->json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            requests = "40", speed = "100", budget = "50", b->no_faults = true;
        else if (strcmp(argv[i], "--faults") == 0)
            b->faults_only = true;
        else if (strcmp(argv[i], "--no-faults") == 0)
            b->no_faults = true;
        else if (strcmp(argv[i], "--no-peer") == 0)
            b->peer = NULL;
        else if (strcmp(argv[i], "--simulate") == 0)
            b->simulate = true, b->peer = NULL;
        else if (strcmp(argv[i], "--trace") == 0)
            b->trace = true;
        else if (strcmp(argv[i], "--soak") == 0)
            b->soak = true;
        else if (strcmp(argv[i], "--plan") == 0)
            b->plan = true;
        else if (strcmp(argv[i], "--pass-through") == 0)
            b->pass_through = true;
        else if (!option(argc, argv, &i, "--data", &b->data) &&
                 !option(argc, argv, &i, "--policy", &b->policy) &&
                 !option(argc, argv, &i, "--workload", &b->workload) &&
                 !option(argc, argv, &i, "--peer", &b->peer) && !option(argc, argv, &i, "--cache", &budget) &&
                 !option(argc, argv, &i, "--seed", &seed) && !option(argc, argv, &i, "--rate", &rate) &&
                 !option(argc, argv, &i, "--seconds", &seconds) &&
                 !option(argc, argv, &i, "--blocks", &blocks) &&
                 !option(argc, argv, &i, "--longest", &longest) &&
                 !option(argc, argv, &i, "--split", &split) &&
                 !option(argc, argv, &i, "--requests", &requests) &&
                 !option(argc, argv, &i, "--speed", &speed))
            return false;
    /* What finds slow workers has constants in real milliseconds: a faster clock hides those workers. */
    int fast = atoi(speed ? speed : b->faults_only ? "1" : "10"), count = atoi(requests);
    b->budget = atoi(budget);
    b->seed = strtoull(seed, NULL, 10);
    b->speed = fast > 0 ? (unsigned)fast : 0;
    b->requests = count > 0 ? (size_t)count : 0;
    b->rate = rate ? atof(rate) : b->soak || b->plan ? 1000 : 10000;
    b->seconds = atof(seconds);
    if (!(b->rate >= 1 && b->rate <= 1e6 && b->seconds > 0 && b->seconds <= 86400) ||
        b->soak + b->pass_through + b->plan + b->simulate + b->trace > 1 ||
        !read_plan(b, atof(blocks), atof(longest), atof(split)))
        return false;
    return count > 0 && count <= 100000 && fast > 0 && fast <= 1000 && !(b->faults_only && b->no_faults) &&
           (b->budget == 0 || b->budget == 25 || b->budget == 50 || b->budget == 100);
}

static int run_soak(struct bench *b)
{
    struct sr_bench_soak soak = {.policy = b->policy ? b->policy : "least_request",
                                 .rate = b->rate,
                                 .seconds = b->seconds,
                                 .churn = b->soak};
    int rc = sr_bench_soak_run(&soak, &b->site);
    sr_bench_site_dispose(&b->site);
    if (rc != SR_OK) {
        fprintf(stderr, "semroute bench pool: %s\n", sr_strerror(rc));
        return 3;
    }
    sr_bench_soak_print(&soak, b->json);
    return soak.churn && soak.errors > 0 ? 1 : 0;
}

static int run_workloads(struct bench *b, const char *peer)
{
    b->n_ways = sr_bench_pool_ways(b->ways, peer);
    int rc = run_all(b);
    sr_bench_site_dispose(&b->site);
    if (b->trace)
        return rc == SR_OK ? 0 : 3;
    (b->json ? sr_bench_pool_print_json : sr_bench_pool_print)(b->rows, b->n_rows, b->speed, b->data);
    if (!b->json && !peer && b->peer)
        printf("\nvllm-router is not installed in tests/.venv: it is not beside us\n");
    return rc == SR_OK ? 0 : 3;
}

int sr_bench_pool(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout);
    struct bench *b = sr_mem_calloc(1, sizeof *b);
    if (!b)
        return 3;
    b->peer = "tests/.venv/bin/vllm-router";
    bool good = read_options(b, argc, argv);
    const char *peer = b->peer && access(b->peer, X_OK) == 0 ? b->peer : NULL;
    int code = good ? 3 : usage(stderr);
    if (good && b->plan) {
        code = sr_bench_plan(&b->plan_settings, b->data, b->json);
        sr_mem_free(b);
        return code;
    }
    if (good && sr_bench_site_init(&b->site, peer) == SR_OK)
        code = b->soak || b->pass_through ? run_soak(b) : run_workloads(b, peer);
    sr_mem_free(b);
    return code;
}
