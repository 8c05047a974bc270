/* Opens the circuit of a worker that fails, and closes it again. */
#include "pool/circuit.h"

#include "pool/clock.h"

/* Stores 0 only where something else is, so that the cache line stays shared between loops. */
#define CLEAR(counter)                                                                                       \
    do {                                                                                                     \
        if (atomic_load_explicit(counter, memory_order_relaxed) != 0)                                        \
            atomic_store_explicit(counter, 0, memory_order_relaxed);                                         \
    } while (0)

bool sr_circuit_is_cooling(const struct sr_pool_worker *worker, uint64_t now_ns)
{
    return atomic_load_explicit(&worker->cooldown_until_ns, memory_order_relaxed) > now_ns ||
           atomic_load_explicit(&worker->down, memory_order_relaxed);
}

bool sr_circuit_is_open(const struct sr_pool_worker *worker, uint64_t now_ns)
{
    return sr_circuit_is_cooling(worker, now_ns) ||
           (atomic_load_explicit(&worker->half_open, memory_order_relaxed) &&
            atomic_load_explicit(&worker->trial, memory_order_relaxed));
}

bool sr_circuit_is_ejected(const struct sr_pool_worker *worker, uint64_t now_ns)
{
    return atomic_load_explicit(&worker->ejected_until_ns, memory_order_relaxed) > now_ns ||
           atomic_load_explicit(&worker->down, memory_order_relaxed);
}

bool sr_circuit_enter(struct sr_pool_worker *worker, bool *trial)
{
    bool none = false;
    *trial = false;
    if (!atomic_load_explicit(&worker->half_open, memory_order_relaxed))
        return true;
    *trial = atomic_compare_exchange_strong(&worker->trial, &none, true);
    return *trial;
}

void sr_circuit_end_trial(struct sr_pool_worker *worker)
{
    atomic_store(&worker->trial, false);
}

static void open_for(struct sr_pool_worker *worker, uint64_t ns)
{
    atomic_store_explicit(&worker->cooldown_until_ns, sr_pool_clock_ns() + ns, memory_order_relaxed);
    atomic_store_explicit(&worker->half_open, true, memory_order_relaxed);
}

void sr_circuit_cool(struct sr_pool_worker *worker, uint64_t ns)
{
    open_for(worker, ns < SR_POOL_COOLDOWN_MAX_NS ? ns : SR_POOL_COOLDOWN_MAX_NS);
}

static void eject_for(struct sr_pool_worker *worker, uint64_t ns)
{
    open_for(worker, ns);
    atomic_store_explicit(&worker->ejected_until_ns, sr_pool_clock_ns() + ns, memory_order_relaxed);
}

/* One that closes its listener may still finish what it has; one that stays away does not. */
void sr_circuit_unreachable(struct sr_pool_worker *worker)
{
    uint32_t row = atomic_fetch_add_explicit(&worker->unreachable, 1, memory_order_relaxed);
    uint64_t ns = SR_POOL_COOLDOWN_NS << (row < 4 ? row : 4);
    ns = ns < SR_POOL_COOLDOWN_MAX_NS ? ns : SR_POOL_COOLDOWN_MAX_NS;
    (row > 0 ? eject_for : open_for)(worker, ns);
}

void sr_circuit_failed(struct sr_pool_worker *worker, const struct sr_pool_ejection *ejection, bool may_eject)
{
    uint32_t row = atomic_fetch_add_explicit(&worker->failures, 1, memory_order_relaxed) + 1;
    bool trial = atomic_load_explicit(&worker->trial, memory_order_relaxed);
    if (!ejection->failures || (row < ejection->failures && !trial) || !may_eject)
        return;
    atomic_store_explicit(&worker->failures, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&worker->ejected, 1, memory_order_relaxed);
    uint64_t times = atomic_fetch_add_explicit(&worker->ejections, 1, memory_order_relaxed) + 1;
    eject_for(worker, ejection->base_ns * (times < 10 ? times : 10));
}

void sr_circuit_reached(struct sr_pool_worker *worker)
{
    CLEAR(&worker->unreachable);
}

void sr_circuit_well(struct sr_pool_worker *worker)
{
    CLEAR(&worker->failures);
    CLEAR(&worker->ejections);
    CLEAR(&worker->cooldown_until_ns);
    CLEAR(&worker->ejected_until_ns);
    CLEAR(&worker->half_open);
}
