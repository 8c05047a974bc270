/*
 * A request that names a response gets the items of its conversation: the body is made anew, with all of them
 * as its input, and read like one that came so. Guards, signals, the cache and a translation see the
 * conversation, and no upstream needs to know the id.
 *
 * The store's answer may be late (another process, or a file that is still read); without one the request is
 * refused: it would mean something else.
 */
#include "router/exchange/mail.h"
#include "router/exchange/phase.h"
#include "router/exchange/reply.h"
#include "router/exchange/store.h"
#include "router/state/list.h"
#include "json/splice.h"

#include <stdio.h>

#define EDITS_MAX    4096u
#define ID_SHOWN     128
#define AWAY_RETRY_S 1

/* ---- refusals ---- */

static int shown(struct sr_bytes id)
{
    return (int)(id.n < ID_SHOWN ? id.n : ID_SHOWN);
}

static enum sr_phase_step refuse(sr_exchange *x, struct sr_refusal *refusal)
{
    sr_exchange_refuse(x, refusal);
    return SR_PHASE_SETTLED;
}

static enum sr_phase_step refuse_memory(sr_exchange *x)
{
    sr_exchange_refuse_memory(x);
    return SR_PHASE_SETTLED;
}

static enum sr_phase_step refuse_unknown(sr_exchange *x)
{
    struct sr_refusal refusal;
    struct sr_bytes id = x->stored.id;
    if (x->stored.ask.away) {
        sr_refuse(&refusal, 503, "response_store_unavailable", NULL,
                  "the store of responses does not answer: try again");
        refusal.retry_after_s = AWAY_RETRY_S;
    } else if (x->stored.act == SR_STORED_CONTINUE) {
        sr_refuse(&refusal, 404, "previous_response_not_found", "previous_response_id",
                  "Previous response with id '%.*s' not found.", shown(id), id.p);
    } else {
        sr_refuse(&refusal, 404, "response_not_found", NULL, "Response with id '%.*s' not found.", shown(id),
                  id.p);
    }
    refusal.type = x->stored.ask.away ? NULL : "invalid_request_error";
    refusal.reason = x->stored.ask.away ? "store_unavailable" : NULL;
    return refuse(x, &refusal);
}

/* ---- asking ---- */

static int ask(sr_exchange *x)
{
    struct sr_state_ask_in in = {.cache = sr_runtime_responses(x->runtime),
                                 .owner = x->stored.owner,
                                 .id = x->stored.id,
                                 .mailbox = sr_exchange_mailbox(x),
                                 .timeout_ms = x->router->config->global.responses.timeout_ms,
                                 .done = x->resumed,
                                 .ctx = x};
    return sr_state_ask_begin(&x->stored.ask, &in);
}

static enum sr_phase_step asked(sr_exchange *x, int rc, enum sr_phase_step (*end)(sr_exchange *x))
{
    return rc == SR_AGAIN ? SR_PHASE_WAITS : rc ? refuse_memory(x) : end(x);
}

static uint64_t deadline_ns(const sr_exchange *x)
{
    return x->stored.ask.deadline_ns;
}

static void give_up(sr_exchange *x)
{
    sr_state_ask_give_up(&x->stored.ask);
}

/* ---- the body with all items ---- */

/* The slices of the new body, and their size. Everything lives in the exchange's arena or the old body. */
static int splice(sr_exchange *x, struct sr_bytes input, struct sr_sending *out)
{
    const struct sr_request *doc = &x->body.doc;
    struct sr_edits *edits;
    int rc = sr_edits_new(&edits, doc->body, doc->spans, doc->n_spans, sr_scan_root_open(x->body.scan),
                          EDITS_MAX, &x->arena);
    if (!rc)
        rc = doc->at.prompt != SR_SPAN_NONE
                 ? sr_edits_replace(edits, doc->at.prompt, input)
                 : sr_edits_set_member(edits, SR_SPAN_NONE, SR_LIT("input"), input);
    if (!rc)
        rc = sr_edits_remove(edits, doc->at.previous);
    return rc ? rc : sr_edits_render(edits, &out->slices, &out->n, &out->size, NULL);
}

/* Reads the new body in place of the one that came. False: the request was refused. */
static bool read_again(sr_exchange *x, const struct sr_sending *sent)
{
    struct sr_refusal refusal;
    struct sr_body fresh, old = x->body;
    enum sr_body_step step = SR_BODY_MORE;
    sr_body_init(&fresh, x->router->max_body);
    fresh.doc.dialect = old.doc.dialect;
    if (sr_body_begin(&fresh, x->router, &x->head, &x->arena)) {
        sr_refuse_memory(&refusal);
        step = SR_BODY_REFUSED;
    }
    for (size_t i = 0; i <= sent->n && step == SR_BODY_MORE; i++) {
        struct sr_bytes slice = i < sent->n ? sent->slices[i] : SR_LIT("");
        step = sr_body_feed(&fresh, slice.p, slice.n, i == sent->n, &refusal);
    }
    if (step != SR_BODY_COMPLETE || !sr_body_check(&fresh, &refusal)) {
        sr_body_dispose(&fresh);
        sr_exchange_refuse(x, &refusal);
        return false;
    }
    fresh.complete_ns = old.complete_ns;
    fresh.scan_ns += old.scan_ns;
    x->body = fresh;
    sr_body_dispose(&old);
    if (!x->head.skip) { /* what was prefetched is of the body that came */
        sr_prefetch_dispose(&x->prefetch);
        sr_prefetch_init(&x->prefetch, x->router->signals, fresh.doc.dialect);
    }
    return true;
}

/* Counts the bytes among those that all exchanges keep. */
static bool hold(sr_exchange *x, size_t n)
{
    if (!sr_runtime_hold(x->runtime, n, x->held + n, x->router->config->global.gateway.max_buffered_bytes))
        return false;
    x->held += n;
    return true;
}

static enum sr_phase_step replace_body(sr_exchange *x, struct sr_bytes input)
{
    struct sr_refusal refusal;
    struct sr_sending sent;
    int rc = splice(x, input, &sent);
    if (rc == SR_ECONFLICT || rc == SR_ELIMIT) {
        sr_refuse(&refusal, 400, "too_complex", NULL, "the request has too many members to be edited");
        return refuse(x, &refusal);
    }
    if (rc)
        return refuse_memory(x);
    if (sent.size > x->router->max_body) {
        sr_refuse(&refusal, 413, SR_CODE_TOO_LARGE, "previous_response_id",
                  "the request is larger than %zu bytes with the items of its conversation",
                  x->router->max_body);
        return refuse(x, &refusal);
    }
    if (!hold(x, sent.size)) {
        sr_refuse_room(&refusal);
        return refuse(x, &refusal);
    }
    return read_again(x, &sent) ? SR_PHASE_NEXT : SR_PHASE_SETTLED;
}

/* The id as it stands in the answer. */
static bool say_previous(sr_exchange *x)
{
    struct sr_bytes id = x->stored.id = sr_arena_dup(&x->arena, x->stored.id);
    struct sr_buf text;
    sr_buf_init(&text, 8 * SR_STORED_ID_MAX);
    int rc = sr_buf_append_json(&text, id);
    const char *json = rc ? NULL : sr_arena_printf(&x->arena, "\"%s\"", text.data);
    sr_buf_dispose(&text);
    x->stored.previous = json ? sr_bytes_str(json) : (struct sr_bytes){NULL, 0};
    return id.p && json;
}

/* The whole input: what is stored, and what came. */
static enum sr_phase_step expand_with(sr_exchange *x, const struct sr_stored *stored)
{
    const struct sr_request *doc = &x->body.doc;
    struct sr_bytes own = SR_LIT(""), input;
    struct sr_refusal refusal;
    struct sr_buf whole;
    if (doc->at.prompt != SR_SPAN_NONE)
        own = sr_span_raw(&doc->spans[doc->at.prompt], doc->body);
    sr_buf_init(&whole, 2 * (SR_CACHE_RECORD_MAX + x->router->max_body));
    int rc = sr_stored_continue(stored, own, &whole);
    input = rc ? (struct sr_bytes){NULL, 0} : sr_arena_dup(&x->arena, sr_buf_view(&whole));
    sr_buf_dispose(&whole);
    if (rc == SR_EINVAL) {
        sr_refuse(&refusal, 400, "invalid_type", "input", "field input must be string or array");
        return refuse(x, &refusal);
    }
    if (!input.p || !say_previous(x))
        return refuse_memory(x);
    x->stored.turns = stored->turns;
    return replace_body(x, input);
}

static enum sr_phase_step expand(sr_exchange *x)
{
    const int max_turns = x->router->config->global.responses.max_turns;
    struct sr_refusal refusal;
    struct sr_stored stored;
    if (!x->stored.ask.record || sr_stored_read(&stored, x->stored.ask.record))
        return refuse_unknown(x);
    if (stored.turns >= max_turns) {
        sr_refuse(&refusal, 400, "conversation_too_long", "previous_response_id",
                  "the conversation has %d answers, and may have %d", stored.turns, max_turns);
        return refuse(x, &refusal);
    }
    enum sr_phase_step step = expand_with(x, &stored);
    sr_state_ask_dispose(&x->stored.ask);
    return step;
}

static enum sr_phase_step begin_expand(sr_exchange *x)
{
    const struct sr_request *doc = &x->body.doc;
    const struct sr_span *span = doc->at.previous != SR_SPAN_NONE ? &doc->spans[doc->at.previous] : NULL;
    struct sr_refusal refusal;
    if (x->body.passing || !span || span->kind == SR_JSON_NULL || !sr_exchange_keeps_state(x))
        return SR_PHASE_NEXT;
    if (span->kind != SR_JSON_STRING) {
        sr_refuse(&refusal, 400, "invalid_type", "previous_response_id",
                  "field previous_response_id must be string, got %s", sr_request_kind_name(span->kind));
        return refuse(x, &refusal);
    }
    x->stored.id = sr_span_text(span, doc->body, &x->arena);
    return x->stored.id.p ? asked(x, ask(x), expand) : refuse_memory(x);
}

const struct sr_phase sr_phase_expand = {
    .begin = begin_expand, .end = expand, .deadline_ns = deadline_ns, .give_up = give_up};

/* ---- reading and removing ---- */

static enum sr_phase_step list(sr_exchange *x, const struct sr_stored *stored)
{
    struct sr_stored_page page;
    struct sr_refusal refusal;
    const char *wrong = sr_stored_page_read(&page, x->head.path.query);
    if (wrong) {
        sr_refuse(&refusal, 400, "invalid_value", wrong, "parameter %s has a value that it may not have",
                  wrong);
        return refuse(x, &refusal);
    }
    int rc = sr_stored_list(stored, &page, &x->arena, &x->reply);
    if (rc == SR_ENOENT) {
        sr_refuse(&refusal, 400, "invalid_value", "after", "no item has the id of parameter after");
        return refuse(x, &refusal);
    }
    sr_exchange_finish_reply(x, "application/json", rc);
    return SR_PHASE_SETTLED;
}

static enum sr_phase_step reply(sr_exchange *x)
{
    struct sr_stored stored;
    if (!x->stored.ask.record || sr_stored_read(&stored, x->stored.ask.record))
        return refuse_unknown(x);
    sr_exchange_begin_reply(x, SR_OUTCOME_LOCAL, 200, NULL);
    if (x->stored.act == SR_STORED_ITEMS)
        return list(x, &stored);
    if (x->stored.act == SR_STORED_DELETE)
        sr_state_ask_remove(&x->stored.ask);
    sr_exchange_finish_reply(x, "application/json",
                             x->stored.act == SR_STORED_DELETE
                                 ? sr_stored_deleted(x->stored.id, &x->reply)
                                 : sr_buf_append_bytes(&x->reply, stored.response));
    return SR_PHASE_SETTLED;
}

static enum sr_phase_step begin_stored(sr_exchange *x)
{
    struct sr_bytes query = x->head.path.query;
    struct sr_refusal refusal;
    if (x->stored.act == SR_STORED_GET && sr_bytes_contains(query, SR_LIT("stream=true"))) {
        sr_refuse(&refusal, 400, "unsupported_value", "stream",
                  "a stored response is not streamed: its stream has ended");
        return refuse(x, &refusal);
    }
    return asked(x, ask(x), reply);
}

const struct sr_phase sr_phase_stored = {
    .begin = begin_stored, .end = reply, .deadline_ns = deadline_ns, .give_up = give_up};
