/* What the engine's files share: engine.c admits and cancels, lane.c forms batches and runs them, queue.c
 * keeps jobs in order, and ends them. Private; calls go from left to right. */
#ifndef SR_INFER_ENGINE_PRIVATE_H
#define SR_INFER_ENGINE_PRIVATE_H

#include "infer/engine/engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define SR_INFER_BATCH_JOBS 256u /* of one batch at most */

enum sr_infer_state { SR_INFER_WAITING = 1, SR_INFER_RUNNING, SR_INFER_DONE };

enum sr_infer_lane_index { SR_INFER_SHORT, SR_INFER_LONG, SR_INFER_LANES };

/* Jobs as they are due, those of one time in order of arrival. */
struct sr_infer_queue {
    struct sr_infer_job *head, *tail;
};

/* `near`: a job of this queue that is due no later, where to begin to look for the place; or NULL. */
void sr_infer_queue_put(struct sr_infer_queue *queue, struct sr_infer_job *job, struct sr_infer_job *near);
void sr_infer_queue_drop(struct sr_infer_queue *queue, struct sr_infer_job *job);

struct sr_infer_lane {
    struct sr_infer *infer;
    enum sr_infer_lane_index index;
    pthread_t thread;
    pthread_cond_t ready;
    size_t memory_max; /* bytes of its workspace */
    /* Under the engine's lock: */
    struct sr_infer_queue queues[SR_INFER_PRIORITIES];
    size_t jobs, tokens; /* waiting */
    size_t company;      /* jobs that were here at once lately: what a batch may wait for */
    size_t running;      /* jobs of the batch */
    size_t dropped;      /* of these, cancelled */
    _Atomic(bool) stop;  /* requests that the batch ends between two layers */
    /* The lane's thread alone: */
    unsigned applied; /* generation of the options that its threads were made for; 0: none yet */
    bool team_tried;
    enum sr_infer_priority latest; /* of the batch before */
    struct sr_team *team;
    struct sr_encoder_work *work;
    struct sr_infer_job *batch[SR_INFER_BATCH_JOBS];
    struct sr_encoder_item items[SR_INFER_BATCH_JOBS];
};

struct sr_infer {
    struct sr_metrics *metrics; /* or NULL */
    pthread_mutex_t lock;
    struct sr_infer_options options; /* threads are counted; cpus is not kept */
    cpu_set_t cpus;
    unsigned generation; /* of the options */
    bool closing;
    size_t jobs, tokens; /* waiting in all lanes */
    unsigned started;    /* lanes whose thread runs */
    struct sr_infer_lane lanes[SR_INFER_LANES];
};

void *sr_infer_lane_main(void *lane);

/* The lock is held: jobs or tokens that wait have changed. */
void sr_infer_set_queue_metrics(const struct sr_infer *infer);

/* The lock is held: takes a waiting job out. */
void sr_infer_unlink(struct sr_infer_lane *lane, struct sr_infer_job *job);

/* The lock is not held, the job's state is SR_INFER_DONE: drops its encoder and calls `done`. */
void sr_infer_finish(struct sr_infer_job *job, int status);

struct sr_bytes sr_infer_lane_name(const struct sr_infer_lane *lane);

#endif
