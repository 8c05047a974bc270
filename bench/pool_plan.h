/*
 * `semroute bench pool --plan`: how many GPUs one pool for all requests needs, and how many a pool of short
 * and one of long requests need together. Arithmetic over lengths of requests; nothing is run.
 *
 * The engine is the simulated one (src/mock/engine): 0.1 ms for a token of the prompt, 10 ms for a step of
 * decoding and 0.1 ms more for each sequence in it. A request takes
 *
 *   t(n) = 0.1 p (1 - 0.9 h) + a (10 + 0.1 n) / n   milliseconds of a GPU,
 *
 * with p tokens of prompt, of which the share h is cached and costs a tenth (the seed: "up to 10x less"), a
 * tokens of answer, and n sequences at once. An engine that must never run out of KV cache takes n = its
 * tokens / the longest request. So requests that fit a small budget share a GPU with more others; the GPUs of
 * a pool are rate x mean t / 0.85. With alpha, the share of the GPU time that short requests take in one
 * pool, and rho, how much more of them a GPU of their own pool answers:  saved = alpha (1 - 1 / rho), as in
 * arXiv 2604.09613.
 */
#ifndef SR_BENCH_POOL_PLAN_H
#define SR_BENCH_POOL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_PLAN_BLOCK_TOKENS 16

struct sr_plan_settings {
    double rate;        /* requests a second */
    uint64_t kv_tokens; /* of a GPU's KV cache */
    uint64_t longest;   /* tokens of the longest request: the engines' --max-model-len */
    uint64_t split;     /* the short pool's budget; 0: the one that saves most */
};

struct sr_plan_request {
    double prompt, answer; /* tokens */
};

/* What a plan says of a trace. */
struct sr_plan {
    uint64_t split;        /* tokens */
    double requests, time; /* shares of the short requests: of all, and of the GPU time in one pool (alpha) */
    double gain;           /* rho */
    double one, two;       /* GPUs */
    uint64_t short_gpus, long_gpus, one_gpus; /* the same, whole GPUs of each pool */
    double saved;                             /* 1 - two / one */
    double saved_paged; /* the same where engines admit by the blocks that are used, not by the longest
                           request */
};

/* Of `n` requests, of whose prompts the share `cached` is cached. */
struct sr_plan sr_plan_make(const struct sr_plan_settings *settings, const struct sr_plan_request *requests,
                            size_t n, double cached);

/* Prints the plans of all traces; `data` NULL: our own texts. Returns an exit code. */
int sr_bench_plan(const struct sr_plan_settings *settings, const char *data, bool json);

#endif
