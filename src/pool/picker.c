/* Makes seats and calls the policy under the picker's lock. */
#include "pool/picker.h"

#include "base/mem.h"
#include "pool/private.h"

#include <string.h>

static const struct sr_pool_ask NOTHING;

int sr_pool_picker_new(struct sr_pool_picker **out, const struct sr_pool_policy_ops *ops,
                       const struct sr_pool_settings *settings)
{
    struct sr_pool_picker *picker = sr_mem_calloc(1, sizeof *picker);
    *out = NULL;
    if (!picker)
        return SR_ENOMEM;
    picker->ops = ops;
    picker->settings = *settings;
    picker->refs = 1;
    int rc = ops->open ? ops->open(&picker->state, &picker->settings) : SR_OK;
    if (rc) {
        sr_mem_free(picker);
        return rc;
    }
    pthread_mutex_init(&picker->lock, NULL);
    *out = picker;
    return SR_OK;
}

struct sr_pool_picker *sr_pool_picker_ref(struct sr_pool_picker *picker)
{
    pthread_mutex_lock(&picker->lock);
    picker->refs++;
    pthread_mutex_unlock(&picker->lock);
    return picker;
}

void sr_pool_picker_unref(struct sr_pool_picker *picker)
{
    if (!picker)
        return;
    pthread_mutex_lock(&picker->lock);
    bool last = --picker->refs == 0;
    pthread_mutex_unlock(&picker->lock);
    if (!last)
        return;
    if (picker->ops->close)
        picker->ops->close(picker->state);
    pthread_mutex_destroy(&picker->lock);
    sr_mem_free(picker->seats);
    sr_mem_free(picker);
}

bool sr_pool_picker_is(const struct sr_pool_picker *picker, const struct sr_pool_policy_ops *ops,
                       const struct sr_pool_settings *settings)
{
    return picker->ops == ops && sr_pool_settings_equal(&picker->settings, settings);
}

/* ---- seats ---- */

/* The lowest free slot; grows the table. False: out of memory. */
static bool find_slot(struct sr_pool_picker *picker, uint32_t *slot)
{
    size_t at = picker->first_free;
    while (at < picker->n_slots && picker->seats[at])
        at++;
    if (at == picker->n_slots) {
        size_t n = picker->n_slots ? picker->n_slots * 2 : 8;
        struct sr_pool_seat **seats = sr_mem_realloc(picker->seats, n * sizeof *seats);
        if (!seats)
            return false;
        memset(seats + picker->n_slots, 0, (n - picker->n_slots) * sizeof *seats);
        picker->seats = seats;
        picker->n_slots = n;
    }
    *slot = (uint32_t)at;
    picker->first_free = at;
    return true;
}

static struct sr_pool_seat **bucket_of(struct sr_pool_picker *picker, const struct sr_pool_worker *worker)
{
    return &picker->buckets[worker->hash % SR_POOL_SEAT_BUCKETS];
}

static struct sr_pool_seat *seat_new(struct sr_pool_picker *picker, const struct sr_pool_worker *worker)
{
    uint32_t slot;
    struct sr_pool_seat *seat = sr_mem_calloc(1, sizeof *seat + picker->ops->seat_size);
    if (!seat || !find_slot(picker, &slot) ||
        (picker->ops->join && picker->ops->join(picker->state, seat->state, slot))) {
        sr_mem_free(seat);
        return NULL;
    }
    struct sr_pool_seat **bucket = bucket_of(picker, worker);
    seat->next = *bucket;
    seat->worker = worker;
    seat->slot = slot;
    *bucket = seat;
    picker->seats[slot] = seat;
    return seat;
}

static struct sr_pool_seat *seat_of(struct sr_pool_picker *picker, const struct sr_pool_worker *worker)
{
    struct sr_pool_seat *seat = *bucket_of(picker, worker);
    while (seat && seat->worker != worker)
        seat = seat->next;
    return seat;
}

struct sr_pool_seat *sr_pool_seat_get(struct sr_pool_picker *picker, const struct sr_pool_worker *worker)
{
    pthread_mutex_lock(&picker->lock);
    struct sr_pool_seat *seat = seat_of(picker, worker);
    if (!seat)
        seat = seat_new(picker, worker);
    if (seat)
        seat->refs++;
    pthread_mutex_unlock(&picker->lock);
    return seat;
}

void sr_pool_seat_put(struct sr_pool_picker *picker, struct sr_pool_seat *seat)
{
    if (!seat)
        return;
    pthread_mutex_lock(&picker->lock);
    bool last = --seat->refs == 0;
    if (last) {
        if (picker->ops->leave)
            picker->ops->leave(picker->state, seat->state, seat->slot);
        struct sr_pool_seat **at = bucket_of(picker, seat->worker);
        while (*at != seat)
            at = &(*at)->next;
        *at = seat->next;
        picker->seats[seat->slot] = NULL;
        if (seat->slot < picker->first_free)
            picker->first_free = seat->slot;
    }
    pthread_mutex_unlock(&picker->lock);
    if (last)
        sr_mem_free(seat);
}

/* ---- requests ---- */

size_t sr_pool_picker_choose(struct sr_pool_picker *picker, const struct sr_pool_ask *ask,
                             const struct sr_pool_candidate *candidates, size_t n, struct sr_pool_why *why)
{
    *why = (struct sr_pool_why){.reason = ""};
    pthread_mutex_lock(&picker->lock);
    size_t at = picker->ops->choose(picker->state, ask ? ask : &NOTHING, candidates, n, why);
    pthread_mutex_unlock(&picker->lock);
    return at;
}

void sr_pool_picker_placed(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                           const struct sr_pool_ask *ask, struct sr_pool_placement *placement)
{
    if (!picker->ops->placed)
        return;
    pthread_mutex_lock(&picker->lock);
    picker->ops->placed(picker->state, seat->state, seat->slot, ask ? ask : &NOTHING, placement);
    pthread_mutex_unlock(&picker->lock);
    size_t left = ask && picker->ops->note ? ask->n_blocks : 0;
    while (left > 0) {
        pthread_mutex_lock(&picker->lock);
        left = picker->ops->note(picker->state, seat->state, seat->slot, ask, left);
        pthread_mutex_unlock(&picker->lock);
    }
}

static void step(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                 struct sr_pool_placement *placement,
                 void (*fn)(void *state, void *seat, struct sr_pool_placement *placement))
{
    if (!fn)
        return;
    pthread_mutex_lock(&picker->lock);
    fn(picker->state, seat->state, placement);
    pthread_mutex_unlock(&picker->lock);
}

void sr_pool_picker_answered(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                             struct sr_pool_placement *placement)
{
    step(picker, seat, placement, picker->ops->answered);
}

void sr_pool_picker_ended(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                          struct sr_pool_placement *placement)
{
    step(picker, seat, placement, picker->ops->ended);
}

void sr_pool_picker_event(struct sr_pool_picker *picker, const struct sr_pool_worker *worker,
                          const struct sr_pool_kv_event *event)
{
    if (!picker->ops->event)
        return;
    if (event->kind == SR_POOL_KV_STORED)
        atomic_store_explicit(&picker->kv_block, event->block_size, memory_order_relaxed);
    pthread_mutex_lock(&picker->lock);
    struct sr_pool_seat *seat = seat_of(picker, worker);
    if (seat)
        picker->ops->event(picker->state, seat->state, seat->slot, event);
    pthread_mutex_unlock(&picker->lock);
}
