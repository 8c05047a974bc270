/*
 * Calls in the order of their paths' subjects, then the table of paths. Most calls are work for a worker
 * thread: a row of `struct sr_api_work_type` says what it is, and the path's `kind` which of several.
 */
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

/* ---- answers ---- */

static void reply(struct sr_api_call *call, int status, struct sr_bytes json)
{
    call->answered = true;
    sr_api_reply(call->request, status, SR_LIT("application/json"), json);
}

static void reply_error(struct sr_api_call *call, int status, const char *message)
{
    call->answered = true;
    sr_api_reply_error(call->request, status, message);
}

/* The JSON of a 200, else an error with `message`. */
static void reply_or_error(struct sr_api_call *call, int status, struct sr_bytes json, const char *message)
{
    if (status == 200)
        reply(call, status, json);
    else
        reply_error(call, status, message);
}

/* What the call needs was not started: SR_EBUSY or SR_ENOMEM. */
static void reply_not_started(struct sr_api_call *call, int rc, const char *busy)
{
    reply_error(call, 503, rc == SR_EBUSY ? busy : "The server is out of memory.");
}

/* ---- work on a worker thread ---- */

/* Work whose answer is one for every status. */
static void on_worked(void *ctx, const struct sr_api_outcome *outcome)
{
    struct sr_api_call *call = ctx;
    call->work = NULL;
    reply(call, outcome->status, outcome->answer);
}

/* Work that only memory can fail. */
static void on_listed(void *ctx, const struct sr_api_outcome *outcome)
{
    struct sr_api_call *call = ctx;
    call->work = NULL;
    reply_or_error(call, outcome->status, outcome->answer, "The server is out of memory.");
}

/* Does the work of the path on a worker thread; without any, here. */
static void work(struct sr_api_call *call)
{
    const struct sr_api_work_type *type = call->path->type;
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run_with = type->run,
                                          .kind = call->path->kind,
                                          .answer_max = type->answer_max,
                                          .done = type->done,
                                          .ctx = call};
    if (sr_runtime_workers(options.runtime)) {
        int rc = sr_api_work_start(&call->work, &call->body, &options);
        if (rc)
            reply_not_started(call, rc, "The server is busy.");
        return;
    }
    struct sr_buf out;
    sr_buf_init(&out, options.answer_max);
    int status = options.run_with(&options, sr_buf_view(&call->body), &out);
    options.done(call, &(struct sr_api_outcome){status, sr_buf_view(&out), NULL});
    sr_buf_dispose(&out);
}

/* ---- POST /api/v1/compress ---- */

static void on_compressed(void *ctx, const struct sr_api_outcome *outcome)
{
    struct sr_api_call *call = ctx;
    call->work = NULL;
    reply_or_error(call, outcome->status, outcome->answer, outcome->message);
}

static void compress_elsewhere(struct sr_api_call *call)
{
    struct sr_api_work_options options = {.loop = call->api->options.loop,
                                          .runtime = call->api->options.runtime,
                                          .run = sr_api_compress,
                                          .answer_max = SR_API_COMPRESS_MAX * 16,
                                          .done = on_compressed,
                                          .ctx = call};
    int rc = sr_api_work_start(&call->work, &call->body, &options);
    if (rc)
        reply_not_started(call, rc, "The server is busy.");
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
    reply_or_error(call, status, sr_buf_view(&out), err.message);
    sr_buf_dispose(&out);
}

/* ---- classification ---- */

static int run_classify(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_router *router = sr_runtime_router(how->runtime);
    int status = sr_api_classify(router, (enum sr_api_classify_kind)how->kind, body, out);
    sr_router_unref(router);
    return status;
}

static const struct sr_api_work_type classify = {run_classify, on_worked, SR_API_BODY_MAX * 16};

/* ---- embeddings and similarities ---- */

static void on_embedded(void *ctx, int status, struct sr_bytes body)
{
    struct sr_api_call *call = ctx;
    call->embed = NULL;
    reply(call, status, body);
}

static void embed(struct sr_api_call *call)
{
    struct sr_api_embed_options options = {.kind = (enum sr_embeddings_kind)call->path->kind,
                                           .loop = call->api->options.loop,
                                           .runtime = call->api->options.runtime,
                                           .done = on_embedded,
                                           .ctx = call};
    int rc = sr_api_embed_start(&call->embed, &call->body, &options);
    if (rc)
        reply_not_started(call, rc, "The server is busy.");
}

/* ---- the pages about models ---- */

enum { LIST_ENCODERS, LIST_MODELS };

/* Opens what the configuration has: that takes time. */
static int run_list(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    struct sr_infer *infer;
    (void)body;
    if (how->kind == LIST_MODELS)
        return sr_api_models(how->runtime, out) ? 503 : 200;
    struct sr_encoder *encoder = sr_runtime_encoder(how->runtime, &infer);
    int rc = sr_embeddings_models(encoder, out);
    sr_encoder_unref(encoder);
    return rc ? 503 : 200;
}

static const struct sr_api_work_type list = {run_list, on_listed, (size_t)1 << 20};

/* Of the configuration. */
enum { LIST_DECISIONS, LIST_NAMES };

static int run_inventory(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
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

static const struct sr_api_work_type inventory = {run_inventory, on_listed, (size_t)16 << 20};

/* ---- the response cache ---- */

static int run_cache(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return sr_api_cache(how->runtime, (enum sr_api_cache_call)how->kind, body, out);
}

static const struct sr_api_work_type cache = {run_cache, on_worked, (size_t)1 << 20};

static void on_warmed(void *ctx, int status, struct sr_bytes body)
{
    struct sr_api_call *call = ctx;
    call->warm = NULL;
    reply_or_error(call, status, body, "The server is ending, or out of memory.");
}

static void warm(struct sr_api_call *call)
{
    int rc = sr_warm_start(&call->warm, call->api->options.warm, &call->body, call->api->options.loop,
                           on_warmed, call);
    if (rc)
        reply_not_started(call, rc, "Other files warm the cache: try again later.");
}

/* ---- outcomes ---- */

enum { OUTCOME_FEEDBACK, OUTCOME_LINKED };

static int run_outcome(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    return how->kind == OUTCOME_LINKED ? sr_api_outcomes(how->runtime, body, out)
                                       : sr_api_feedback(how->runtime, body, out);
}

static const struct sr_api_work_type outcome = {run_outcome, on_worked, 8192};

/* ---- requests that have ended ---- */

static int run_replay(const struct sr_api_work_options *how, struct sr_bytes target, struct sr_buf *out)
{
    return sr_api_replay(how->runtime, target, out);
}

static const struct sr_api_work_type replay = {run_replay, on_worked, SR_API_REPLAY_MAX};

/* Works on the target instead of the body. */
static void work_on_target(struct sr_api_call *call)
{
    const struct sr_http_head *head = sr_http_request_head(call->request);
    sr_buf_clear(&call->body);
    if (sr_buf_printf(&call->body, "%.*s?%.*s", (int)head->path.n, head->path.p, (int)head->query.n,
                      head->query.n ? head->query.p : ""))
        reply_error(call, 503, "The server is out of memory.");
    else
        work(call);
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

enum { PAGE_CONFIGURATION, PAGE_METRICS };

static int run_page(const struct sr_api_work_options *how, struct sr_bytes body, struct sr_buf *out)
{
    (void)body;
    return how->kind == PAGE_METRICS ? sr_api_metrics(how->runtime, out)
                                     : sr_api_configuration(how->runtime, out);
}

static const struct sr_api_work_type page = {run_page, on_listed, SR_API_SETUP_MAX};

static void on_drafted(void *ctx, int status, struct sr_bytes body)
{
    struct sr_api_call *call = ctx;
    call->draft = NULL;
    reply_or_error(call, status, body,
                   status == 400 ? "The body must be {\"routing\": \"...\", \"text\": \"...\"}, or have "
                                   "`request` instead of `text`."
                                 : "The server is out of memory.");
}

static void draft(struct sr_api_call *call)
{
    int rc = sr_draft_start(&call->draft, call->api->drafts, &call->body, on_drafted, call);
    if (rc)
        reply_not_started(call, rc, "Another draft is explained: try again.");
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
    reply(call, status, sr_buf_view(&out));
    sr_buf_dispose(&out);
}

/* ---- the paths ---- */

// clang-format off
static const struct sr_api_path paths[] = {
    {"/api/v1/explain", sr_api_explain},
    {"/api/v1/compress", compress},
    {"/api/v1/embeddings", embed, .kind = SR_EMBEDDINGS_NATIVE},
    {"/v1/embeddings", embed, .kind = SR_EMBEDDINGS_OPENAI},
    {"/api/v1/similarity", embed, .kind = SR_EMBEDDINGS_PAIR},
    {"/api/v1/similarity/batch", embed, .kind = SR_EMBEDDINGS_RANKING},
    {"/api/v1/classify/intent", work, &classify, SR_API_CLASSIFY_INTENT},
    {"/api/v1/classify/pii", work, &classify, SR_API_CLASSIFY_PII},
    {"/api/v1/classify/security", work, &classify, SR_API_CLASSIFY_SECURITY},
    {"/api/v1/classify/combined", work, &classify, SR_API_CLASSIFY_COMBINED},
    {"/api/v1/classify/batch", work, &classify, SR_API_CLASSIFY_BATCH},
    {"/api/v1/response-cache/capabilities", work, &cache, SR_API_CACHE_CAPABILITIES, .get = true},
    {"/api/v1/response-cache/health", work, &cache, SR_API_CACHE_HEALTH, .get = true},
    {"/api/v1/response-cache/stats", work, &cache, SR_API_CACHE_STATS, .get = true},
    {"/api/v1/response-cache/invalidate", work, &cache, SR_API_CACHE_INVALIDATE},
    {"/api/v1/response-cache/flush", work, &cache, SR_API_CACHE_FLUSH},
    {"/api/v1/response-cache/warm", warm},
    {"/api/v1/feedback", work, &outcome, OUTCOME_FEEDBACK},
    {SR_API_OUTCOMES, work, &outcome, OUTCOME_LINKED},
    {"/info/models", work, &list, LIST_MODELS, .get = true},
    {"/v1/models", work, &inventory, LIST_NAMES, .get = true},
    {"/info/classifier", work, &inventory, LIST_DECISIONS, .get = true},
    {"/api/v1/inventory/models", work, &list, LIST_MODELS, .get = true},
    {"/api/v1/inventory/classifier", work, &inventory, LIST_DECISIONS, .get = true},
    {"/api/v1/embeddings/models", work, &list, LIST_ENCODERS, .get = true},
    {"/api/v1/page/configuration", work, &page, PAGE_CONFIGURATION, .get = true},
    {"/api/v1/page/metrics", work, &page, PAGE_METRICS, .get = true},
    {"/api/v1/page/draft", draft},
    {"/api/v1/log", level, .get = true, .set = true},
    {SR_API_FOLLOW, follow, .get = true},
    {SR_API_REPLAY, work_on_target, &replay, .get = true},
    {SR_API_REPLAY "/", work_on_target, &replay, .get = true, .below = true},
};
// clang-format on

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
