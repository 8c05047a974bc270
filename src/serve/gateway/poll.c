/* For each worker: a timer, then a fetch, then the timer again. A look compares the workers with the pool's.
 */
#include "serve/gateway/poll.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "router/runtime.h"

#include <stdio.h>
#include <string.h>

#define BUCKETS 256

struct item {
    struct sr_polled polled;
    struct item *next; /* in its bucket */
    struct sr_poll *poll;
    char *group, *key; /* the pool's name, the worker's identity */
    char *host;        /* that the identity was cut into */
    const char *tls_ca_file;
    bool tls_verify, listed;
    struct sr_timer timer;
    struct sr_fetch *fetch; /* NULL: none in progress */
};

struct sr_poll {
    struct sr_loop *loop;
    struct sr_client *client;
    sr_runtime *runtime;
    struct sr_upstream_tls *tls;
    const struct sr_poll_ops *ops;
    void *ctx;
    const struct sr_config *config; /* a reference; NULL: none */
    struct item *items[BUCKETS];
    size_t n;
    struct sr_timer look;
    int rc; /* of a look */
};

/* ---- one question ---- */

static void answered(struct item *item, const char *failure)
{
    item->fetch = NULL;
    item->poll->ops->answered(item->poll->ctx, &item->polled, failure);
    sr_timer_start(&item->timer, item->polled.question.interval_ms);
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    struct item *item = ctx;
    item->polled.status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct item *item = ctx;
    item->poll->ops->body(item->poll->ctx, &item->polled, slice);
}

static void on_end(void *ctx)
{
    answered(ctx, NULL);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    answered(ctx, error->text);
}

static const struct sr_fetch_events EVENTS = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static int start(struct item *item, sr_tls_context *tls)
{
    const struct sr_polled *polled = &item->polled;
    const struct sr_poll_question *question = &polled->question;
    char target[SR_POLL_TARGET_MAX];
    uint32_t ms = question->timeout_ms;
    int n = snprintf(target, sizeof target, "%s%s", question->below_base ? polled->worker.base_path : "",
                     question->path);
    struct sr_client_request request = {.method = SR_LIT("GET"),
                                        .target = sr_bytes_of(target, (size_t)n),
                                        .body_complete = true,
                                        .timeouts = {.connect_ms = ms, .head_ms = ms, .idle_ms = ms}};
    struct sr_origin origin = {
        .host = polled->worker.host, .port = (uint16_t)polled->worker.port, .tls = tls};
    if (n < 0 || (size_t)n >= sizeof target)
        return SR_ELIMIT;
    return sr_client_start(&item->fetch, item->poll->client, &origin, &request, &EVENTS, item);
}

static void on_timer(void *ctx)
{
    struct item *item = ctx;
    sr_tls_context *tls = NULL;
    int rc = SR_OK;
    item->polled.status = 0;
    item->poll->ops->begins(item->poll->ctx, &item->polled);
    if (strcmp(item->polled.worker.scheme, "https") == 0) {
        tls = sr_upstream_tls_find(item->poll->tls, item->tls_ca_file, item->tls_verify);
        rc = tls ? SR_OK : SR_ENOENT;
    }
    if (rc == SR_OK)
        rc = start(item, tls);
    sr_tls_context_unref(tls);
    if (rc != SR_OK)
        answered(item, sr_strerror(rc));
}

/* ---- the workers ---- */

static void item_free(struct item *item)
{
    sr_mem_free(item->polled.state);
    sr_mem_free(item->group);
    sr_mem_free(item->key);
    sr_mem_free(item->host);
    sr_mem_free(item);
}

/* Cuts `scheme://host:port/base` into its parts, in a copy. False: out of memory. */
static bool cut(struct item *item)
{
    size_t n = strlen(item->key);
    char *at = sr_mem_dup(item->key, n);
    struct sr_pool_backend *worker = &item->polled.worker;
    item->host = at;
    if (!at)
        return false;
    char *host = strstr(at, "://");
    size_t address = host ? strcspn(host + 3, "/") : 0;
    char *colon = host ? memrchr(host + 3, ':', address) : NULL;
    if (!colon)
        return false;
    *host = *colon = '\0';
    *worker = (struct sr_pool_backend){.scheme = at, .host = host + 3};
    for (at = colon + 1; *at >= '0' && *at <= '9'; at++)
        worker->port = worker->port * 10 + (*at - '0');
    worker->base_path = at;
    return true;
}

static uint64_t hash_of(const char *group, struct sr_bytes worker)
{
    return sr_hash64(worker, sr_hash64(sr_bytes_str(group), 0));
}

/* The worker of this group; a new one when there is none. NULL: out of memory. */
static struct item *item_get(struct sr_poll *poll, const char *group, struct sr_bytes worker)
{
    struct item **bucket = &poll->items[hash_of(group, worker) % BUCKETS], *item = *bucket;
    while (item && !(strcmp(item->group, group) == 0 && sr_bytes_eq(sr_bytes_str(item->key), worker)))
        item = item->next;
    if (item)
        return item;
    item = sr_mem_calloc(1, sizeof *item);
    if (!item)
        return NULL;
    item->poll = poll;
    item->group = sr_mem_dup(group, strlen(group));
    item->key = sr_mem_dup(worker.p, worker.n);
    item->polled.state = sr_mem_calloc(1, poll->ops->state_bytes);
    if (!item->group || !item->key || !item->polled.state || !cut(item)) {
        item_free(item);
        return NULL;
    }
    item->next = *bucket;
    *bucket = item;
    poll->n++;
    sr_timer_init(&item->timer, poll->loop, on_timer, item);
    sr_timer_start(&item->timer, 0);
    return item;
}

/* The TLS settings of a worker: its own where it is configured, else those of the model's first backend. */
static void take_tls(struct item *item, const struct sr_config_model *model)
{
    const struct sr_pool_backend *worker = &item->polled.worker;
    const struct sr_config_backend *like = model->n_backends ? &model->backends[0] : NULL;
    for (size_t i = 0; i < model->n_backends; i++)
        if (model->backends[i].port == worker->port && strcasecmp(model->backends[i].host, worker->host) == 0)
            like = &model->backends[i];
    item->tls_ca_file = like ? like->tls_ca_file : "";
    item->tls_verify = like ? like->tls_verify : true;
}

/* The entry of a group of this name, and its model; NULL: the configuration has none. */
static const struct sr_config_model *model_of(const struct sr_config *config, const char *group,
                                              const struct sr_config_pool **pool)
{
    *pool = NULL;
    for (size_t i = 0; i < config->global.n_pools; i++)
        if (strcmp(config->global.pools[i].name, group) == 0)
            *pool = &config->global.pools[i];
    int model = *pool ? (*pool)->model : sr_config_find_model(config, sr_bytes_str(group));
    return model >= 0 ? &config->models[model] : NULL;
}

static void on_listed(void *ctx, const char *group, struct sr_bytes worker)
{
    struct sr_poll *poll = ctx;
    const struct sr_config_pool *pool;
    const struct sr_config_model *model = model_of(poll->config, group, &pool);
    struct sr_poll_question question;
    if (!model || !poll->ops->asks(model, pool, &question))
        return;
    struct item *item = item_get(poll, group, worker);
    if (!item) {
        poll->rc = SR_ENOMEM;
        return;
    }
    item->listed = true;
    item->polled.model = model->name;
    item->polled.question = question;
    take_tls(item, model);
}

/* Removes the workers that are not listed. */
static void sweep(struct sr_poll *poll)
{
    for (size_t b = 0; b < BUCKETS; b++) {
        struct item **at = &poll->items[b];
        while (*at) {
            struct item *item = *at;
            if (item->listed) {
                item->listed = false;
                at = &item->next;
                continue;
            }
            *at = item->next;
            poll->n--;
            sr_timer_stop(&item->timer);
            sr_fetch_cancel(&item->fetch);
            poll->ops->gone(poll->ctx, &item->polled);
            item_free(item);
        }
    }
}

static int look(struct sr_poll *poll)
{
    poll->rc = SR_OK;
    if (poll->config)
        sr_pool_each_listed(sr_runtime_pool(poll->runtime), on_listed, poll);
    sweep(poll);
    return poll->rc;
}

static void on_look(void *ctx)
{
    struct sr_poll *poll = ctx;
    if (look(poll) != SR_OK)
        sr_log(SR_LOG_WARN, poll->ops->name, "out of memory: some workers are not asked");
    sr_timer_start(&poll->look, SR_POLL_LOOK_MS);
}

/* ---- the configuration ---- */

static bool discovers(const struct sr_config *config)
{
    for (size_t i = 0; i < config->global.n_pools; i++)
        if (sr_config_pool_discovers(&config->global.pools[i]))
            return true;
    return false;
}

int sr_poll_configure(struct sr_poll *poll, const struct sr_config *config)
{
    const struct sr_config *before = poll->config;
    poll->config = sr_config_ref(config);
    int rc = look(poll);
    sr_config_unref(before);
    sr_timer_stop(&poll->look);
    if (rc != SR_OK || discovers(config))
        sr_timer_start(&poll->look, SR_POLL_LOOK_MS);
    return rc;
}

int sr_poll_new(struct sr_poll **out, struct sr_loop *loop, struct sr_client *client, sr_runtime *runtime,
                struct sr_upstream_tls *tls, const struct sr_poll_ops *ops, void *ctx)
{
    struct sr_poll *poll = sr_mem_calloc(1, sizeof *poll);
    *out = poll;
    if (!poll)
        return SR_ENOMEM;
    *poll = (struct sr_poll){
        .loop = loop, .client = client, .runtime = runtime, .tls = tls, .ops = ops, .ctx = ctx};
    sr_timer_init(&poll->look, loop, on_look, poll);
    return SR_OK;
}

void sr_poll_free(struct sr_poll *poll)
{
    if (!poll)
        return;
    sr_timer_stop(&poll->look);
    sweep(poll);
    sr_config_unref(poll->config);
    sr_mem_free(poll);
}
