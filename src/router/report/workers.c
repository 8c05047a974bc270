/* Series of workers that are there no more are gone with the next call. */
#include "router/report/workers.h"

#include "pool/report.h"

static const enum sr_metric ALL[] = {
    SR_METRIC_WORKER_SLOW,         SR_METRIC_WORKER_SLOWED,     SR_METRIC_WORKER_IN_FLIGHT,
    SR_METRIC_WORKER_OPEN,         SR_METRIC_WORKER_DOWN,       SR_METRIC_WORKER_DRAINING,
    SR_METRIC_WORKER_EJECTIONS,    SR_METRIC_POOL_WAITING,      SR_METRIC_POOL_WORKER_RUNNING,
    SR_METRIC_POOL_WORKER_WAITING, SR_METRIC_POOL_KV_USAGE,     SR_METRIC_POOL_BLOCKS,
    SR_METRIC_POOL_BYTES,          SR_METRIC_POOL_EXPECTED,     SR_METRIC_POOL_REPORTED,
    SR_METRIC_POOL_EVENTS,         SR_METRIC_POOL_KV_CONNECTED, SR_METRIC_POOL_KV_BATCHES,
    SR_METRIC_POOL_KV_GAPS,        SR_METRIC_POOL_KV_REPLAYS,   SR_METRIC_POOL_KV_RESTARTS,
    SR_METRIC_POOL_KV_BAD,         SR_METRIC_POOL_KV_UNKNOWN};

static void set_feed(struct sr_metrics *metrics, const struct sr_pool_member_view *view,
                     const struct sr_bytes *labels)
{
    const struct sr_pool_kv_feed *feed = &view->feed;
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_CONNECTED, feed->connected, labels);
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_BATCHES, (double)feed->batches, labels);
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_GAPS, (double)feed->gaps, labels);
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_REPLAYS, (double)feed->replays, labels);
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_RESTARTS, (double)feed->restarts, labels);
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_BAD, (double)feed->bad, labels);
    sr_metrics_set(metrics, SR_METRIC_POOL_KV_UNKNOWN, (double)view->seat.unknown, labels);
}

static void set(void *ctx, const struct sr_pool_member_view *view)
{
    struct sr_metrics *metrics = ctx;
    struct sr_bytes labels[] = {sr_bytes_str(view->group), view->worker};
    if (view->reports) {
        sr_metrics_set(metrics, SR_METRIC_POOL_WORKER_RUNNING, view->load.running, labels);
        sr_metrics_set(metrics, SR_METRIC_POOL_WORKER_WAITING, view->load.waiting, labels);
        if (view->load.kv_usage >= 0)
            sr_metrics_set(metrics, SR_METRIC_POOL_KV_USAGE, view->load.kv_usage, labels);
    }
    if (view->reports && view->load.has_hits && view->load.asked)
        sr_metrics_set(metrics, SR_METRIC_POOL_REPORTED, (double)view->load.hits / (double)view->load.asked,
                       labels);
    if (view->seat.asked)
        sr_metrics_set(metrics, SR_METRIC_POOL_EXPECTED,
                       (double)view->seat.expected / (double)view->seat.asked, labels);
    if (view->seat.bytes) {
        sr_metrics_set(metrics, SR_METRIC_POOL_BLOCKS, (double)view->seat.blocks, labels);
        sr_metrics_set(metrics, SR_METRIC_POOL_BYTES, (double)view->seat.bytes, labels);
        sr_metrics_set(metrics, SR_METRIC_POOL_EVENTS, (double)view->seat.events, labels);
    }
    if (view->fed)
        set_feed(metrics, view, labels);
}

static void set_worker(void *ctx, const struct sr_pool_worker_count *count)
{
    struct sr_metrics *metrics = ctx;
    sr_metrics_set(metrics, SR_METRIC_WORKER_IN_FLIGHT, count->in_flight, &count->worker);
    sr_metrics_set(metrics, SR_METRIC_WORKER_OPEN, count->open, &count->worker);
    sr_metrics_set(metrics, SR_METRIC_WORKER_DOWN, count->down, &count->worker);
    sr_metrics_set(metrics, SR_METRIC_WORKER_DRAINING, count->draining, &count->worker);
    sr_metrics_add(metrics, SR_METRIC_WORKER_EJECTIONS, count->ejections, &count->worker);
    sr_metrics_set(metrics, SR_METRIC_WORKER_SLOW, count->slow, &count->worker);
    sr_metrics_add(metrics, SR_METRIC_WORKER_SLOWED, count->slowed, &count->worker);
}

/* Of several groups of one name, before and after a reload, requests may wait in each. */
static void add_queue(void *ctx, const char *group, uint32_t waiting)
{
    struct sr_bytes name = sr_bytes_str(group);
    sr_metrics_add(ctx, SR_METRIC_POOL_WAITING, waiting, &name);
}

void sr_report_workers(struct sr_pool *pool, struct sr_metrics *metrics)
{
    for (size_t i = 0; i < sizeof ALL / sizeof ALL[0]; i++)
        sr_metrics_clear(metrics, ALL[i]);
    sr_pool_count(pool, set_worker, add_queue, metrics);
    sr_pool_each_member(pool, set, metrics);
}
