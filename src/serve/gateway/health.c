/* One check for each backend: a timer, then a fetch, then the timer again. */
#include "serve/gateway/health.h"

#include "base/log.h"
#include "base/mem.h"
#include "pool/pool.h"
#include "router/runtime.h"

#include <stdio.h>
#include <string.h>

#define TARGET_MAX 1024 /* bytes of base path and path */

struct check {
    struct sr_health *health;
    const struct sr_config_model *model; /* of the health's configuration */
    const struct sr_config_backend *backend;
    struct sr_timer timer;
    struct sr_fetch *fetch; /* NULL: none in progress */
    unsigned failures;      /* in a row */
    bool down;
    int status; /* of the answer in progress */
};

struct sr_health {
    struct sr_loop *loop;
    struct sr_client *client;
    sr_runtime *runtime;
    struct sr_upstream_tls *tls;
    const struct sr_config *config; /* a reference; NULL: none */
    struct check *checks;
    size_t n;
};

static struct sr_pool_backend worker_of(const struct check *check)
{
    const struct sr_config_backend *b = check->backend;
    return (struct sr_pool_backend){
        .scheme = b->scheme, .host = b->host, .base_path = b->base_path, .port = b->port};
}

static void tell(struct check *check, bool down)
{
    struct sr_pool_backend worker = worker_of(check);
    check->down = down;
    if (sr_pool_set_down(sr_runtime_pool(check->health->runtime), &worker, down) != SR_OK)
        sr_log(SR_LOG_WARN, "health", "out of memory: %s:%d stays as it was", worker.host, worker.port);
}

/* The check is over; the next one follows. */
static void checked(struct check *check, bool good, const char *why)
{
    const struct sr_config_reliability *reliability = &check->model->reliability;
    check->fetch = NULL;
    check->failures = good ? 0 : check->failures + 1;
    bool down = good ? false : check->down || check->failures >= SR_HEALTH_FAILURES;
    if (down != check->down) {
        sr_log(down ? SR_LOG_WARN : SR_LOG_INFO, "health", "model %s, %s:%d is %s: GET %s: %s",
               check->model->name, check->backend->host, check->backend->port, down ? "down" : "up",
               reliability->health_check_path, why);
        tell(check, down);
    }
    sr_timer_start(&check->timer, reliability->health_check_interval_ms);
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    struct check *check = ctx;
    check->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    (void)ctx;
    (void)slice;
}

static void on_end(void *ctx)
{
    struct check *check = ctx;
    char why[32];
    snprintf(why, sizeof why, "status %d", check->status);
    checked(check, check->status >= 200 && check->status < 400, why);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    checked(ctx, false, error->text);
}

static const struct sr_fetch_events EVENTS = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static int start(struct check *check, sr_tls_context *tls)
{
    const struct sr_config_reliability *reliability = &check->model->reliability;
    char target[TARGET_MAX];
    uint32_t ms = (uint32_t)reliability->health_check_timeout_ms;
    int n =
        snprintf(target, sizeof target, "%s%s", check->backend->base_path, reliability->health_check_path);
    struct sr_client_request request = {.method = SR_LIT("GET"),
                                        .target = sr_bytes_of(target, (size_t)n),
                                        .body_complete = true,
                                        .timeouts = {.connect_ms = ms, .head_ms = ms, .idle_ms = ms}};
    struct sr_origin origin = {
        .host = check->backend->host, .port = (uint16_t)check->backend->port, .tls = tls};
    if (n < 0 || (size_t)n >= sizeof target)
        return SR_ELIMIT;
    return sr_client_start(&check->fetch, check->health->client, &origin, &request, &EVENTS, check);
}

static void on_timer(void *ctx)
{
    struct check *check = ctx;
    sr_tls_context *tls = NULL;
    int rc = SR_OK;
    check->status = 0;
    if (strcmp(check->backend->scheme, "https") == 0) {
        tls =
            sr_upstream_tls_find(check->health->tls, check->backend->tls_ca_file, check->backend->tls_verify);
        rc = tls ? SR_OK : SR_ENOENT;
    }
    if (rc == SR_OK)
        rc = start(check, tls);
    sr_tls_context_unref(tls);
    if (rc != SR_OK)
        checked(check, false, sr_strerror(rc));
}

/* ---- the configuration ---- */

static void stop(struct check *checks, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        sr_timer_stop(&checks[i].timer);
        sr_fetch_cancel(&checks[i].fetch);
    }
}

static bool same_worker(const struct check *a, const struct check *b)
{
    return a->backend->port == b->backend->port && strcasecmp(a->backend->host, b->backend->host) == 0 &&
           strcmp(a->backend->scheme, b->backend->scheme) == 0 &&
           strcmp(a->backend->base_path, b->backend->base_path) == 0;
}

/* What the old checks know goes to the new ones; workers that are not checked any more count as up. */
static void take_over(struct check *old, size_t n_old, struct check *now, size_t n_now)
{
    for (size_t i = 0; i < n_old; i++) {
        bool found = false;
        for (size_t k = 0; k < n_now; k++) {
            if (!same_worker(&old[i], &now[k]))
                continue;
            found = true;
            now[k].down |= old[i].down;
            now[k].failures = old[i].failures;
        }
        if (!found && old[i].down)
            tell(&old[i], false);
    }
}

static size_t count(const struct sr_config *config)
{
    size_t n = 0;
    for (size_t i = 0; i < config->n_models; i++)
        n += config->models[i].reliability.health_check_path[0] ? config->models[i].n_backends : 0;
    return n;
}

int sr_health_configure(struct sr_health *health, const struct sr_config *config)
{
    size_t n = count(config), at = 0;
    struct check *checks = sr_mem_calloc(n + 1, sizeof *checks);
    stop(health->checks, health->n);
    for (size_t i = 0; checks && i < config->n_models; i++) {
        const struct sr_config_model *model = &config->models[i];
        for (size_t k = 0; k < model->n_backends && model->reliability.health_check_path[0]; k++)
            checks[at++] = (struct check){.health = health, .model = model, .backend = &model->backends[k]};
    }
    take_over(health->checks, health->n, checks, at);
    sr_mem_free(health->checks);
    sr_config_unref(health->config);
    health->checks = checks;
    health->n = at;
    health->config = sr_config_ref(config);
    for (size_t i = 0; i < at; i++) {
        sr_timer_init(&checks[i].timer, health->loop, on_timer, &checks[i]);
        sr_timer_start(&checks[i].timer, 0);
    }
    return checks ? SR_OK : SR_ENOMEM;
}

int sr_health_new(struct sr_health **out, struct sr_loop *loop, struct sr_client *client, sr_runtime *runtime,
                  struct sr_upstream_tls *tls)
{
    struct sr_health *health = sr_mem_calloc(1, sizeof *health);
    *out = health;
    if (!health)
        return SR_ENOMEM;
    *health = (struct sr_health){.loop = loop, .client = client, .runtime = runtime, .tls = tls};
    return SR_OK;
}

void sr_health_free(struct sr_health *health)
{
    if (!health)
        return;
    stop(health->checks, health->n);
    take_over(health->checks, health->n, NULL, 0);
    sr_mem_free(health->checks);
    sr_config_unref(health->config);
    sr_mem_free(health);
}
