/*
 * How late an event loop is: a timer that measures how much later than asked it fires.
 *
 * An idle loop is up to a millisecond late, the resolution of its timers. More is work that did not yield, or
 * a machine without a core to spare.
 */
#ifndef SR_SERVE_PROCESS_LAG_H
#define SR_SERVE_PROCESS_LAG_H

#include "net/loop/loop.h"
#include "observe/metrics.h"

struct sr_loop_lag {
    struct sr_metrics *metrics;
    struct sr_timer timer;
    uint64_t due_ns;
};

/* Measures from now on, on the loop's thread; before it runs. `metrics` must outlive the loop. */
void sr_loop_lag_start(struct sr_loop_lag *lag, struct sr_loop *loop, struct sr_metrics *metrics);

/* After the loop has stopped; harmless when it was not started. */
void sr_loop_lag_stop(struct sr_loop_lag *lag);

#endif
