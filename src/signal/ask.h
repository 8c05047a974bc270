/*
 * A task's texts before the judge: several readings, and one answer when all are there.
 *
 * For signal types that read many texts of a request (its turns) with the judge. The type's `start` begins,
 * its `cancel` and `dispose` call the functions of those names. Memory is the task's arena.
 */
#ifndef SR_SIGNAL_ASK_H
#define SR_SIGNAL_ASK_H

#include "infer/judge.h"
#include "signal/signal.h"

struct sr_signal_question {
    struct sr_bytes text; /* read inside of sr_signal_ask */
    void *about;          /* the type's */
    /* When the task is finished: SR_OK and a reading, which dispose lets go, or why there is none. */
    int status;
    struct sr_judge_reading *reading;
};

/* All questions are answered: writes the result. On the thread that asked, or one of the engine: short. What
 * it returns is the task's status. */
typedef int sr_signal_finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                             struct sr_signal_question *questions, size_t n);

/* Asks `judge`, which outlives the task, all of `questions` [n] (in the task's arena); `tenant` separates
 * what is remembered. Returns what `finish` says when everything was known at once, or SR_AGAIN: then
 * `finish` and task->done will be called. SR_ENOMEM: neither will. A question that is refused does not stop
 * the others. */
int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_judge *judge,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *finish) SR_WARN_UNUSED;

/* For a type's `cancel`; nothing when nothing was asked. */
void sr_signal_ask_cancel(struct sr_signal_task *task);

/* For a type's `dispose`. */
void sr_signal_ask_dispose(struct sr_signal_task *task);

#endif
