/*
 * Begins and ends an exchange, and hands out its verdict. body.c reads the body of its request.
 *
 * The states: READING, then STREAMING (a known model, passed on as it arrives) or WAITING (a phase waits),
 * then SETTLED. Measures the time that a request spends in the router.
 */
#include "router/exchange/exchange.h"

#include "base/clock.h"
#include "base/mem.h"
#include "router/abi.h"
#include "router/cache/vector.h"
#include "router/exchange/answer.h"
#include "router/exchange/body.h"
#include "router/exchange/embed.h"
#include "router/exchange/limit.h"
#include "router/exchange/next.h"
#include "router/exchange/phases.h"
#include "router/exchange/pool.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"
#include "router/exchange/send.h"
#include "router/exchange/store.h"
#include "router/exchange/tiers.h"
#include "router/exchange/trace.h"
#include "router/exchange/translate.h"
#include "router/report/explain.h"
#include "router/report/explain_picture.h"
#include "router/request/admit.h"

/* The arena holds spans, decoded texts and edits of one body: a few times its size, and room for headers. */
#define ARENA_BASE_MAX ((size_t)64 << 20)
#define REPLY_MAX      ((size_t)16 << 20)
#define EXPLAIN_MAX    ((size_t)4 << 20)

/* ---- beginning ---- */

/* A stored response: read, with `/input_items` behind its id its items, or removed. */
static void begin_stored(sr_exchange *x, struct sr_bytes rest)
{
    const char *slash = memchr(rest.p, '/', rest.n);
    enum sr_stored_act act = sr_bytes_eq(x->head.method, SR_LIT("DELETE")) ? SR_STORED_DELETE
                             : slash                                       ? SR_STORED_ITEMS
                                                                           : SR_STORED_GET;
    x->stored.act = act;
    x->stored.id = sr_bytes_of(rest.p, slash ? (size_t)(slash - rest.p) : rest.n);
    sr_exchange_begin_phases(x, SR_PHASES_STORED);
}

static void admit(sr_exchange *x)
{
    struct sr_refusal refusal;
    struct sr_bytes rest;
    enum sr_admission admission =
        sr_admit(x->router->config, &x->head, x->router->max_body, &x->body.doc.dialect, &rest, &refusal);
    if (x->identity.refused && admission != SR_ADMIT_REFUSED) {
        admission = SR_ADMIT_REFUSED;
        sr_identity_refuse(&x->identity, &refusal);
    }
    switch (admission) {
    case SR_ADMIT_BODY:
        break;
    case SR_ADMIT_MODELS:
        sr_exchange_reply_models(x);
        break;
    case SR_ADMIT_MODEL:
        sr_exchange_reply_model(x, rest);
        break;
    case SR_ADMIT_STORED:
        begin_stored(x, rest);
        break;
    case SR_ADMIT_OPTIONS:
        sr_exchange_reply_options(x, rest);
        break;
    case SR_ADMIT_REFUSED:
        sr_exchange_refuse(x, &refusal);
        break;
    }
    x->record.dialect = x->body.doc.dialect->name;
}

static int exchange_init(sr_exchange *x, const struct sr_request_head *head)
{
    const struct sr_config *config = x->router->config;
    struct sr_identity_source source = {.headers = head->headers,
                                        .n = head->n_headers,
                                        .peer = head->peer,
                                        .known = head->client_known,
                                        .now_s = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_S)};
    int rc = sr_head_read(&x->head, head, config, &x->arena);
    if (!rc)
        rc = sr_identity_read(&x->identity, &source, config, &x->arena);
    if (!rc)
        rc = sr_exchange_own_state(x, head->headers, head->n_headers);
    if (rc)
        return rc;
    x->head.skip &= !x->router->guarded || x->identity.may_skip;
    if (x->router->caches &&
        sr_cache_controls_read(&x->recall.controls, head->headers, head->n_headers, config, &x->arena))
        return SR_ENOMEM;
    if (!x->head.request_id.n)
        sr_runtime_request_id(x->runtime, x->request_id);
    sr_exchange_note_head(x);
    sr_exchange_begin_trace(x);
    admit(x);
    if (x->record.has_verdict || x->state == SR_EXCHANGE_WAITING)
        return SR_OK;
    if (x->head.coding != SR_CODING_NONE && sr_inflate_new(&x->inflate, x->head.coding))
        return SR_ENOMEM;
    if (!x->head.skip)
        sr_prefetch_init(&x->prefetch, x->router->signals, x->body.doc.dialect);
    return sr_body_begin(&x->body, x->router, &x->head, &x->arena);
}

/* Adds the time since `start` to the request's time before its verdict; reports the verdict once it is
 * there. */
static void book_time(sr_exchange *x, uint64_t start, bool had_verdict)
{
    struct sr_times *times = &x->record.times;
    if (had_verdict)
        return;
    uint64_t now = sr_clock_ns();
    x->waiting_since = now;
    times->busy_ns += now - start;
    if (!x->record.has_verdict)
        return;
    times->verdict = now;
    x->verdict.overhead_ns = times->busy_ns;
    sr_prefetch_dispose(&x->prefetch); /* it is not used any more */
    sr_exchange_report_verdict(x);
}

/* Runs on the owner's thread: what a phase waited for is there. */
static void on_resumed(void *ctx)
{
    sr_exchange *x = ctx;
    uint64_t start = sr_exchange_waits_for_own_work(x) ? x->waiting_since : sr_clock_ns();
    sr_exchange_resume(x);
    book_time(x, start, false);
    if (x->state != SR_EXCHANGE_WAITING) /* else a later phase waits */
        x->env.ready(x->env.ctx, x);
}

sr_exchange *sr_exchange_new(sr_runtime *runtime, const struct sr_request_head *head,
                             const struct sr_exchange_env *env)
{
    struct sr_router *router = sr_runtime_router(runtime);
    sr_exchange *x = sr_exchange_new_by(runtime, router, head, env);
    sr_router_unref(router);
    return x;
}

sr_exchange *sr_exchange_new_by(sr_runtime *runtime, struct sr_router *router,
                                const struct sr_request_head *head, const struct sr_exchange_env *env)
{
    uint64_t start = sr_clock_ns();
    struct sr_request_head own_head;
    if (!sr_abi_take(&own_head, sizeof own_head, SR_ABI_UP_TO(struct sr_request_head, passing_max), head))
        return NULL;
    sr_exchange *x = sr_mem_calloc(1, sizeof *x);
    if (!x)
        return NULL;
    if (env &&
        !sr_abi_take(&x->env, sizeof x->env, SR_ABI_UP_TO(struct sr_exchange_env, answer_ready), env)) {
        sr_mem_free(x);
        return NULL;
    }
    x->runtime = runtime;
    x->router = sr_router_ref(router);
    x->metrics = x->router->config->global.metrics ? sr_runtime_metrics_table(runtime) : NULL;
    sr_record_init(&x->record);
    x->record.times.started = start;
    x->verdict.struct_size = sizeof x->verdict;
    x->verdict.decision = x->verdict.category = x->verdict.effort = x->verdict.model = "";
    sr_arena_init(&x->arena, ARENA_BASE_MAX + 4 * x->router->max_body);
    sr_body_init(&x->body, x->router->max_body);
    x->body.doc.dialect = &sr_dialect_chat; /* dialect of errors until the endpoint is known */
    sr_routing_init(&x->routing);
    sr_recall_init(&x->recall);
    x->pools.model = -1;
    x->resumed = x->pick.done = x->tools.done = x->limiting.done = on_resumed;
    x->pick.ctx = x->tools.ctx = x->limiting.ctx = x;
    sr_buf_init(&x->reply, REPLY_MAX);
    sr_buf_init(&x->translated, SR_TRANSLATE_BODY_MAX);
    sr_buf_init(&x->explain, EXPLAIN_MAX);
    sr_buf_init(&x->captured, 0);
    sr_answer_init(&x->answer);
    sr_answer_coding_init(&x->coding);
    if (exchange_init(x, &own_head)) {
        sr_router_unref(x->router);
        sr_inflate_free(x->inflate);
        sr_body_dispose(&x->body);
        sr_buf_dispose(&x->reply);
        sr_arena_dispose(&x->arena);
        sr_mem_free(x);
        return NULL;
    }
    book_time(x, start, false);
    return x;
}

/* ---- the body ---- */

enum sr_step sr_exchange_body(sr_exchange *x, const void *p, size_t n, bool last)
{
    uint64_t start = sr_clock_ns();
    bool had_verdict = x->record.has_verdict;
    if (x->state == SR_EXCHANGE_STREAMING)
        return sr_exchange_check_rest(x, sr_bytes_of(p, n), last);
    if (x->state == SR_EXCHANGE_READING)
        sr_exchange_read_body(x, sr_bytes_of(p, n), last);
    book_time(x, start, had_verdict);
    if (x->record.has_verdict)
        return SR_STEP_VERDICT;
    return x->state == SR_EXCHANGE_WAITING ? SR_STEP_WAIT : SR_STEP_MORE;
}

/* ---- waiting ---- */

uint64_t sr_exchange_deadline_ns(const sr_exchange *x)
{
    return x->state == SR_EXCHANGE_WAITING ? sr_exchange_waits_until_ns(x)
                                           : x->answer.guard.check.deadline_ns;
}

void sr_exchange_timeout(sr_exchange *x)
{
    if (x->state != SR_EXCHANGE_WAITING) {
        sr_exchange_answer_timeout(x);
        return;
    }
    uint64_t start = sr_exchange_waits_for_own_work(x) ? x->waiting_since : sr_clock_ns();
    sr_exchange_give_up(x);
    book_time(x, start, false);
}

/* Cancels what is in progress; late results are dropped. */
static void drop_signals(sr_exchange *x)
{
    sr_exchange_embed_dispose(x);
    sr_routing_dispose(&x->routing);
    sr_state_ask_dispose(&x->stored.ask);
    sr_recall_dispose(&x->recall);
    sr_limiting_dispose(&x->limiting);
    sr_pick_dispose(&x->pick);
    sr_tool_choice_dispose(&x->tools);
    sr_mailbox_close(x->mailbox);
    x->mailbox = NULL;
}

/* ---- the verdict and the end ---- */

const struct sr_verdict *sr_exchange_verdict(const sr_exchange *x)
{
    return x->record.has_verdict ? &x->verdict : NULL;
}

const struct sr_verdict *sr_exchange_verdict_for(sr_exchange *x, size_t target)
{
    struct sr_err err = {0};
    if (x->state == SR_EXCHANGE_READING || !x->record.has_verdict || x->record.action != SR_ACTION_FORWARD ||
        target >= x->verdict.n_targets)
        return NULL;
    int rc = sr_exchange_aim(x, (int)target, &err);
    if (rc)
        sr_exchange_refuse_translation(x, rc, &err);
    return &x->verdict;
}

/* A request that is only explained has no door: which worker would it go to? */
static void note_pick(sr_exchange *x)
{
    if (x->record.action != SR_ACTION_FORWARD || !x->ticket.group || x->ticket.at >= 0)
        return;
    int at = sr_ticket_choose(&x->ticket);
    at = at >= 0 ? at : sr_exchange_choose_pool(x, false);
    if (at >= 0) {
        struct sr_err err = {0};
        sr_ticket_assume(&x->ticket, (size_t)at);
        if (sr_exchange_aim(x, at, &err))
            sr_log(SR_LOG_DEBUG, "explain", "the request cannot be translated for its worker: %s",
                   err.message);
    }
    sr_exchange_note_target(x);
}

struct sr_bytes sr_exchange_explain(sr_exchange *x, bool terminal, int width, bool colour)
{
    struct sr_explain e = {&x->record, x->router};
    note_pick(x);
    sr_buf_clear(&x->explain);
    int rc = terminal ? sr_explain_picture(&e, width, colour, &x->explain) : sr_explain_json(&e, &x->explain);
    return rc ? (struct sr_bytes){"", 0} : sr_buf_view(&x->explain);
}

const struct sr_verdict *sr_exchange_fail(sr_exchange *x, int status, const char *type, const char *message)
{
    uint64_t start = sr_clock_ns();
    bool had_verdict = x->record.has_verdict;
    struct sr_refusal refusal;
    if (x->state == SR_EXCHANGE_WAITING)
        drop_signals(x);
    sr_refuse(&refusal, status, NULL, NULL, "%s", message ? message : "");
    refusal.type = type;
    refusal.reason = status == 504 ? "timeout" : status == 502 ? "upstream_unreachable" : NULL;
    sr_exchange_refuse(x, &refusal);
    book_time(x, start, had_verdict);
    return &x->verdict;
}

/* Reports and frees. */
static void finish(sr_exchange *x, enum sr_end how)
{
    sr_exchange_take_model(x);
    sr_exchange_report_end(x, how);
    sr_exchange_limit_settle(x);
    sr_exchange_learn_size(x);
    sr_runtime_release(x->runtime, x->held);
    sr_exchange_leave_pools(x);
    sr_ticket_dispose(&x->ticket);
    sr_answer_dispose(&x->answer);
    sr_answer_coding_dispose(&x->coding);
    drop_signals(x);
    sr_prefetch_dispose(&x->prefetch);
    sr_body_dispose(&x->body);
    sr_inflate_free(x->inflate);
    sr_buf_dispose(&x->reply);
    sr_buf_dispose(&x->translated);
    sr_buf_dispose(&x->explain);
    sr_buf_dispose(&x->captured);
    sr_arena_dispose(&x->arena);
    sr_router_unref(x->router);
    sr_mem_free(x);
}

void sr_exchange_end(sr_exchange *x, enum sr_end how)
{
    if (!x)
        return;
    sr_exchange_keep(x, how);
    finish(x, how);
}

/* ---- other purposes ---- */

void sr_exchange_explains(sr_exchange *x)
{
    x->recall.purpose = SR_PURPOSE_EXPLAIN;
    x->record.explains = true;
}

void sr_exchange_warms(sr_exchange *x, int64_t ttl_s)
{
    x->recall.purpose = SR_PURPOSE_WARM;
    x->recall.ttl_s = ttl_s;
    x->metrics = NULL;
}

/* Why the cache had no say. */
static const char *why_unused(const sr_exchange *x)
{
    if (x->record.recall.unused)
        return x->record.recall.unused;
    if (x->body.doc.body.n > x->router->config->global.cache.max_request_bytes)
        return "request_too_large";
    return "no_policy";
}

struct sr_warmed sr_exchange_end_warm(sr_exchange *x)
{
    sr_exchange_keep(x, SR_END_COMPLETE);
    const struct sr_record_cache *cache = &x->record.cache;
    struct sr_warmed warmed = {.why_not = cache->stored       ? NULL
                                          : cache->not_stored ? cache->not_stored
                                                              : why_unused(x)};
    warmed.by_meaning = x->recall.vector && sr_recall_vector_unit(x->recall.vector);
    warmed.late = cache->stored && !warmed.by_meaning && !x->record.recall.exact_only;
    finish(x, SR_END_COMPLETE);
    return warmed;
}
