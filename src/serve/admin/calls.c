/* Calls in the order of their paths' subjects, then the table of paths. */
#include "serve/admin/calls.h"

#include "router/embed/request.h"
#include "router/reply/models.h"
#include "router/runtime.h"
#include "serve/admin/cache.h"
#include "serve/admin/classify.h"
#include "serve/admin/compress.h"
#include "serve/admin/draft.h"
#include "serve/admin/embed.h"
#include "serve/admin/explain.h"
#include "serve/admin/feedback.h"
#include "serve/admin/follow.h"
#include "serve/admin/inventory.h"
#include "serve/admin/level.h"
#include "serve/admin/models.h"
#include "serve/admin/outcomes.h"
#include "serve/admin/replay.h"
#include "serve/admin/setup.h"
#include "serve/admin/work.h"
#include "serve/warm/warm.h"

/* ---- POST /api/v1/compress ---- */

static void answer(struct sr_api_call *call, const struct sr_api_outcome *outcome)
{
    call->answered = true;
    if (outcome->status == 200)
        sr_api_reply(call->request, 200, SR_LIT("application/json"), outcome->answer);
    else
        sr_api_reply_error(call->request, outcome->status, outcome->message);
}

static void worked(void *ctx, const struct sr_api_outcome *outcome)
{
    struct sr_api_call *call = ctx;
    call->work = NULL;
    answer(call, outcome);
}

static void compress_elsewhere(struct sr_api_call *call)
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
        sr_api_reply_error(call->request, 503,
                           rc == SR_EBUSY ? "The server is busy." : "The server is out of memory.");
    }
}

static void compress(struct sr_api_call *call)
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
    struct sr_api_call *call = ctx;
    call->work = NULL;
    call->answered = true;
    sr_api_reply(call->request, outcome->status, SR_LIT("application/json"), outcome->answer);
}

/* Does the work on a worker thread; without any, here. */
static void work_on(struct sr_api_call *call, const struct sr_api_work_options *options)
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
        sr_api_reply_error(call->request, 503,
                           rc == SR_EBUSY ? "The server is busy." : "The server is out of memory.");
    }
}

static int classify_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return sr_api_classify(how->router, (enum sr_api_classify_kind)how->kind, body, out);
}

static void classify(struct sr_api_call *call, enum sr_api_classify_kind kind)
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

static void classify_intent(struct sr_api_call *call)
{
    classify(call, SR_API_CLASSIFY_INTENT);
}

static void classify_pii(struct sr_api_call *call)
{
    classify(call, SR_API_CLASSIFY_PII);
}

static void classify_security(struct sr_api_call *call)
{
    classify(call, SR_API_CLASSIFY_SECURITY);
}

static void classify_combined(struct sr_api_call *call)
{
    classify(call, SR_API_CLASSIFY_COMBINED);
}

static void classify_batch(struct sr_api_call *call)
{
    classify(call, SR_API_CLASSIFY_BATCH);
}

/* ---- embeddings and similarities ---- */

static void embedded(void *ctx, int status, struct sr_bytes body)
{
    struct sr_api_call *call = ctx;
    call->embed = NULL;
    call->answered = true;
    sr_api_reply(call->request, status, SR_LIT("application/json"), body);
}

static void embed(struct sr_api_call *call, enum sr_embeddings_kind kind)
{
    struct sr_api_embed_options options = {.kind = kind,
                                           .loop = call->api->options.loop,
                                           .runtime = call->api->options.runtime,
                                           .done = embedded,
                                           .ctx = call};
    int rc = sr_api_embed_start(&call->embed, &call->body, &options);
    if (rc != SR_OK) {
        call->answered = true;
        sr_api_reply_error(call->request, 503,
                           rc == SR_EBUSY ? "The server is busy." : "The server is out of memory.");
    }
}

static void embeddings(struct sr_api_call *call)
{
    embed(call, SR_EMBEDDINGS_NATIVE);
}

static void openai_embeddings(struct sr_api_call *call)
{
    embed(call, SR_EMBEDDINGS_OPENAI);
}

static void similarity(struct sr_api_call *call)
{
    embed(call, SR_EMBEDDINGS_PAIR);
}

static void similarities(struct sr_api_call *call)
{
    embed(call, SR_EMBEDDINGS_RANKING);
}

/* ---- the pages about models ---- */

static int list_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_infer *infer;
    struct sr_encoder *encoder = how->kind ? NULL : sr_runtime_encoder(how->runtime, &infer);
    (void)body;
    int rc = how->kind ? sr_api_models(how->runtime, out) : sr_embeddings_models(encoder, out);
    sr_encoder_unref(encoder);
    return rc ? 503 : 200;
}

static void listed(void *ctx, const struct sr_api_outcome *outcome)
{
    struct sr_api_call *call = ctx;
    call->work = NULL;
    call->answered = true;
    if (outcome->status == 200)
        sr_api_reply(call->request, 200, SR_LIT("application/json"), outcome->answer);
    else
        sr_api_reply_error(call->request, outcome->status, "The server is out of memory.");
}

/* Opens what the configuration has: that takes time. */
static void list(struct sr_api_call *call, bool all)
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

static void list_models(struct sr_api_call *call)
{
    list(call, true);
}

/* Of the configuration. */
enum { LIST_DECISIONS, LIST_NAMES };

static int inventory_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    static const struct sr_identity anyone = {0};
    (void)body;
    if (how->kind == LIST_DECISIONS)
        return sr_api_inventory(how->runtime, out) ? 503 : 200;
    struct sr_router *router = sr_runtime_router(how->runtime);
    int rc = sr_reply_models(router, &anyone, out);
    sr_router_unref(router);
    return rc ? 503 : 200;
}

static void list_configured(struct sr_api_call *call, int kind)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = inventory_any,
                                          .kind = kind,
                                          .answer_max = (size_t)16 << 20,
                                          .done = listed,
                                          .ctx = call};
    work_on(call, &options);
}

static void list_decisions(struct sr_api_call *call)
{
    list_configured(call, LIST_DECISIONS);
}

static void list_names(struct sr_api_call *call)
{
    list_configured(call, LIST_NAMES);
}

static void list_encoders(struct sr_api_call *call)
{
    list(call, false);
}

/* ---- the response cache ---- */

static int cache_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return sr_api_cache(how->runtime, (enum sr_api_cache_call)how->kind, body, out);
}

static void cache(struct sr_api_call *call, enum sr_api_cache_call kind)
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

static void cache_capabilities(struct sr_api_call *call)
{
    cache(call, SR_API_CACHE_CAPABILITIES);
}

static void cache_health(struct sr_api_call *call)
{
    cache(call, SR_API_CACHE_HEALTH);
}

static void cache_stats(struct sr_api_call *call)
{
    cache(call, SR_API_CACHE_STATS);
}

static void cache_invalidate(struct sr_api_call *call)
{
    cache(call, SR_API_CACHE_INVALIDATE);
}

static void cache_flush(struct sr_api_call *call)
{
    cache(call, SR_API_CACHE_FLUSH);
}

static void warmed(void *ctx, int status, struct sr_bytes body)
{
    struct sr_api_call *call = ctx;
    call->warm = NULL;
    call->answered = true;
    if (status == 200)
        sr_api_reply(call->request, 200, SR_LIT("application/json"), body);
    else
        sr_api_reply_error(call->request, status, "The server is ending, or out of memory.");
}

static void cache_warm(struct sr_api_call *call)
{
    int rc = sr_warm_start(&call->warm, call->api->options.warm, &call->body, call->api->options.loop, warmed,
                           call);
    if (rc != SR_OK) {
        call->answered = true;
        sr_api_reply_error(call->request, 503,
                           rc == SR_EBUSY ? "Other files warm the cache: try again later."
                                          : "The server is out of memory.");
    }
}

/* ---- outcomes ---- */

static int outcome_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return how->kind ? sr_api_outcomes(how->runtime, body, out) : sr_api_feedback(how->runtime, body, out);
}

static void outcome(struct sr_api_call *call, bool linked)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = outcome_any,
                                          .kind = linked,
                                          .answer_max = 8192,
                                          .done = classified,
                                          .ctx = call};
    work_on(call, &options);
}

static void feedback(struct sr_api_call *call)
{
    outcome(call, false);
}

static void outcomes(struct sr_api_call *call)
{
    outcome(call, true);
}

/* ---- requests that have ended ---- */

static int replay_any(const struct sr_api_work_options *how, struct sr_bytes target, struct sr_buf *out)
{
    return sr_api_replay(how->runtime, target, out);
}

static void replay(struct sr_api_call *call)
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
        sr_api_reply_error(call->request, 503, "The server is out of memory.");
        return;
    }
    work_on(call, &options);
}

static void follow(struct sr_api_call *call)
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
        sr_api_reply_error(call->request, 503, "Too many follow requests already.");
        return;
    }
    int status = sr_api_follow_start(&call->follow, &options, &why);
    api->followers += status == 200;
    if (status != 200)
        sr_api_reply_error(call->request, status, why);
}

/* ---- the page ---- */

static int page_any(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    (void)body;
    return how->kind ? sr_api_metrics(how->runtime, out) : sr_api_configuration(how->runtime, out);
}

static void page(struct sr_api_call *call, bool metrics)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = page_any,
                                          .kind = metrics,
                                          .answer_max = SR_API_SETUP_MAX,
                                          .done = listed,
                                          .ctx = call};
    work_on(call, &options);
}

static void page_configuration(struct sr_api_call *call)
{
    page(call, false);
}

static void page_metrics(struct sr_api_call *call)
{
    page(call, true);
}

static void drafted(void *ctx, int status, struct sr_bytes body)
{
    struct sr_api_call *call = ctx;
    call->draft = NULL;
    call->answered = true;
    if (status == 200)
        sr_api_reply(call->request, 200, SR_LIT("application/json"), body);
    else
        sr_api_reply_error(call->request, status,
                           status == 400
                               ? "The body must be {\"routing\": \"...\", \"text\": \"...\"}, or have "
                                 "`request` instead of `text`."
                               : "The server is out of memory.");
}

static void page_draft(struct sr_api_call *call)
{
    int rc = sr_draft_start(&call->draft, call->api->drafts, &call->body, drafted, call);
    if (rc != SR_OK) {
        call->answered = true;
        sr_api_reply_error(call->request, 503,
                           rc == SR_EBUSY ? "Another draft is explained: try again."
                                          : "The server is out of memory.");
    }
}

/* ---- the process log ---- */

static void level(struct sr_api_call *call)
{
    struct sr_buf out;
    struct sr_bytes body = sr_buf_view(&call->body);
    bool get = sr_bytes_eq(sr_http_request_head(call->request)->method, SR_LIT("GET"));
    sr_buf_init(&out, SR_API_LEVEL_MAX);
    if (!body.n)
        body = SR_LIT("{}"); /* names no level */
    int status = sr_api_level(call->api->options.runtime, get ? SR_LIT("") : body,
                              sr_http_request_peer(call->request), &out);
    call->answered = true;
    sr_api_reply(call->request, status, SR_LIT("application/json"), sr_buf_view(&out));
    sr_buf_dispose(&out);
}

/* ---- the paths ---- */

static const struct sr_api_path paths[] = {
    {"/api/v1/explain", sr_api_explain, false},
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
    {SR_API_OUTCOMES, outcomes, false},
    {"/info/models", list_models, true},
    {"/v1/models", list_names, true},
    {"/info/classifier", list_decisions, true},
    {"/api/v1/inventory/models", list_models, true},
    {"/api/v1/inventory/classifier", list_decisions, true},
    {"/api/v1/embeddings/models", list_encoders, true},
    {"/api/v1/page/configuration", page_configuration, true},
    {"/api/v1/page/metrics", page_metrics, true},
    {"/api/v1/page/draft", page_draft, false},
    {"/api/v1/log", level, .get = true, .set = true},
    {SR_API_FOLLOW, follow, true},
    {SR_API_REPLAY, replay, true},
    {SR_API_REPLAY "/", replay, .get = true, .below = true},
};

const struct sr_api_path *sr_api_path_find(struct sr_bytes path)
{
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct sr_bytes own = sr_bytes_str(paths[i].path);
        if (paths[i].below ? sr_bytes_starts_with(path, own) : sr_bytes_eq(path, own))
            return &paths[i];
    }
    return NULL;
}

void sr_api_call_cancel(struct sr_api_call *call)
{
    sr_api_work_cancel(call->work);
    sr_api_embed_cancel(call->embed);
    sr_draft_cancel(call->draft);
    sr_warm_cancel(call->warm);
    call->api->followers -= call->follow != NULL;
    sr_api_follow_stop(call->follow);
}
