/* What checks say of a worker, and when the pool is told. */
#include "serve/gateway/health.h"

#include "base/log.h"
#include "base/mem.h"
#include "router/runtime.h"
#include "serve/gateway/poll.h"

#include <stdio.h>

struct sr_health {
    sr_runtime *runtime;
    struct sr_poll *poll;
};

/* Of one worker. */
struct check {
    unsigned failures; /* in a row */
    bool down;
};

static bool asks(const struct sr_config_model *model, const struct sr_config_pool *pool,
                 struct sr_poll_question *out)
{
    const struct sr_config_reliability *reliability = &model->reliability;
    (void)pool;
    *out = (struct sr_poll_question){.path = reliability->health_check_path,
                                     .below_base = true,
                                     .interval_ms = (uint32_t)reliability->health_check_interval_ms,
                                     .timeout_ms = (uint32_t)reliability->health_check_timeout_ms};
    return out->path[0] != '\0';
}

static void tell(struct sr_health *health, const struct sr_polled *polled, bool down)
{
    if (sr_pool_set_down(sr_runtime_pool(health->runtime), &polled->worker, down) != SR_OK)
        sr_log(SR_LOG_WARN, "health", "out of memory: %s:%d stays as it was", polled->worker.host,
               polled->worker.port);
}

static void begins(void *ctx, struct sr_polled *polled)
{
    (void)ctx;
    (void)polled;
}

static void on_body(void *ctx, struct sr_polled *polled, struct sr_bytes slice)
{
    (void)ctx;
    (void)polled;
    (void)slice;
}

static void answered(void *ctx, struct sr_polled *polled, const char *failure)
{
    struct check *check = polled->state;
    bool good = !failure && polled->status >= 200 && polled->status < 400;
    check->failures = good ? 0 : check->failures + 1;
    bool down = good ? false : check->down || check->failures >= SR_HEALTH_FAILURES;
    if (down == check->down)
        return;
    char why[32];
    snprintf(why, sizeof why, "status %d", polled->status);
    sr_log(down ? SR_LOG_WARN : SR_LOG_INFO, "health", "model %s, %s:%d is %s: GET %s: %s", polled->model,
           polled->worker.host, polled->worker.port, down ? "down" : "up", polled->question.path,
           failure ? failure : why);
    check->down = down;
    tell(ctx, polled, down);
}

/* A worker that is not checked counts as up. */
static void gone(void *ctx, struct sr_polled *polled)
{
    const struct check *check = polled->state;
    if (check->down)
        tell(ctx, polled, false);
}

static const struct sr_poll_ops OPS = {
    .name = "health",
    .state_bytes = sizeof(struct check),
    .asks = asks,
    .begins = begins,
    .body = on_body,
    .answered = answered,
    .gone = gone,
};

int sr_health_configure(struct sr_health *health, const struct sr_config *config)
{
    return sr_poll_configure(health->poll, config);
}

int sr_health_new(struct sr_health **out, struct sr_loop *loop, struct sr_client *client, sr_runtime *runtime,
                  struct sr_upstream_tls *tls)
{
    struct sr_health *health = sr_mem_calloc(1, sizeof *health);
    *out = health;
    if (!health)
        return SR_ENOMEM;
    health->runtime = runtime;
    int rc = sr_poll_new(&health->poll, loop, client, runtime, tls, &OPS, health);
    if (rc != SR_OK) {
        sr_mem_free(health);
        *out = NULL;
    }
    return rc;
}

void sr_health_free(struct sr_health *health)
{
    if (!health)
        return;
    sr_poll_free(health->poll);
    sr_mem_free(health);
}
