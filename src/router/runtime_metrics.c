/*
 * Publishes the metrics of a runtime. Most are counted where things happen; the figures of caches, pools and
 * queues are set here, just before a reader gets the table.
 */
#include "router/runtime_metrics.h"

#include "router/report/workers.h"
#include "router/runtime.h"

static void publish_revision(sr_runtime *runtime, struct sr_metrics *metrics)
{
    struct sr_router *router = sr_runtime_router(runtime);
    struct sr_bytes revision = sr_bytes_str(router->config->revision);
    sr_metrics_clear(metrics, SR_METRIC_CONFIG_INFO);
    sr_metrics_set(metrics, SR_METRIC_CONFIG_INFO, 1, &revision);
    sr_router_unref(router);
}

static void publish_work(sr_runtime *runtime, struct sr_metrics *metrics)
{
    struct sr_runtime_work work = sr_runtime_work(runtime);
    sr_metrics_set(metrics, SR_METRIC_WORKER_QUEUE, (double)work.queued, NULL);
    sr_metrics_set(metrics, SR_METRIC_BUFFERED, (double)work.held, NULL);
}

static void publish_cache(struct sr_cache *cache, struct sr_metrics *metrics)
{
    struct sr_cache_stats stats;
    sr_cache_stats(cache, &stats);
    struct sr_bytes name = sr_bytes_str(stats.backend_name);
    sr_metrics_clear(metrics, SR_METRIC_CACHE_ENTRIES);
    sr_metrics_set(metrics, SR_METRIC_CACHE_ENTRIES, (double)stats.entries, &name);
    sr_metrics_set(metrics, SR_METRIC_CACHE_BYTES, (double)stats.bytes, NULL);
}

static void publish_history(struct sr_history *kept, struct sr_followers *followers,
                            struct sr_metrics *metrics)
{
    struct sr_history_stats stats;
    sr_history_stats(kept, &stats);
    sr_metrics_set(metrics, SR_METRIC_REPLAY_RECORDS, (double)stats.entries, NULL);
    sr_metrics_set(metrics, SR_METRIC_REPLAY_BYTES, (double)stats.bytes, NULL);
    sr_metrics_set(metrics, SR_METRIC_FOLLOWERS, (double)sr_followers_count(followers), NULL);
}

void sr_runtime_read_metrics(sr_runtime *runtime, sr_metrics_reader *reader, void *ctx)
{
    struct sr_metrics *metrics = sr_runtime_metrics_table(runtime);
    sr_runtime_begin_scrape(runtime);
    publish_revision(runtime, metrics);
    publish_work(runtime, metrics);
    publish_cache(sr_runtime_cache(runtime), metrics);
    publish_history(sr_runtime_kept(runtime), sr_runtime_followers(runtime), metrics);
    sr_report_workers(sr_runtime_pool(runtime), metrics);
    reader(ctx, metrics);
    sr_runtime_end_scrape(runtime);
}

/* Metrics on their way into text. */
struct exposure {
    enum sr_exposition form;
    struct sr_buf *out;
    int rc;
};

static void expose(void *ctx, const struct sr_metrics *metrics)
{
    struct exposure *exposure = ctx;
    exposure->rc = sr_expose_metrics(metrics, exposure->form, exposure->out);
}

int sr_runtime_expose(sr_runtime *runtime, enum sr_exposition form, struct sr_buf *out)
{
    struct exposure exposure = {form, out, SR_OK};
    sr_runtime_read_metrics(runtime, expose, &exposure);
    return exposure.rc;
}

size_t sr_runtime_metrics(sr_runtime *runtime, char *out, size_t size)
{
    struct sr_buf text;
    sr_buf_init(&text, (size_t)64 << 20);
    size_t n = sr_runtime_expose(runtime, SR_EXPOSITION_TEXT, &text) ? 0 : text.len;
    if (size) {
        size_t copy = n < size ? n : size - 1;
        if (copy)
            memcpy(out, text.data, copy);
        out[copy] = 0;
    }
    sr_buf_dispose(&text);
    return n;
}
