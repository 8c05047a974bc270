/* Rings of the latest times; a percentile sorts a copy of those that are young enough. */
#include "pool/tally.h"

#include "base/clock.h"
#include "base/mem.h"
#include "pool/policy.h"
#include "pool/private.h"
#include "pool/roster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ring {
    uint64_t at_ns[SR_TALLY_TIMES];
    float ms[SR_TALLY_TIMES];
    size_t n; /* ever noted */
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

void sr_pool_tally_note(struct sr_pool_tally *tally, enum sr_tally_time kind, double ms)
{
    if (!tally || !isfinite(ms) || ms < 0)
        return;
    pthread_mutex_lock(&tally->lock);
    struct ring *ring = &tally->rings[kind];
    size_t at = ring->n++ % SR_TALLY_TIMES;
    ring->at_ns[at] = sr_clock_ns();
    ring->ms[at] = (float)ms;
    pthread_mutex_unlock(&tally->lock);
}

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

bool sr_pool_tally_percentile(struct sr_pool_tally *tally, enum sr_tally_time kind, int percentile,
                              double *ms)
{
    float young[SR_TALLY_TIMES];
    size_t n = 0;
    uint64_t now = sr_clock_ns();
    if (!tally || percentile < 1)
        return false;
    pthread_mutex_lock(&tally->lock);
    const struct ring *ring = &tally->rings[kind];
    size_t kept = ring->n < SR_TALLY_TIMES ? ring->n : SR_TALLY_TIMES;
    for (size_t i = 0; i < kept; i++)
        if (now < ring->at_ns[i] + SR_TALLY_AGE_NS)
            young[n++] = ring->ms[i];
    pthread_mutex_unlock(&tally->lock);
    if (n == 0)
        return false;
    qsort(young, n, sizeof young[0], by_size);
    size_t rank = (n * (size_t)(percentile < 100 ? percentile : 100) + 99) / 100;
    *ms = (double)young[rank ? rank - 1 : 0];
    return true;
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
