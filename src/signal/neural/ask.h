/*
 * The one way in which signals ask the neural classifier: some texts of a task, and one result when all of
 * them are answered.
 *
 * A type's `start` does what it can at once, offers that as the partial result and asks the rest here. Each
 * text is a task of its own; the signal's task is stopped and expires with them. Memory is the task's arena.
 */
#ifndef SR_SIGNAL_NEURAL_ASK_H
#define SR_SIGNAL_NEURAL_ASK_H

#include "infer/classifier/neural.h"
#include "signal/signal.h"

struct sr_signal_question {
    struct sr_bytes text; /* read inside of sr_signal_ask */
    void *about;          /* the type's */
    bool extra;           /* made of a text that is asked, too: its bytes do not count as read */
    /* When the task is finished: SR_OK and a result, a partial one where the deadline passed, or why there is
     * none: SR_ETIMEOUT where it passed. The result is dropped after `finish`. */
    int status;
    struct sr_neural_result *result;
};

/* All questions are answered: writes the signal's result, whose neural_bytes and neural_late are there. On
 * the thread that asked, or one of the engine: short. What it returns is the signal's status. */
typedef int sr_signal_finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                             struct sr_signal_question *questions, size_t n);

/* Asks `neural`, which outlives the task, all of `questions` [n] (in the task's arena). Tenants do not share
 * what is remembered: one learns nothing of what another has asked. Returns what `finish` says when
 * everything was known at once, or SR_AGAIN: then `finish` will be called and the task completed. SR_ENOMEM:
 * neither. A question that is refused does not stop the others. */
int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_neural *neural,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *finish) SR_WARN_UNUSED;

/* Has the neural classifier read all of the question's text? */
bool sr_signal_question_is_whole(const struct sr_signal_question *question);

/* Did the deadline pass before it had? */
bool sr_signal_question_is_late(const struct sr_signal_question *question);

/* Under which a tenant's texts are remembered. */
uint64_t sr_signal_salt(struct sr_bytes tenant);

#endif
