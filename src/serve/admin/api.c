/* Requests of the admin listeners: read completely, then answered at once or, for a long text, by worker
 * threads. */
#include "serve/admin/api.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "router/purpose.h"
#include "router/runtime.h"
#include "serve/access.h"
#include "serve/admin/cache.h"
#include "serve/admin/classify.h"
#include "serve/admin/compress.h"
#include "serve/admin/embed.h"
#include "serve/admin/feedback.h"
#include "serve/admin/follow.h"
#include "serve/admin/models.h"
#include "serve/admin/replay.h"
#include "serve/admin/work.h"
#include "serve/local.h"
#include "serve/post.h"
#include "serve/warm/warm.h"
#include "json/doc.h"

#include <unistd.h>

#define MAX_CONNECTIONS 48 /* of each admin listener; within the reserve of descriptors */

struct api_call {
    struct sr_api *api;
    struct sr_http_request *request;
    struct sr_buf body;
    sr_exchange *exchange;
    struct sr_api_work *work;     /* in progress on a worker thread; NULL */
    struct sr_api_embed *embed;   /* in progress on worker threads and the engine; NULL */
    struct sr_warm_job *warm;     /* in progress on the warming thread; NULL */
    struct sr_api_follow *follow; /* a stream that is open; NULL */
    struct sr_timer timer;
    struct api_call *next, **pprev; /* calls whose exchange waits for another thread */
    bool answered;
    size_t kind; /* index in `calls` */
};

struct sr_api {
    struct sr_api_options options;
    struct sr_http_server *server;
    struct api_call *waiting;
    int followers;
};

static void reply(struct sr_http_request *request, int status, struct sr_bytes type, struct sr_bytes body)
{
    struct sr_header header = {SR_LIT("content-type"), type};
    struct sr_http_response response = {.status = status, .headers = &header, .header_count = 1};
    if (sr_http_request_reply(request, &response, body) != SR_OK)
        sr_http_request_abort(request);
}

static void reply_error(struct sr_http_request *request, int status, const char *message)
{
    struct sr_buf body;
    sr_buf_init(&body, 8192);
    struct sr_bytes type = sr_local_error(&body, status, NULL, NULL, message);
    reply(request, status, type, sr_buf_view(&body));
    sr_buf_dispose(&body);
}

/* Replies to a request that may not use this listener. Probes may always. */
static bool reply_refusal(struct sr_api *api, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_access_refusal refusal;
    if (sr_bytes_eq(head->path, SR_LIT("/health")) || sr_bytes_eq(head->path, SR_LIT("/ready")))
        return false;
    const struct sr_config *config = sr_runtime_config(api->options.runtime);
    bool admitted = sr_access_admits(&config->global.access, head, api->options.loopback, &refusal);
    sr_config_unref(config);
    if (!admitted)
        reply_error(request, refusal.status, refusal.message);
    return !admitted;
}

static bool metrics_wanted(struct sr_api *api)
{
    const struct sr_config *config = sr_runtime_config(api->options.runtime);
    bool wanted = config->global.metrics;
    sr_config_unref(config);
    return wanted;
}

static bool reply_page(struct sr_api *api, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    bool is_metrics = api->options.kind == SR_API_METRICS;
    struct sr_local_state state = {.runtime = api->options.runtime,
                                   .service = is_metrics ? "semroute" : "classification-api",
                                   .ready = !atomic_load(api->options.draining),
                                   .metrics = is_metrics && metrics_wanted(api)};
    struct sr_local_page page;
    struct sr_buf body;
    sr_buf_init(&body, SR_LOCAL_METRICS_MAX);
    bool mine = sr_local_answer(&state, head->method, head->path, &page, &body);
    if (mine)
        reply(request, page.status, page.content_type, sr_buf_view(&body));
    sr_buf_dispose(&body);
    return mine;
}

/* ---- POST /api/v1/explain ---- */

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct sr_api *api = ctx;
    sr_serve_post(api->options.loop, task, arg);
}

static void stop_waiting(struct api_call *call)
{
    sr_timer_stop(&call->timer);
    if (call->pprev) {
        *call->pprev = call->next;
        if (call->next)
            call->next->pprev = call->pprev;
        call->pprev = NULL;
    }
}

static void explained(struct api_call *call)
{
    stop_waiting(call);
    if (!call->answered) {
        call->answered = true;
        reply(call->request, 200, SR_LIT("application/json"),
              sr_exchange_explain(call->exchange, false, 0, false));
    }
}

static void on_ready(void *ctx, sr_exchange *exchange)
{
    struct sr_api *api = ctx;
    for (struct api_call *call = api->waiting; call; call = call->next) {
        if (call->exchange == exchange) {
            explained(call);
            return;
        }
    }
}

static void on_deadline(void *ctx)
{
    struct api_call *call = ctx;
    sr_exchange_timeout(call->exchange);
    explained(call);
}

static void wait_for(struct api_call *call)
{
    struct sr_api *api = call->api;
    call->next = api->waiting;
    call->pprev = &api->waiting;
    if (call->next)
        call->next->pprev = &call->next;
    api->waiting = call;
    uint64_t due = sr_exchange_deadline_ns(call->exchange), now = sr_clock_ns();
    if (due != 0)
        sr_timer_start(&call->timer, due > now ? (due - now) / SR_NS_PER_MS + 1 : 1);
}

/* Builds the chat request to explain: `request` unchanged, or `text` as the only message of an automatic
 * request. */
static int build_request(struct sr_api *api, const sr_doc_value *root, struct sr_buf *out)
{
    const sr_doc_value *request = sr_doc_get(root, "request");
    if (request)
        return sr_doc_dump(request, out);
    struct sr_bytes text = sr_doc_string(sr_doc_get(root, "text"));
    if (!text.p)
        return SR_EINVAL;
    const struct sr_config *config = sr_runtime_config(api->options.runtime);
    const struct sr_strings *names = &config->global.auto_model_names;
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "model", names->count ? names->items[0] : "auto");
    sr_json_array(&w, "messages");
    sr_json_object(&w, NULL);
    sr_json_text(&w, "role", "user");
    sr_json_bytes(&w, "content", text);
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    sr_config_unref(config);
    return w.rc;
}

static void run_exchange(struct api_call *call, struct sr_bytes body)
{
    struct sr_api *api = call->api;
    struct sr_header type = {SR_LIT("content-type"), SR_LIT("application/json")};
    struct sr_request_head head = {.struct_size = sizeof head,
                                   .door = SR_DOOR_LIBRARY,
                                   .method = SR_LIT("POST"),
                                   .target = SR_LIT("/v1/chat/completions"),
                                   .headers = &type,
                                   .n_headers = 1,
                                   .has_body = true,
                                   .client_known = true};
    struct sr_exchange_env env = {.struct_size = sizeof env, .post = post, .ready = on_ready, .ctx = api};
    call->exchange = sr_exchange_new(api->options.runtime, &head, &env);
    if (call->exchange)
        sr_exchange_explains(call->exchange);
    if (!call->exchange) {
        call->answered = true;
        reply_error(call->request, 503, "The server is out of memory.");
    } else if (sr_exchange_body(call->exchange, body.p, body.n, true) == SR_STEP_WAIT) {
        wait_for(call);
    } else {
        explained(call);
    }
}

static void explain(struct api_call *call)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    struct sr_buf body;
    sr_buf_init(&body, SR_API_BODY_MAX * 2);
    int rc = sr_doc_parse(&doc, sr_buf_view(&call->body), SR_API_BODY_MAX, &err);
    if (rc == SR_OK)
        rc = build_request(call->api, sr_doc_root(doc), &body);
    if (rc == SR_OK) {
        run_exchange(call, sr_buf_view(&body));
    } else {
        call->answered = true;
        reply_error(call->request, 400,
                    rc == SR_EPARSE ? err.message
                                    : "The body must be {\"request\": {...}} or {\"text\": \"...\"}.");
    }
    sr_buf_dispose(&body);
    sr_doc_free(doc);
}

/* ---- POST /api/v1/compress ---- */

static void answer(struct api_call *call, const struct sr_api_outcome *outcome)
{
    call->answered = true;
    if (outcome->status == 200)
        reply(call->request, 200, SR_LIT("application/json"), outcome->answer);
    else
        reply_error(call->request, outcome->status, outcome->message);
}

static void worked(void *ctx, const struct sr_api_outcome *outcome)
{
    struct api_call *call = ctx;
    call->work = NULL;
    answer(call, outcome);
}

static void compress_elsewhere(struct api_call *call)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run = sr_api_compress,
                                          .answer_max = SR_API_COMPRESS_MAX * 16,
                                          .done = worked,
                                          .ctx = call};
    int rc = sr_api_work_start(&call->work, &call->body, &options);
    if (rc != SR_OK) {
        call->answered = true;
        reply_error(call->request, 503,
                    rc == SR_EBUSY ? "The server is busy." : "The server is out of memory.");
    }
}

static void compress(struct api_call *call)
{
    struct sr_buf out;
    struct sr_err err = {0};
    if (call->body.len > SR_API_COMPRESS_AT_ONCE && sr_runtime_workers(call->api->options.runtime)) {
        compress_elsewhere(call);
        return;
    }
    sr_buf_init(&out, SR_API_COMPRESS_MAX * 16);
    int status = sr_api_compress(sr_buf_view(&call->body), &out, &err);
    answer(call, &(struct sr_api_outcome){status, sr_buf_view(&out), err.message});
    sr_buf_dispose(&out);
}

/* ---- classification ---- */

static void classified(void *ctx, const struct sr_api_outcome *outcome)
{
    struct api_call *call = ctx;
    call->work = NULL;
    call->answered = true;
    reply(call->request, outcome->status, SR_LIT("application/json"), outcome->answer);
}

/* Does the work on a worker thread; without any, here. */
static void work_on(struct api_call *call, const struct sr_api_work_options *options)
{
    int rc = SR_OK;
    if (sr_runtime_workers(options->runtime)) {
        rc = sr_api_work_start(&call->work, &call->body, options);
    } else {
        struct sr_buf out;
        sr_buf_init(&out, options->answer_max);
        int status = options->run_with(options, sr_buf_view(&call->body), &out);
        options->done(call, &(struct sr_api_outcome){status, sr_buf_view(&out), NULL});
        sr_buf_dispose(&out);
    }
    if (rc != SR_OK) {
        call->answered = true;
        reply_error(call->request, 503,
                    rc == SR_EBUSY ? "The server is busy." : "The server is out of memory.");
    }
}

static int classify_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return sr_api_classify(how->router, (enum sr_api_classify_kind)how->kind, body, out);
}

static void classify(struct api_call *call, enum sr_api_classify_kind kind)
{
    struct sr_router *router = sr_runtime_router(call->api->options.runtime);
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = classify_any,
                                          .router = router,
                                          .kind = (int)kind,
                                          .answer_max = SR_API_BODY_MAX * 16,
                                          .done = classified,
                                          .ctx = call};
    work_on(call, &options);
    sr_router_unref(router);
}

static void classify_intent(struct api_call *call)
{
    classify(call, SR_API_CLASSIFY_INTENT);
}

static void classify_pii(struct api_call *call)
{
    classify(call, SR_API_CLASSIFY_PII);
}

static void classify_security(struct api_call *call)
{
    classify(call, SR_API_CLASSIFY_SECURITY);
}

static void classify_combined(struct api_call *call)
{
    classify(call, SR_API_CLASSIFY_COMBINED);
}

static void classify_batch(struct api_call *call)
{
    classify(call, SR_API_CLASSIFY_BATCH);
}

/* ---- embeddings and similarities ---- */

static void embedded(void *ctx, int status, struct sr_bytes body)
{
    struct api_call *call = ctx;
    call->embed = NULL;
    call->answered = true;
    reply(call->request, status, SR_LIT("application/json"), body);
}

static void embed(struct api_call *call, enum sr_api_embed_kind kind)
{
    struct sr_api_embed_options options = {.kind = kind,
                                           .loop = call->api->options.loop,
                                           .runtime = call->api->options.runtime,
                                           .done = embedded,
                                           .ctx = call};
    int rc = sr_api_embed_start(&call->embed, &call->body, &options);
    if (rc != SR_OK) {
        call->answered = true;
        reply_error(call->request, 503,
                    rc == SR_EBUSY ? "The server is busy." : "The server is out of memory.");
    }
}

static void embeddings(struct api_call *call)
{
    embed(call, SR_API_EMBEDDINGS);
}

static void openai_embeddings(struct api_call *call)
{
    embed(call, SR_API_OPENAI);
}

static void similarity(struct api_call *call)
{
    embed(call, SR_API_SIMILARITY);
}

static void similarities(struct api_call *call)
{
    embed(call, SR_API_SIMILARITIES);
}

/* ---- the pages about models ---- */

static int list_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_infer *infer;
    struct sr_encoder *encoder = how->kind ? NULL : sr_runtime_encoder(how->runtime, &infer);
    (void)body;
    int rc = how->kind ? sr_api_models(how->runtime, out) : sr_api_embed_models(encoder, out);
    sr_encoder_unref(encoder);
    return rc ? 503 : 200;
}

static void listed(void *ctx, const struct sr_api_outcome *outcome)
{
    struct api_call *call = ctx;
    call->work = NULL;
    call->answered = true;
    if (outcome->status == 200)
        reply(call->request, 200, SR_LIT("application/json"), outcome->answer);
    else
        reply_error(call->request, outcome->status, "The server is out of memory.");
}

/* Opens what the configuration has: that takes time. */
static void list(struct api_call *call, bool all)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = list_any,
                                          .kind = all,
                                          .answer_max = (size_t)1 << 20,
                                          .done = listed,
                                          .ctx = call};
    work_on(call, &options);
}

static void list_models(struct api_call *call)
{
    list(call, true);
}

static void list_encoders(struct api_call *call)
{
    list(call, false);
}

/* ---- the response cache ---- */

static int cache_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return sr_api_cache(how->runtime, (enum sr_api_cache_call)how->kind, body, out);
}

static void cache(struct api_call *call, enum sr_api_cache_call kind)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = cache_any,
                                          .kind = (int)kind,
                                          .answer_max = (size_t)1 << 20,
                                          .done = classified,
                                          .ctx = call};
    work_on(call, &options);
}

static void cache_capabilities(struct api_call *call)
{
    cache(call, SR_API_CACHE_CAPABILITIES);
}

static void cache_health(struct api_call *call)
{
    cache(call, SR_API_CACHE_HEALTH);
}

static void cache_stats(struct api_call *call)
{
    cache(call, SR_API_CACHE_STATS);
}

static void cache_invalidate(struct api_call *call)
{
    cache(call, SR_API_CACHE_INVALIDATE);
}

static void cache_flush(struct api_call *call)
{
    cache(call, SR_API_CACHE_FLUSH);
}

static void warmed(void *ctx, int status, struct sr_bytes body)
{
    struct api_call *call = ctx;
    call->warm = NULL;
    call->answered = true;
    if (status == 200)
        reply(call->request, 200, SR_LIT("application/json"), body);
    else
        reply_error(call->request, status, "The server is ending, or out of memory.");
}

static void cache_warm(struct api_call *call)
{
    int rc = sr_warm_start(&call->warm, call->api->options.warm, &call->body, call->api->options.loop, warmed,
                           call);
    if (rc != SR_OK) {
        call->answered = true;
        reply_error(call->request, 503,
                    rc == SR_EBUSY ? "Other files warm the cache: try again later."
                                   : "The server is out of memory.");
    }
}

/* ---- outcomes ---- */

static void feedback(struct api_call *call)
{
    struct sr_buf out;
    sr_buf_init(&out, 8192);
    int status = sr_api_feedback(call->api->options.runtime, sr_buf_view(&call->body), &out);
    call->answered = true;
    reply(call->request, status, SR_LIT("application/json"), sr_buf_view(&out));
    sr_buf_dispose(&out);
}

/* ---- requests that have ended ---- */

static int replay_any(const struct sr_api_work_options *how, struct sr_bytes target, struct sr_buf *out)
{
    return sr_api_replay(how->runtime, target, out);
}

static void replay(struct api_call *call)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = replay_any,
                                          .answer_max = SR_API_REPLAY_MAX,
                                          .done = classified,
                                          .ctx = call};
    const struct sr_http_head *head = sr_http_request_head(call->request);
    sr_buf_clear(&call->body);
    if (sr_buf_printf(&call->body, "%.*s?%.*s", (int)head->path.n, head->path.p, (int)head->query.n,
                      head->query.n ? head->query.p : "")) {
        call->answered = true;
        reply_error(call->request, 503, "The server is out of memory.");
        return;
    }
    work_on(call, &options);
}

static void follow(struct api_call *call)
{
    struct sr_api *api = call->api;
    const char *why = "The server is out of memory.";
    struct sr_api_follow_options options = {.loop = api->options.loop,
                                            .runtime = api->options.runtime,
                                            .request = call->request,
                                            .draining = api->options.draining,
                                            .loopback = api->options.loopback};
    call->answered = true;
    if (api->followers == SR_API_FOLLOWERS) {
        reply_error(call->request, 503, "Too many follow requests already.");
        return;
    }
    int status = sr_api_follow_start(&call->follow, &options, &why);
    api->followers += status == 200;
    if (status != 200)
        reply_error(call->request, status, why);
}

/* ---- the server's events ---- */

static const struct {
    const char *path;
    void (*answer)(struct api_call *call); /* when the body is complete */
    bool get;                              /* the method is GET, not POST */
    bool below;                            /* what is below the path is meant, too */
} calls[] = {
    {"/api/v1/explain", explain, false},
    {"/api/v1/compress", compress, false},
    {"/api/v1/embeddings", embeddings, false},
    {"/v1/embeddings", openai_embeddings, false},
    {"/api/v1/similarity", similarity, false},
    {"/api/v1/similarity/batch", similarities, false},
    {"/api/v1/classify/intent", classify_intent, false},
    {"/api/v1/classify/pii", classify_pii, false},
    {"/api/v1/classify/security", classify_security, false},
    {"/api/v1/classify/combined", classify_combined, false},
    {"/api/v1/classify/batch", classify_batch, false},
    {"/api/v1/response-cache/capabilities", cache_capabilities, true},
    {"/api/v1/response-cache/health", cache_health, true},
    {"/api/v1/response-cache/stats", cache_stats, true},
    {"/api/v1/response-cache/invalidate", cache_invalidate, false},
    {"/api/v1/response-cache/flush", cache_flush, false},
    {"/api/v1/response-cache/warm", cache_warm, false},
    {"/api/v1/feedback", feedback, false},
    {"/info/models", list_models, true},
    {"/api/v1/embeddings/models", list_encoders, true},
    {SR_API_FOLLOW, follow, true},
    {SR_API_REPLAY, replay, true},
    {SR_API_REPLAY "/", replay, true, true},
};
#define N_CALLS (sizeof calls / sizeof calls[0])

static bool is_path(size_t kind, struct sr_bytes path)
{
    struct sr_bytes own = sr_bytes_str(calls[kind].path);
    return calls[kind].below ? sr_bytes_starts_with(path, own) : sr_bytes_eq(path, own);
}

static void on_request(void *ctx, struct sr_http_request *request)
{
    struct sr_api *api = ctx;
    const struct sr_http_head *head = sr_http_request_head(request);
    if (reply_refusal(api, request) || reply_page(api, request))
        return;
    size_t kind = 0;
    while (kind < N_CALLS && !is_path(kind, head->path))
        kind++;
    if (api->options.kind != SR_API_MAIN || kind == N_CALLS) {
        reply_error(request, 404, "There is no such path.");
        return;
    }
    bool get = sr_bytes_eq(head->method, SR_LIT("GET"));
    if (calls[kind].get && !get) {
        reply_error(request, 404, "There is no such path.");
        return;
    }
    if (!calls[kind].get && !sr_bytes_eq(head->method, SR_LIT("POST"))) {
        reply_error(request, 405, "Use POST.");
        return;
    }
    struct api_call *call = sr_arena_calloc(sr_http_request_arena(request), 1, sizeof *call);
    if (!call) {
        reply_error(request, 503, "The server is out of memory.");
        return;
    }
    call->api = api;
    call->request = request;
    call->kind = kind;
    sr_buf_init(&call->body, SR_API_BODY_MAX);
    sr_timer_init(&call->timer, api->options.loop, on_deadline, call);
    sr_http_request_set_ctx(request, call);
    sr_http_request_continue(request);
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct api_call *call = ctx;
    if (call && !call->answered && sr_buf_append_bytes(&call->body, slice) != SR_OK) {
        call->answered = true;
        reply_error(request, 413, "The body is too large.");
    }
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct api_call *call = ctx;
    (void)request;
    if (call && !call->answered)
        calls[call->kind].answer(call);
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct api_call *call = ctx;
    (void)request;
    if (call) {
        stop_waiting(call);
        sr_api_work_cancel(call->work);
        sr_api_embed_cancel(call->embed);
        sr_warm_cancel(call->warm);
        call->api->followers -= call->follow != NULL;
        sr_api_follow_stop(call->follow);
        if (call->exchange)
            sr_exchange_end(call->exchange, complete ? SR_END_COMPLETE : SR_END_CLIENT_GONE);
        sr_buf_dispose(&call->body);
    }
}

static struct sr_bytes on_error_body(void *ctx, int status, const char *reason, const char *peer,
                                     const struct sr_http_head *head, struct sr_buf *body)
{
    (void)ctx;
    (void)peer;
    (void)head;
    return sr_local_error(body, status, NULL, NULL, reason);
}

static const struct sr_http_handler HANDLER = {
    .request = on_request,
    .error_body = on_error_body,
    .body = on_body,
    .body_end = on_body_end,
    .done = on_done,
};

int sr_api_new(struct sr_api **out, int fd, const struct sr_api_options *options)
{
    struct sr_api *api = sr_mem_calloc(1, sizeof *api);
    *out = api;
    if (!api) {
        close(fd);
        return SR_ENOMEM;
    }
    api->options = *options;
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    settings.limits.body_bytes = SR_API_BODY_MAX;
    settings.max_connections = MAX_CONNECTIONS;
    settings.use_reserve = true;
    int rc = sr_http_server_new(&api->server, options->loop, fd, NULL, &settings, &HANDLER, api);
    if (rc != SR_OK) {
        sr_mem_free(api);
        *out = NULL;
    }
    return rc;
}

void sr_api_free(struct sr_api *api)
{
    if (api) {
        sr_http_server_free(api->server);
        sr_mem_free(api);
    }
}
