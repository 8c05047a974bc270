/*
 * The one asynchronous primitive: a piece of work that ends exactly once, on any thread, and tells its
 * consumer.
 *
 *     init ---> PENDING --- sr_task_complete ---> DONE
 *                  |------- sr_task_cancel -----> CANCELLED
 *                  `------- sr_task_expire -----> DONE (the producer had something) or EXPIRED
 *
 * Embedded in a larger object, which holds the result. Two parties: the consumer asks
 * and is told by `done`; the producer works and ends with one sr_task_complete, whatever happened meanwhile.
 * Each holds a reference; the last one frees. The first of complete, cancel and expire decides how it ends,
 * the others are ignored. docs/internals/task.md has threads, ownership and examples. Owns no result, no
 * thread and no timer: the owner of the clock calls sr_task_expire when the deadline passes.
 */
#ifndef SR_BASE_TASK_H
#define SR_BASE_TASK_H

#include "base/mailbox.h"

#include <stdatomic.h>

enum sr_task_state {
    SR_TASK_PENDING,
    SR_TASK_ENDING, /* private: for the moment in which it ends */
    SR_TASK_DONE,
    SR_TASK_CANCELLED,
    SR_TASK_EXPIRED,
};

struct sr_task;

/* The producer's side; static const. */
struct sr_task_work {
    /* Optional. The task was cancelled or has expired: the work for it is to stop. Once at most, inside of
     * sr_task_cancel, sr_task_expire or sr_task_begin. The producer still ends with sr_task_complete, in here
     * or later, which then only drops its reference. */
    void (*stop)(struct sr_task *task);
    /* Optional. The deadline has passed: completes the task now with what is known by now; may leave that to
     * another thread which is completing it at this moment. */
    void (*expire)(struct sr_task *task);
};

struct sr_task {
    /* The consumer's, constant: */
    void (*done)(struct sr_task *task, int status); /* see sr_task_init; NULL without a mailbox: none */
    void (*free)(struct sr_task *task);             /* by the last reference, on its thread */
    struct sr_mailbox *mailbox;                     /* a reference; NULL: `done` is called where it ends */
    /* Private: */
    struct sr_ref ref;
    _Atomic(const struct sr_task_work *) work;
    _Atomic(enum sr_task_state) state;
    atomic_bool partial, stopped, awaited;
    int status;
    bool told; /* with a mailbox: its thread alone */
    struct sr_message message;
};

/* A pending task with the consumer's reference. `done` is called exactly once for every task that a producer
 * took, with SR_OK, the producer's error, SR_ECANCELED, SR_ETIMEOUT (no partial result) or SR_ECLOSED (the
 * mailbox went away). With a mailbox always on the mailbox's thread: from there, or inside of sr_task_cancel
 * and sr_task_expire, which are then that thread's to call. Without one on the thread that ends it; then it
 * is short, does not block and starts no work of the same producer. It may drop references of the task. */
void sr_task_init(struct sr_task *task, void (*done)(struct sr_task *task, int status),
                  void (*free)(struct sr_task *task), struct sr_mailbox *mailbox);

struct sr_task *sr_task_ref(struct sr_task *task);
void sr_task_unref(struct sr_task *task); /* NULL is allowed */

/* ---- the producer; any thread ---- */

/* How to stop or expire the work from now on. Stops it in here when the task has ended already. Before the
 * task can be completed by another thread, or with a reference. */
void sr_task_begin(struct sr_task *task, const struct sr_task_work *work);

/* A partial result is written: it stands if the deadline passes before the task is completed. Once. */
void sr_task_offer_partial(struct sr_task *task);

/* The result is written. Drops the producer's reference. False: it had been cancelled or had expired. */
bool sr_task_complete(struct sr_task *task, int status);

/* ---- the consumer, with a reference ---- */

/* The result is not wanted any more. `done` is called in here with SR_ECANCELED unless it was called; without
 * a mailbox also unless another thread is calling it now. */
void sr_task_cancel(struct sr_task *task);

/* The deadline has passed: what is known by now is the result. With a mailbox `done` is called in here unless
 * it was called; a result that is just being written is waited for, at most 200 ms. Without one it is called
 * in here unless another thread calls it now. */
void sr_task_expire(struct sr_task *task);

/* Without a mailbox: blocks until the task has ended; its status. Not on an event loop. */
int sr_task_wait(struct sr_task *task);

/* EXPIRED with SR_OK: the partial result stands. */
enum sr_task_state sr_task_state(const struct sr_task *task);

#endif
