/*
 * The inference engine: jobs of many requests share packed batches on the engine's own threads.
 *
 * A job is one window of a text for one encoder and some of its heads. Jobs for the same encoder that wait
 * at the same time run as one batch, never padded; a batch waits a short time for more jobs only if more are
 * expected. Short interactive texts have a lane of their own; everything else gives way to it. In a lane,
 * clients share alike, and of a client's texts the shortest is first (docs/internals/inference.md).
 * Everything is bounded: jobs, tokens queued, bytes of workspace; what is above a limit, or would not be
 * done by its deadline because of others, is refused at once.
 */
#ifndef SR_INFER_ENGINE_ENGINE_H
#define SR_INFER_ENGINE_ENGINE_H

#include "base/span_ref.h"
#include "infer/encoder/encoder.h"
#include "observe/metrics.h"

struct sr_infer;

#define SR_INFER_CPUS_MAX 256 /* bytes of the list of CPUs, NUL included */

#define SR_INFER_ORIGINS_MAX 64 /* of one batch that are told of */

/* One batch that was computed. */
struct sr_infer_batch {
    const char *lane;            /* "short", "long" */
    uint64_t began_ns, ended_ns; /* sr_clock_ns */
    size_t jobs, tokens;
    const struct sr_span_ref *origins; /* [n_origins], each once */
    size_t n_origins;
    size_t more; /* origins beyond SR_INFER_ORIGINS_MAX */
};

struct sr_infer_options {
    unsigned threads;    /* of each lane; 0: what base/cpu.h counts */
    size_t queue_jobs;   /* waiting jobs at most */
    size_t queue_tokens; /* waiting tokens at most */
    size_t batch_tokens; /* tokens of one batch at most; a longer sequence is a batch alone */
    size_t long_tokens;  /* texts longer than this go to the lane of long ones */
    uint64_t wait_ns;    /* how long a batch may wait for more jobs; 0: not at all */
    size_t memory_max;   /* bytes of all workspaces */
    const char *cpus;    /* the CPUs that the threads may use, as in "0-3,8"; NULL: all of the process */
    struct sr_metrics *metrics; /* or NULL; outlives the engine */
    /* Optional: is told of batches that were computed for several origins, before their jobs are done. On an
     * engine's thread; short, does not block. */
    void (*batch)(void *ctx, const struct sr_infer_batch *batch);
    void *batch_ctx;
};

/* PREFETCH: no request waits for it yet. Taken when nothing else waits, and refused when the queue is a
 * quarter full. Only INTERACTIVE jobs are in the lane of short texts. */
enum sr_infer_priority { SR_INFER_INTERACTIVE, SR_INFER_BULK, SR_INFER_PREFETCH, SR_INFER_PRIORITIES };

#define SR_INFER_MANY 64u /* jobs of a submission; larger ones leave a quarter of the queue free */

/* Owned by the caller, unchanged until `done`. */
struct sr_infer_job {
    struct sr_encoder *encoder; /* the engine holds a reference while the job is pending */
    struct sr_encoder_item item;
    enum sr_infer_priority priority;
    uint64_t client;           /* who asks: clients share a lane alike; any number; 0: not known */
    struct sr_span_ref origin; /* the request that asks */
    uint64_t deadline_ns; /* of sr_clock_ns: refused if it would be done later because of others; 0: none */
    size_t before;        /* tokens that the same request has asked for before: they count as its text's */
    size_t before_jobs;   /* and their jobs */
    void *owner;          /* the caller's */
    /* Exactly once for an accepted job, on a thread of the engine or inside sr_infer_cancel: short, does not
     * block (post to a mailbox), submits nothing. The job may be freed in it, unless its owner may be calling
     * sr_infer_cancel at that time. SR_OK, SR_ECANCELED, SR_ELIMIT, SR_ENOMEM, SR_EINVAL, SR_ECLOSED. */
    void (*done)(struct sr_infer_job *job, int status);
    /* Written by the engine before `done`: */
    uint64_t wait_ns, run_ns; /* in the queue, in the batch */
    uint32_t batch_jobs, batch_tokens;
    /* The engine's: */
    struct sr_infer_job *next, *prev;
    uint64_t since_ns;
    double tag;         /* its place among the client's jobs */
    size_t text_tokens; /* of all jobs that were submitted together, and `before` */
    int state;
    bool long_lane, canceled;
};

/* Every limit at its documented default. */
struct sr_infer_options sr_infer_defaults(void);

/* Checks options as sr_infer_new does. Starts nothing. */
int sr_infer_check(const struct sr_infer_options *options, struct sr_err *err) SR_WARN_UNUSED;

/* Starts the threads. SR_EINVAL with what is wrong for limits of zero and a malformed or empty list of CPUs,
 * SR_ENOMEM. */
int sr_infer_new(struct sr_infer **out, const struct sr_infer_options *options,
                 struct sr_err *err) SR_WARN_UNUSED;

/* Sets other limits, threads or CPUs; metrics and `batch` stay. Waiting jobs stay accepted; a running batch
 * ends with the old options. Errors of sr_infer_new; then nothing changed. Any thread. */
int sr_infer_adjust(struct sr_infer *infer, const struct sr_infer_options *options,
                    struct sr_err *err) SR_WARN_UNUSED;

/* Ends waiting jobs with SR_ECLOSED, stops running ones, joins the threads. No thread may submit or cancel
 * any more. An engine without `metrics` may be freed in a job's `done` also, where its last user may end:
 * then it returns at once, and the lane's thread does all this when `done` has returned. NULL is allowed. */
void sr_infer_free(struct sr_infer *infer);

/* Any thread. SR_OK: `done` will be called. SR_EBUSY: the queue is full, or what waits leaves no time until
 * the deadline. SR_ELIMIT: the sequence alone exceeds the memory ceiling, or what its request asks for could
 * not even wait in an empty queue. SR_EINVAL: no tokens, or more than the encoder takes. SR_ECLOSED. `done`
 * is not called on an error. */
int sr_infer_submit(struct sr_infer *infer, struct sr_infer_job *job) SR_WARN_UNUSED;

/* All of `jobs` or none: they are the windows of one text, of one client and with one deadline. A text that
 * has no time until its deadline even alone is taken while little waits, and read as far as that goes. */
int sr_infer_submit_all(struct sr_infer *infer, struct sr_infer_job *jobs, size_t n) SR_WARN_UNUSED;

/* The same for an array of pointers to jobs. */
int sr_infer_submit_list(struct sr_infer *infer, struct sr_infer_job *const *jobs, size_t n) SR_WARN_UNUSED;

/* Any thread, before a text is tokenized: would an interactive text of so many tokens of this client be done
 * by its deadline (0: none), as sr_infer_submit_all asks it? SR_OK or SR_EBUSY; counted nowhere. */
int sr_infer_room(struct sr_infer *infer, uint64_t client, size_t tokens,
                  uint64_t deadline_ns) SR_WARN_UNUSED;

/* Any thread, before `done`, submitted or not: from now on the job has this priority, and belongs to a text
 * of so many tokens of this client and this origin. It is ordered as if it were submitted now. */
void sr_infer_hasten(struct sr_infer *infer, struct sr_infer_job *job, enum sr_infer_priority priority,
                     uint64_t client, const struct sr_span_ref *origin, size_t text_tokens);

/* Any thread: drops the job if it still waits (`done` is called in here, with SR_ECANCELED); a batch whose
 * jobs are all dropped stops between two layers. Does nothing to a job that is done. */
void sr_infer_cancel(struct sr_infer *infer, struct sr_infer_job *job);

/* Submits `n` jobs and waits for all; the first error of any. Their `done` and `owner` are used here. For
 * commands, start-up and worker threads, never on an event loop. */
int sr_infer_run(struct sr_infer *infer, struct sr_infer_job *jobs, size_t n) SR_WARN_UNUSED;

/* The current queue. */
struct sr_infer_stats {
    size_t jobs, tokens;
    unsigned threads; /* of a lane */
    uint64_t rest_ns; /* until all of it is done, as measured lately; 0: nothing was measured yet */
};
struct sr_infer_stats sr_infer_stats(struct sr_infer *infer);

#endif
