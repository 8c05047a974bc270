/*
 * Who asks for what: asks for results, results for their windows; one lock guards all these links. Several
 * results may wait for one window: of a text that has grown, or that began to be read while it arrived. An
 * ask that is cancelled or expires drops what has no other waiters.
 */
#include "infer/classifier/private.h"

#include "base/mem.h"

#include <stddef.h>

#define ASK_OF(pointer) ((struct sr_neural_ask *)((char *)(pointer)-offsetof(struct sr_neural_ask, task)))

/* For a result that needs the window. */
static void hasten(struct sr_neural *neural, struct sr_neural_window *window, enum sr_infer_priority priority,
                   const struct sr_neural_result *result)
{
    if (!window->work || window->priority <= priority)
        return;
    window->priority = priority;
    sr_infer_hasten(neural->infer, &window->work->job, priority, result->client, &result->origin,
                    result->before + result->scope.tokens);
}

void sr_neural_wait_for(struct sr_neural_link *link, struct sr_neural_window *window)
{
    link->next = window->links;
    window->links = link;
    link->waits = true;
    link->result->open++;
}

bool sr_neural_is_lasting(const struct sr_neural_link *link)
{
    const struct sr_neural_result *result = link->result;
    return result->prefetch || link + 1 < result->links + result->windows.n;
}

bool sr_neural_take_known(struct sr_neural *neural, struct sr_neural_link *link,
                          const struct sr_memo_key *key)
{
    struct sr_neural_item *item = sr_neural_find(neural, key);
    if (!item)
        return false;
    link->window = (struct sr_neural_window *)item;
    neural->stats.windows_known++;
    if (item->done)
        return true;
    link->window->keep |= sr_neural_is_lasting(link);
    hasten(neural, link->window, link->result->priority, link->result);
    sr_neural_wait_for(link, link->window);
    return true;
}

/* The result waits for nothing any more. Puts in front of *works, with references, what has no waiters. */
static void unlink_windows(struct sr_neural *neural, struct sr_neural_result *result,
                           struct sr_neural_work **works)
{
    for (size_t i = 0; i < result->windows.n; i++) {
        struct sr_neural_link *link = &result->links[i];
        if (!link->waits)
            continue;
        struct sr_neural_window *window = link->window;
        struct sr_neural_link **at = &window->links;
        while (*at != link)
            at = &(*at)->next;
        *at = link->next;
        link->waits = false;
        result->open--;
        if (window->links || !window->work)
            continue;
        sr_neural_unlist(neural, &window->item);
        sr_ref_get(&window->work->ref);
        window->work->next = *works;
        *works = window->work;
    }
}

void sr_neural_add_ask(struct sr_neural_result *result, struct sr_neural_ask *ask)
{
    sr_task_ref(&ask->task);
    ask->next = result->asks;
    ask->pending = result;
    result->asks = ask;
}

int sr_neural_join(struct sr_neural *neural, const struct sr_memo_key *key, enum sr_infer_priority priority,
                   struct sr_neural_ask *ask)
{
    struct sr_neural_item *item = sr_neural_find(neural, key);
    struct sr_neural_result *result = (struct sr_neural_result *)item;
    if (!item)
        return SR_ENOENT;
    if (item->done) {
        ask->result = result;
        neural->stats.remembered++;
        return SR_OK;
    }
    result->priority = priority < result->priority ? priority : result->priority;
    for (size_t i = 0; result->open && i < result->windows.n; i++)
        if (result->links[i].waits)
            hasten(neural, result->links[i].window, priority, result);
    sr_neural_add_ask(result, ask);
    neural->stats.joined++;
    sr_neural_result_unref(result); /* it is pending: its producer has another reference */
    return SR_AGAIN;
}

/* The lock is not held from here on. */

static void cancel(struct sr_neural *neural, struct sr_neural_work *works)
{
    while (works) {
        struct sr_neural_work *next = works->next;
        sr_infer_cancel(neural->infer, &works->job);
        sr_neural_work_unref(works);
        works = next;
    }
}

/* Under the lock: the result has ended, its asks are taken out. */
static struct sr_neural_ask *take_asks(struct sr_neural_result *result)
{
    struct sr_neural_ask *asks = result->asks;
    result->asks = NULL;
    for (struct sr_neural_ask *ask = asks; ask; ask = ask->next)
        ask->pending = NULL;
    return asks;
}

/* Nothing of the result is open: its content, for all tasks that wait. The task `own` (or NULL) gets it as
 * a return value. */
static int end_result(struct sr_neural *neural, struct sr_neural_result *result, struct sr_neural_ask *own)
{
    int status = sr_neural_result_finish(result, result->status);
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_ask *asks = take_asks(result);
    sr_neural_item_done(neural, &result->item, status == SR_OK);
    pthread_mutex_unlock(&neural->lock);
    while (asks) {
        struct sr_neural_ask *ask = asks;
        asks = ask->next;
        ask->result = status == SR_OK ? sr_neural_result_ref(result) : NULL;
        if (ask == own)
            sr_task_unref(&ask->task);
        else
            sr_task_complete(&ask->task, status);
    }
    sr_neural_result_unref(result);
    return status;
}

void sr_neural_window_ended(struct sr_neural_window *window, int status)
{
    struct sr_neural *neural = window->neural;
    struct sr_neural_result *ended = NULL;
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_link *links = window->links;
    struct sr_neural_work *work = window->work;
    window->links = NULL;
    window->work = NULL;
    window->good = status == SR_OK;
    for (; links; links = links->next) {
        struct sr_neural_result *result = links->result;
        links->waits = false;
        result->status = result->status ? result->status : status;
        if (--result->open == 0) {
            result->next = ended;
            ended = result;
        }
    }
    sr_neural_item_done(neural, &window->item, window->good && window->keep);
    pthread_mutex_unlock(&neural->lock);
    while (ended) {
        struct sr_neural_result *next = ended->next;
        (void)end_result(neural, ended, NULL);
        ended = next;
    }
    sr_neural_work_unref(work);
    sr_neural_window_unref(window);
    sr_neural_unref(neural);
}

int sr_neural_begun(struct sr_neural *neural, struct sr_neural_result *result, struct sr_neural_ask *own,
                    int rc)
{
    struct sr_neural_work *works = NULL;
    pthread_mutex_lock(&neural->lock);
    result->begun = true;
    if (rc) {
        result->status = result->status ? result->status : rc;
        unlink_windows(neural, result, &works);
    }
    bool last = --result->open == 0;
    pthread_mutex_unlock(&neural->lock);
    cancel(neural, works);
    return last ? end_result(neural, result, own) : SR_AGAIN;
}

/* ---- asks that end early ---- */

/* Under the lock: takes the ask out; where it was the last, nothing of the result is wanted any more. */
static void drop_ask(struct sr_neural *neural, struct sr_neural_ask *ask, struct sr_neural_work **works)
{
    struct sr_neural_result *result = ask->pending;
    struct sr_neural_ask **at = &result->asks;
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
    ask->pending = NULL;
    if (result->asks || !result->open)
        return;
    sr_neural_unlist(neural, &result->item);
    result->status = result->status ? result->status : SR_ECANCELED;
    unlink_windows(neural, result, works);
}

static void ask_stop(struct sr_task *task)
{
    struct sr_neural_ask *ask = ASK_OF(task);
    struct sr_neural *neural = sr_neural_ref(ask->neural);
    struct sr_neural_work *works = NULL;
    struct sr_neural_result *abandoned = NULL;
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_result *result = ask->pending;
    if (result) {
        bool open = result->open > 0;
        drop_ask(neural, ask, &works);
        abandoned = open && !result->open ? result : NULL;
    }
    pthread_mutex_unlock(&neural->lock);
    if (result)
        sr_task_complete(task, SR_ECANCELED);
    cancel(neural, works);
    sr_neural_result_unref(abandoned);
    sr_neural_unref(neural);
}

/* Under the lock: the result's windows that are done, with references, the others NULL. How many. */
static size_t take_done(const struct sr_neural_result *result, struct sr_neural_window **done)
{
    size_t n = 0;
    for (size_t i = 0; result->begun && i < result->windows.n; i++) {
        struct sr_neural_window *window = result->links[i].window;
        if (!window || !window->good)
            continue;
        sr_ref_get(&window->item.entry.ref);
        done[i] = window;
        n++;
    }
    return n;
}

/* The result of the windows that are done; SR_ETIMEOUT: none is. The caller keeps the result open. */
static int make_partial(struct sr_neural *neural, struct sr_neural_result *result,
                        struct sr_neural_result **partial)
{
    size_t n = result->windows.n;
    struct sr_neural_window **done = sr_mem_calloc(n, sizeof *done);
    if (!done)
        return SR_ENOMEM;
    pthread_mutex_lock(&neural->lock);
    size_t n_done = take_done(result, done);
    pthread_mutex_unlock(&neural->lock);
    int rc = n_done ? sr_neural_result_partial(partial, result, done) : SR_ETIMEOUT;
    for (size_t i = 0; i < n; i++)
        sr_neural_window_unref(done[i]);
    sr_mem_free(done);
    return rc;
}

/* The caller keeps the result open. */
static void expire(struct sr_neural *neural, struct sr_neural_result *result, struct sr_neural_ask *ask)
{
    struct sr_neural_result *partial = NULL;
    struct sr_neural_work *works = NULL;
    int rc = make_partial(neural, result, &partial);
    pthread_mutex_lock(&neural->lock);
    bool whole = result->open == 1 && result->status == SR_OK; /* the rest came meanwhile */
    bool waits = ask->pending == result && !whole;
    if (waits) {
        drop_ask(neural, ask, &works);
        neural->stats.expired++;
    }
    bool last = --result->open == 0;
    pthread_mutex_unlock(&neural->lock);
    if (waits) {
        ask->result = partial;
        partial = NULL;
        sr_task_complete(&ask->task, rc);
    }
    sr_neural_result_unref(partial);
    cancel(neural, works);
    if (last)
        (void)end_result(neural, result, NULL);
}

static void ask_expire(struct sr_task *task)
{
    struct sr_neural_ask *ask = ASK_OF(task);
    struct sr_neural *neural = sr_neural_ref(ask->neural);
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_result *result = ask->pending;
    bool open = result && result->open > 0; /* else it is being completed */
    if (open)
        result->open++;
    pthread_mutex_unlock(&neural->lock);
    if (open)
        expire(neural, result, ask);
    sr_neural_unref(neural);
}

const struct sr_task_work sr_neural_ask_work = {.stop = ask_stop, .expire = ask_expire};
