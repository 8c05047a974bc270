/* Waits twice at most: for the verdict, and for a guard that reads the answer. */
#include "serve/warm/run.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "dialect/registry.h"
#include "router/cache_reasons.h"
#include "router/identity/claim.h"
#include "serve/post.h"
#include "serve/warm/build.h"

#include <stdio.h>

#define REQUEST_MAX (2 * SR_WARM_LINE_MAX)
#define ANSWER_MAX  ((size_t)64 << 20)

/* ---- the outcome ---- */

static void fail(struct sr_warm_run *run, const char *code, const char *message)
{
    run->outcome.code = code;
    snprintf(run->outcome.message, sizeof run->outcome.message, "%s", message);
}

/* The message of an error that the router would send. */
static void refused(struct sr_warm_run *run, const struct sr_verdict *verdict)
{
    sr_json_view root, message;
    struct sr_arena arena;
    struct sr_bytes text = SR_LIT("");
    sr_arena_init(&arena, SR_WARM_LINE_MAX);
    if (!sr_json_view_open(&root, verdict->reply, NULL)) {
        message = sr_json_view_get(sr_json_view_get(root, "error"), "message");
        if (!sr_json_view_is_string(message) || !sr_json_view_dup(message, &arena, &text))
            text = SR_LIT("");
    }
    run->outcome.code = "refused";
    snprintf(run->outcome.message, sizeof run->outcome.message,
             "the router refuses this request with status %d: %.*s", verdict->status,
             (int)(text.n < 160 ? text.n : 160), text.p);
    sr_arena_dispose(&arena);
}

/* The router does not ask a model. */
static void answered(struct sr_warm_run *run, const struct sr_verdict *verdict)
{
    switch (verdict->outcome) {
    case SR_OUTCOME_SHED:
        fail(run, "busy", "the router has no room for it");
        run->outcome.again = true;
        break;
    case SR_OUTCOME_BLOCKED:
        fail(run, "guarded", "a guard blocks this request");
        break;
    case SR_OUTCOME_FAST:
        fail(run, "fast_response", "the decision has a `fast_response`");
        break;
    default:
        refused(run, verdict);
    }
}

static void end(struct sr_warm_run *run)
{
    struct sr_warmed warmed = sr_exchange_end_warm(run->exchange);
    run->exchange = NULL;
    run->outcome.by_meaning = warmed.by_meaning;
    run->outcome.again = warmed.late || (warmed.why_not && strcmp(warmed.why_not, "degraded") == 0);
    if (warmed.why_not)
        fail(run, warmed.why_not, sr_cache_reason(warmed.why_not));
}

static void give_up(struct sr_warm_run *run)
{
    sr_exchange_end(run->exchange, SR_END_CLIENT_GONE);
    run->exchange = NULL;
}

/* ---- steps; true: the exchange has ended ---- */

static bool wait_on(struct sr_warm_run *run)
{
    uint64_t due = sr_exchange_deadline_ns(run->exchange), now = sr_clock_ns();
    if (due)
        sr_timer_start(&run->timer, due > now ? (due - now) / SR_NS_PER_MS + 1 : 1);
    return false;
}

static bool take_step(struct sr_warm_run *run, enum sr_answer_step step)
{
    if (step == SR_ANSWER_WAIT)
        return wait_on(run);
    end(run);
    return true;
}

/* Gives the answer. */
static bool give(struct sr_warm_run *run, const char *model)
{
    struct sr_bytes type = run->streamed ? SR_LIT("text/event-stream") : SR_LIT("application/json");
    struct sr_header header = {SR_LIT("content-type"), type};
    struct sr_header_edits edits = {.struct_size = sizeof edits};
    const char *query = memchr(run->line->path.p, '?', run->line->path.n);
    struct sr_bytes path = run->line->path;
    const struct sr_bytes *slices;
    struct sr_err err = {0};
    size_t n;
    if (query)
        path.n = (size_t)(query - path.p);
    const struct sr_dialect_ops *dialect = sr_dialect_at(path);
    int rc = sr_warm_answer(run->line, dialect ? dialect : &sr_dialect_other, model,
                            sr_clock_wall_ns() / SR_NS_PER_S, run->streamed, &run->answer, &err);
    if (rc) {
        fail(run, rc == SR_EUNSUPPORTED ? "unsupported" : "too_large",
             err.message[0] ? err.message : sr_strerror(rc));
        give_up(run);
        return true;
    }
    run->answering = true;
    sr_exchange_answer_head(run->exchange, run->line->status, &header, 1, &edits);
    return take_step(
        run, sr_exchange_answer_body(run->exchange, run->answer.data, run->answer.len, true, &slices, &n));
}

static bool decided(struct sr_warm_run *run)
{
    const struct sr_verdict *verdict = sr_exchange_verdict(run->exchange);
    if (verdict->action == SR_ACTION_FORWARD)
        return give(run, verdict->model);
    answered(run, verdict);
    give_up(run);
    return true;
}

/* ---- waiting ---- */

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct sr_warm_run *run = ctx;
    sr_serve_post(run->loop, task, arg);
}

static void on_ready(void *ctx, sr_exchange *exchange)
{
    struct sr_warm_run *run = ctx;
    (void)exchange;
    sr_timer_stop(&run->timer);
    if (decided(run))
        run->done(run->ctx);
}

static bool next_step(struct sr_warm_run *run)
{
    const struct sr_bytes *slices;
    size_t n;
    return take_step(run, sr_exchange_answer_next(run->exchange, &slices, &n));
}

static void on_answer_ready(void *ctx, sr_exchange *exchange)
{
    struct sr_warm_run *run = ctx;
    (void)exchange;
    sr_timer_stop(&run->timer);
    if (next_step(run))
        run->done(run->ctx);
}

static void on_deadline(void *ctx)
{
    struct sr_warm_run *run = ctx;
    sr_exchange_timeout(run->exchange);
    if (run->answering ? next_step(run) : decided(run))
        run->done(run->ctx);
}

/* ---- the request ---- */

static int begin(struct sr_warm_run *run, const struct sr_config *config, struct sr_bytes body)
{
    struct sr_header headers[1 + SR_CLAIM_HEADERS] = {{SR_LIT("content-type"), SR_LIT("application/json")}};
    size_t n = 1;
    struct sr_claim claim = {run->line->tenant, run->line->user, run->line->team};
    struct sr_err err = {0};
    if (sr_claim_headers(&claim, config, headers, &n, &err)) {
        fail(run, "no_header", err.message);
        return SR_OK;
    }
    struct sr_request_head head = {
        .struct_size = sizeof head,
        .door = SR_DOOR_LIBRARY,
        .method = SR_LIT("POST"),
        .target = run->line->path,
        .headers = headers,
        .n_headers = n,
        .has_body = true,
        .client_known = true,
    };
    struct sr_exchange_env env = {.struct_size = sizeof env,
                                  .post = post,
                                  .ready = on_ready,
                                  .ctx = run,
                                  .answer_ready = on_answer_ready};
    run->exchange = sr_exchange_new(run->runtime, &head, &env);
    if (!run->exchange) {
        fail(run, "out_of_memory", sr_cache_reason("out_of_memory"));
        return SR_OK;
    }
    sr_exchange_warms(run->exchange, run->line->ttl_s);
    if (!sr_exchange_verdict(run->exchange) &&
        sr_exchange_body(run->exchange, body.p, body.n, true) == SR_STEP_WAIT)
        return wait_on(run) ? SR_OK : SR_AGAIN;
    return decided(run) ? SR_OK : SR_AGAIN;
}

int sr_warm_run_start(struct sr_warm_run *run, const struct sr_warm_line *line, bool streamed)
{
    const struct sr_config *config = sr_runtime_config(run->runtime);
    const struct sr_strings *names = &config->global.auto_model_names;
    struct sr_buf body;
    sr_buf_init(&body, REQUEST_MAX);
    sr_buf_clear(&run->answer);
    run->line = line;
    run->streamed = streamed;
    run->answering = false;
    run->outcome = (struct sr_warm_outcome){.code = NULL};
    int rc = sr_warm_request(line, names->count ? names->items[0] : "auto", streamed, &body);
    if (rc)
        fail(run, "request_too_large", sr_strerror(rc));
    else
        rc = begin(run, config, sr_buf_view(&body));
    sr_buf_dispose(&body);
    sr_config_unref(config);
    return rc == SR_AGAIN ? SR_AGAIN : SR_OK;
}

void sr_warm_run_init(struct sr_warm_run *run, sr_runtime *runtime, struct sr_loop *loop,
                      void (*done)(void *ctx), void *ctx)
{
    *run = (struct sr_warm_run){.runtime = runtime, .loop = loop, .done = done, .ctx = ctx};
    sr_timer_init(&run->timer, loop, on_deadline, run);
    sr_buf_init(&run->answer, ANSWER_MAX);
}

void sr_warm_run_dispose(struct sr_warm_run *run)
{
    sr_timer_stop(&run->timer);
    if (run->exchange)
        give_up(run);
    sr_buf_dispose(&run->answer);
}
