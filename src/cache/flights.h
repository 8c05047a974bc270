/*
 * Identical requests at the same time: one leads and asks upstream, the others wait for it.
 *
 * A flight is in the table from the first lookup that misses until its leader lands. A leader has a lease:
 * when it has ended, the next request with the key leads a new flight. Knows no record and no task; a waiter
 * belongs to its lookup. Thread-safe; calls no function of others.
 */
#ifndef SR_CACHE_FLIGHTS_H
#define SR_CACHE_FLIGHTS_H

#include "cache/heap.h"
#include "cache/keymap.h"

#include <pthread.h>

struct sr_cache_flight;

/* One of a lookup: who may end it. All zeros at first; private to this file and its source. */
struct sr_waiter {
    struct sr_waiter *next, *before;
    struct sr_cache_flight *flight; /* it waits for this */
    struct sr_heap_place deadline;
    bool claimed;
};

struct sr_flights {
    pthread_mutex_t lock;
    pthread_cond_t earlier; /* the first deadline is another one, or it stops */
    struct sr_keymap map;
    struct sr_heap deadlines; /* of those that wait */
    size_t waiting;
    bool stopping, woken;
};

/* SR_ENOMEM; nothing is left to be disposed then. */
int sr_flights_init(struct sr_flights *flights) SR_WARN_UNUSED;
/* Frees flights that never landed; none waits. */
void sr_flights_dispose(struct sr_flights *flights);

enum sr_flights_place {
    SR_FLIGHTS_LEADS,   /* of the flight in *lead; claimed */
    SR_FLIGHTS_WAITS,   /* the thread that claims or pops the waiter ends its lookup */
    SR_FLIGHTS_ALONE,   /* another leads and it may not wait, or out of memory; claimed */
    SR_FLIGHTS_CLAIMED, /* another thread has claimed it before */
};

/* deadline_ns: until when it may wait, on the monotonic clock. */
enum sr_flights_place sr_flights_join(struct sr_flights *flights, const struct sr_cache_key *key,
                                      struct sr_waiter *waiter, uint64_t deadline_ns,
                                      struct sr_cache_flight **lead);

/* True for the first call for a waiter that was not popped: the caller ends its lookup. */
bool sr_flights_claim(struct sr_flights *flights, struct sr_waiter *waiter);

/* No waiter joins this flight any more. */
void sr_flights_close(struct sr_flights *flights, struct sr_cache_flight *flight);

/* The next waiter, claimed for the caller, with a new lease of the flight. NULL: no lookup waits; then the
 * flight is freed. */
struct sr_waiter *sr_flights_pop(struct sr_flights *flights, struct sr_cache_flight *flight);

/* Blocks until a waiter's deadline has passed: *out is that waiter, claimed for the caller; or until
 * `until_ns` or sr_flights_wake: *out is NULL. False: stopped. For one thread. */
bool sr_flights_await(struct sr_flights *flights, uint64_t until_ns, struct sr_waiter **out);
void sr_flights_wake(struct sr_flights *flights);
void sr_flights_stop(struct sr_flights *flights);

size_t sr_flights_waiting(struct sr_flights *flights);

#endif
