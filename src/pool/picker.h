/*
 * One picking policy at work: its state, and a seat for each worker that it may choose.
 *
 * Counted: the groups of one name share it over reloads, as long as the policy and its settings stay the
 * same, so that requests which began before a reload end in the same state. A worker has one seat, in
 * however many members it stands. The lock of a picker is taken last.
 */
#ifndef SR_POOL_PICKER_H
#define SR_POOL_PICKER_H

#include "base/err.h"
#include "pool/pace.h"
#include "pool/policy.h"

#include <pthread.h>

#define SR_POOL_SEAT_BUCKETS 256

struct sr_pool_worker;

struct sr_pool_seat {
    struct sr_pool_seat *next;           /* in its bucket */
    const struct sr_pool_worker *worker; /* a member that holds the seat holds it */
    uint32_t slot;
    struct sr_pool_pace paces[SR_POOL_TIMES];
    size_t refs; /* guarded by the picker's lock */
    _Alignas(max_align_t) unsigned char state[];
};

struct sr_pool_picker {
    const struct sr_pool_policy_ops *ops;
    struct sr_pool_settings settings;
    pthread_mutex_t lock;
    size_t refs;               /* guarded by the lock */
    _Atomic uint32_t kv_block; /* tokens of a block of its workers' events; 0: none has come */
    void *state;
    struct sr_pool_seat **seats; /* [n_slots], by slot; NULL: free */
    size_t n_slots, first_free;  /* no slot below is free */
    struct sr_pool_seat *buckets[SR_POOL_SEAT_BUCKETS];
};

/* SR_ENOMEM. */
int sr_pool_picker_new(struct sr_pool_picker **out, const struct sr_pool_policy_ops *ops,
                       const struct sr_pool_settings *settings) SR_WARN_UNUSED;
struct sr_pool_picker *sr_pool_picker_ref(struct sr_pool_picker *picker);
void sr_pool_picker_unref(struct sr_pool_picker *picker); /* NULL is allowed */

/* Would a new picker of this policy and these settings be the same? */
bool sr_pool_picker_is(const struct sr_pool_picker *picker, const struct sr_pool_policy_ops *ops,
                       const struct sr_pool_settings *settings);

/* A reference to the worker's seat, which is made if there is none. NULL: out of memory. */
struct sr_pool_seat *sr_pool_seat_get(struct sr_pool_picker *picker, const struct sr_pool_worker *worker);
void sr_pool_seat_put(struct sr_pool_picker *picker, struct sr_pool_seat *seat); /* NULL is allowed */

/* As in struct sr_pool_policy_ops; these take the lock. `ask` NULL: nothing is known of the request. */
size_t sr_pool_picker_choose(struct sr_pool_picker *picker, const struct sr_pool_ask *ask,
                             const struct sr_pool_candidate *candidates, size_t n, struct sr_pool_why *why);
void sr_pool_picker_placed(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                           const struct sr_pool_ask *ask, struct sr_pool_placement *placement);
void sr_pool_picker_answered(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                             struct sr_pool_placement *placement);
void sr_pool_picker_ended(struct sr_pool_picker *picker, struct sr_pool_seat *seat,
                          struct sr_pool_placement *placement);

/* Tells the policy of an event of this worker, if it has a seat. */
void sr_pool_picker_event(struct sr_pool_picker *picker, const struct sr_pool_worker *worker,
                          const struct sr_pool_kv_event *event);

#endif
