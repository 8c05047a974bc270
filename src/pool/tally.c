/* The latest times twice: in the order in which they came, and sorted, so that a percentile is one look. A
 * new time takes the oldest one's place in both. */
#include "pool/tally.h"

#include "base/mem.h"
#include "pool/clock.h"
#include "pool/policy.h"
#include "pool/private.h"
#include "pool/roster.h"

#include <math.h>
#include <string.h>

struct ring {
    uint64_t at_ns[SR_TALLY_TIMES];
    float ms[SR_TALLY_TIMES];
    float sorted[SR_TALLY_TIMES];
    size_t first, n; /* the oldest, and how many there are */
};

struct sr_pool_tally {
    struct sr_pool_tally *next; /* in the pool's list, which only grows */
    _Atomic uint32_t in_flight;
    pthread_mutex_t lock; /* protects the rings */
    struct ring rings[SR_TALLY_KINDS];
    char name[];
};

static struct sr_pool_tally *tally_new(const char *name)
{
    size_t n = strlen(name);
    struct sr_pool_tally *tally = sr_mem_calloc(1, sizeof *tally + n + 1);
    if (tally) {
        memcpy(tally->name, name, n);
        pthread_mutex_init(&tally->lock, NULL);
    }
    return tally;
}

struct sr_pool_tally *sr_pool_tally_get(struct sr_pool *pool, const char *name)
{
    pthread_mutex_lock(&pool->lock);
    struct sr_pool_tally *tally = pool->tallies;
    while (tally && strcmp(tally->name, name) != 0)
        tally = tally->next;
    if (!tally && pool->n_tallies < SR_TALLY_MAX && (tally = tally_new(name)) != NULL) {
        tally->next = pool->tallies;
        pool->tallies = tally;
        pool->n_tallies++;
    }
    pthread_mutex_unlock(&pool->lock);
    return tally;
}

void sr_pool_tallies_free(struct sr_pool *pool)
{
    for (struct sr_pool_tally *tally = pool->tallies, *next; tally; tally = next) {
        next = tally->next;
        pthread_mutex_destroy(&tally->lock);
        sr_mem_free(tally);
    }
    pool->tallies = NULL;
}

void sr_pool_tally_begin(struct sr_pool_tally *tally)
{
    if (tally)
        atomic_fetch_add_explicit(&tally->in_flight, 1, memory_order_relaxed);
}

void sr_pool_tally_end(struct sr_pool_tally *tally)
{
    if (tally)
        atomic_fetch_sub_explicit(&tally->in_flight, 1, memory_order_relaxed);
}

uint32_t sr_pool_tally_in_flight(const struct sr_pool_tally *tally)
{
    return tally ? atomic_load_explicit(&tally->in_flight, memory_order_relaxed) : 0;
}

/* Where a time stands among the sorted ones, or would stand: before the first that is not less. */
static size_t place_of(const struct ring *ring, float ms)
{
    size_t low = 0, high = ring->n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (ring->sorted[middle] < ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void drop_oldest(struct ring *ring)
{
    size_t at = place_of(ring, ring->ms[ring->first]);
    memmove(ring->sorted + at, ring->sorted + at + 1, (ring->n - at - 1) * sizeof ring->sorted[0]);
    ring->first = (ring->first + 1) % SR_TALLY_TIMES;
    ring->n--;
}

static void drop_aged(struct ring *ring, uint64_t now)
{
    while (ring->n && now >= ring->at_ns[ring->first] + SR_TALLY_AGE_NS)
        drop_oldest(ring);
}

void sr_pool_tally_note(struct sr_pool_tally *tally, enum sr_tally_time kind, double ms)
{
    uint64_t now = sr_pool_clock_ns();
    if (!tally || !isfinite(ms) || ms < 0)
        return;
    pthread_mutex_lock(&tally->lock);
    struct ring *ring = &tally->rings[kind];
    if (ring->n == SR_TALLY_TIMES)
        drop_oldest(ring);
    size_t last = (ring->first + ring->n) % SR_TALLY_TIMES, at = place_of(ring, (float)ms);
    ring->at_ns[last] = now;
    ring->ms[last] = (float)ms;
    memmove(ring->sorted + at + 1, ring->sorted + at, (ring->n - at) * sizeof ring->sorted[0]);
    ring->sorted[at] = (float)ms;
    ring->n++;
    pthread_mutex_unlock(&tally->lock);
}

bool sr_pool_tally_percentile(struct sr_pool_tally *tally, enum sr_tally_time kind, int percentile,
                              double *ms)
{
    if (!tally || percentile < 1)
        return false;
    pthread_mutex_lock(&tally->lock);
    struct ring *ring = &tally->rings[kind];
    drop_aged(ring, sr_pool_clock_ns());
    size_t n = ring->n, rank = (n * (size_t)(percentile < 100 ? percentile : 100) + 99) / 100;
    if (n)
        *ms = (double)ring->sorted[rank ? rank - 1 : 0];
    pthread_mutex_unlock(&tally->lock);
    return n > 0;
}

double sr_pool_group_reported(struct sr_pool_group *group)
{
    double sum = 0;
    if (!group)
        return 0;
    struct sr_pool_roster *roster = sr_roster_ref(group);
    for (size_t i = 0; i < roster->n; i++)
        sum += sr_pool_member_reported(roster->members[i]);
    sr_roster_unref(group, roster);
    return sum;
}
