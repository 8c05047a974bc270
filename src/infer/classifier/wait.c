/*
 * Who waits for whom: readings for their windows, waiters for readings; one lock guards all these links.
 * Several readings may wait for one window: of a text that has grown, or that began to be read while it
 * arrived. A waiter that cancels, or takes a partial result, drops what has no other waiters.
 */
#include "infer/classifier/private.h"

#include "base/mem.h"

/* `rank`: of the window among those that its reading waits for. */
static void hasten(struct sr_neural *neural, struct sr_neural_window *window, enum sr_infer_priority priority,
                   size_t rank)
{
    if (!window->work || window->priority <= priority)
        return;
    window->priority = priority;
    sr_infer_hasten(neural->infer, &window->work->job, priority, (uint32_t)rank);
}

void sr_neural_wait_for(struct sr_neural_part *part, struct sr_neural_window *window)
{
    part->next = window->parts;
    window->parts = part;
    part->waits = true;
    part->reading->open++;
}

bool sr_neural_is_lasting(const struct sr_neural_part *part)
{
    const struct sr_neural_result *reading = part->reading;
    return reading->ahead || part + 1 < reading->parts + reading->windows.n;
}

bool sr_neural_take_known(struct sr_neural *neural, struct sr_neural_part *part,
                          const struct sr_neural_key *key)
{
    struct sr_neural_item *item = sr_neural_find(neural, key);
    if (!item)
        return false;
    part->window = (struct sr_neural_window *)item;
    neural->stats.windows_known++;
    if (item->done) {
        sr_neural_renew(neural, item);
        return true;
    }
    sr_ref_get(&item->ref);
    part->window->keep |= sr_neural_is_lasting(part);
    hasten(neural, part->window, part->reading->priority, part->reading->open - 1);
    sr_neural_wait_for(part, part->window);
    return true;
}

/* The reading waits for nothing any more. Puts in front of *works, with references, what has no waiters. */
static void detach(struct sr_neural *neural, struct sr_neural_result *reading, struct sr_neural_work **works)
{
    for (size_t i = 0; i < reading->windows.n; i++) {
        struct sr_neural_part *part = &reading->parts[i];
        if (!part->waits)
            continue;
        struct sr_neural_window *window = part->window;
        struct sr_neural_part **at = &window->parts;
        while (*at != part)
            at = &(*at)->next;
        *at = part->next;
        part->waits = false;
        reading->open--;
        if (window->parts || !window->work)
            continue;
        sr_neural_unlist(neural, &window->item);
        sr_ref_get(&window->work->ref);
        window->work->next = *works;
        *works = window->work;
    }
}

int sr_neural_join(struct sr_neural *neural, const struct sr_neural_key *key, enum sr_infer_priority priority,
                   struct sr_neural_wait *wait)
{
    size_t rank = 0;
    struct sr_neural_item *item = sr_neural_find(neural, key);
    struct sr_neural_result *reading = (struct sr_neural_result *)item;
    if (!item)
        return SR_ENOENT;
    if (item->done) {
        sr_neural_renew(neural, item);
        wait->reading = reading;
        neural->stats.remembered++;
        return SR_OK;
    }
    reading->priority = priority < reading->priority ? priority : reading->priority;
    for (size_t i = 0; reading->open && i < reading->windows.n; i++)
        if (reading->parts[i].waits)
            hasten(neural, reading->parts[i].window, priority, rank++);
    wait->next = reading->waits;
    wait->under_way = reading;
    reading->waits = wait;
    neural->stats.joined++;
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

/* Nothing of the reading is open: its result, for all waiters. The waiter `own` (or NULL) gets it as
 * a return value. */
static int end_reading(struct sr_neural *neural, struct sr_neural_result *reading, struct sr_neural_wait *own)
{
    int status = sr_neural_result_finish(reading, reading->status);
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_wait *waits = reading->waits, **at = &waits;
    reading->waits = NULL;
    reading->item.done = true;
    while (*at) {
        (*at)->under_way = NULL;
        if (*at == own)
            *at = own->next;
        else
            at = &(*at)->next;
    }
    if (status == SR_OK && reading->item.listed)
        sr_neural_remember(neural, &sr_neural_result_ref(reading)->item);
    else
        sr_neural_unlist(neural, &reading->item);
    pthread_mutex_unlock(&neural->lock);
    if (own)
        own->reading = status == SR_OK ? sr_neural_result_ref(reading) : NULL;
    while (waits) {
        struct sr_neural_wait *next = waits->next;
        waits->reading = status == SR_OK ? sr_neural_result_ref(reading) : NULL;
        waits->done(waits, status);
        waits = next;
    }
    sr_neural_result_unref(reading);
    return status;
}

void sr_neural_window_ended(struct sr_neural_window *window, int status)
{
    struct sr_neural *neural = window->neural;
    struct sr_neural_result *ended = NULL;
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_part *parts = window->parts;
    struct sr_neural_work *work = window->work;
    window->parts = NULL;
    window->work = NULL;
    window->item.done = true;
    window->good = status == SR_OK;
    for (; parts; parts = parts->next) {
        struct sr_neural_result *reading = parts->reading;
        parts->waits = false;
        reading->status = reading->status ? reading->status : status;
        if (--reading->open == 0) {
            reading->next = ended;
            ended = reading;
        }
    }
    if (status == SR_OK && window->keep && window->item.listed) {
        sr_ref_get(&window->item.ref);
        sr_neural_remember(neural, &window->item);
    } else {
        sr_neural_unlist(neural, &window->item);
    }
    pthread_mutex_unlock(&neural->lock);
    while (ended) {
        struct sr_neural_result *next = ended->next;
        (void)end_reading(neural, ended, NULL);
        ended = next;
    }
    sr_neural_work_unref(work);
    sr_neural_window_unref(window);
    sr_neural_unref(neural);
}

int sr_neural_begun(struct sr_neural *neural, struct sr_neural_result *reading, struct sr_neural_wait *own,
                    int rc)
{
    struct sr_neural_work *works = NULL;
    pthread_mutex_lock(&neural->lock);
    reading->begun = true;
    if (rc) {
        reading->status = reading->status ? reading->status : rc;
        detach(neural, reading, &works);
    }
    bool last = --reading->open == 0;
    pthread_mutex_unlock(&neural->lock);
    cancel(neural, works);
    return last ? end_reading(neural, reading, own) : SR_AGAIN;
}

/* Under the lock: takes the waiter out; where it was the last, nothing of the reading is wanted any more. */
static void drop_wait(struct sr_neural *neural, struct sr_neural_wait *wait, struct sr_neural_work **works)
{
    struct sr_neural_result *reading = wait->under_way;
    struct sr_neural_wait **at = &reading->waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    wait->under_way = NULL;
    if (reading->waits || !reading->open)
        return;
    sr_neural_unlist(neural, &reading->item);
    reading->status = reading->status ? reading->status : SR_ECANCELED;
    detach(neural, reading, works);
}

void sr_neural_leave(struct sr_neural *neural, struct sr_neural_wait *wait)
{
    struct sr_neural_work *works = NULL;
    struct sr_neural_result *abandoned = NULL;
    sr_neural_ref(neural);
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_result *reading = wait->under_way;
    if (reading) {
        bool open = reading->open > 0;
        drop_wait(neural, wait, &works);
        abandoned = open && !reading->open ? reading : NULL;
    }
    pthread_mutex_unlock(&neural->lock);
    if (reading)
        wait->done(wait, SR_ECANCELED);
    cancel(neural, works);
    sr_neural_result_unref(abandoned);
    sr_neural_unref(neural);
}

/* Under the lock: the reading's windows that are done, with references, the others NULL. How many. */
static size_t take_done(const struct sr_neural_result *reading, struct sr_neural_window **done)
{
    size_t n = 0;
    for (size_t i = 0; reading->begun && i < reading->windows.n; i++) {
        struct sr_neural_window *window = reading->parts[i].window;
        if (!window || !window->good)
            continue;
        sr_ref_get(&window->item.ref);
        done[i] = window;
        n++;
    }
    return n;
}

/* The part of the reading that is done; SR_ETIMEOUT: none is. The caller keeps the reading open. */
static int make_part(struct sr_neural *neural, struct sr_neural_result *reading,
                     struct sr_neural_result **part)
{
    size_t n = reading->windows.n;
    struct sr_neural_window **done = sr_mem_calloc(n, sizeof *done);
    if (!done)
        return SR_ENOMEM;
    pthread_mutex_lock(&neural->lock);
    size_t n_done = take_done(reading, done);
    pthread_mutex_unlock(&neural->lock);
    int rc = n_done ? sr_neural_result_part(part, reading, done) : SR_ETIMEOUT;
    for (size_t i = 0; i < n; i++)
        sr_neural_window_unref(done[i]);
    sr_mem_free(done);
    return rc;
}

/* The reading is held open by the caller. */
static void settle(struct sr_neural *neural, struct sr_neural_result *reading, struct sr_neural_wait *wait)
{
    struct sr_neural_result *part = NULL;
    struct sr_neural_work *works = NULL;
    int rc = make_part(neural, reading, &part);
    pthread_mutex_lock(&neural->lock);
    bool whole = reading->open == 1 && reading->status == SR_OK; /* the rest came meanwhile */
    bool waits = wait->under_way == reading && !whole;
    if (waits) {
        drop_wait(neural, wait, &works);
        neural->stats.settled++;
    }
    bool last = --reading->open == 0;
    pthread_mutex_unlock(&neural->lock);
    if (waits) {
        wait->reading = part;
        part = NULL;
        wait->done(wait, rc);
    }
    sr_neural_result_unref(part);
    cancel(neural, works);
    if (last)
        (void)end_reading(neural, reading, NULL);
}

void sr_neural_settle(struct sr_neural *neural, struct sr_neural_wait *wait)
{
    sr_neural_ref(neural);
    pthread_mutex_lock(&neural->lock);
    struct sr_neural_result *reading = wait->under_way;
    bool open = reading && reading->open > 0; /* else its end is being told */
    if (open)
        reading->open++;
    pthread_mutex_unlock(&neural->lock);
    if (open)
        settle(neural, reading, wait);
    sr_neural_unref(neural);
}
