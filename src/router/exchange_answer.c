/*
 * The answer's side of an exchange: passes the head and the bytes of an answer to its stages and acts on
 * their results: it records times and findings and replaces a blocked answer.
 */
#include "router/exchange_answer.h"

#include "base/clock.h"
#include "router/exchange_record.h"
#include "router/exchange_verdict.h"
#include "router/reply/headers.h"

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

void sr_exchange_answer_head(sr_exchange *x, int status, const struct sr_header *headers, size_t n_headers,
                             struct sr_header_edits *edits)
{
    const struct sr_config_decision *guard =
        x->record.guard.decision >= 0 ? &x->router->config->decisions[x->record.guard.decision] : NULL;
    struct sr_response_guard_plan plan;
    struct sr_answer_head head = {
        .status = status,
        .mode = sr_answer_mode_of(status, headers, n_headers),
        .dialect = x->body.doc.dialect,
        .paths = sr_dialect_answer_paths(x->router->paths, x->body.doc.dialect),
        .strip_usage = x->edited.hidden_usage,
        .restores = guard && guard->plugins.guard.restore ? &x->edited.redaction : NULL,
        .guard = status / 100 == 2 ? plan_guard(x, &plan) : NULL,
    };
    x->record.times.answer_head = sr_clock_ns();
    sr_answer_begin(&x->answer, &head);
    struct sr_answer_headers answer = {headers, n_headers, sr_answer_changes_length(&x->answer)};
    sr_exchange_note_answer(x);
    struct sr_header_edits own;
    sr_headers_answer(&x->record, x->router, &answer, &x->arena, &own);
    own.struct_size = edits->struct_size < sizeof own ? edits->struct_size : sizeof own;
    memcpy(edits, &own, own.struct_size);
}

bool sr_exchange_answer_held(const sr_exchange *x)
{
    return sr_response_guard_holds_head(&x->answer.guard);
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
    *slices = answer->out.slices;
    *n_slices = answer->out.n;
    return step;
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
    if (n)
        x->record.times.last_token = sr_clock_ns();
    return take_step(x, sr_answer_body(&x->answer, sr_bytes_of(p, n), last), blocked, slices, n_slices);
}

void sr_exchange_answer_headers(sr_exchange *x, const struct sr_header **headers, size_t *n_headers)
{
    sr_exchange_note_answer(x);
    sr_headers_answer_guard(&x->record, &x->arena, headers, n_headers);
}
