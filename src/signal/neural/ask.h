/*
 * A task's texts before the neural classifier: several readings, and one answer when all are there.
 *
 * For signal types that read many texts of a request (its turns) with the neural classifier. The type's
 * `start` begins, its `cancel` and `dispose` call the functions of those names. Memory is the task's arena.
 */
#ifndef SR_SIGNAL_NEURAL_ASK_H
#define SR_SIGNAL_NEURAL_ASK_H

#include "infer/classifier/neural.h"
#include "signal/signal.h"

struct sr_signal_question {
    struct sr_bytes text; /* read inside of sr_signal_ask */
    void *about;          /* the type's */
    bool extra;           /* made of a text that is asked, too: its bytes do not count as judged */
    /* When the task is finished: SR_OK and a reading (a part, where it was settled), which dispose lets go,
     * or why there is none: SR_ETIMEOUT where it was settled. */
    int status;
    struct sr_neural_result *reading;
};

/* All questions are answered: writes the result, whose neural_bytes and neural_late are there. On the thread
 * that asked, or one of the engine: short. What it returns is the task's status. */
typedef int sr_signal_finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                             struct sr_signal_question *questions, size_t n);

/* Asks `neural`, which outlives the task, all of `questions` [n] (in the task's arena); `tenant` separates
 * what is remembered. Returns what `write` says when everything was known at once, or SR_AGAIN: then
 * `write` and task->done will be called. SR_ENOMEM: neither will. A question that is refused does not stop
 * the others. */
int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_neural *neural,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *write) SR_WARN_UNUSED;

/* For a type's `cancel`; nothing when nothing was asked. */
void sr_signal_ask_cancel(struct sr_signal_task *task);

/* For a type's `settle`: what is read by now is what is written. */
void sr_signal_ask_settle(struct sr_signal_task *task);

/* Has the neural classifier read all of the question's text? */
bool sr_signal_ask_read_all(const struct sr_signal_question *question);

/* Was it settled before the neural classifier had? */
bool sr_signal_ask_is_late(const struct sr_signal_question *question);

/* For a type's `dispose`. */
void sr_signal_ask_dispose(struct sr_signal_task *task);

#endif
