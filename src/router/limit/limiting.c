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

static void note_taken(struct sr_limiting *l, uint64_t ms)
{
    l->taken_ms = ms;
    for (size_t i = 0; i < l->asked; i++)
        l->items[i].taken_ms = ms;
}

static void query_done(struct sr_task *task, int status)
{
    struct sr_limit_query *query = (struct sr_limit_query *)task;
    struct sr_limiting *l = query->ctx;
    if (status == SR_ECANCELED || l->state != SR_LIMITING_WAITS)
        return;
    l->result = query->result;
    if (status == SR_OK)
        note_taken(l, query->result.now_ms);
    take_result(l, status);
    l->query = NULL;
    sr_task_unref(task);
    l->done(l->ctx);
}

/* The counters of the rules that match. SR_ENOMEM. */
static int find(struct sr_limiting *l, const struct sr_limit_subject *subject, struct sr_arena *arena)
{
    l->limits = sr_arena_calloc(arena, SR_LIMIT_MAX, sizeof *l->limits);
    l->items = sr_arena_calloc(arena, SR_LIMIT_MAX, sizeof *l->items);
    return l->limits && l->items ? sr_limit_rules(l->config, subject, arena, l->limits, l->items, &l->n)
                                 : SR_ENOMEM;
}

int sr_limiting_start(struct sr_limiting *l, struct sr_limiter *limiter, const struct sr_config *config,
                      const struct sr_limit_subject *subject, struct sr_mailbox *mailbox,
                      struct sr_arena *arena)
{
    l->limiter = limiter;
    l->config = config;
    l->looks = subject->look;
    if (find(l, subject, arena))
        return SR_ENOMEM;
    l->asked = l->n;
    note_taken(l, subject->now_ms);
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
                                    .then_ms = l->items[i].taken_ms,
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

/* ---- another model ---- */

/* The index of a counter among those of `l`, or its `n`. */
static size_t index_of(const struct sr_limiting *l, const struct sr_limit_key *key)
{
    size_t i = 0;
    while (i < l->n && memcmp(&l->limits[i].key, key, sizeof *key) != 0)
        i++;
    return i;
}

/* Those that `from` has too come last, as they were taken. */
static void put_taken_last(struct sr_limiting *l, const struct sr_limiting *from)
{
    l->asked = l->n;
    for (size_t i = l->n; i-- > 0;) {
        size_t k = index_of(from, &l->limits[i].key);
        if (k == from->n)
            continue;
        l->asked--;
        l->limits[i] = l->limits[l->asked];
        l->items[i] = l->items[l->asked];
        l->limits[l->asked] = from->limits[k];
        l->items[l->asked] = from->items[k];
    }
}

int sr_limiting_move(struct sr_limiting *l, const struct sr_limiting *from,
                     const struct sr_limit_subject *subject, struct sr_arena *arena)
{
    l->limiter = from->limiter;
    l->config = from->config;
    l->failed = from->failed; /* the store is away, and lets all pass uncounted */
    l->state = SR_LIMITING_PASSED;
    if (l->failed)
        return SR_OK;
    if (find(l, subject, arena))
        return SR_ENOMEM;
    put_taken_last(l, from);
    note_taken(l, subject->now_ms);
    if (l->asked == 0)
        return SR_OK;
    if (sr_limiter_is_remote(l->limiter))
        return SR_AGAIN;
    int rc = sr_limiter_take(l->limiter, l->limits, l->asked, l->taken_ms, &l->result, NULL, query_done, l,
                             &l->query);
    if (rc == SR_OK)
        take_result(l, SR_OK);
    return rc != SR_OK || l->state == SR_LIMITING_PASSED ? rc : SR_ELIMIT;
}

void sr_limiting_give_back(const struct sr_limiting *l, const struct sr_limiting *other, bool requests)
{
    struct sr_limit_change changes[SR_LIMIT_MAX];
    size_t n = 0;
    if (l->state != SR_LIMITING_PASSED || l->failed)
        return;
    for (size_t i = 0; i < l->n; i++)
        if ((requests || l->items[i].what != SR_LIMIT_REQUESTS) && l->limits[i].cost > 0 &&
            index_of(other, &l->limits[i].key) == other->n)
            changes[n++] = change_of(l, i, 0);
    if (n)
        sr_limiter_change(l->limiter, changes, n, now_ms());
}

void sr_limiting_dispose(struct sr_limiting *l)
{
    if (l->state == SR_LIMITING_WAITS)
        l->state = SR_LIMITING_OPEN;
    drop_query(l);
}
