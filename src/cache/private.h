/* What the cache is made of; for the sources of this folder. */
#ifndef SR_CACHE_PRIVATE_H
#define SR_CACHE_PRIVATE_H

#include "cache/backing.h"
#include "cache/cache.h"
#include "cache/flights.h"
#include "cache/memory.h"

struct sr_removal;

struct sr_cache {
    struct sr_memory memory;
    struct sr_flights flights;
    struct sr_backing backing;
    /* Removals so far: what a backend was asked for before the latest one is not used. */
    atomic_uint_least64_t removals;
    atomic_uint_least64_t exact_hits, semantic_hits, misses, joined;
    atomic_uint_least64_t rejected[SR_CACHE_REASONS];
    pthread_t keeper; /* keeps deadlines, frees what has expired, removes what other processes have removed */
    pthread_mutex_t removing; /* of the list; the first one is in progress */
    struct sr_removal *first, **last;
    size_t pending;
};

/* Ends the lookup of a waiter that the caller has claimed: a miss. */
void sr_lookup_overdue(struct sr_waiter *waiter);

#endif
