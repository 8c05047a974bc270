/*
 * Failures on command: PUT /mock/NAME?worker=K&for_ms=N, at any worker of the mock.
 */
#include "mock/private.h"

/* What the query says; 0: not said. */
struct order {
    struct sr_mock_worker *worker;
    unsigned long long for_ms, factor, status, count;
};

/* The number of `name` in a query; false when it is there and is none. */
static bool query_number(struct sr_bytes query, const char *name, unsigned long long *out)
{
    struct sr_bytes key = sr_bytes_str(name);
    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        struct sr_bytes pair = sr_bytes_of(query.p, end ? (size_t)(end - query.p) : query.n);
        query = sr_bytes_of(query.p + pair.n + (end != NULL), query.n - pair.n - (end != NULL));
        if (pair.n > key.n && pair.p[key.n] == '=' && sr_bytes_starts_with(pair, key))
            return sr_bytes_to_u64(sr_bytes_of(pair.p + key.n + 1, pair.n - key.n - 1), out);
    }
    return true;
}

static bool read_order(const struct sr_mock_call *call, struct sr_bytes query, struct order *order)
{
    unsigned long long worker = call->worker->index;
    bool good = query_number(query, "worker", &worker) && query_number(query, "for_ms", &order->for_ms) &&
                query_number(query, "factor", &order->factor) &&
                query_number(query, "status", &order->status) && query_number(query, "count", &order->count);
    if (!good || worker >= call->worker->mock->n_workers)
        return false;
    order->worker = &call->worker->mock->workers[worker];
    return true;
}

static int kill_worker(const struct order *order)
{
    sr_mock_worker_kill(order->worker);
    return SR_OK;
}

static int hang(const struct order *order)
{
    sr_mock_drive_hang(order->worker->drive, true);
    return SR_OK;
}

static int slow(const struct order *order)
{
    sr_mock_drive_slow(order->worker->drive, order->factor ? (double)order->factor : 4);
    return SR_OK;
}

static int fail(const struct order *order)
{
    order->worker->usual.status = order->status ? order->status : 500;
    return SR_OK;
}

static int evict(const struct order *order)
{
    sr_mock_drive_evict(order->worker->drive);
    return SR_OK;
}

static int lose_events(const struct order *order)
{
    sr_mock_drive_lose_events(order->worker->drive, order->count ? order->count : 1);
    return SR_OK;
}

static int recover(const struct order *order)
{
    return sr_mock_worker_recover(order->worker);
}

static const struct {
    struct sr_bytes path;
    int (*run)(const struct order *order);
    bool engine; /* only a worker with an engine can do it */
    bool ends;   /* for_ms can end it */
} orders[] = {
    {{"/mock/kill", 10}, kill_worker, false, true},
    {{"/mock/hang", 10}, hang, true, true},
    {{"/mock/slow", 10}, slow, true, true},
    {{"/mock/fail", 10}, fail, false, true},
    {{"/mock/evict", 11}, evict, true, false},
    {{"/reset_prefix_cache", 19}, evict, true, false},
    {{"/mock/lose-events", 17}, lose_events, true, false},
    {{"/mock/recover", 13}, recover, false, false},
};

static void carry_out(struct sr_mock_call *call, size_t at, struct sr_bytes query)
{
    struct order order = {0};
    if (!read_order(call, query, &order)) {
        sr_mock_reply_error(call, 400,
                            "worker, for_ms, factor, status and count are numbers, worker one of ours");
        return;
    }
    if (orders[at].engine && !order.worker->drive) {
        sr_mock_reply_error(call, 409, "the mock runs without --engine");
        return;
    }
    int rc = orders[at].run(&order);
    if (rc == SR_OK && orders[at].ends && order.for_ms)
        sr_timer_start(&order.worker->recover, order.for_ms);
    if (rc == SR_OK)
        sr_mock_reply(call, 200, SR_MOCK_JSON, SR_LIT("{}\n"));
    else
        sr_mock_reply_error(call, 503, sr_strerror(rc));
}

bool sr_mock_order(struct sr_mock_call *call, const struct sr_http_head *head, struct sr_bytes path)
{
    bool reset = sr_bytes_eq(path, SR_LIT("/reset_prefix_cache"));
    if (!sr_bytes_eq(head->method, reset ? SR_LIT("POST") : SR_LIT("PUT")))
        return false;
    if (sr_bytes_eq(path, SR_LIT("/mock/behaviour"))) {
        if (sr_mock_worker_behave(call->worker, head) == SR_OK)
            sr_mock_reply(call, 200, SR_MOCK_JSON, SR_LIT("{}\n"));
        else
            sr_mock_give_up(call);
        return true;
    }
    for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++)
        if (sr_bytes_eq(path, orders[i].path)) {
            carry_out(call, i, head->query);
            return true;
        }
    return false;
}
