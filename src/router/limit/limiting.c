/* The stage: its counters, the answer to its query, and the changes when it ends. */
#include "router/limit/limiting.h"

#include "base/clock.h"

#include <math.h>
#include <string.h>

static uint64_t now_ms(void)
{
    return sr_clock_wall_ns() / SR_NS_PER_MS;
}

static void take_result(struct sr_limiting *l, int status)
{
    l->failed = status != SR_OK;
    if (l->failed)
        l->state = l->config->global.limits.fail_open ? SR_LIMITING_PASSED : SR_LIMITING_AWAY;
    else
        l->state = l->result.allowed ? SR_LIMITING_PASSED : SR_LIMITING_REFUSED;
    if (l->looks && l->state == SR_LIMITING_REFUSED)
        l->limits[l->result.which].max++; /* one less stood for the room of one */
}

static void query_done(struct sr_task *task, int status)
{
    struct sr_limit_query *query = (struct sr_limit_query *)task;
    struct sr_limiting *l = query->ctx;
    if (status == SR_ECANCELED || l->state != SR_LIMITING_WAITS)
        return;
    l->result = query->result;
    if (status == SR_OK)
        l->taken_ms = query->result.now_ms;
    take_result(l, status);
    l->query = NULL;
    sr_task_unref(task);
    l->done(l->ctx);
}

int sr_limiting_start(struct sr_limiting *l, struct sr_limiter *limiter, const struct sr_config *config,
                      const struct sr_limit_subject *subject, struct sr_mailbox *mailbox,
                      struct sr_arena *arena)
{
    l->limiter = limiter;
    l->config = config;
    l->looks = subject->look;
    l->taken_ms = subject->now_ms;
    l->limits = sr_arena_calloc(arena, SR_LIMIT_MAX, sizeof *l->limits);
    l->items = sr_arena_calloc(arena, SR_LIMIT_MAX, sizeof *l->items);
    if (!l->limits || !l->items || sr_limit_rules(config, subject, arena, l->limits, l->items, &l->n))
        return SR_ENOMEM;
    if (l->n == 0) {
        l->state = SR_LIMITING_PASSED;
        return SR_OK;
    }
    l->state = SR_LIMITING_WAITS;
    l->deadline_ns = sr_clock_ns() + 2 * config->global.limits.timeout_ms * SR_NS_PER_MS;
    int rc =
        sr_limiter_take(limiter, l->limits, l->n, l->taken_ms, &l->result, mailbox, query_done, l, &l->query);
    if (rc == SR_OK)
        take_result(l, SR_OK);
    return rc;
}

static void drop_query(struct sr_limiting *l)
{
    struct sr_limit_query *query = l->query;
    l->query = NULL;
    if (query) {
        sr_task_cancel(&query->task);
        sr_task_unref(&query->task);
    }
}

void sr_limiting_deadline(struct sr_limiting *l)
{
    if (l->state != SR_LIMITING_WAITS)
        return;
    take_result(l, SR_ETIMEOUT);
    drop_query(l);
}

/* What a counter should have, for what it has. */
static struct sr_limit_change change_of(const struct sr_limiting *l, size_t i, int64_t truth)
{
    const struct sr_limit *limit = &l->limits[i];
    int64_t more = truth - limit->cost;
    return (struct sr_limit_change){.key = limit->key,
                                    .unit_ms = limit->unit_ms,
                                    .ends_ms = limit->ends_ms,
                                    .then_ms = l->taken_ms,
                                    .more = more > 0 ? more : 0,
                                    .less = more < 0 ? -more : 0};
}

void sr_limiting_settle(struct sr_limiting *l, uint64_t tokens, double cost)
{
    struct sr_limit_change changes[SR_LIMIT_MAX];
    size_t n = 0;
    if (l->settled || l->state != SR_LIMITING_PASSED || l->failed)
        return;
    l->settled = true;
    for (size_t i = 0; i < l->n; i++) {
        if (l->items[i].what == SR_LIMIT_REQUESTS)
            continue;
        int64_t truth = l->items[i].what == SR_LIMIT_TOKENS
                            ? (int64_t)(tokens < INT64_MAX / 2 ? tokens : INT64_MAX / 2)
                            : (int64_t)ceil(fmin(cost * SR_LIMIT_COST_UNIT, 1e17));
        struct sr_limit_change change = change_of(l, i, truth);
        if (change.more || change.less)
            changes[n++] = change;
    }
    if (n)
        sr_limiter_change(l->limiter, changes, n, now_ms());
}

void sr_limiting_dispose(struct sr_limiting *l)
{
    if (l->state == SR_LIMITING_WAITS)
        l->state = SR_LIMITING_OPEN;
    drop_query(l);
}
