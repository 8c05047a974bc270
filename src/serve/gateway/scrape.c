/* What a worker's metrics say, and when they are too old. */
#include "serve/gateway/scrape.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/policy.h"
#include "pool/report.h"
#include "router/runtime.h"
#include "serve/gateway/poll.h"
#include "serve/gateway/scrape_text.h"

#include <string.h>

#define BYTES_MAX ((size_t)8 << 20) /* of one answer */

struct sr_scraper {
    sr_runtime *runtime;
    struct sr_poll *poll;
};

/* Of one worker. */
struct scrape {
    struct sr_scrape_text text;
    size_t bytes;
    uint64_t good_ns; /* when the last report came; 0: there is none, or it is forgotten */
    bool told;        /* that it has no report */
};

/* The path that a pool's workers are asked for; NULL: they are not. */
static const char *path_of(const struct sr_config_pool *pool)
{
    const struct sr_pool_policy_ops *policy = sr_pool_policy_find(pool->policy);
    const char *path = pool->picking.metrics_path;
    if (path[0])
        return strcmp(path, "off") == 0 ? NULL : path;
    return policy && policy->needs & SR_POOL_NEEDS_LOAD ? "/metrics" : NULL;
}

static bool asks(const struct sr_config_model *model, const struct sr_config_pool *pool,
                 struct sr_poll_question *out)
{
    const char *path = pool ? path_of(pool) : NULL;
    (void)model;
    if (!path)
        return false;
    uint32_t ms = (uint32_t)pool->picking.metrics_interval_ms;
    *out = (struct sr_poll_question){.path = path, .interval_ms = ms, .timeout_ms = ms};
    return true;
}

static void tell(const struct sr_scraper *scraper, const struct sr_polled *polled,
                 const struct sr_pool_reported *load)
{
    if (sr_pool_report_load(sr_runtime_pool(scraper->runtime), &polled->worker, load) != SR_OK)
        sr_log(SR_LOG_WARN, "scrape", "out of memory: the load of %s:%d is not noted", polled->worker.host,
               polled->worker.port);
}

static void begins(void *ctx, struct sr_polled *polled)
{
    struct scrape *scrape = polled->state;
    (void)ctx;
    scrape->bytes = 0;
    sr_scrape_text_init(&scrape->text);
}

static void on_body(void *ctx, struct sr_polled *polled, struct sr_bytes slice)
{
    struct scrape *scrape = polled->state;
    (void)ctx;
    scrape->bytes += slice.n;
    if (scrape->bytes <= BYTES_MAX)
        sr_scrape_text_feed(&scrape->text, slice);
}

/* A scrape gave no report. The last one is forgotten after a while. */
static void failed(const struct sr_scraper *scraper, struct sr_polled *polled, const char *why)
{
    struct scrape *scrape = polled->state;
    uint64_t stale_ns = SR_SCRAPE_STALE * (uint64_t)polled->question.interval_ms * SR_NS_PER_MS;
    if (scrape->good_ns && sr_clock_ns() - scrape->good_ns >= stale_ns) {
        scrape->good_ns = 0;
        tell(scraper, polled, NULL);
    }
    if (!scrape->told)
        sr_log(SR_LOG_WARN, "scrape", "%s:%d: GET %s: %s", polled->worker.host, polled->worker.port,
               polled->question.path, why);
    scrape->told = true;
}

static void answered(void *ctx, struct sr_polled *polled, const char *failure)
{
    struct scrape *scrape = polled->state;
    struct sr_pool_reported load;
    bool good = !failure && sr_scrape_text_finish(&scrape->text, &load) && polled->status == 200;
    if (!good) {
        failed(ctx, polled, failure ? failure : "no metrics of vLLM");
        return;
    }
    scrape->good_ns = sr_clock_ns();
    scrape->told = false;
    tell(ctx, polled, &load);
}

static void gone(void *ctx, struct sr_polled *polled)
{
    const struct scrape *scrape = polled->state;
    if (scrape->good_ns)
        tell(ctx, polled, NULL);
}

static const struct sr_poll_ops OPS = {
    .name = "scrape",
    .state_bytes = sizeof(struct scrape),
    .asks = asks,
    .begins = begins,
    .body = on_body,
    .answered = answered,
    .gone = gone,
};

int sr_scraper_configure(struct sr_scraper *scraper, const struct sr_config *config)
{
    return sr_poll_configure(scraper->poll, config);
}

int sr_scraper_new(struct sr_scraper **out, struct sr_loop *loop, struct sr_client *client,
                   sr_runtime *runtime, struct sr_upstream_tls *tls)
{
    struct sr_scraper *scraper = sr_mem_calloc(1, sizeof *scraper);
    *out = scraper;
    if (!scraper)
        return SR_ENOMEM;
    scraper->runtime = runtime;
    int rc = sr_poll_new(&scraper->poll, loop, client, runtime, tls, &OPS, scraper);
    if (rc != SR_OK) {
        sr_mem_free(scraper);
        *out = NULL;
    }
    return rc;
}

void sr_scraper_free(struct sr_scraper *scraper)
{
    if (!scraper)
        return;
    sr_poll_free(scraper->poll);
    sr_mem_free(scraper);
}
