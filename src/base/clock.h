/* Time: a monotonic clock for durations, the wall clock for timestamps. */
#ifndef SR_BASE_CLOCK_H
#define SR_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define SR_NS_PER_US UINT64_C(1000)
#define SR_NS_PER_MS UINT64_C(1000000)
#define SR_NS_PER_S  UINT64_C(1000000000)

static inline uint64_t sr_clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * SR_NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Nanoseconds since 1970. */
static inline uint64_t sr_clock_wall_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (uint64_t)ts.tv_sec * SR_NS_PER_S + (uint64_t)ts.tv_nsec;
}

#endif
