/*
 * The inference engine: jobs of many requests share packed batches on the engine's own threads.
 *
 * A job is one text's tokens for one encoder and some of its heads. The engine collects jobs for the same
 * encoder for at most a small time, never pads, and lets interactive jobs overtake long ones (a long sequence
 * is stopped at nothing, but never more than one is under way while short ones wait on a machine with two
 * lanes). Everything is bounded: jobs, tokens queued, bytes of workspace; what does not fit is refused at
 * once.
 */
#ifndef SR_INFER_ENGINE_H
#define SR_INFER_ENGINE_H

#include "infer/encoder.h"

struct sr_engine;

struct sr_engine_options {
    unsigned threads;    /* 0: what base/cpu.h gives to inference */
    size_t queue_jobs;   /* waiting jobs at most; 0: 4096 */
    size_t queue_tokens; /* waiting tokens at most; 0: 1 << 20 */
    size_t batch_tokens; /* tokens of one batch at most (a longer sequence is a batch alone); 0: 2048 */
    uint64_t wait_ns;    /* how long a batch may wait for company; 0: none */
    size_t memory_max;   /* bytes of all workspaces; 0: 1 GiB */
};

enum sr_engine_priority { SR_ENGINE_INTERACTIVE, SR_ENGINE_BULK };

/* Owned by the caller, unchanged until `done`. */
struct sr_engine_job {
    struct sr_encoder *encoder; /* the engine holds a reference while the job is under way */
    struct sr_encoder_item item;
    enum sr_engine_priority priority;
    /* Exactly once for an accepted job, on a thread of the engine: short, does not block (post to a mailbox).
     * SR_OK, SR_ECANCELED, SR_ELIMIT, SR_ENOMEM, SR_ECLOSED. */
    void (*done)(struct sr_engine_job *job, int status);
    /* Written by the engine before `done`: */
    uint64_t wait_ns, run_ns; /* in the queue, in the batch */
    uint32_t batch_jobs, batch_tokens;
    /* The engine's: */
    struct sr_engine_job *next;
    _Atomic(int) state;
};

int sr_engine_new(struct sr_engine **out, const struct sr_engine_options *options,
                  struct sr_err *err) SR_WARN_UNUSED;
void sr_engine_free(struct sr_engine *engine); /* NULL is allowed; ends what waits with SR_ECLOSED */

/* Any thread. SR_OK: `done` will be called. SR_EBUSY: the queue is full. SR_ELIMIT: the sequence alone
 * exceeds the memory ceiling. SR_ECLOSED. `done` is not called on an error. */
int sr_engine_submit(struct sr_engine *engine, struct sr_engine_job *job) SR_WARN_UNUSED;

/* Any thread: drops the job if it still waits; `done` comes in any case (from here or from the engine). */
void sr_engine_cancel(struct sr_engine *engine, struct sr_engine_job *job);

/* Runs one job on the engine's threads and waits for it: for commands and start-up, never on an event loop.
 */
int sr_engine_run(struct sr_engine *engine, struct sr_engine_job *job) SR_WARN_UNUSED;

#endif
