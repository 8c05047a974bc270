/*
 * Every backend, store and collector at once, on a loop of its own: a backend is asked for its models as a
 * client would ask, the others are connected to. What a store's password is worth is seen by the running
 * router's health.
 */
#include "cli/doctor/checks.h"

#include "base/mem.h"
#include "net/client/client.h"
#include "serve/gateway/upstream_tls.h"

#include <stdio.h>
#include <string.h>

#define BACKENDS_MAX 4096
#define STORES_MAX   8

struct attempt {
    struct reach *reach;
    const struct sr_config_model *model; /* NULL: a store or a collector */
    const struct sr_config_backend *backend;
    const char *area, *name, *host; /* of a store or a collector */
    int port;
    enum sr_condition away; /* how bad it is that it is not there */
    struct sr_fetch *fetch;
    struct sr_conn *conn;
    sr_tls_context *tls;
    int status;
};

struct reach {
    struct sr_diagnosis *diagnosis;
    struct sr_loop *loop;
    struct sr_client *client;
    struct sr_upstream_tls *tls;
    struct attempt *attempts;
    size_t n, open;
    uint32_t timeout_ms;
};

static void done(struct attempt *attempt)
{
    if (--attempt->reach->open == 0)
        sr_loop_stop(attempt->reach->loop);
}

/* ---- backends ---- */

#define TARGET_MAX  1024
#define ADDRESS_MAX 280

/* The path of the models list, with its query. */
static void put_target(const struct sr_config_backend *backend, char out[TARGET_MAX])
{
    snprintf(out, TARGET_MAX, "%s%s/models%s%s", backend->base_path, backend->unversioned ? "" : "/v1",
             backend->query[0] ? "?" : "", backend->query);
}

/* The backend's name, else its address. */
static const char *name_of(const struct sr_config_backend *backend, char address[ADDRESS_MAX])
{
    snprintf(address, ADDRESS_MAX, "%s:%d", backend->host, backend->port);
    return backend->name[0] ? backend->name : address;
}

static void tell_status(const struct attempt *a)
{
    struct sr_diagnosis *d = a->reach->diagnosis;
    char address[ADDRESS_MAX], target[TARGET_MAX] = "";
    const char *advice = NULL;
    enum sr_condition condition = SR_CONDITION_GOOD;
    if (a->status == 401 || a->status == 403) {
        condition = SR_CONDITION_WARNING;
        advice = sr_config_backend_has_key(a->backend)
                     ? "its api_key is refused"
                     : "it wants a key: the clients', or an api_key of the backend";
    } else if (a->status == 404) {
        condition = SR_CONDITION_WARNING;
        advice =
            "good when it has no list of models, else the path of its base_url is wrong: write only what "
            "stands before /v1";
        put_target(a->backend, target);
    } else if (a->status >= 500) {
        condition = SR_CONDITION_WARNING;
        advice = "it is there, but does not answer as it should: look at its log";
    }
    sr_diagnosis_add(d, condition, "upstream", advice, "%s: %s at %s://%s:%d%.128s answers with %d",
                     a->model->name, name_of(a->backend, address), a->backend->scheme, a->backend->host,
                     a->backend->port, target, a->status);
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    ((struct attempt *)ctx)->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    (void)ctx, (void)slice; /* the status says enough */
}

static void on_end(void *ctx)
{
    struct attempt *attempt = ctx;
    attempt->fetch = NULL;
    tell_status(attempt);
    done(attempt);
}

static const char *advice_for(int code)
{
    switch (code) {
    case SR_ENOENT:
        return "the name does not resolve: its spelling, the resolver, the cluster's DNS";
    case SR_ETIMEOUT:
        return "no answer in time: a firewall, a wrong address, or a server that is overloaded";
    case SR_EMISMATCH:
        return "its certificate is not accepted: tls.ca_file of the backend, or the name it is asked by";
    case SR_EPROTO:
        return "it speaks another protocol: http for https, or the reverse";
    default:
        return "nothing listens there: is it started, is this its port?";
    }
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    struct attempt *a = ctx;
    char address[ADDRESS_MAX];
    a->fetch = NULL;
    sr_diagnosis_add(a->reach->diagnosis, SR_CONDITION_BAD, "upstream", advice_for(error->code),
                     "%s: %s (%s): %s", a->model->name, name_of(a->backend, address), a->backend->scheme,
                     error->text);
    done(a);
}

static const struct sr_fetch_events fetch_events = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static int ask_backend(struct attempt *a)
{
    const struct sr_config_backend *backend = a->backend;
    struct sr_header headers[33];
    size_t n = 0;
    char target[TARGET_MAX], key[8192];
    for (; n < backend->extra_headers.count && n < 32; n++)
        headers[n] = (struct sr_header){sr_bytes_str(backend->extra_headers.items[n].name),
                                        sr_bytes_str(backend->extra_headers.items[n].value)};
    if (backend->api_key[0]) {
        snprintf(key, sizeof key, "%s%s%s", backend->auth_prefix, backend->auth_prefix[0] ? " " : "",
                 backend->api_key);
        headers[n++] = (struct sr_header){sr_bytes_str(backend->auth_header), sr_bytes_str(key)};
    }
    put_target(backend, target);
    if (strcmp(backend->scheme, "https") == 0)
        a->tls = sr_upstream_tls_find(a->reach->tls, backend->tls_ca_file, backend->tls_verify);
    uint32_t ms = a->reach->timeout_ms;
    struct sr_origin origin = {.host = backend->host, .port = (uint16_t)backend->port, .tls = a->tls};
    struct sr_client_request request = {.method = SR_LIT("GET"),
                                        .target = sr_bytes_str(target),
                                        .headers = headers,
                                        .header_count = n,
                                        .body_complete = true,
                                        .fresh = true,
                                        .timeouts = {.connect_ms = ms, .head_ms = ms, .idle_ms = ms}};
    return sr_client_start(&a->fetch, a->reach->client, &origin, &request, &fetch_events, a);
}

/* ---- stores and collectors ---- */

static void store_opened(void *ctx)
{
    struct attempt *a = ctx;
    sr_diagnosis_add(a->reach->diagnosis, SR_CONDITION_GOOD, a->area, NULL, "%s at %s:%d accepts connections",
                     a->name, a->host, a->port);
    sr_conn_close(&a->conn);
    done(a);
}

static void store_failed(void *ctx, int code, const char *text)
{
    struct attempt *a = ctx;
    sr_diagnosis_add(a->reach->diagnosis, a->away, a->area, advice_for(code), "%s at %s:%d: %s", a->name,
                     a->host, a->port, text);
    sr_conn_close(&a->conn);
    done(a);
}

static void store_data(void *ctx, const char *p, size_t n)
{
    (void)ctx, (void)p, (void)n;
}

static void store_eof(void *ctx)
{
    (void)ctx;
}

static const struct sr_conn_events store_events = {
    .opened = store_opened, .data = store_data, .eof = store_eof, .failed = store_failed};

static int ask_store(struct attempt *a)
{
    struct sr_connect to = {.host = a->host, .port = (uint16_t)a->port, .timeout_ms = a->reach->timeout_ms};
    return sr_conn_connect(&a->conn, a->reach->loop, &to, &store_events, a);
}

/* ---- all ---- */

static void add_store(struct reach *reach, bool used, const char *name,
                      const struct sr_config_store_server *server)
{
    if (used)
        reach->attempts[reach->n++] = (struct attempt){.reach = reach,
                                                       .area = "store",
                                                       .name = name,
                                                       .host = server->host,
                                                       .port = server->port,
                                                       .away = SR_CONDITION_BAD};
}

/* No request waits for a collector. */
static void add_collector(struct reach *reach, bool used, const char *name, const struct sr_config_otlp *to)
{
    if (used && to->host && to->host[0])
        reach->attempts[reach->n++] = (struct attempt){.reach = reach,
                                                       .area = "collector",
                                                       .name = name,
                                                       .host = to->host,
                                                       .port = to->port,
                                                       .away = SR_CONDITION_WARNING};
}

/* What there is to reach; room for it is there. */
static void list(struct reach *reach, const struct sr_config *config)
{
    for (size_t m = 0; m < config->n_models; m++)
        for (size_t b = 0; b < config->models[m].n_backends && reach->n < BACKENDS_MAX; b++)
            reach->attempts[reach->n++] = (struct attempt){
                .reach = reach, .model = &config->models[m], .backend = &config->models[m].backends[b]};
    const struct sr_config_cache *cache = &config->global.cache;
    const struct sr_config_limits *limits = &config->global.limits;
    add_store(reach, cache->enabled && cache->store == SR_STORE_REDIS, "Redis of the cache",
              &cache->redis.server);
    add_store(reach, cache->enabled && cache->store == SR_STORE_MILVUS, "Milvus of the cache",
              &cache->milvus.server);
    add_store(reach, limits->store == SR_LIMITS_REDIS, "Redis of limits", &limits->redis);
    const struct sr_config_responses *responses = &config->global.responses;
    add_store(reach, responses->enabled && responses->store == SR_RESPONSES_REDIS, "Redis of responses",
              &responses->redis);
    add_collector(reach, config->global.tracing.enabled, "traces", &config->global.tracing.to);
    add_collector(reach, config->global.metrics_export.enabled, "metrics", &config->global.metrics_export.to);
}

static int run(struct reach *reach)
{
    struct sr_client_settings settings = sr_client_settings_defaults();
    int rc = sr_client_new(&reach->client, reach->loop, &settings);
    for (size_t i = 0; i < reach->n && rc == SR_OK; i++) {
        struct attempt *a = &reach->attempts[i];
        int started = a->model ? ask_backend(a) : ask_store(a);
        if (started == SR_OK)
            reach->open++;
        else
            sr_diagnosis_add(reach->diagnosis, SR_CONDITION_BAD, a->model ? "upstream" : a->area,
                             "see the limits of open files and memory above", "%s: cannot be asked: %s",
                             a->model ? a->model->name : a->name, sr_strerror(started));
    }
    if (reach->open)
        sr_loop_run(reach->loop);
    sr_client_free(reach->client);
    return rc;
}

void sr_doctor_reach(struct sr_diagnosis *diagnosis, const struct sr_config *config, uint32_t timeout_ms)
{
    struct reach reach = {.diagnosis = diagnosis, .timeout_ms = timeout_ms};
    struct sr_err err = {0};
    int rc = SR_ENOMEM;
    reach.attempts = sr_mem_calloc(BACKENDS_MAX + STORES_MAX, sizeof *reach.attempts);
    if (reach.attempts)
        rc = sr_loop_new(&reach.loop);
    if (rc == SR_OK)
        rc = sr_upstream_tls_new(&reach.tls);
    if (rc == SR_OK && sr_upstream_tls_load(reach.tls, config, &err) != SR_OK)
        sr_diagnosis_add(diagnosis, SR_CONDITION_BAD, "upstream", "correct the backend's tls_ca_file", "%s",
                         err.message);
    else if (rc == SR_OK) {
        list(&reach, config);
        rc = run(&reach);
    }
    if (rc)
        sr_diagnosis_add(diagnosis, SR_CONDITION_BAD, "upstream",
                         "see the limits of open files and memory above", "cannot be asked: %s",
                         sr_strerror(rc));
    for (size_t i = 0; i < reach.n; i++)
        sr_tls_context_unref(reach.attempts[i].tls);
    sr_loop_free(reach.loop);
    sr_upstream_tls_free(reach.tls);
    sr_mem_free(reach.attempts);
}
