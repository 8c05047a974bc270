/*
 * The workloads of `bench pool`: sessions whose turns are requests of POST /v1/chat/completions, made from
 * texts. The same texts give the same workload in every run.
 *
 * A turn is sent a pause after the one before it was answered; what it asks does not depend on that answer.
 */
#ifndef SR_BENCH_POOL_WORKLOAD_H
#define SR_BENCH_POOL_WORKLOAD_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

/* Longer prompts are left out, so that the smallest cache holds one. */
#define SR_BENCH_POOL_PROMPT_MAX 6000 /* tokens of the mock */

struct sr_bench_turn {
    char *body; /* of the request */
    size_t n;
    uint32_t answer;   /* tokens */
    uint32_t pause_ms; /* after the answer before, on the engines' clock */
};

struct sr_bench_session {
    struct sr_bench_turn *turns;
    size_t n, cap;
    uint64_t start_ms; /* on the engines' clock */
};

struct sr_bench_workload {
    const char *name;
    struct sr_bench_session *sessions;
    size_t n, cap;
    /* What one cache without a limit would do with it. */
    size_t requests, prompt_tokens, cached_tokens, distinct_blocks, largest_blocks;
};

enum { SR_BENCH_AGENTS, SR_BENCH_RAG, SR_BENCH_PARAPHRASES, SR_BENCH_CHAT, SR_BENCH_POOL_WORKLOADS };

/* Makes workload `which` of about `requests` requests from the folders below `data` (chat-agent-taubench,
 * chat-rag-bills, chat-rag-opensourceguide, benign-real-users); NULL: from texts of our own. Another `seed`
 * takes other texts at other times. SR_ENOENT and SR_EPARSE name the file, SR_ENOMEM. Dispose also after an
 * error. */
int sr_bench_workload_make(struct sr_bench_workload *workload, int which, const char *data, size_t requests,
                           uint64_t seed, struct sr_err *err) SR_WARN_UNUSED;
void sr_bench_workload_dispose(struct sr_bench_workload *workload);

#endif
