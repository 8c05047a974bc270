/*
 * The asynchronous primitive: a piece of work that ends exactly once, on any thread, and notifies its
 * consumer.
 *
 *     init ---> PENDING --- sr_task_complete ---> DONE
 *                  |------- sr_task_cancel -----> CANCELLED
 *                  `------- sr_task_expire -----> DONE (with a partial result) or EXPIRED
 *
 * Embedded in a larger object, which holds the result. It has two parties: the consumer starts the work and
 * gets its end through `done`; the producer works and always ends with one sr_task_complete, also after a
 * cancel or an expiry. Each holds a reference; the last unref frees the task. The first of complete, cancel
 * and expire decides how the task ends; the others are ignored. docs/internals/task.md has threads, ownership
 * and examples. Owns no result, no thread and no timer: the owner of the clock calls sr_task_expire when the
 * deadline passes.
 */
#ifndef SR_BASE_TASK_H
#define SR_BASE_TASK_H

#include "base/mailbox.h"

#include <stdatomic.h>

enum sr_task_state {
    SR_TASK_PENDING,
    SR_TASK_ENDING, /* private: while the task is ending */
    SR_TASK_DONE,
    SR_TASK_CANCELLED,
    SR_TASK_EXPIRED,
};

struct sr_task;

/* The producer's side; static const. */
struct sr_task_work {
    /* Optional. The task was cancelled or has expired: stop its work. Called at most once, inside
     * sr_task_cancel, sr_task_expire or sr_task_begin. The producer still ends with sr_task_complete, inside
     * this call or later; that call then only drops its reference. */
    void (*stop)(struct sr_task *task);
    /* Optional. The deadline has passed: completes the task now with the results so far; may leave that to
     * another thread which is completing it at this moment. */
    void (*expire)(struct sr_task *task);
};

struct sr_task {
    /* Set by the consumer, constant: */
    void (*done)(struct sr_task *task, int status); /* see sr_task_init; NULL: no reply mailbox */
    void (*free)(struct sr_task *task);             /* called by the last unref, on its thread */
    struct sr_mailbox *mailbox; /* a reference; NULL: `done` is called on the thread that ends the task */
    /* Private: */
    struct sr_ref ref;
    _Atomic(const struct sr_task_work *) work;
    _Atomic(enum sr_task_state) state;
    atomic_bool partial, stopped, awaited;
    int status;
    bool told; /* with a mailbox: used by its thread only */
    struct sr_message message;
};

/* A pending task with the consumer's reference. `done` is called exactly once for every task that a producer
 * accepted, with SR_OK, the producer's error, SR_ECANCELED, SR_ETIMEOUT (no partial result) or SR_ECLOSED
 * (the mailbox was closed). With a mailbox it is called on the mailbox's thread: from the mailbox, or inside
 * sr_task_cancel and sr_task_expire, which only that thread may call then. Without a mailbox it is called on
 * the thread that ends the task; it must then be short, must not block and must not start work of the same
 * producer. It may drop references of the task. */
void sr_task_init(struct sr_task *task, void (*done)(struct sr_task *task, int status),
                  void (*free)(struct sr_task *task), struct sr_mailbox *mailbox);

struct sr_task *sr_task_ref(struct sr_task *task);
void sr_task_unref(struct sr_task *task); /* NULL is allowed */

/* ---- the producer; any thread ---- */

/* Sets how to stop or expire the work. Stops it inside this call when the task has ended already. Call it
 * before another thread can complete the task, or with a reference. */
void sr_task_begin(struct sr_task *task, const struct sr_task_work *work);

/* A partial result is written: it becomes the result if the deadline passes before the task is completed.
 * Call it once. */
void sr_task_offer_partial(struct sr_task *task);

/* The result is written. Drops the producer's reference. False: it had been cancelled or had expired. */
bool sr_task_complete(struct sr_task *task, int status);

/* ---- the consumer, with a reference ---- */

/* Cancels the task: the consumer does not need the result any more. Calls `done` with SR_ECANCELED unless it
 * was called; without a mailbox also unless another thread is calling it now. */
void sr_task_cancel(struct sr_task *task);

/* The deadline has passed: the task ends with the results so far. With a mailbox this calls `done` unless it
 * was called, and waits at most 200 ms for a result that another thread is writing. Without one it calls
 * `done` unless another thread is calling it now. */
void sr_task_expire(struct sr_task *task);

/* Without a mailbox: blocks until the task has ended and returns its status. Not on an event loop. */
int sr_task_wait(struct sr_task *task);

/* True when the task expired with SR_OK: the partial result is the result. */
enum sr_task_state sr_task_state(const struct sr_task *task);

#endif
