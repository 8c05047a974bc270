/* A text is asked for: of its windows, those that are remembered or pending are taken, the others become
 * jobs. */
#include "infer/classifier/private.h"

#include "base/mem.h"

#include <stddef.h>

/* Windows for the links that have none. */
static int make_missing(struct sr_neural *neural, struct sr_neural_result *result)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < result->windows.n; i++) {
        struct sr_neural_link *link = &result->links[i];
        if (link->window)
            continue;
        rc = sr_neural_window_new(&link->window, neural, &result->windows.items[i], &result->keys[i]);
        link->own = rc == SR_OK;
        if (!link->own)
            break;
        link->window->ended = sr_neural_window_ended;
        link->window->keep = sr_neural_is_lasting(link);
    }
    for (size_t i = 0; rc != SR_OK && i < result->windows.n; i++) {
        struct sr_neural_link *link = &result->links[i];
        if (!link->own)
            continue;
        sr_neural_window_unref(link->window);
        link->window = NULL;
        link->own = false;
    }
    return rc;
}

/* Lists the result's own windows, but for those that another reading has listed meanwhile; their jobs. */
static size_t list_own(struct sr_neural *neural, struct sr_neural_result *result, struct sr_infer_job **jobs)
{
    size_t n = 0;
    pthread_mutex_lock(&neural->lock);
    for (size_t i = 0; i < result->windows.n; i++) {
        struct sr_neural_link *link = &result->links[i];
        struct sr_neural_window *own = link->window;
        if (!link->own)
            continue;
        if (sr_neural_take_known(neural, link, &result->keys[i])) {
            link->own = false;
            sr_neural_window_unref(own);
            continue;
        }
        own->priority = own->work->job.priority = result->priority; /* another request may have joined */
        own->work->job.client = result->client;
        own->work->job.origin = result->origin;
        own->work->job.deadline_ns = result->deadline_ns;
        own->work->job.before = result->before;
        own->work->job.before_jobs = result->before_jobs;
        sr_neural_list(neural, &own->item);
        sr_ref_get(&own->item.entry.ref); /* the link's, beside the job's */
        sr_neural_ref(neural);
        sr_neural_wait_for(link, own);
        neural->stats.windows_read++;
        jobs[n++] = &own->work->job;
    }
    pthread_mutex_unlock(&neural->lock);
    return n;
}

static int submit_missing(struct sr_neural *neural, struct sr_neural_result *result,
                          struct sr_neural_ask *ask)
{
    struct sr_infer_job **jobs = sr_arena_calloc(&result->arena, result->windows.n, sizeof(void *));
    int rc = jobs ? make_missing(neural, result) : SR_ENOMEM;
    if (rc)
        return rc;
    size_t n = list_own(neural, result, jobs);
    ask->jobs = n;
    ask->tokens = 0;
    for (size_t i = 0; i < n; i++)
        ask->tokens += jobs[i]->item.n_ids;
    rc = n ? sr_infer_submit_list(neural->infer, jobs, n) : SR_OK;
    for (size_t i = 0; rc && i < n; i++)
        sr_neural_window_ended(jobs[i]->owner, rc);
    return rc;
}

int sr_neural_begin(struct sr_neural *neural, struct sr_neural_result *result,
                    enum sr_infer_priority priority, struct sr_neural_ask *ask)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < result->windows.n; i++)
        rc = sr_neural_window_key(&result->keys[i], neural, &result->windows.items[i],
                                  result->item.entry.key.salt);
    if (rc) {
        sr_neural_result_unref(result);
        return rc;
    }
    pthread_mutex_lock(&neural->lock);
    rc = result->prefetch ? SR_ENOENT : sr_neural_join(neural, &result->item.entry.key, priority, ask);
    if (rc != SR_ENOENT) { /* another thread was first */
        pthread_mutex_unlock(&neural->lock);
        sr_neural_result_unref(result);
        return rc;
    }
    if (!result->prefetch) {
        sr_neural_list(neural, &result->item);
        neural->stats.read++;
    }
    sr_neural_add_ask(result, ask);
    result->priority = priority;
    result->client = ask->client;
    result->origin = ask->origin;
    result->deadline_ns = ask->deadline_ns;
    result->before = ask->before;
    result->before_jobs = ask->before_jobs;
    for (size_t i = 0; i < result->windows.n; i++)
        sr_neural_take_known(neural, &result->links[i], &result->keys[i]);
    pthread_mutex_unlock(&neural->lock);
    return sr_neural_begun(neural, result, ask, submit_missing(neural, result, ask));
}

int sr_neural_read(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
                   enum sr_infer_priority priority, struct sr_neural_ask *ask)
{
    struct sr_memo_key key = {.salt = salt, .reader = neural->texts};
    struct sr_neural_result *result = NULL;
    ask->neural = neural;
    ask->result = ask->pending = NULL;
    ask->tokens = ask->jobs = 0;
    sr_task_begin(&ask->task, &sr_neural_ask_work);
    if (neural->options.text_bytes && text.n > neural->options.text_bytes)
        return SR_ELIMIT;
    int rc = sr_sha256(text, key.digest);
    if (rc != SR_OK)
        return rc;
    pthread_mutex_lock(&neural->lock);
    rc = sr_neural_join(neural, &key, priority, ask);
    pthread_mutex_unlock(&neural->lock);
    if (rc != SR_ENOENT)
        return rc;
    rc = sr_neural_result_new(&result, neural, text);
    if (rc != SR_OK)
        return rc;
    result->item.entry.key = key;
    return sr_neural_begin(neural, result, priority, ask);
}

static void free_ask(struct sr_task *task)
{
    sr_mem_free((char *)task - offsetof(struct sr_neural_ask, task));
}

int sr_neural_read_wait(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
                        enum sr_infer_priority priority, struct sr_neural_result **out)
{
    struct sr_neural_ask *ask = sr_mem_calloc(1, sizeof *ask);
    *out = NULL;
    if (!ask)
        return SR_ENOMEM;
    sr_task_init(&ask->task, NULL, free_ask, NULL);
    int rc = sr_neural_read(neural, text, salt, priority, ask);
    if (rc == SR_AGAIN)
        rc = sr_task_wait(&ask->task);
    *out = ask->result;
    sr_task_unref(&ask->task);
    return rc;
}
