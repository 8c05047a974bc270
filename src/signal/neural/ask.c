/* Counting answers: one more than there are questions, so that none finishes while others are being asked. */
#include "signal/neural/ask.h"

#include "base/hash.h"

#include <stdatomic.h>

struct ask {
    const struct sr_signal_set *set;
    struct sr_signal_task *task;
    struct sr_neural *neural;
    sr_signal_finish *finish;
    struct sr_signal_question *questions;
    struct sr_neural_wait *waits; /* [n] */
    size_t n;
    atomic_size_t open;
};

bool sr_signal_ask_read_all(const struct sr_signal_question *question)
{
    return question->status == SR_OK &&
           sr_neural_scope(question->reading).read_bytes == sr_neural_scope(question->reading).bytes;
}

bool sr_signal_ask_is_late(const struct sr_signal_question *question)
{
    return question->status == SR_OK ? sr_neural_scope(question->reading).part
                                     : question->status == SR_ETIMEOUT;
}

/* All answers are there. */
static int finish(struct ask *ask)
{
    struct sr_signal_result *result = ask->task->result;
    for (size_t i = 0; i < ask->n; i++) {
        const struct sr_signal_question *question = &ask->questions[i];
        if (question->status == SR_OK && !question->extra)
            result->neural_bytes += sr_neural_scope(question->reading).read_bytes;
        result->neural_late |= sr_signal_ask_is_late(question);
    }
    return ask->finish(ask->set, ask->task, ask->questions, ask->n);
}

static bool was_last(struct ask *ask)
{
    return atomic_fetch_sub(&ask->open, 1) == 1;
}

static void answered(struct sr_neural_wait *wait, int status)
{
    struct ask *ask = wait->owner;
    struct sr_signal_question *question = &ask->questions[wait - ask->waits];
    question->status = status;
    question->reading = wait->reading;
    if (was_last(ask))
        ask->task->done(ask->task, finish(ask));
}

int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_neural *neural,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *write)
{
    uint64_t salt = tenant.n ? sr_hash64(tenant, 0) : 0;
    struct ask *ask = sr_arena_calloc(task->arena, 1, sizeof *ask);
    struct sr_neural_wait *waits = sr_arena_calloc(task->arena, n ? n : 1, sizeof *waits);
    if (!ask || !waits)
        return SR_ENOMEM;
    *ask = (struct ask){.set = set,
                        .task = task,
                        .neural = neural,
                        .finish = write,
                        .questions = questions,
                        .waits = waits,
                        .n = n};
    atomic_init(&ask->open, n + 1);
    task->state = ask;
    for (size_t i = 0; i < n; i++) {
        waits[i].done = answered;
        waits[i].owner = ask;
        int rc = sr_neural_read(neural, questions[i].text, salt, SR_INFER_INTERACTIVE, &waits[i]);
        if (rc == SR_AGAIN)
            continue;
        questions[i].status = rc;
        questions[i].reading = waits[i].reading;
        atomic_fetch_sub(&ask->open, 1);
    }
    return was_last(ask) ? finish(ask) : SR_AGAIN;
}

void sr_signal_ask_cancel(struct sr_signal_task *task)
{
    struct ask *ask = task->state;
    for (size_t i = 0; ask && i < ask->n; i++)
        sr_neural_leave(ask->neural, &ask->waits[i]);
}

void sr_signal_ask_settle(struct sr_signal_task *task)
{
    struct ask *ask = task->state;
    for (size_t i = 0; ask && i < ask->n; i++)
        sr_neural_settle(ask->neural, &ask->waits[i]);
}

void sr_signal_ask_dispose(struct sr_signal_task *task)
{
    struct ask *ask = task->state;
    for (size_t i = 0; ask && i < ask->n; i++)
        sr_neural_result_unref(ask->questions[i].reading);
    task->state = NULL;
}
