/*
 * Counts pending answers, one more than there are questions, so that the signal does not finish while
 * questions are submitted.
 *
 * Every question holds a reference of the signal's task until its own task is freed, so the arena that
 * both live in outlives them.
 *
 * A second reader is asked by a job on the store's thread. Until that thread claims the job the deadline may
 * claim it instead: then nothing is asked, and the thread that says so finishes the signal.
 */
#include "signal/neural/ask.h"

#include "base/hash.h"

#include <stddef.h>

#define BYTES_PER_TOKEN 4 /* roughly */

struct asking;

struct child {
    struct sr_neural_ask ask;
    struct asking *of;
    bool late; /* it was not answered at once; written before the signal's task can be stopped, see `asked` */
};

struct asking {
    const struct sr_signal_set *set;
    struct sr_signal_task *task;
    sr_signal_finish *finish;
    struct sr_signal_question *questions;
    struct child *children; /* [n] */
    size_t n;
    atomic_size_t open;
    /* The first: */
    _Atomic(struct asking *) second; /* NULL: no second reader was asked */
    atomic_bool expired;             /* the deadline has passed */
    /* The second: */
    struct asking *first; /* NULL: this is the first */
    struct sr_multilingual *reader;
    uint64_t salt;
    struct sr_job job;
    atomic_bool claimed; /* by the one that asks, or that finishes without */
    atomic_bool asked;   /* its children's `late` are written */
    atomic_bool ended;   /* they were told that the deadline has passed */
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
    for (size_t i = 0; asking->task->whole && !asking->first && i < asking->n; i++) {
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
        result->neural_late |= !asking->first && sr_signal_question_is_late(question);
        if (asking->first)
            *(sr_signal_question_is_whole(question) ? &result->read_twice : &result->not_read_twice) += 1;
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

/* The signal is finished, unless a second reader is asked. */
static void complete(struct asking *asking)
{
    int rc = finish(asking);
    if (rc != SR_AGAIN)
        sr_signal_complete(asking->task, rc);
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
        complete(asking);
    sr_task_unref(task);
}

static void child_free(struct sr_task *task)
{
    struct child *child = child_of(task);
    sr_neural_result_unref(child->ask.result);
    sr_task_unref(&child->of->task->base);
}

static void end_children(struct asking *asking, void (*end)(struct sr_task *task))
{
    for (size_t i = 0; i < asking->n; i++)
        if (asking->children[i].late)
            end(&asking->children[i].ask.task);
}

/* True for one caller, which asks or finishes. */
static bool claim(struct asking *second)
{
    return !atomic_exchange(&second->claimed, true);
}

/* The second reader is not asked: what was known stands. */
static int give_up(struct asking *second, int status)
{
    for (size_t i = 0; i < second->n; i++)
        second->questions[i].status = status;
    return finish(second);
}

/* Any thread, also several at once. */
static void expire_second(struct asking *second)
{
    if (claim(second))
        sr_signal_complete(second->task, give_up(second, SR_ETIMEOUT));
    else if (atomic_load(&second->asked) && !atomic_exchange(&second->ended, true))
        end_children(second, sr_task_expire);
}

static void asking_stop(struct sr_task *task)
{
    struct asking *asking = asking_of(task), *second = atomic_load(&asking->second);
    end_children(asking, sr_task_cancel);
    if (second && atomic_load(&second->asked))
        end_children(second, sr_task_cancel);
}

static void asking_expire(struct sr_task *task)
{
    struct asking *asking = asking_of(task);
    /* Of this thread and the one that asks the second reader, the later one sees the other's store. */
    atomic_store(&asking->expired, true);
    struct asking *second = atomic_load(&asking->second);
    end_children(asking, sr_task_expire);
    if (second)
        expire_second(second);
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
        if (asking->task->whole && !asking->first && (rc == SR_EBUSY || rc == SR_ELIMIT))
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

static struct asking *asking_new(const struct sr_signal_set *set, struct sr_signal_task *task,
                                 struct sr_signal_question *questions, size_t n, sr_signal_finish *write)
{
    struct asking *asking = sr_arena_calloc(task->arena, 1, sizeof *asking);
    struct child *children = sr_arena_calloc(task->arena, n ? n : 1, sizeof *children);
    if (!asking || !children)
        return NULL;
    *asking = (struct asking){
        .set = set, .task = task, .finish = write, .questions = questions, .children = children, .n = n};
    atomic_init(&asking->open, n + 1);
    return asking;
}

int sr_signal_ask(const struct sr_signal_set *set, struct sr_signal_task *task, struct sr_neural *neural,
                  struct sr_bytes tenant, struct sr_signal_question *questions, size_t n,
                  sr_signal_finish *write)
{
    struct asking *asking = asking_new(set, task, questions, n, write);
    if (!asking)
        return SR_ENOMEM;
    task->state = asking;
    ask_all(asking, neural, sr_signal_salt(tenant));
    sr_task_begin(&task->base, &asking_work); /* not complete yet: this thread counts, too */
    sr_task_ref(&task->base);                 /* a second reader may complete it meanwhile */
    int rc = was_last(asking) ? finish(asking) : SR_AGAIN;
    sr_task_unref(&task->base);
    return rc;
}

/* ---- the second reader ---- */

/* The task may have been stopped before it could be seen that there is something to stop. */
static void end_if_late(struct asking *second)
{
    if (atomic_load(&second->first->expired))
        expire_second(second);
    else if (sr_task_state(&second->task->base) != SR_TASK_PENDING)
        end_children(second, sr_task_cancel);
}

/* On the store's thread. */
static void ask_later(struct sr_job *job)
{
    struct asking *second = (struct asking *)((char *)job - offsetof(struct asking, job));
    struct sr_signal_task *task = second->task;
    bool wanted = sr_task_state(&task->base) == SR_TASK_PENDING;
    struct sr_neural *neural = wanted ? sr_multilingual_open(second->reader) : NULL;
    if (claim(second)) {
        for (size_t i = 0; i < second->n; i++)
            second->questions[i].neural = neural;
        if (neural)
            ask_all(second, neural, second->salt);
        else
            for (size_t i = 0; i < second->n; i++)
                second->questions[i].status = SR_ENOENT;
        if (!neural)
            atomic_fetch_sub(&second->open, second->n);
        atomic_store(&second->asked, true);
        end_if_late(second);
        if (was_last(second))
            complete(second);
    }
    sr_task_unref(&task->base);
}

int sr_signal_ask_second(const struct sr_signal_set *set, struct sr_signal_task *task,
                         struct sr_multilingual *reader, struct sr_bytes tenant,
                         struct sr_signal_question *questions, size_t n, sr_signal_finish *write)
{
    struct asking *first = task->state, *second = asking_new(set, task, questions, n, write);
    if (!second)
        return SR_ENOMEM;
    second->first = first;
    second->reader = reader;
    second->salt = sr_signal_salt(tenant);
    second->job = (struct sr_job){.run = ask_later};
    sr_task_ref(&task->base); /* the job's */
    atomic_store(&first->second, second);
    int rc = sr_multilingual_later(reader, &second->job);
    if (rc) {
        rc = claim(second) ? give_up(second, rc) : SR_AGAIN;
        sr_task_unref(&task->base);
        return rc;
    }
    if (atomic_load(&first->expired))
        expire_second(second);
    return SR_AGAIN;
}
