/* One timer a loop, armed again each time it fires. */
#include "serve/process/lag.h"

#include "base/clock.h"

#define EVERY_MS 500

static void arm(struct sr_loop_lag *lag)
{
    lag->due_ns = sr_clock_ns() + EVERY_MS * SR_NS_PER_MS;
    sr_timer_start(&lag->timer, EVERY_MS);
}

static void fired(void *ctx)
{
    struct sr_loop_lag *lag = ctx;
    uint64_t now = sr_clock_ns(), late = now > lag->due_ns ? now - lag->due_ns : 0;
    sr_metrics_add(lag->metrics, SR_METRIC_LOOP_LAG, (double)late / (double)SR_NS_PER_S, NULL);
    arm(lag);
}

void sr_loop_lag_start(struct sr_loop_lag *lag, struct sr_loop *loop, struct sr_metrics *metrics)
{
    lag->metrics = metrics;
    sr_timer_init(&lag->timer, loop, fired, lag);
    arm(lag);
}

void sr_loop_lag_stop(struct sr_loop_lag *lag)
{
    sr_timer_stop(&lag->timer);
}
