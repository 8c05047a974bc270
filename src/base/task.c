/*
 * One compare-and-swap of the state decides whether complete, cancel or expire ends the task. Waiters block
 * on one lock that all tasks share: waiting is rare, so a task has no lock of its own.
 */
#include "base/task.h"

#include "base/clock.h"

#include <stddef.h>

/* How long to wait for a result that another thread is writing: that thread may have been descheduled. */
#define GRACE_MS 200

static pthread_once_t park_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t park_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t park_changed;

static void park_init(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&park_changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static bool has_ended(struct sr_task *task)
{
    return atomic_load(&task->state) > SR_TASK_ENDING;
}

/* Waits until the task has ended, or for `ms` milliseconds (0: without a limit). */
static void park(struct sr_task *task, unsigned ms)
{
    uint64_t until = sr_clock_ns() + ms * SR_NS_PER_MS;
    struct timespec deadline = {(time_t)(until / SR_NS_PER_S), (long)(until % SR_NS_PER_S)};
    bool in_time = true;
    pthread_once(&park_once, park_init);
    /* Either the thread that ends the task sees this mark, or this thread sees the final state. */
    atomic_store(&task->awaited, true);
    pthread_mutex_lock(&park_lock);
    while (in_time && !has_ended(task))
        if (ms)
            in_time = pthread_cond_timedwait(&park_changed, &park_lock, &deadline) == 0;
        else
            pthread_cond_wait(&park_changed, &park_lock);
    pthread_mutex_unlock(&park_lock);
}

/* True for the call that ends the task. */
static bool end(struct sr_task *task, enum sr_task_state state, int status)
{
    enum sr_task_state pending = SR_TASK_PENDING;
    if (!atomic_compare_exchange_strong(&task->state, &pending, SR_TASK_ENDING))
        return false;
    task->status = status;
    atomic_store(&task->state, state);
    if (atomic_load(&task->awaited)) {
        pthread_mutex_lock(&park_lock);
        pthread_cond_broadcast(&park_changed);
        pthread_mutex_unlock(&park_lock);
    }
    return true;
}

static void tell(struct sr_task *task, int status)
{
    if (task->told)
        return;
    task->told = true;
    if (task->done)
        task->done(task, status);
}

static void stop(struct sr_task *task)
{
    const struct sr_task_work *work = atomic_load(&task->work);
    if (work && work->stop && !atomic_exchange(&task->stopped, true))
        work->stop(task);
}

/* On the mailbox's thread, with the producer's reference. */
static void arrive(struct sr_message *message, bool closed)
{
    struct sr_task *task = (struct sr_task *)((char *)message - offsetof(struct sr_task, message));
    if (closed)
        atomic_store(&task->state, SR_TASK_CANCELLED);
    tell(task, closed ? SR_ECLOSED : task->status);
    sr_task_unref(task);
}

void sr_task_init(struct sr_task *task, void (*done)(struct sr_task *task, int status),
                  void (*free)(struct sr_task *task), struct sr_mailbox *mailbox)
{
    *task = (struct sr_task){.done = done, .free = free, .mailbox = mailbox, .message = {.run = arrive}};
    sr_ref_init(&task->ref);
    atomic_init(&task->work, NULL);
    atomic_init(&task->state, SR_TASK_PENDING);
    atomic_init(&task->partial, false);
    atomic_init(&task->stopped, false);
    atomic_init(&task->awaited, false);
    sr_mailbox_ref(mailbox);
}

struct sr_task *sr_task_ref(struct sr_task *task)
{
    sr_ref_get(&task->ref);
    return task;
}

void sr_task_unref(struct sr_task *task)
{
    if (!task || !sr_ref_put(&task->ref))
        return;
    struct sr_mailbox *mailbox = task->mailbox;
    if (task->free)
        task->free(task);
    sr_mailbox_unref(mailbox);
}

void sr_task_begin(struct sr_task *task, const struct sr_task_work *work)
{
    /* Of this thread and the thread that ends the task, the second one sees the other's store. */
    atomic_store(&task->work, work);
    enum sr_task_state state = atomic_load(&task->state);
    if (state == SR_TASK_CANCELLED || state == SR_TASK_EXPIRED)
        stop(task);
}

void sr_task_offer_partial(struct sr_task *task)
{
    atomic_store(&task->partial, true);
}

bool sr_task_complete(struct sr_task *task, int status)
{
    bool first = end(task, SR_TASK_DONE, status), sent = false;
    if (first && task->mailbox) {
        struct sr_mailbox *mailbox = task->mailbox;
        sr_mailbox_ref(mailbox); /* the task may be freed before the send returns */
        sent = sr_mailbox_send(mailbox, &task->message) == SR_OK;
        sr_mailbox_unref(mailbox);
    } else if (first) {
        tell(task, status);
    }
    if (!sent)
        sr_task_unref(task);
    return first;
}

void sr_task_cancel(struct sr_task *task)
{
    bool first = end(task, SR_TASK_CANCELLED, SR_ECANCELED);
    if (first)
        stop(task);
    else if (task->mailbox && !task->told) {
        if (!has_ended(task))
            park(task, 0); /* another thread is ending it now, and would overwrite the state */
        atomic_store(&task->state, SR_TASK_CANCELLED); /* completed but not wanted: `done` was not called */
    }
    if (first || task->mailbox)
        tell(task, SR_ECANCELED);
}

/* The task was not completed: it ends with its partial result or without a result. True: it was not completed
 * in the meantime either. */
static bool take_partial(struct sr_task *task)
{
    if (!end(task, SR_TASK_EXPIRED, atomic_load(&task->partial) ? SR_OK : SR_ETIMEOUT))
        return false;
    stop(task);
    return true;
}

void sr_task_expire(struct sr_task *task)
{
    const struct sr_task_work *work = atomic_load(&task->work);
    bool asked = work && work->expire && !has_ended(task);
    if (task->mailbox && task->told)
        return;
    if (asked)
        work->expire(task);
    if (!task->mailbox) {
        if (!asked && take_partial(task))
            tell(task, task->status);
        return;
    }
    if (asked)
        park(task, GRACE_MS);
    if (!take_partial(task))
        park(task, 0); /* another thread is ending it now */
    tell(task, task->status);
}

int sr_task_wait(struct sr_task *task)
{
    park(task, 0);
    return task->status;
}

enum sr_task_state sr_task_state(const struct sr_task *task)
{
    enum sr_task_state state = atomic_load(&task->state);
    return state == SR_TASK_ENDING ? SR_TASK_PENDING : state;
}
