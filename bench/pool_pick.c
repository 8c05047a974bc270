/*
 * Times each pick on its own, through a ticket: open, choose, and what is noted when the request begins, over
 * workers whose caches are full. Prompts have 16,384 tokens; their hashes and vectors are there, as the time
 * to make them does not depend on the workers.
 *
 * Two prompts in three continue one that some workers have; the last third is new. KV events tell each worker
 * of what was sent there, so that the policies which read events do.
 */
#include "bench/pool_pick.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "pool/picker.h"
#include "pool/report.h"
#include "pool/ticket.h"
#include "pool/warm/warm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS      16384u
#define BLOCK       16u
#define BLOCKS      (TOKENS / BLOCK)
#define FAMILIES    400u
#define DIMENSIONS  384u
#define WORKERS_MAX 1024u
#define ARENA_MAX   ((size_t)64 << 20)
#define IN_FLIGHT   64u /* requests that are in progress at a time */
#define TOLD        40u /* prompts that each worker's events name at the start */

static const char *const policies[] = {"round_robin", "least_load", "session", "prefix",
                                       "kv",          "cost",       "meaning", "auto"};

struct prompt {
    uint64_t blocks[BLOCKS], kv[BLOCKS];
    uint32_t tokens[TOKENS];
    float vector[DIMENSIONS];
    struct sr_pool_ask ask;
};

struct run {
    struct sr_pool *pool;
    struct sr_pool_group *group;
    struct sr_pool_backend backends[WORKERS_MAX];
    char hosts[WORKERS_MAX][16];
    size_t workers, picks;
    uint64_t random;
    struct prompt prompts[IN_FLIGHT];
    struct sr_ticket tickets[IN_FLIGHT];
    struct sr_arena arenas[IN_FLIGHT];
    double *choose, *begin; /* [picks], nanoseconds */
    uint64_t overlap, blocks, bytes, most_bytes;
};

static uint64_t next_random(struct run *run)
{
    uint64_t x = run->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* A prompt whose first `shared` blocks are those of a family. */
static void prompt_make(struct run *run, struct prompt *p, uint32_t family, size_t shared)
{
    uint64_t hash = family, own = next_random(run);
    double sum = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        if (i == shared)
            hash ^= own;
        hash = (hash + 0x9E3779B97F4A7C15u) * 0xBF58476D1CE4E5B9u;
        hash ^= hash >> 29;
        p->blocks[i] = hash | 1;
        for (size_t k = 0; k < BLOCK; k++)
            p->tokens[i * BLOCK + k] = (uint32_t)(hash >> (k % 4 * 8));
        p->kv[i] = sr_pool_kv_hash(i ? p->kv[i - 1] : 0, p->tokens + i * BLOCK, BLOCK);
    }
    for (size_t i = 0; i < DIMENSIONS; i++) {
        uint64_t x = (family * 977u + i + 1) * 0x94D049BB133111EBu;
        p->vector[i] =
            (float)(x >> 40) / (1 << 24) - 0.5f + 0.2f * ((float)(next_random(run) >> 40) / (1 << 24) - 0.5f);
        sum += (double)p->vector[i] * (double)p->vector[i];
    }
    for (size_t i = 0; i < DIMENSIONS; i++)
        p->vector[i] /= (float)sqrt(sum);
    p->ask = (struct sr_pool_ask){.session = hash | 1,
                                  .blocks = p->blocks,
                                  .kv_blocks = p->kv,
                                  .n_blocks = BLOCKS,
                                  .n_kv_blocks = BLOCKS,
                                  .prompt_tokens = TOKENS,
                                  .answer_tokens = 256,
                                  .vector = p->vector,
                                  .dimensions = DIMENSIONS};
}

static void prompt_next(struct run *run, struct prompt *p)
{
    uint32_t family = (uint32_t)(next_random(run) % FAMILIES) + 1;
    size_t shared = next_random(run) % 3 ? 1 + next_random(run) % BLOCKS : 0;
    prompt_make(run, p, family, shared);
}

/* Lets a worker's events name a prompt's blocks. */
static int tell(struct run *run, size_t worker, struct prompt *p)
{
    struct sr_pool_kv_event event = {.kind = SR_POOL_KV_STORED,
                                     .hashes = p->blocks,
                                     .n = BLOCKS,
                                     .tokens = p->tokens,
                                     .block_size = BLOCK};
    return sr_pool_report_kv(run->pool, &run->backends[worker], &event);
}

/* One request, from its pick to its begin. */
static int pick(struct run *run, size_t slot, double *choose, double *begin)
{
    struct sr_ticket *ticket = &run->tickets[slot];
    struct prompt *p = &run->prompts[slot];
    sr_ticket_dispose(ticket);
    sr_arena_reset(&run->arenas[slot]);
    prompt_next(run, p);
    int rc = sr_ticket_open(ticket, run->group, &run->arenas[slot]);
    if (rc)
        return rc;
    sr_ticket_ask(ticket, &p->ask);
    uint64_t start = sr_clock_ns();
    int at = sr_ticket_choose(ticket);
    uint64_t chosen = sr_clock_ns();
    if (at < 0)
        return SR_EINVAL;
    sr_ticket_begin(ticket, (size_t)at);
    uint64_t begun = sr_clock_ns();
    sr_ticket_report(ticket, (size_t)at, SR_TICKET_ANSWERED, 200);
    *choose = (double)(chosen - start);
    *begin = (double)(begun - chosen);
    run->overlap += ticket->why.overlap;
    run->blocks += ticket->why.blocks;
    return SR_OK;
}

static void add_bytes(void *ctx, const struct sr_pool_member_view *view)
{
    struct run *run = ctx;
    run->bytes += view->seat.bytes;
    run->most_bytes = view->seat.bytes > run->most_bytes ? view->seat.bytes : run->most_bytes;
}

static int run_policy(struct run *run, const char *policy, struct sr_err *err)
{
    double unused[2];
    run->random = 20261123;
    run->overlap = run->blocks = run->bytes = run->most_bytes = 0;
    int rc = sr_pool_group_get(run->pool, &run->group, policy, policy, NULL, NULL, NULL, run->backends,
                               run->workers, err);
    if (rc)
        return rc;
    for (size_t w = 0; w < run->workers && !rc; w++) {
        for (uint32_t i = 0; i < TOLD && !rc; i++) {
            prompt_make(run, &run->prompts[0], (uint32_t)(next_random(run) % FAMILIES) + 1, BLOCKS);
            rc = tell(run, w, &run->prompts[0]);
        }
    }
    for (size_t i = 0; i < run->workers * TOLD && !rc; i++)
        rc = pick(run, i % IN_FLIGHT, &unused[0], &unused[1]);
    run->overlap = run->blocks = 0;
    for (size_t i = 0; i < run->picks && !rc; i++)
        rc = pick(run, i % IN_FLIGHT, &run->choose[i], &run->begin[i]);
    for (size_t i = 0; i < IN_FLIGHT; i++)
        sr_ticket_dispose(&run->tickets[i]);
    sr_pool_each_member(run->pool, add_bytes, run);
    sr_pool_group_unref(run->group);
    return rc ? sr_err_set(err, rc, "%s: %s", policy, sr_strerror(rc)) : SR_OK;
}

/* ---- output ---- */

static void print_row(struct run *run, const char *policy, bool json, struct sr_bench_table *table)
{
    char size[24];
    double p50 = sr_bench_percentile(run->choose, run->picks, 0.5);
    double p99 = sr_bench_percentile(run->choose, run->picks, 0.99);
    double b50 = sr_bench_percentile(run->begin, run->picks, 0.5);
    double b99 = sr_bench_percentile(run->begin, run->picks, 0.99);
    double share = run->blocks ? (double)run->overlap / (double)run->blocks : 0;
    if (json) {
        printf("%s{\"policy\":\"%s\",\"choose_p50_us\":%.2f,\"choose_p99_us\":%.2f,\"begin_p50_us\":%.2f,"
               "\"begin_p99_us\":%.2f,\"expected_hit_rate\":%.3f,\"bytes_a_worker\":%llu}",
               strcmp(policy, policies[0]) == 0 ? "" : ",", policy, p50 / 1e3, p99 / 1e3, b50 / 1e3,
               b99 / 1e3, share, (unsigned long long)run->most_bytes);
        return;
    }
    sr_bench_table_cell(table, "%s", policy);
    sr_bench_table_cell(table, "%.2f", p50 / 1e3);
    sr_bench_table_cell(table, "%.2f", p99 / 1e3);
    sr_bench_table_cell(table, "%.2f", b50 / 1e3);
    sr_bench_table_cell(table, "%.2f", b99 / 1e3);
    sr_bench_table_cell(table, "%.1f %%", share * 100);
    sr_bench_table_cell(table, "%s", sr_bench_size(size, (size_t)run->most_bytes));
}

static int measure(struct run *run, bool json)
{
    static const char *const titles[] = {"policy",       "choose p50", "choose p99",      "begin p50",
                                         "begin p99 us", "expected",   "most of a worker"};
    struct sr_bench_table table;
    struct sr_err err = {0};
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    if (json)
        printf("{\"bench\":\"pick\",\"machine\":\"%s\",\"workers\":%zu,\"prompt_tokens\":%u,\"rows\":[",
               sr_bench_machine(), run->workers, TOKENS);
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        if (run_policy(run, policies[i], &err)) {
            fprintf(stderr, "bench pick: %s\n", err.message);
            return 3;
        }
        print_row(run, policies[i], json, &table);
    }
    if (json) {
        printf("]}\n");
        return 0;
    }
    printf("%s\n%zu workers, prompts of %u tokens, %zu picks; microseconds\n\n", sr_bench_machine(),
           run->workers, TOKENS, run->picks);
    sr_bench_table_print(&table, stdout);
    return 0;
}

static int usage(FILE *out)
{
    fputs("semroute bench pick [--json] [--workers N] [--picks N]\n"
          "  What it costs to pick a worker for a prompt of 16,384 tokens, by policy.\n",
          out);
    return out == stdout ? 0 : 2;
}

static int prepare(struct run *run)
{
    for (size_t i = 0; i < run->workers; i++) {
        snprintf(run->hosts[i], sizeof run->hosts[i], "w%zu", i);
        run->backends[i] = (struct sr_pool_backend){
            .scheme = "http", .host = run->hosts[i], .base_path = "", .port = 8000, .weight = 1};
    }
    for (size_t i = 0; i < IN_FLIGHT; i++)
        sr_arena_init(&run->arenas[i], ARENA_MAX);
    run->choose = sr_mem_calloc(run->picks, sizeof *run->choose);
    run->begin = sr_mem_calloc(run->picks, sizeof *run->begin);
    return run->choose && run->begin ? sr_pool_new(&run->pool) : SR_ENOMEM;
}

static void run_free(struct run *run)
{
    if (!run)
        return;
    for (size_t i = 0; i < IN_FLIGHT; i++)
        sr_arena_dispose(&run->arenas[i]);
    sr_pool_free(run->pool);
    sr_mem_free(run->choose);
    sr_mem_free(run->begin);
    sr_mem_free(run);
}

int sr_bench_pick(int argc, char **argv)
{
    bool json = false;
    long workers = 64, picks = 20000;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--workers") == 0 && i + 1 < argc)
            workers = atol(argv[++i]);
        else if (strcmp(argv[i], "--picks") == 0 && i + 1 < argc)
            picks = atol(argv[++i]);
        else
            return usage(strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 ? stdout : stderr);
    if (workers < 1 || workers > (long)WORKERS_MAX || picks < 1 || picks > 10000000)
        return usage(stderr);
    struct run *run = sr_mem_calloc(1, sizeof *run);
    if (run) {
        run->workers = (size_t)workers;
        run->picks = (size_t)picks;
    }
    int code = run && prepare(run) == SR_OK ? measure(run, json) : 3;
    run_free(run);
    return code;
}
