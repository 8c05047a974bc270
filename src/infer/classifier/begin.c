/* A reading begins: of its windows, those that are remembered or in progress are taken, the others become
 * jobs.
 */
#include "infer/classifier/private.h"

/* Windows for the parts that have none. */
static int make_missing(struct sr_neural *neural, struct sr_neural_result *reading)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < reading->windows.n; i++) {
        struct sr_neural_part *part = &reading->parts[i];
        if (part->window)
            continue;
        rc = sr_neural_window_new(&part->window, neural, &reading->windows.items[i], &reading->keys[i]);
        part->own = rc == SR_OK;
        if (part->own)
            part->window->keep = sr_neural_is_lasting(part);
    }
    for (size_t i = 0; rc != SR_OK && i < reading->windows.n; i++) {
        struct sr_neural_part *part = &reading->parts[i];
        if (!part->own)
            continue;
        sr_neural_window_unref(part->window);
        part->window = NULL;
        part->own = false;
    }
    return rc;
}

/* Lists the reading's own windows, but for those that another reading has listed meanwhile; their jobs. */
static size_t list_own(struct sr_neural *neural, struct sr_neural_result *reading, struct sr_infer_job **jobs)
{
    size_t n = 0;
    pthread_mutex_lock(&neural->lock);
    for (size_t i = 0; i < reading->windows.n; i++) {
        struct sr_neural_part *part = &reading->parts[i];
        struct sr_neural_window *own = part->window;
        if (!part->own)
            continue;
        if (sr_neural_take_known(neural, part, &reading->keys[i])) {
            part->own = false;
            sr_neural_window_unref(own);
            continue;
        }
        own->priority = own->work->job.priority = reading->priority; /* another request may have joined */
        own->work->job.rank = (uint32_t)(reading->open - 1);
        sr_neural_list(neural, &own->item);
        sr_ref_get(&own->item.ref); /* the part's, beside the job's */
        sr_neural_ref(neural);
        sr_neural_wait_for(part, own);
        neural->stats.windows_read++;
        jobs[n++] = &own->work->job;
    }
    pthread_mutex_unlock(&neural->lock);
    return n;
}

static int submit_missing(struct sr_neural *neural, struct sr_neural_result *reading)
{
    struct sr_infer_job **jobs = sr_arena_calloc(&reading->arena, reading->windows.n, sizeof(void *));
    int rc = jobs ? make_missing(neural, reading) : SR_ENOMEM;
    if (rc)
        return rc;
    size_t n = list_own(neural, reading, jobs);
    rc = n ? sr_infer_submit_list(neural->infer, jobs, n) : SR_OK;
    for (size_t i = 0; rc && i < n; i++)
        sr_neural_window_ended(jobs[i]->owner, rc);
    return rc;
}

int sr_neural_begin(struct sr_neural *neural, struct sr_neural_result *reading,
                    enum sr_infer_priority priority, struct sr_neural_wait *wait)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < reading->windows.n; i++)
        rc = sr_neural_window_key(&reading->keys[i], reading->windows.items[i].ids,
                                  reading->windows.items[i].n_ids, reading->item.key.salt);
    if (rc) {
        sr_neural_result_unref(reading);
        return rc;
    }
    pthread_mutex_lock(&neural->lock);
    rc = reading->ahead ? SR_ENOENT : sr_neural_join(neural, &reading->item.key, priority, wait);
    if (rc != SR_ENOENT) { /* another thread was first */
        pthread_mutex_unlock(&neural->lock);
        sr_neural_result_unref(reading);
        return rc;
    }
    if (!reading->ahead) {
        sr_neural_list(neural, &reading->item);
        neural->stats.read++;
    }
    wait->next = NULL;
    wait->under_way = reading;
    reading->waits = wait;
    reading->priority = priority;
    for (size_t i = 0; i < reading->windows.n; i++)
        sr_neural_take_known(neural, &reading->parts[i], &reading->keys[i]);
    pthread_mutex_unlock(&neural->lock);
    return sr_neural_begun(neural, reading, wait, submit_missing(neural, reading));
}
