/* What the engine's files share: engine.c creates and ends the engine and takes jobs, admit.c decides which
 * it takes, lane.c forms batches and runs them, queue.c keeps jobs in order and ends them. Private; calls go
 * from left to right. */
#ifndef SR_INFER_ENGINE_PRIVATE_H
#define SR_INFER_ENGINE_PRIVATE_H

#include "infer/engine/engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define SR_INFER_BATCH_JOBS 256u /* of one batch at most */
#define SR_INFER_FLOWS      256u /* clients beyond that share */

enum sr_infer_state { SR_INFER_WAITING = 1, SR_INFER_RUNNING, SR_INFER_DONE };

enum sr_infer_lane_index { SR_INFER_SHORT, SR_INFER_LONG, SR_INFER_LANES };

/* The jobs of a client, in the order of their tags. A text's tag is the flow's clock at its arrival plus its
 * tokens. The clock goes on with the tokens that are taken, divided by the texts that wait. So the shortest
 * text is first, and none is done later than if all of the flow's texts shared it. */
struct sr_infer_flow {
    struct sr_infer_job *head, *tail;
    size_t tokens;   /* waiting */
    double texts;    /* waiting: a text of which half the tokens are left counts half */
    double clock;    /* tokens */
    uint64_t served; /* tokens that were taken; of all flows, the one with the fewest is next */
    unsigned place;  /* in `active`, while it has jobs */
};

struct sr_infer_queue {
    struct sr_infer_flow flows[SR_INFER_FLOWS];
    uint16_t active[SR_INFER_FLOWS]; /* flows that have jobs */
    unsigned n_active;
    uint64_t served; /* of the flow that was served last: where a flow begins that had nothing to do */
};

/* Puts it behind the jobs of its flow that have no higher tag. `near`: a job of the same flow and text that
 * was put before it; or NULL. */
void sr_infer_queue_put(struct sr_infer_queue *queue, struct sr_infer_job *job, struct sr_infer_job *near);
void sr_infer_queue_drop(struct sr_infer_queue *queue, struct sr_infer_job *job);

/* The flow of a client, with jobs or without. */
struct sr_infer_flow *sr_infer_queue_flow(struct sr_infer_queue *queue, uint64_t client);

/* The first job of the flow that is next; NULL: there is none. */
struct sr_infer_job *sr_infer_queue_first(const struct sr_infer_queue *queue);

/* The next job for an encoder (NULL: any) of at most so many tokens; NULL: none is near the front. */
struct sr_infer_job *sr_infer_queue_find(const struct sr_infer_queue *queue, const struct sr_encoder *encoder,
                                         size_t tokens);

struct sr_infer_lane {
    struct sr_infer *infer;
    enum sr_infer_lane_index index;
    pthread_t thread;
    pthread_cond_t ready;
    size_t memory_max; /* bytes of its workspace */
    /* Under the engine's lock: */
    struct sr_infer_queue queues[SR_INFER_PRIORITIES];
    size_t jobs, tokens;             /* waiting */
    size_t company;                  /* jobs that were here at once lately: what a batch may wait for */
    size_t running;                  /* jobs of the batch */
    size_t dropped;                  /* of these, cancelled */
    double lately_ns, lately_tokens; /* of batches, the last ones count most */
    uint64_t token_ns;               /* from these; 0: nothing was measured yet */
    _Atomic(bool) stop;              /* requests that the batch ends between two layers */
    _Atomic(bool) busy;              /* it has jobs, waiting or running */
    _Atomic(bool) awaited;           /* a job of the batch became urgent: it does not give way */
    /* The lane's thread alone: */
    unsigned applied; /* generation of the options that its threads were made for; 0: none yet */
    bool team_tried;
    enum sr_infer_priority latest; /* of the batch before */
    struct sr_team *team;
    struct sr_encoder_work *work;
    struct sr_infer_job *batch[SR_INFER_BATCH_JOBS];
    struct sr_encoder_item items[SR_INFER_BATCH_JOBS];
    struct sr_span_ref origins[SR_INFER_ORIGINS_MAX]; /* of the batch, each once */
    size_t n_origins, more_origins;
};

struct sr_infer {
    struct sr_metrics *metrics;                                   /* or NULL */
    void (*batch)(void *ctx, const struct sr_infer_batch *batch); /* or NULL */
    void *batch_ctx;
    pthread_mutex_t lock;
    struct sr_infer_options options; /* threads are counted; cpus is not kept */
    cpu_set_t cpus;
    unsigned generation; /* of the options */
    bool closing;
    const struct sr_infer_lane *heir; /* frees the engine when its thread ends; NULL: no lane does */
    void (*end)(struct sr_infer *infer, const struct sr_infer_lane *heir); /* how it does */
    size_t jobs, tokens;                                                   /* waiting in all lanes */
    unsigned started;                                                      /* lanes whose thread runs */
    struct sr_infer_lane lanes[SR_INFER_LANES];
};

void *sr_infer_lane_main(void *lane);

/* Jobs as an array, or as an array of pointers. */
struct sr_infer_submission {
    struct sr_infer_job *row;
    struct sr_infer_job *const *list;
    size_t n;
    bool apart;    /* `list` holds them */
    bool prefetch; /* written: one of them is of that priority */
    size_t tokens; /* written: of all jobs */
};
struct sr_infer_job *sr_infer_nth(const struct sr_infer_submission *jobs, size_t i);

/* The lock is held: fills the engine's part of the jobs, chooses their lane, and checks the limits and the
 * deadline. SR_OK: they may be linked. Errors as of sr_infer_submit. */
int sr_infer_admit(struct sr_infer *infer, struct sr_infer_submission *jobs) SR_WARN_UNUSED;

/* The lane for a job of a text of so many tokens. */
bool sr_infer_is_long(const struct sr_infer *infer, const struct sr_infer_job *job, size_t text_tokens);

/* The lock is held: jobs or tokens that wait have changed. */
void sr_infer_set_queue_metrics(const struct sr_infer *infer);

/* The lock is held: takes a waiting job out; `taken`: to compute it. */
void sr_infer_unlink(struct sr_infer_lane *lane, struct sr_infer_job *job, bool taken);

/* The lock is not held, the job's state is SR_INFER_DONE: drops its encoder and calls `done`. */
void sr_infer_finish(struct sr_infer_job *job, int status);

#endif
