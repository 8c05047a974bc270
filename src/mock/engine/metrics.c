/* Names of vLLM's V1 engine; those that earlier versions used stand beside them. */
#include "mock/engine/metrics.h"

#include <inttypes.h>

struct page {
    struct sr_buf *out;
    const char *model;
    int rc;
};

static void head(struct page *page, const char *name, const char *type, const char *help)
{
    if (page->rc == SR_OK)
        page->rc = sr_buf_printf(page->out, "# HELP vllm:%s %s\n# TYPE vllm:%s %s\n", name, help, name, type);
}

static void value(struct page *page, const char *name, const char *type, const char *help, double number)
{
    head(page, name, type, help);
    if (page->rc == SR_OK)
        page->rc = sr_buf_printf(page->out, "vllm:%s{engine=\"0\",model_name=\"%s\"} %.10g\n", name,
                                 page->model, number);
}

static void gauge(struct page *page, const char *name, const char *help, double number)
{
    value(page, name, "gauge", help, number);
}

static void counter(struct page *page, const char *name, const char *help, uint64_t number)
{
    value(page, name, "counter", help, (double)number);
}

static void times(struct page *page, const char *name, const char *help, const struct sr_mock_times *of)
{
    uint64_t below = 0;
    head(page, name, "histogram", help);
    for (size_t i = 0; i < SR_MOCK_TIME_BUCKETS && page->rc == SR_OK; i++) {
        below += of->buckets[i];
        page->rc =
            sr_buf_printf(page->out, "vllm:%s_bucket{engine=\"0\",le=\"%g\",model_name=\"%s\"} %" PRIu64 "\n",
                          name, sr_mock_time_bounds[i], page->model, below);
    }
    if (page->rc == SR_OK)
        page->rc = sr_buf_printf(page->out,
                                 "vllm:%s_bucket{engine=\"0\",le=\"+Inf\",model_name=\"%s\"} %" PRIu64 "\n"
                                 "vllm:%s_count{engine=\"0\",model_name=\"%s\"} %" PRIu64 "\n"
                                 "vllm:%s_sum{engine=\"0\",model_name=\"%s\"} %.9g\n",
                                 name, page->model, of->count, name, page->model, of->count, name,
                                 page->model, of->sum);
}

int sr_mock_metrics(const struct sr_mock_engine_stats *stats, const char *model, struct sr_buf *out)
{
    struct page page = {.out = out, .model = model};
    double usage = (double)stats->blocks_held / (double)stats->blocks;
    gauge(&page, "num_requests_running", "Number of requests in model execution batches.",
          (double)stats->running);
    gauge(&page, "num_requests_waiting", "Number of requests waiting to be processed.",
          (double)stats->waiting);
    gauge(&page, "kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", usage);
    gauge(&page, "gpu_cache_usage_perc", "GPU KV-cache usage. 1 means 100 percent usage.", usage);
    counter(&page, "prefix_cache_queries_total", "Prefix cache queries, in tokens.", stats->cache_queries);
    counter(&page, "prefix_cache_hits_total", "Prefix cache hits, in tokens.", stats->cache_hits);
    counter(&page, "gpu_prefix_cache_queries_total", "Prefix cache queries, in tokens.",
            stats->cache_queries);
    counter(&page, "gpu_prefix_cache_hits_total", "Prefix cache hits, in tokens.", stats->cache_hits);
    counter(&page, "num_preemptions_total", "Preemptions of the engine.", stats->preempted);
    counter(&page, "prompt_tokens_total", "Prefill tokens processed.", stats->prompt_tokens);
    counter(&page, "generation_tokens_total", "Generation tokens processed.", stats->answer_tokens);
    counter(&page, "request_success_total", "Requests that were processed.", stats->finished);
    times(&page, "time_to_first_token_seconds", "Time to first token.", &stats->first_token);
    times(&page, "time_per_output_token_seconds", "Time per output token.", &stats->between_tokens);
    times(&page, "inter_token_latency_seconds", "Inter token latency.", &stats->between_tokens);
    times(&page, "e2e_request_latency_seconds", "End to end request latency.", &stats->whole);
    times(&page, "request_queue_time_seconds", "Time in the waiting phase.", &stats->queued);
    head(&page, "cache_config_info", "gauge", "Information of the cache.");
    if (page.rc == SR_OK)
        page.rc = sr_buf_printf(
            out, "vllm:cache_config_info{block_size=\"%u\",engine=\"0\",num_gpu_blocks=\"%zu\"} 1\n",
            SR_MOCK_BLOCK, stats->blocks);
    return page.rc;
}
