/* One lock for all flights; what is done under it is short. */
#include "cache/flights.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cache/cache.h"

struct sr_cache_flight {
    struct sr_keymap_node node;
    struct sr_cache_key key;
    struct sr_waiter *first, *last;
    uint64_t lease_ns; /* when it ends */
    bool open;         /* in the table */
};

static struct sr_cache_flight *flight_of(struct sr_keymap_node *node)
{
    return node ? (struct sr_cache_flight *)((char *)node - offsetof(struct sr_cache_flight, node)) : NULL;
}

int sr_flights_init(struct sr_flights *flights)
{
    uint64_t seed = 0;
    if (sr_random(&seed, sizeof seed) != SR_OK)
        seed = sr_clock_ns();
    *flights = (struct sr_flights){0};
    int rc = sr_keymap_init(&flights->map, seed);
    if (rc)
        return rc;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&flights->earlier, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&flights->lock, NULL);
    return SR_OK;
}

void sr_flights_dispose(struct sr_flights *flights)
{
    for (size_t b = 0; b < flights->map.buckets; b++)
        for (struct sr_keymap_node *next, *node = sr_keymap_bucket(&flights->map, b); node; node = next) {
            next = node->next;
            sr_mem_free(flight_of(node));
        }
    sr_keymap_dispose(&flights->map);
    sr_heap_dispose(&flights->deadlines);
    pthread_cond_destroy(&flights->earlier);
    pthread_mutex_destroy(&flights->lock);
}

static uint64_t lease(void)
{
    return sr_clock_ns() + SR_CACHE_LEASE_S * SR_NS_PER_S;
}

static void leave_table(struct sr_flights *flights, struct sr_cache_flight *flight)
{
    if (flight->open)
        sr_keymap_remove(&flights->map, &flight->node);
    flight->open = false;
}

/* Takes a waiter off its flight's list. */
static void unlist(struct sr_flights *flights, struct sr_waiter *waiter)
{
    struct sr_cache_flight *flight = waiter->flight;
    *(waiter->before ? &waiter->before->next : &flight->first) = waiter->next;
    *(waiter->next ? &waiter->next->before : &flight->last) = waiter->before;
    waiter->flight = NULL;
    sr_heap_remove(&flights->deadlines, &waiter->deadline);
    flights->waiting--;
}

static void list(struct sr_flights *flights, struct sr_cache_flight *flight, struct sr_waiter *waiter,
                 uint64_t deadline_ns)
{
    uint64_t first;
    waiter->flight = flight;
    waiter->next = NULL;
    waiter->before = flight->last;
    *(flight->last ? &flight->last->next : &flight->first) = waiter;
    flight->last = waiter;
    flights->waiting++;
    sr_heap_set(&flights->deadlines, &waiter->deadline, deadline_ns);
    if (sr_heap_first(&flights->deadlines, &first) == &waiter->deadline)
        pthread_cond_signal(&flights->earlier);
}

enum sr_flights_place sr_flights_join(struct sr_flights *flights, const struct sr_cache_key *key,
                                      struct sr_waiter *waiter, uint64_t deadline_ns,
                                      struct sr_cache_flight **lead)
{
    struct sr_cache_flight *made = sr_mem_calloc(1, sizeof *made);
    enum sr_flights_place place = made ? SR_FLIGHTS_LEADS : SR_FLIGHTS_ALONE;
    pthread_mutex_lock(&flights->lock);
    struct sr_cache_flight *flight = flight_of(sr_keymap_find(&flights->map, key));
    uint64_t now = sr_clock_ns();
    bool led = flight && now < flight->lease_ns;
    if (waiter->claimed)
        place = SR_FLIGHTS_CLAIMED;
    else if (led)
        place = deadline_ns > now && !sr_heap_reserve(&flights->deadlines, flights->waiting + 1)
                    ? SR_FLIGHTS_WAITS
                    : SR_FLIGHTS_ALONE;
    if (place == SR_FLIGHTS_WAITS) {
        list(flights, flight, waiter, deadline_ns);
    } else if (place == SR_FLIGHTS_LEADS) {
        if (flight)
            leave_table(flights, flight); /* its leader is lost or late */
        *made = (struct sr_cache_flight){.key = *key, .open = true, .lease_ns = lease()};
        made->node.key = &made->key;
        sr_keymap_insert(&flights->map, &made->node);
        *lead = made;
        made = NULL;
    }
    waiter->claimed = place != SR_FLIGHTS_WAITS;
    pthread_mutex_unlock(&flights->lock);
    sr_mem_free(made);
    return place;
}

bool sr_flights_claim(struct sr_flights *flights, struct sr_waiter *waiter)
{
    pthread_mutex_lock(&flights->lock);
    bool first = !waiter->claimed;
    waiter->claimed = true;
    if (first && waiter->flight)
        unlist(flights, waiter);
    pthread_mutex_unlock(&flights->lock);
    return first;
}

void sr_flights_close(struct sr_flights *flights, struct sr_cache_flight *flight)
{
    pthread_mutex_lock(&flights->lock);
    leave_table(flights, flight);
    pthread_mutex_unlock(&flights->lock);
}

struct sr_waiter *sr_flights_pop(struct sr_flights *flights, struct sr_cache_flight *flight)
{
    pthread_mutex_lock(&flights->lock);
    struct sr_waiter *waiter = flight->first;
    if (waiter) {
        unlist(flights, waiter);
        waiter->claimed = true;
        flight->lease_ns = lease();
    } else {
        leave_table(flights, flight);
        sr_keymap_shrink(&flights->map);
    }
    pthread_mutex_unlock(&flights->lock);
    if (!waiter)
        sr_mem_free(flight);
    return waiter;
}

bool sr_flights_await(struct sr_flights *flights, uint64_t until_ns, struct sr_waiter **out)
{
    *out = NULL;
    pthread_mutex_lock(&flights->lock);
    while (!flights->stopping && !*out) {
        uint64_t first = UINT64_MAX, now = sr_clock_ns();
        struct sr_heap_place *place = sr_heap_first(&flights->deadlines, &first);
        if (place && first <= now) {
            *out = (struct sr_waiter *)((char *)place - offsetof(struct sr_waiter, deadline));
            (*out)->claimed = true;
            unlist(flights, *out);
        } else if (until_ns <= now || flights->woken) {
            flights->woken = false;
            break;
        } else {
            uint64_t at = first < until_ns ? first : until_ns;
            struct timespec when = {(time_t)(at / SR_NS_PER_S), (long)(at % SR_NS_PER_S)};
            pthread_cond_timedwait(&flights->earlier, &flights->lock, &when);
        }
    }
    bool goes_on = !flights->stopping;
    pthread_mutex_unlock(&flights->lock);
    return goes_on;
}

void sr_flights_wake(struct sr_flights *flights)
{
    pthread_mutex_lock(&flights->lock);
    flights->woken = true;
    pthread_cond_signal(&flights->earlier);
    pthread_mutex_unlock(&flights->lock);
}

void sr_flights_stop(struct sr_flights *flights)
{
    pthread_mutex_lock(&flights->lock);
    flights->stopping = true;
    pthread_cond_signal(&flights->earlier);
    pthread_mutex_unlock(&flights->lock);
}

size_t sr_flights_waiting(struct sr_flights *flights)
{
    pthread_mutex_lock(&flights->lock);
    size_t n = flights->waiting;
    pthread_mutex_unlock(&flights->lock);
    return n;
}
