/*
 * The event loop: one per thread, with timers, deferred calls and a mailbox.
 *
 * Everything in net/ belongs to one loop and is used on that loop's thread only; the two exceptions are
 * sr_loop_post and sr_loop_stop. A loop never blocks: no file I/O and no inference on it. Owns no thread: it
 * runs on the thread that calls sr_loop_run.
 */
#ifndef SR_NET_LOOP_LOOP_H
#define SR_NET_LOOP_LOOP_H

#include "base/err.h"
#include "base/mailbox.h"

#include <stdbool.h>
#include <stdint.h>

struct sr_loop;

/* Bytes of the loop's read buffer, which all connections share: the largest slice that a connection passes to
 * its owner. */
#define SR_LOOP_READ_SIZE 65536

/* SR_ENOMEM, SR_EIO (no file descriptors left). */
int sr_loop_new(struct sr_loop **out) SR_WARN_UNUSED;

/* Not while it runs. Undelivered messages are run with closed = true; connections that are closing are
 * finished first. Every connection, listener, server and client of the loop must have been closed before.
 * NULL is allowed. */
void sr_loop_free(struct sr_loop *loop);

/* Runs callbacks until sr_loop_stop; can be called again afterwards. */
void sr_loop_run(struct sr_loop *loop);

/* Any thread. sr_loop_run returns soon; a stop before the run makes the run return at once. */
void sr_loop_stop(struct sr_loop *loop);

/* Any thread: runs `message` on the loop's thread, in order of posting. SR_ECLOSED: the message is still
 * the caller's. */
int sr_loop_post(struct sr_loop *loop, struct sr_message *message) SR_WARN_UNUSED;

/* Milliseconds of the monotonic clock, read once per turn of the loop. */
uint64_t sr_loop_now(const struct sr_loop *loop);

/* A timer, embedded in the caller's object: zero-initialise, then sr_timer_init. Costs no system call and no
 * allocation; moving an armed timer to a later time is one store. */
struct sr_timer {
    struct sr_loop *loop;
    void (*fire)(void *ctx);
    void *ctx;
    uint64_t due; /* the deadline asked for, in ms of sr_loop_now */
    uint64_t key; /* the deadline in the heap, <= due */
    struct sr_timer *child, *next, *prev;
    bool armed;
};

/* `fire` is called on the loop's thread, once per start, with the timer already disarmed; it may start the
 * timer again or free the object around it. */
void sr_timer_init(struct sr_timer *timer, struct sr_loop *loop, void (*fire)(void *ctx), void *ctx);

/* Arms or re-arms: fires once, `ms` from now or a little later, never earlier. */
void sr_timer_start(struct sr_timer *timer, uint64_t ms);

/* Disarms; harmless when not armed or when zero-initialised. Must be called before its memory is freed. */
void sr_timer_stop(struct sr_timer *timer);

/* A call postponed until the stack has unwound; embedded like a timer. */
struct sr_deferred {
    struct sr_deferred *next;
    struct sr_deferred **pprev; /* NULL: not queued */
    struct sr_loop *loop;       /* while queued */
    void (*run)(void *ctx);
    void *ctx;
};

/* Runs `task->run` once, before the loop waits for events again. Deferring a queued task changes nothing. A
 * task that always defers itself again starves the loop. */
void sr_loop_defer(struct sr_loop *loop, struct sr_deferred *task);

/* Removes the task from the queue if it is queued. */
void sr_deferred_cancel(struct sr_deferred *task);

#endif
