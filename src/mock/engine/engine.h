/*
 * The schedule of one mock engine: waiting and running sequences, continuous batching, the prefix cache, on a
 * simulated clock.
 *
 * One step serves all running sequences. It lasts prefill_token_ns for each prompt token that it computes
 * and, if any sequence decodes in it, step_ns and step_sequence_ns for each of those. As in vLLM, a step
 * computes at most step_tokens tokens; running sequences come first, then waiting ones in order of arrival;
 * tokens whose blocks are cached are not computed, except for the last one of a prompt; when no block is
 * left, the sequence that was admitted last goes back to waiting and gives up its blocks.
 *
 * The caller's clock only says until when steps are complete: a caller that comes late gets the same times as
 * one that comes in time. Knows no sockets. Not for several threads.
 */
#ifndef SR_MOCK_ENGINE_ENGINE_H
#define SR_MOCK_ENGINE_ENGINE_H

#include "mock/engine/cache.h"

#include <stdbool.h>

struct sr_mock_engine_settings {
    size_t blocks;             /* the cache's budget; default 8192 */
    size_t max_running;        /* sequences in a step; default 256 */
    size_t max_waiting;        /* more are refused; default 0: no limit */
    size_t step_tokens;        /* default 2048 */
    uint64_t prefill_token_ns; /* default 0.1 ms */
    uint64_t step_ns;          /* default 10 ms */
    uint64_t step_sequence_ns; /* default 0.1 ms */
};
struct sr_mock_engine_settings sr_mock_engine_settings_defaults(void);

#define SR_MOCK_NEVER     UINT64_MAX
#define SR_MOCK_SPEED_MAX 1000 /* seconds of the clock in a second of the machine, for who drives it */

/* One request in the engine. The caller embeds it and reads what is stated; times are the engine's clock. */
struct sr_mock_sequence {
    /* Given with sr_mock_engine_submit. */
    void *ctx;
    size_t prompt, wanted; /* tokens */
    /* To be read. */
    size_t produced; /* tokens of the answer so far */
    size_t cached;   /* prompt tokens that were not computed when it was first admitted */
    uint64_t arrived, admitted, first, last; /* 0: not yet */
    bool finished;
    /* The engine's own. */
    uint32_t *tokens; /* the prompt's and the answer's */
    uint64_t *hashes; /* of full blocks */
    uint32_t *table;  /* blocks that it holds */
    size_t n_hashes, n_table;
    size_t computed, chunk; /* tokens that are in blocks; of the step in progress */
    bool running, submitted, news;
    struct sr_mock_sequence *next, *prev, *next_news;
};

/* Counts since the start, and the state now. Seconds are of the engine's clock. */
#define SR_MOCK_TIME_BUCKETS 15
extern const double sr_mock_time_bounds[SR_MOCK_TIME_BUCKETS]; /* seconds */
struct sr_mock_times {
    uint64_t buckets[SR_MOCK_TIME_BUCKETS + 1], count;
    double sum;
};
struct sr_mock_engine_stats {
    size_t running, waiting, blocks, blocks_held, blocks_stored;
    uint64_t steps, preempted, finished, refused, prompt_tokens, answer_tokens;
    uint64_t cache_queries, cache_hits; /* tokens */
    struct sr_mock_times first_token, between_tokens, whole, queued;
};

struct sr_mock_engine;

/* `events` may be NULL; borrowed. SR_EINVAL for settings of 0 (except max_waiting), SR_ENOMEM. */
int sr_mock_engine_new(struct sr_mock_engine **out, const struct sr_mock_engine_settings *settings,
                       struct sr_mock_events *events) SR_WARN_UNUSED;

/* Every sequence must have ended or been cancelled. NULL is allowed. */
void sr_mock_engine_free(struct sr_mock_engine *engine);

/* A request arrives at `now`, and is in the first step that begins with or after the next
 * sr_mock_engine_advance: sequence->prompt tokens, for an answer of sequence->wanted (at least 1 each).
 * Everything else in it must be 0. SR_ELIMIT: prompt and answer have more blocks than there are; SR_AGAIN:
 * max_waiting sequences wait already; SR_EINVAL, SR_ENOMEM. */
int sr_mock_engine_submit(struct sr_mock_engine *engine, struct sr_mock_sequence *sequence,
                          const uint32_t *tokens, uint64_t now) SR_WARN_UNUSED;

/* The client is gone, or the answer is complete: the sequence's memory is the caller's again. Harmless for
 * one that was never submitted. */
void sr_mock_engine_remove(struct sr_mock_engine *engine, struct sr_mock_sequence *sequence);

/* Completes all steps that end until `now`, and begins the next one. Returns when the step in progress ends,
 * or SR_MOCK_NEVER. */
uint64_t sr_mock_engine_advance(struct sr_mock_engine *engine, uint64_t now);

/* The next sequence that has produced tokens since it was last taken, or NULL. */
struct sr_mock_sequence *sr_mock_engine_take(struct sr_mock_engine *engine);

/* Steps from the next one on last `factor` times as long. */
void sr_mock_engine_slow(struct sr_mock_engine *engine, double factor);

/* Forgets all cached blocks. */
void sr_mock_engine_evict(struct sr_mock_engine *engine);

void sr_mock_engine_stats(const struct sr_mock_engine *engine, struct sr_mock_engine_stats *out);

#endif
