/* Moving means. Two threads may lose each other's note, which does not matter. */
#include "pool/pace.h"

#include "pool/clock.h"

#include <string.h>

#define SMOOTH_WORKER 0.125
#define SMOOTH_GROUP  0.02
#define TIMES_MAX     8.0 /* of one request */

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

void sr_pace_note(struct sr_pool_group *group, struct sr_pool_worker *worker, uint64_t took_ns)
{
    double took = (double)took_ns, usual = load_double(&group->usual_ns);
    if (usual <= 0)
        usual = took;
    store_double(&group->usual_ns, usual + (took - usual) * SMOOTH_GROUP);
    if (usual < (double)SR_PACE_LEAST_NS)
        return;
    double times = took / usual, before = load_double(&worker->pace);
    times = times < TIMES_MAX ? times : TIMES_MAX;
    before = before > 0 ? before : 1;
    store_double(&worker->pace, before + (times - before) * SMOOTH_WORKER);
    atomic_store_explicit(&worker->paced_ns, sr_pool_clock_ns(), memory_order_relaxed);
}

double sr_pace_of(const struct sr_pool_worker *worker)
{
    double pace = load_double(&worker->pace);
    if (pace < SR_PACE_SLOW)
        return 1;
    uint64_t age = sr_pool_clock_ns() - atomic_load_explicit(&worker->paced_ns, memory_order_relaxed);
    if (age >= SR_PACE_HOLD_NS)
        return 1;
    return 1 + (pace - 1) * (1 - (double)age / (double)SR_PACE_HOLD_NS);
}
