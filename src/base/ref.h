/*
 * Reference counts for objects that several threads share: snapshots, models, cache entries, job inputs.
 *
 * Embed `struct sr_ref` in the object. The last unref returns true and the caller frees the object; writes
 * before an unref on any thread are visible to the thread that frees.
 */
#ifndef SR_BASE_REF_H
#define SR_BASE_REF_H

#include <stdatomic.h>
#include <stdbool.h>

struct sr_ref {
    atomic_int count;
};

static inline void sr_ref_init(struct sr_ref *ref)
{
    atomic_init(&ref->count, 1);
}

static inline void sr_ref_get(struct sr_ref *ref)
{
    atomic_fetch_add_explicit(&ref->count, 1, memory_order_relaxed);
}

/* True when this was the last reference. */
static inline bool sr_ref_put(struct sr_ref *ref)
{
    return atomic_fetch_sub_explicit(&ref->count, 1, memory_order_acq_rel) == 1;
}

#endif
