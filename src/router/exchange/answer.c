/*
 * The answer's side of an exchange: passes the head and the bytes of an answer to its stages and acts on
 * their results: it records times and findings and replaces a blocked answer.
 */
#include "router/exchange/answer.h"

#include "base/clock.h"
#include "router/cache/replay.h"
#include "router/exchange/history.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"
#include "router/exchange/store.h"
#include "router/exchange/trace.h"
#include "router/reply/headers.h"

#define VERDICT_MAX 4096u

/* The decision whose plugin reads the answer: the one that routed the request, else its guard; NULL: none. */
static const struct sr_config_decision *plugin_of(const sr_exchange *x)
{
    const struct sr_config_decision *routed = sr_record_decision(&x->record, x->router->config);
    if (routed && routed->plugins.response_jailbreak.set)
        return routed;
    const struct sr_config_decision *guard =
        x->record.guard.decision >= 0 ? &x->router->config->decisions[x->record.guard.decision] : NULL;
    return guard && guard->plugins.response_jailbreak.set ? guard : NULL;
}

/* Reports the finding of the answer guard, once. */
static void note_finding(sr_exchange *x)
{
    if (!x->answer.guard.found || x->answer_found)
        return;
    x->answer_found = true;
    sr_exchange_report_finding(x);
}

static void late_result(void *ctx)
{
    sr_exchange *x = ctx;
    note_finding(x);
    x->env.answer_ready(x->env.ctx, x);
}

void sr_exchange_answer_timeout(sr_exchange *x)
{
    sr_response_guard_timeout(&x->answer.guard);
    note_finding(x);
}

/* Fills the plan; NULL when no plugin reads the answer. */
static const struct sr_response_guard_plan *plan_guard(sr_exchange *x, struct sr_response_guard_plan *plan)
{
    const struct sr_config_decision *decision = plugin_of(x);
    if (!decision)
        return NULL;
    double threshold = decision->plugins.response_jailbreak.threshold;
    *plan = (struct sr_response_guard_plan){
        .decision = decision,
        .threshold = (float)(threshold > 0 ? threshold : x->router->config->global.jailbreak_threshold),
        .signals = sr_readers_signals(x->router->readers, SR_SIGNAL_JAILBREAK),
        .tenant = x->identity.tenant,
        .config = x->router->config,
        .runtime = x->runtime,
        .env = &x->env,
        .mailbox = &x->mailbox,
        .ready = late_result,
        .ctx = x,
    };
    return plan;
}

/* Would an answer that cannot be read pass a guard that blocks? */
static bool must_read(const sr_exchange *x)
{
    const struct sr_config_decision *decision = plugin_of(x);
    return x->translation || (decision && decision->plugins.response_jailbreak.action == SR_RESPONSE_BLOCK &&
                              decision->plugins.response_jailbreak.on_error == SR_ON_ERROR_MATCH);
}

/* Does the upstream forbid to keep the answer? */
static bool forbids(const struct sr_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sr_bytes_eq_nocase(headers[i].name, SR_LIT("cache-control")) &&
            (sr_bytes_contains(headers[i].value, SR_LIT("no-store")) ||
             sr_bytes_contains(headers[i].value, SR_LIT("private"))))
            return true;
    return false;
}

/* Bytes of the answer that are kept for the cache. */
static size_t keeps(sr_exchange *x, const struct sr_header *headers, size_t n_headers)
{
    struct sr_cache_plan *plan = &x->recall.plan;
    if (!plan->use || !plan->stores)
        return 0;
    if (forbids(headers, n_headers)) {
        plan->stores = false;
        plan->why_not = "no_store";
        return 0;
    }
    return x->router->config->global.cache.max_entry_bytes;
}

void sr_exchange_answer_head(sr_exchange *x, int status, const struct sr_header *headers, size_t n_headers,
                             struct sr_header_edits *edits)
{
    const struct sr_config_decision *guard =
        x->record.guard.decision >= 0 ? &x->router->config->decisions[x->record.guard.decision] : NULL;
    struct sr_response_guard_plan plan;
    enum sr_coding coding = sr_answer_coding_of(headers, n_headers);
    if (!x->head.answer_unseen)
        sr_answer_coding_begin(&x->coding, coding, status / 100 == 2 && must_read(x));
    bool undoes = sr_answer_coding_undoes(&x->coding);
    struct sr_answer_head head = {
        .status = status,
        .mode = sr_answer_mode_of(status, headers, n_headers, undoes || coding == SR_CODING_NONE),
        .dialect = x->body.doc.dialect,
        .paths = sr_dialect_answer_paths(x->router->paths, x->body.doc.dialect),
        .keeps = keeps(x, headers, n_headers),
        .stores = sr_exchange_store_max(x),
        .previous = x->stored.previous,
        .strip_usage = x->edited.hidden_usage,
        .restores = guard && guard->plugins.guard.restore ? &x->edited.redaction : NULL,
        .guard = status / 100 == 2 ? plan_guard(x, &plan) : NULL,
        .translation = x->translation,
    };
    if (x->translation && status / 100 == 2 && head.mode == SR_ANSWER_RAW)
        head.mode = SR_ANSWER_JSON; /* what it becomes */
    x->record.times.answer_head = sr_clock_ns();
    sr_answer_begin(&x->answer, &head);
    struct sr_answer_headers answer = {headers, n_headers, sr_answer_changes_length(&x->answer),
                                       sr_answer_translation_holds(&x->answer.translation), undoes};
    sr_exchange_note_answer(x);
    sr_exchange_note_target(x);
    sr_exchange_try_answered(x, status);
    sr_exchange_note_replay(x);
    sr_exchange_capture_begin(x, undoes || coding == SR_CODING_NONE);
    struct sr_header_edits own;
    sr_headers_answer(&x->record, x->router, &answer, &x->arena, &own);
    own.struct_size = edits->struct_size < sizeof own ? edits->struct_size : sizeof own;
    memcpy(edits, &own, own.struct_size);
}

bool sr_exchange_answer_held(const sr_exchange *x)
{
    return x->coding.unknown || sr_response_guard_holds_head(&x->answer.guard) ||
           sr_answer_translation_holds(&x->answer.translation);
}

/* The answer guard has blocked: replaces a held answer; for a stream it only records the outcome. */
static void refuse_answer(sr_exchange *x, enum sr_answer_step step)
{
    const struct sr_response_guard *guard = &x->answer.guard;
    bool unread = guard->status && strcmp(guard->kind, SR_CODE_CLASSIFICATION_ERROR) == 0;
    x->record.error_reason = unread ? "classification_failed" : "jailbreak_block";
    x->record.error_code = unread ? SR_CODE_CLASSIFICATION_ERROR : SR_RESPONSE_BLOCKED_CODE;
    if (step == SR_ANSWER_END) {
        x->verdict.outcome = x->record.outcome = SR_OUTCOME_BLOCKED;
        return;
    }
    struct sr_refusal refusal;
    if (unread)
        sr_refuse(&refusal, 403, SR_CODE_CLASSIFICATION_ERROR, NULL,
                  "The answer was blocked: it could not be classified.");
    else
        sr_refuse(&refusal, 403, SR_RESPONSE_BLOCKED_CODE, NULL,
                  "The answer was blocked: it looks like the result of an attack on the model (type: %s, "
                  "confidence: %.3f).",
                  guard->kind, (double)guard->risk);
    refusal.type = "invalid_request_error";
    refusal.blocked = true;
    refusal.path = "error";
    sr_exchange_note_answer(x);
    sr_exchange_refuse(x, &refusal);
}

/* A whole answer that cannot be translated or decompressed: the client gets an error instead. */
static void refuse_unusable(sr_exchange *x, const char *why)
{
    struct sr_refusal refusal;
    sr_refuse(&refusal, 502, "bad_upstream_answer", NULL, "%s", why);
    refusal.reason = "bad_upstream_answer";
    sr_exchange_note_answer(x);
    sr_exchange_refuse(x, &refusal);
}

/* A backend that does not count tokens, or answers something else. Its address is not for clients. */
static void refuse_uncounted(sr_exchange *x)
{
    const struct sr_verdict *v = &x->verdict;
    struct sr_refusal refusal;
    sr_refuse(
        &refusal, 501, "count_unsupported", NULL,
        "The tokens were not counted: the backend of the model \"%.100s\" answered %d without a count to "
        "POST %.*s. Name a model whose backend can count, or count in the client.",
        x->record.model_name, x->answer.status, (int)(v->target.n < 128 ? v->target.n : 128), v->target.p);
    refusal.reason = "count_unsupported";
    sr_exchange_note_answer(x);
    sr_exchange_refuse(x, &refusal);
}

static const char unknown_coding[] = "the upstream's answer has a content-encoding that cannot be undone";

bool sr_exchange_answer_refused(sr_exchange *x)
{
    if (!x->coding.unknown || x->coding.told)
        return false;
    x->coding.told = true;
    refuse_unusable(x, unknown_coding);
    return true;
}

/* Acts on a step of the answer; `blocked`: the answer was blocked before. */
static enum sr_answer_step take_step(sr_exchange *x, enum sr_answer_step step, bool blocked,
                                     const struct sr_bytes **slices, size_t *n_slices)
{
    struct sr_answer *answer = &x->answer;
    if (!x->record.times.first_token)
        x->record.times.first_token = answer->first_event_ns;
    note_finding(x);
    if (!blocked && answer->guard.ended)
        refuse_answer(x, step);
    else if (step == SR_ANSWER_REPLACE && answer->translation.failed && x->translation->settings.counts)
        refuse_uncounted(x);
    else if (step == SR_ANSWER_REPLACE && answer->translation.failed)
        refuse_unusable(x, "the upstream's answer cannot be translated into the API of the request");
    sr_exchange_store_answer(x);
    *slices = answer->out.slices;
    *n_slices = answer->out.n;
    return step;
}

/* The coding of the answer cannot be undone: its place is taken by an error, or a stream ends with one. */
static enum sr_answer_step end_coded(sr_exchange *x, bool last, const struct sr_bytes **slices,
                                     size_t *n_slices)
{
    struct sr_dialect_error error = {SR_LIT("the upstream's answer cannot be decompressed"), "server_error",
                                     "bad_upstream_answer", NULL};
    bool begun = x->answer.mode == SR_ANSWER_SSE && x->answer.bytes && !sr_exchange_answer_held(x);
    *n_slices = 0;
    if (x->coding.told)
        return SR_ANSWER_GO;
    if (sr_exchange_answer_held(x) && !last)
        return SR_ANSWER_HOLD;
    x->coding.told = true;
    sr_buf_clear(&x->reply);
    if (!begun || sr_exchange_error_event(x, &error, &x->reply)) {
        refuse_unusable(x, unknown_coding);
        return SR_ANSWER_REPLACE;
    }
    x->record.error_reason = error.code;
    x->answer.out.slices[0] = sr_buf_view(&x->reply);
    *slices = x->answer.out.slices;
    *n_slices = 1;
    return SR_ANSWER_END;
}

enum sr_answer_step sr_exchange_answer_next(sr_exchange *x, const struct sr_bytes **slices, size_t *n_slices)
{
    bool blocked = x->answer.guard.ended;
    return take_step(x, sr_answer_next(&x->answer), blocked, slices, n_slices);
}

enum sr_answer_step sr_exchange_answer_body(sr_exchange *x, const void *p, size_t n, bool last,
                                            const struct sr_bytes **slices, size_t *n_slices)
{
    bool blocked = x->answer.guard.ended;
    struct sr_bytes in = sr_bytes_of(p, n);
    if (n) {
        x->record.times.last_token = sr_clock_ns();
        sr_ticket_first_byte(&x->ticket);
    }
    if (sr_answer_coding_undo(&x->coding, &in, last))
        return end_coded(x, last, slices, n_slices);
    sr_exchange_capture(x, in);
    return take_step(x, sr_answer_body(&x->answer, in, last), blocked, slices, n_slices);
}

void sr_exchange_answer_headers(sr_exchange *x, const struct sr_header **headers, size_t *n_headers)
{
    sr_exchange_note_answer(x);
    sr_headers_answer_guard(&x->record, &x->arena, headers, n_headers);
}

int sr_exchange_error_event(const sr_exchange *x, const struct sr_dialect_error *error, struct sr_buf *out)
{
    return x->body.doc.dialect->error_event(error, out);
}

/* ---- the cache ---- */

/* Why a complete exchange's answer is not kept; NULL: it may be. */
static const char *why_not_kept(sr_exchange *x, enum sr_end how)
{
    struct sr_answer *answer = &x->answer;
    const struct sr_answer_paths *paths = sr_dialect_answer_paths(x->router->paths, x->body.doc.dialect);
    if (!x->recall.plan.stores)
        return x->recall.plan.why_not;
    if (x->record.action != SR_ACTION_FORWARD || answer->guard.found || answer->guard.status)
        return "guarded";
    if (how != SR_END_COMPLETE)
        return "incomplete";
    if (answer->status / 100 != 2)
        return "upstream_non_2xx";
    if (x->record.failovers)
        return "failover";
    if (!answer->keep.kept)
        return answer->mode == SR_ANSWER_RAW ? "unreadable" : "too_large";
    bool usable =
        sr_answer_is_usable(sr_buf_view(&answer->keep.bytes), answer->mode, x->body.doc.dialect, paths->all);
    return usable ? NULL : "incomplete";
}

void sr_exchange_keep(sr_exchange *x, enum sr_end how)
{
    struct sr_record_cache *cache = &x->record.cache;
    struct sr_buf verdict;
    if (!x->recall.plan.use || x->recall.record || !x->record.has_verdict ||
        x->recall.purpose == SR_PURPOSE_EXPLAIN)
        return;
    cache->not_stored = why_not_kept(x, how);
    if (cache->not_stored)
        return;
    sr_buf_init(&verdict, VERDICT_MAX);
    if (sr_replay_write_verdict(&x->record, &verdict)) {
        cache->not_stored = "out_of_memory";
    } else {
        struct sr_recall_answer answer = {
            .form = x->answer.mode == SR_ANSWER_SSE ? SR_CACHE_SSE : SR_CACHE_JSON,
            .bytes = sr_buf_view(&x->answer.keep.bytes),
            .verdict = sr_buf_view(&verdict),
            .model = x->record.model_name,
            .decision = x->record.decision_name,
        };
        cache->not_stored = sr_recall_keep(&x->recall, &answer);
    }
    cache->stored = !cache->not_stored;
    sr_buf_dispose(&verdict);
}
