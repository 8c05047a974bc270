/*
 * Counts pending answers, one more than there are questions, so that the signal does not finish while
 * questions are submitted.
 *
 * Every question holds a reference of the signal's task until its own task is freed, so the arena that
 * both live in outlives them.
 */
#include "signal/neural/ask.h"

#include "base/hash.h"

#include <stddef.h>

#define BYTES_PER_TOKEN 4 /* roughly */

struct asking;

struct child {
    struct sr_neural_ask ask;
    struct asking *of;
    bool late; /* it was not answered at once; written before the signal's task can be stopped */
};

struct asking {
    const struct sr_signal_set *set;
    struct sr_signal_task *task;
    sr_signal_finish *finish;
    struct sr_signal_question *questions;
    struct child *children; /* [n] */
    size_t n;
    atomic_size_t open;
};

static struct child *child_of(struct sr_task *task)
{
    return (struct child *)((char *)task - offsetof(struct child, ask.task));
}

static struct asking *asking_of(struct sr_task *task)
{
    return ((struct sr_signal_task *)((char *)task - offsetof(struct sr_signal_task, base)))->state;
}

uint64_t sr_signal_salt(struct sr_bytes tenant)
{
    return tenant.n ? sr_hash64(tenant, 0) : 0;
}

bool sr_signal_question_is_whole(const struct sr_signal_question *question)
{
    return question->status == SR_OK &&
           sr_neural_scope(question->result).read_bytes == sr_neural_scope(question->result).bytes;
}

bool sr_signal_question_is_late(const struct sr_signal_question *question)
{
    return question->status == SR_OK ? sr_neural_scope(question->result).partial
                                     : question->status == SR_ETIMEOUT;
}

/* Why a text was refused, where the others are not enough: SR_EBUSY, SR_ELIMIT, or SR_OK. */
static int refusal_of(const struct asking *asking)
{
    int refusal = SR_OK;
    for (size_t i = 0; asking->task->whole && i < asking->n; i++) {
        int status = asking->questions[i].status;
        if (status == SR_EBUSY || (status == SR_ELIMIT && !refusal))
            refusal = status;
    }
    return refusal;
}

/* Finishes when all answers have arrived. */
static int finish(struct asking *asking)
{
    struct sr_signal_result *result = asking->task->result;
    for (size_t i = 0; i < asking->n; i++) {
        const struct sr_signal_question *question = &asking->questions[i];
        if (question->status == SR_OK && !question->extra)
            result->neural_bytes += sr_neural_scope(question->result).read_bytes;
        if (question->status == SR_OK && question->neural)
            result->multilingual_bytes += sr_neural_scope(question->result).read_bytes;
        result->neural_late |= sr_signal_question_is_late(question);
    }
    bool wanted = sr_task_state(&asking->task->base) == SR_TASK_PENDING;
    int refusal = refusal_of(asking);
    if (refusal == SR_ELIMIT)
        result->over = SR_SIGNAL_OVER_QUEUE;
    int rc = !wanted               ? SR_ECANCELED
             : refusal == SR_EBUSY ? SR_EBUSY
                                   : asking->finish(asking->set, asking->task, asking->questions, asking->n);
    for (size_t i = 0; i < asking->n; i++)
        sr_neural_result_unref(asking->questions[i].result);
    return rc;
}

static bool was_last(struct asking *asking)
{
    return atomic_fetch_sub(&asking->open, 1) == 1;
}

/* Moves the answer from the child to the question. */
static void take_answer(struct child *child, int status)
{
    struct asking *asking = child->of;
    struct sr_signal_question *question = &asking->questions[child - asking->children];
    question->status = status;
    question->result = status == SR_OK ? child->ask.result : NULL;
    if (question->result)
        child->ask.result = NULL;
}

/* Runs on an engine thread, or on the one that cancels or expires the signal's task. */
static void child_done(struct sr_task *task, int status)
{
    struct child *child = child_of(task);
    struct asking *asking = child->of;
    take_answer(child, status);
    if (was_last(asking))
        sr_signal_complete(asking->task, finish(asking));
    sr_task_unref(task);
}

static void child_free(struct sr_task *task)
{
    struct child *child = child_of(task);
    sr_neural_result_unref(child->ask.result);
    sr_task_unref(&child->of->task->base);
}

static void asking_stop(struct sr_task *task)
{
    struct asking *asking = asking_of(task);
    for (size_t i = 0; i < asking->n; i++)
        if (asking->children[i].late)
            sr_task_cancel(&asking->children[i].ask.task);
}

static void asking_expire(struct sr_task *task)
{
    struct asking *asking = asking_of(task);
    for (size_t i = 0; i < asking->n; i++)
        if (asking->children[i].late)
            sr_task_expire(&asking->children[i].ask.task);
}

static const struct sr_task_work asking_work = {.stop = asking_stop, .expire = asking_expire};

/* What a task has asked for so far. */
struct asked {
    size_t tokens, jobs;
};

/* SR_AGAIN: the answer is late. */
static int ask_one(struct asking *asking, struct sr_neural *neural, uint64_t salt, size_t i,
                   struct asked *asked)
{
    struct child *child = &asking->children[i];
    child->of = asking;
    child->ask.client = asking->task->client;
    child->ask.origin = asking->task->origin;
    child->ask.deadline_ns = asking->task->deadline_ns;
    child->ask.before = asked->tokens;
    child->ask.before_jobs = asked->jobs;
    sr_task_ref(&asking->task->base); /* dropped by child_free */
    sr_task_init(&child->ask.task, child_done, child_free, NULL);
    const struct sr_signal_question *question = &asking->questions[i];
    int rc = sr_neural_read(question->neural ? question->neural : neural, question->text, salt,
                            SR_INFER_INTERACTIVE, &child->ask);
    child->late = rc == SR_AGAIN;
    if (child->late) { /* this thread's reference of the signal's task keeps the child */
        asked->tokens += child->ask.tokens;
        asked->jobs += child->ask.jobs;
        return rc;
    }
    take_answer(child, rc);
    atomic_fetch_sub(&asking->open, 1);
    sr_task_unref(&child->ask.task);
    return rc;
}

/* Asks until one is refused that is needed: then the rest is refused, too. */
static void ask_all(struct asking *asking, struct sr_neural *neural, uint64_t salt)
{
    struct asked asked = {0, 0};
    int refused = SR_OK;
    for (size_t i = 0; i < asking->n; i++) {
        if (refused) {
            asking->questions[i].status = refused;
            atomic_fetch_sub(&asking->open, 1);
            continue;
        }
        int rc = ask_one(asking, neural, salt, i, &asked);
        if (asking->task->whole && (rc == SR_EBUSY || rc == SR_ELIMIT))
            refused = rc;
    }
    for (size_t i = 0; refused && i < asking->n; i++)
        if (asking->children[i].late)
            sr_task_cancel(&asking->children[i].ask.task);
}

int sr_signal_room(const struct sr_signal_task *task, const struct sr_neural *neural, size_t bytes)
{
    return sr_neural_room(neural, task->client, bytes / BYTES_PER_TOKEN, task->deadline_ns);
}

int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_neural *neural,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *write)
{
    struct asking *asking = sr_arena_calloc(task->arena, 1, sizeof *asking);
    struct child *children = sr_arena_calloc(task->arena, n ? n : 1, sizeof *children);
    if (!asking || !children)
        return SR_ENOMEM;
    *asking = (struct asking){
        .set = set, .task = task, .finish = write, .questions = questions, .children = children, .n = n};
    atomic_init(&asking->open, n + 1);
    task->state = asking;
    ask_all(asking, neural, sr_signal_salt(tenant));
    sr_task_begin(&task->base, &asking_work); /* not complete yet: this thread counts, too */
    return was_last(asking) ? finish(asking) : SR_AGAIN;
}
