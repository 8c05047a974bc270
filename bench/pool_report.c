/* Percentiles of answers, tables by workload, one JSON document. */
#include "bench/pool_report.h"

#include "base/mem.h"
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

/* ---- one row ---------------------------------------------------------------------------------------- */

enum { ALL, COLD, WARM };

static bool is_warm(const struct sr_bench_answer *answer)
{
    return 2 * answer->cached_tokens >= answer->prompt_tokens;
}

/* Percentiles of the time to the first token of some answers; 0 when there are none. */
static void percentiles(const struct sr_bench_run *run, int which, double *scratch, double *p50, double *p99)
{
    size_t n = 0;
    for (size_t i = 0; i < run->n; i++)
        if (run->answers[i].answered && (which == ALL || is_warm(&run->answers[i]) == (which == WARM)))
            scratch[n++] = run->answers[i].ttft_ms;
    *p50 = n ? sr_bench_percentile(scratch, n, 0.5) : 0;
    *p99 = n ? sr_bench_percentile(scratch, n, 0.99) : 0;
}

static double imbalance(const struct sr_bench_run *run, size_t answered)
{
    size_t counts[SR_BENCH_POOL_WORKERS] = {0}, most = 0;
    for (size_t i = 0; i < run->n; i++)
        if (run->answers[i].answered && run->answers[i].worker < SR_BENCH_POOL_WORKERS)
            counts[run->answers[i].worker]++;
    for (size_t i = 0; i < SR_BENCH_POOL_WORKERS; i++)
        most = counts[i] > most ? counts[i] : most;
    return answered ? (double)most * SR_BENCH_POOL_WORKERS / (double)answered : 0;
}

void sr_bench_pool_fill(struct sr_bench_pool_row *row, const struct sr_bench_run *run, double cpu_seconds)
{
    double *scratch = sr_mem_calloc(run->n + 1, sizeof *scratch);
    size_t answered = 0, prompt = 0, cached = 0, tokens = 0, n = 0;
    row->requests = run->n;
    row->slowed = run->slowed;
    row->taken_back = run->taken_back;
    for (size_t i = 0; i < run->n; i++) {
        const struct sr_bench_answer *answer = &run->answers[i];
        answered += answer->answered;
        row->partial += answer->partial;
        prompt += answer->answered ? answer->prompt_tokens : 0;
        cached += answer->answered ? answer->cached_tokens : 0;
        tokens += answer->answered ? answer->answer_tokens : 0;
    }
    row->lost = run->n - answered - row->partial;
    row->hit = prompt ? (double)cached / (double)prompt : 0;
    row->infinite = (double)run->workload->cached_tokens / (double)run->workload->prompt_tokens;
    row->imbalance = imbalance(run, answered);
    row->rate = run->seconds > 0 ? (double)answered / run->seconds : 0;
    row->token_rate = run->seconds > 0 ? (double)tokens / run->seconds : 0;
    row->router_cpu_us = answered ? cpu_seconds * 1e6 / (double)answered : 0;
    if (!scratch)
        return;
    percentiles(run, ALL, scratch, &row->p50, &row->p99);
    percentiles(run, COLD, scratch, &row->cold_p50, &row->cold_p99);
    percentiles(run, WARM, scratch, &row->warm_p50, &row->warm_p99);
    for (size_t i = 0; i < run->n; i++)
        if (run->answers[i].answered)
            scratch[n++] = run->answers[i].router_ms;
    row->router_p50 = n ? sr_bench_percentile(scratch, n, 0.5) : 0;
    row->router_p99 = n ? sr_bench_percentile(scratch, n, 0.99) : 0;
    sr_mem_free(scratch);
}

/* ---- tables ----------------------------------------------------------------------------------------- */

static void put_row(struct sr_bench_table *table, const struct sr_bench_pool_row *row)
{
    sr_bench_table_cell(table, "%s%s", strcmp(row->way.router, "semroute") ? "vllm-router " : "",
                        row->way.policy);
    sr_bench_table_cell(table, "%u %%", row->budget);
    if (row->rc != SR_OK) {
        sr_bench_table_cell(table, "%s", sr_strerror(row->rc));
        for (size_t i = 3; i < table->columns; i++)
            sr_bench_table_cell(table, "-");
        return;
    }
    sr_bench_table_cell(table, "%.1f", 100 * row->hit);
    sr_bench_table_cell(table, "%.1f", row->infinite > 0 ? 100 * row->hit / row->infinite : 100);
    sr_bench_table_cell(table, "%.0f", row->p50);
    sr_bench_table_cell(table, "%.0f", row->p99);
    sr_bench_table_cell(table, row->cold_p50 > 0 ? "%.0f" : "-", row->cold_p50);
    sr_bench_table_cell(table, row->warm_p50 > 0 ? "%.0f" : "-", row->warm_p50);
    sr_bench_table_cell(table, "%.1f", row->rate);
    sr_bench_table_cell(table, "%.2f", row->imbalance);
    sr_bench_table_cell(table, "%.1f", row->router_p50);
    sr_bench_table_cell(table, "%zu", row->lost + row->partial);
}

static void print_workload(const struct sr_bench_pool_row *rows, size_t n, const char *workload)
{
    static const char *const titles[] = {"policy",   "cache",    "hit %", "of one %",  "TTFT p50",  "p99",
                                         "cold p50", "warm p50", "req/s", "imbalance", "router ms", "lost"};
    static struct sr_bench_table table;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    const struct sr_bench_pool_row *first = NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].workload, workload) == 0 && !rows[i].faults) {
            first = first ? first : &rows[i];
            put_row(&table, &rows[i]);
        }
    if (!first)
        return;
    printf("\n%s: %zu requests, one cache without a limit has %.1f %% of the prompt tokens\n", workload,
           first->requests, 100 * first->infinite);
    sr_bench_table_print(&table, stdout);
}

/* The run without faults beside it. */
static const struct sr_bench_pool_row *healthy(const struct sr_bench_pool_row *rows, size_t n,
                                               const struct sr_bench_pool_row *of)
{
    for (size_t i = 0; i < n; i++)
        if (!rows[i].faults && rows[i].budget == of->budget && strcmp(rows[i].workload, of->workload) == 0 &&
            strcmp(rows[i].way.policy, of->way.policy) == 0 &&
            strcmp(rows[i].way.router, of->way.router) == 0)
            return &rows[i];
    return NULL;
}

static double ratio_p99(const struct sr_bench_pool_row *rows, size_t n, const struct sr_bench_pool_row *of)
{
    const struct sr_bench_pool_row *before = healthy(rows, n, of);
    return before && before->p99 > 0 ? of->p99 / before->p99 : 0;
}

static void print_faults(const struct sr_bench_pool_row *rows, size_t n)
{
    static const char *const titles[] = {"workload", "policy",        "cache", "answered", "lost",
                                         "in part",  "p99 as it was", "p99",   "ratio"};
    static struct sr_bench_table table;
    bool any = false;
    sr_bench_table_init(&table, titles, sizeof titles / sizeof titles[0]);
    for (size_t i = 0; i < n; i++) {
        const struct sr_bench_pool_row *row = &rows[i], *before = healthy(rows, n, row);
        if (!row->faults)
            continue;
        any = true;
        sr_bench_table_cell(&table, "%s", row->workload);
        sr_bench_table_cell(&table, "%s%s", strcmp(row->way.router, "semroute") ? "vllm-router " : "",
                            row->way.policy);
        sr_bench_table_cell(&table, "%u %%", row->budget);
        sr_bench_table_cell(&table, "%zu", row->requests - row->lost - row->partial);
        sr_bench_table_cell(&table, "%zu", row->lost);
        sr_bench_table_cell(&table, "%zu", row->partial);
        sr_bench_table_cell(&table, "%.0f", before ? before->p99 : 0);
        sr_bench_table_cell(&table, "%.0f", row->p99);
        sr_bench_table_cell(&table, "%.2f", ratio_p99(rows, n, row));
    }
    if (!any)
        return;
    printf("\nAfter a third of the requests worker 1 is killed and worker 2 is four times as slow\n");
    sr_bench_table_print(&table, stdout);
}

void sr_bench_pool_print(const struct sr_bench_pool_row *rows, size_t n, unsigned speed, const char *data)
{
    printf("%s\n%d mock engines, their clock %u times as fast; texts: %s. Times to the first token in ms of "
           "that\n"
           "clock, with the router's own real time; warm: at least half of the prompt was cached. Cache: "
           "percent of "
           "the\nworkload's distinct blocks, divided by the workers; of one: share of what one cache would "
           "hit;\n"
           "imbalance: requests of the busiest worker for the mean\n",
           sr_bench_machine(), SR_BENCH_POOL_WORKERS, speed, data ? data : "our own sample");
    for (size_t i = 0; i < n; i++)
        if (i == 0 || strcmp(rows[i].workload, rows[i - 1].workload) != 0)
            print_workload(rows, n, rows[i].workload);
    print_faults(rows, n);
}

void sr_bench_pool_print_json(const struct sr_bench_pool_row *rows, size_t n, unsigned speed,
                              const char *data)
{
    printf("{\"bench\":\"pool\",\"machine\":\"%s\",\"workers\":%d,\"speed\":%u,\"sample\":%s,\"rows\":[",
           sr_bench_machine(), SR_BENCH_POOL_WORKERS, speed, data ? "false" : "true");
    for (size_t i = 0; i < n; i++) {
        const struct sr_bench_pool_row *r = &rows[i];
        printf("%s{\"slowed\":%zu,\"taken_back\":%zu,\"workload\":\"%s\",\"router\":\"%s\",\"policy\":\"%s\","
               "\"cache_percent\":%"
               "u,\"blocks\":%zu,"
               "\"faults\":%s,\"failed\":%s,\"requests\":%zu,\"lost\":%zu,\"lost_in_part\":%zu,\"hit\":%.4f,"
               "\"infinite_hit\":%.4f,",
               i ? "," : "", r->slowed, r->taken_back, r->workload, r->way.router, r->way.policy, r->budget,
               r->blocks, r->faults ? "true" : "false", r->rc == SR_OK ? "false" : "true", r->requests,
               r->lost, r->partial, r->hit, r->infinite);
        printf(
            "\"ttft_ms\":{\"p50\":%.2f,\"p99\":%.2f,\"cold_p50\":%.2f,\"cold_p99\":%.2f,\"warm_p50\":%.2f,"
            "\"warm_p99\":%.2f},\"requests_per_second\":%.2f,\"tokens_per_second\":%.1f,\"imbalance\":%.3f,"
            "\"router_ms\":{\"p50\":%.3f,\"p99\":%.3f},\"router_cpu_us\":%.0f}",
            r->p50, r->p99, r->cold_p50, r->cold_p99, r->warm_p50, r->warm_p99, r->rate, r->token_rate,
            r->imbalance, r->router_p50, r->router_p99, r->router_cpu_us);
    }
    printf("]}\n");
}
