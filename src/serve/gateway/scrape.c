/* For each worker: a timer, then a fetch, then the timer again. */
#include "serve/gateway/scrape.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/policy.h"
#include "pool/report.h"
#include "router/runtime.h"
#include "serve/gateway/scrape_text.h"

#include <string.h>

#define BYTES_MAX ((size_t)8 << 20) /* of one answer */

struct scrape {
    struct sr_scraper *scraper;
    const struct sr_config_backend *backend; /* of the scraper's configuration */
    const char *path;
    uint32_t interval_ms;
    struct sr_timer timer;
    struct sr_fetch *fetch; /* NULL: none in progress */
    struct sr_scrape_text text;
    size_t bytes;
    int status;
    uint64_t good_ns; /* when the last report came; 0: there is none, or it is forgotten */
    bool told;        /* that it has no report */
};

struct sr_scraper {
    struct sr_loop *loop;
    struct sr_client *client;
    sr_runtime *runtime;
    struct sr_upstream_tls *tls;
    const struct sr_config *config; /* a reference; NULL: none */
    struct scrape *scrapes;
    size_t n;
};

static void tell(const struct scrape *scrape, const struct sr_pool_reported *load)
{
    const struct sr_config_backend *b = scrape->backend;
    struct sr_pool_backend worker = {
        .scheme = b->scheme, .host = b->host, .base_path = b->base_path, .port = b->port};
    if (sr_pool_report_load(sr_runtime_pool(scrape->scraper->runtime), &worker, load) != SR_OK)
        sr_log(SR_LOG_WARN, "scrape", "out of memory: the load of %s:%d is not noted", worker.host,
               worker.port);
}

/* One scrape is over; `load` NULL: it gave no report. */
static void scraped(struct scrape *scrape, const struct sr_pool_reported *load, const char *why)
{
    uint64_t now = sr_clock_ns();
    scrape->fetch = NULL;
    if (load) {
        scrape->good_ns = now;
        scrape->told = false;
        tell(scrape, load);
    } else if (scrape->good_ns &&
               now - scrape->good_ns >= SR_SCRAPE_STALE * (uint64_t)scrape->interval_ms * SR_NS_PER_MS) {
        scrape->good_ns = 0;
        tell(scrape, NULL);
    }
    if (!load && !scrape->told) {
        scrape->told = true;
        sr_log(SR_LOG_WARN, "scrape", "%s:%d: GET %s: %s", scrape->backend->host, scrape->backend->port,
               scrape->path, why);
    }
    sr_timer_start(&scrape->timer, scrape->interval_ms);
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    struct scrape *scrape = ctx;
    scrape->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct scrape *scrape = ctx;
    scrape->bytes += slice.n;
    if (scrape->bytes <= BYTES_MAX)
        sr_scrape_text_feed(&scrape->text, slice);
}

static void on_end(void *ctx)
{
    struct scrape *scrape = ctx;
    struct sr_pool_reported load;
    bool good = sr_scrape_text_finish(&scrape->text, &load) && scrape->status == 200;
    scraped(scrape, good ? &load : NULL, "no metrics of vLLM");
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    scraped(ctx, NULL, error->text);
}

static const struct sr_fetch_events EVENTS = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static void on_timer(void *ctx)
{
    struct scrape *scrape = ctx;
    const struct sr_config_backend *backend = scrape->backend;
    sr_tls_context *tls = NULL;
    int rc = SR_OK;
    scrape->status = 0;
    scrape->bytes = 0;
    sr_scrape_text_init(&scrape->text);
    if (strcmp(backend->scheme, "https") == 0) {
        tls = sr_upstream_tls_find(scrape->scraper->tls, backend->tls_ca_file, backend->tls_verify);
        rc = tls ? SR_OK : SR_ENOENT;
    }
    uint32_t ms = scrape->interval_ms;
    struct sr_client_request request = {.method = SR_LIT("GET"),
                                        .target = sr_bytes_str(scrape->path),
                                        .body_complete = true,
                                        .timeouts = {.connect_ms = ms, .head_ms = ms, .idle_ms = ms}};
    struct sr_origin origin = {.host = backend->host, .port = (uint16_t)backend->port, .tls = tls};
    if (rc == SR_OK)
        rc = sr_client_start(&scrape->fetch, scrape->scraper->client, &origin, &request, &EVENTS, scrape);
    sr_tls_context_unref(tls);
    if (rc != SR_OK)
        scraped(scrape, NULL, sr_strerror(rc));
}

/* ---- the configuration ---- */

/* The path that a pool's workers are asked for; NULL: they are not. */
static const char *path_of(const struct sr_config_pool *pool)
{
    const struct sr_pool_policy_ops *policy = sr_pool_policy_find(pool->policy);
    const char *path = pool->picking.metrics_path;
    if (path[0])
        return strcmp(path, "off") == 0 ? NULL : path;
    return policy && policy->needs & SR_POOL_NEEDS_LOAD ? "/metrics" : NULL;
}

static void stop(struct sr_scraper *scraper)
{
    for (size_t i = 0; i < scraper->n; i++) {
        sr_timer_stop(&scraper->scrapes[i].timer);
        sr_fetch_cancel(&scraper->scrapes[i].fetch);
        if (scraper->scrapes[i].good_ns)
            tell(&scraper->scrapes[i], NULL);
    }
    sr_mem_free(scraper->scrapes);
    sr_config_unref(scraper->config);
    scraper->scrapes = NULL;
    scraper->config = NULL;
    scraper->n = 0;
}

static size_t count(const struct sr_config *config)
{
    size_t n = 0;
    for (size_t i = 0; i < config->global.n_pools; i++)
        n += config->models[config->global.pools[i].model].n_backends;
    return n;
}

int sr_scraper_configure(struct sr_scraper *scraper, const struct sr_config *config)
{
    stop(scraper);
    scraper->scrapes = sr_mem_calloc(count(config) + 1, sizeof *scraper->scrapes);
    if (!scraper->scrapes)
        return SR_ENOMEM;
    scraper->config = sr_config_ref(config);
    for (size_t i = 0; i < config->global.n_pools; i++) {
        const struct sr_config_pool *pool = &config->global.pools[i];
        const struct sr_config_model *model = &config->models[pool->model];
        const char *path = path_of(pool);
        for (size_t k = 0; path && k < model->n_backends; k++) {
            struct scrape *scrape = &scraper->scrapes[scraper->n++];
            *scrape = (struct scrape){.scraper = scraper,
                                      .backend = &model->backends[k],
                                      .path = path,
                                      .interval_ms = (uint32_t)pool->picking.metrics_interval_ms};
            sr_timer_init(&scrape->timer, scraper->loop, on_timer, scrape);
            sr_timer_start(&scrape->timer, 0);
        }
    }
    return SR_OK;
}

int sr_scraper_new(struct sr_scraper **out, struct sr_loop *loop, struct sr_client *client,
                   sr_runtime *runtime, struct sr_upstream_tls *tls)
{
    struct sr_scraper *scraper = sr_mem_calloc(1, sizeof *scraper);
    *out = scraper;
    if (!scraper)
        return SR_ENOMEM;
    *scraper = (struct sr_scraper){.loop = loop, .client = client, .runtime = runtime, .tls = tls};
    return SR_OK;
}

void sr_scraper_free(struct sr_scraper *scraper)
{
    if (!scraper)
        return;
    stop(scraper);
    sr_mem_free(scraper);
}
