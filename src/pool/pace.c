/*
 * The requests that wait are one number, so that a reader sees their count and their times together: the
 * count in the low bits, above it the sum of the microseconds at which they began, modulo 2^48. Of means two
 * threads may lose each other's note, which does not matter.
 */
#include "pool/pace.h"

#include <math.h>
#include <string.h>

#define COUNT_BITS 16
#define KEEP       (1 - 1.0 / SR_PACE_WINDOW)
#define NS_PER_US  1000u
#define RATE_NS    10e9 /* time in which a request counts a third */
#define AFRESH     4    /* requests for which a forgotten past counts */

static double load_double(const _Atomic uint64_t *cell)
{
    uint64_t bits = atomic_load_explicit(cell, memory_order_relaxed);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void store_double(_Atomic uint64_t *cell, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    atomic_store_explicit(cell, bits, memory_order_relaxed);
}

static uint64_t entry_of(uint64_t began_ns)
{
    return (began_ns / NS_PER_US << COUNT_BITS) + 1;
}

void sr_pace_begin(struct sr_pool_pace *pace, uint64_t began_ns)
{
    atomic_fetch_add_explicit(&pace->waiting, entry_of(began_ns), memory_order_relaxed);
    atomic_fetch_add_explicit(&pace->begun, 1, memory_order_relaxed);
}

/* Times far over the usual say little more. */
static double clip(double ms, double usual_ms)
{
    double most = usual_ms * SR_PACE_TIMES_MAX;
    return usual_ms > 0 && ms > most ? most : ms;
}

void sr_pace_end(struct sr_pool_pace *pace, uint64_t began_ns, uint64_t now_ns, bool counts, double usual_ms)
{
    atomic_fetch_sub_explicit(&pace->waiting, entry_of(began_ns), memory_order_relaxed);
    if (!counts)
        return;
    double took = clip((double)(now_ns - began_ns) / 1e6, usual_ms);
    store_double(&pace->spent, load_double(&pace->spent) * KEEP + took);
    store_double(&pace->ended, load_double(&pace->ended) * KEEP + 1);
}

double sr_pace_rate(struct sr_pool_pace *pace, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - atomic_exchange_explicit(&pace->rated_ns, now_ns, memory_order_relaxed);
    uint64_t begun = atomic_load_explicit(&pace->begun, memory_order_relaxed);
    uint64_t before = atomic_exchange_explicit(&pace->counted, begun, memory_order_relaxed);
    double rate = load_double(&pace->rate) * exp(-(double)passed_ns / RATE_NS) + (double)(begun - before);
    store_double(&pace->rate, rate);
    return rate;
}

void sr_pace_reset(struct sr_pool_pace *pace, double usual_ms)
{
    store_double(&pace->spent, usual_ms * AFRESH);
    store_double(&pace->ended, AFRESH);
}

double sr_pace_mean(const struct sr_pool_pace *pace, uint64_t now_ns, double usual_ms, double *weight)
{
    uint64_t waiting = atomic_load_explicit(&pace->waiting, memory_order_relaxed);
    uint64_t n = waiting & ((1u << COUNT_BITS) - 1);
    uint64_t sum = n * (now_ns / NS_PER_US) - (waiting >> COUNT_BITS);
    double wait = (double)(sum << COUNT_BITS >> COUNT_BITS) / 1e3, ended = load_double(&pace->ended);
    wait = clip(wait, usual_ms * (double)n);
    *weight = ended + (double)n;
    return (load_double(&pace->spent) + wait) / (ended > 1 ? ended : 1);
}
