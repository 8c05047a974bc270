/*
 * Signals use this to classify texts with the neural classifier: several texts of a task, and one result
 * when all are answered.
 *
 * A type's `start` computes what it can at once, offers that as the partial result and classifies the rest
 * with this function. Each text is a task of its own; the signal's task is stopped and expires with them.
 * Memory is the task's arena.
 */
#ifndef SR_SIGNAL_NEURAL_ASK_H
#define SR_SIGNAL_NEURAL_ASK_H

#include "infer/classifier/neural.h"
#include "signal/neural/multilingual.h"
#include "signal/signal.h"

struct sr_signal_question {
    struct sr_bytes text;     /* read inside of sr_signal_ask */
    void *about;              /* the type's */
    struct sr_neural *neural; /* who reads it, outlives the task; NULL: the one that is asked */
    bool extra;               /* derived from another question's text: its bytes do not count as read */
    /* Set when the task is finished: SR_OK with a result (partial if the deadline passed), or the reason
     * why there is none, SR_ETIMEOUT if the deadline passed. The result is dropped after `finish`. */
    int status;
    struct sr_neural_result *result;
};

/* Called when all questions are answered: writes the signal's result, whose neural_bytes,
 * multilingual_bytes and neural_late are set. Runs on the asking thread or an engine thread and must be
 * short. It returns the signal's status. */
typedef int sr_signal_finish(const struct sr_signal_set *set, struct sr_signal_task *task,
                             struct sr_signal_question *questions, size_t n);

/* Asks `neural`, which outlives the task, all of `questions` [n] (in the task's arena). Tenants do not
 * share memoised results. Returns the result of `finish` when all answers were known at once, or SR_AGAIN:
 * then `finish` will be called and the task completed. SR_ENOMEM: neither. Where the task wants the whole, a
 * refused question ends the others: the status is SR_EBUSY when there was no time; when the engine can never
 * take it, the result's `over` is set, and `finish` writes the rest. Otherwise it does not stop them. */
int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_neural *neural,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *finish) SR_WARN_UNUSED;

/* Asks a second reader, inside the `finish` of sr_signal_ask and as its last act, once for a task: `finish`
 * returns what this returns. `reader` outlives the task; it is opened if it is not, and asked on the store's
 * thread, so nothing here blocks. `second` is called as `finish` is, when all of `questions` [n] are
 * answered, or none can be any more: the reader cannot be opened (SR_ENOENT), there is no room (SR_EBUSY),
 * the deadline has passed (SR_ETIMEOUT). Then what `finish` knows stands; a task that wants the whole does
 * not fail for it, and it is not late. */
int sr_signal_ask_second(const struct sr_signal_set *set, struct sr_signal_task *task,
                         struct sr_multilingual *reader, struct sr_bytes tenant,
                         struct sr_signal_question *questions, size_t n,
                         sr_signal_finish *second) SR_WARN_UNUSED;

/* SR_EBUSY: texts of so many bytes, of which nothing is remembered, would be refused for lack of time. */
int sr_signal_room(const struct sr_signal_task *task, const struct sr_neural *neural,
                   size_t bytes) SR_WARN_UNUSED;

/* True when the neural classifier read all of the question's text. */
bool sr_signal_question_is_whole(const struct sr_signal_question *question);

/* True when the deadline passed before that. */
bool sr_signal_question_is_late(const struct sr_signal_question *question);

/* The salt of a tenant's memo keys. */
uint64_t sr_signal_salt(struct sr_bytes tenant);

#endif
