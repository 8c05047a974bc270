/* A simulated time, where one is set. */
#include "pool/clock.h"

#include "base/clock.h"

#include <stdatomic.h>

static _Atomic uint64_t simulated;

uint64_t sr_pool_clock_ns(void)
{
    uint64_t now = atomic_load_explicit(&simulated, memory_order_relaxed);
    return now ? now : sr_clock_ns();
}

void sr_pool_clock_set(uint64_t now_ns)
{
    atomic_store_explicit(&simulated, now_ns, memory_order_relaxed);
}
