/*
 * Bodies: of the request what was forwarded, of the answer what the upstream sent; so private data that a
 * guard has replaced is in neither. Of a reply of the router, what the client got.
 */
#include "router/exchange/history.h"

#include "history/followers.h"
#include "router/report/history.h"
#include "router/report/why.h"
#include "router/runtime.h"

#include <stdio.h>

/* What is kept; NULL: nothing. The plugin of the record's decision comes before the global settings. */
static const struct sr_config_replay_capture *capture_of(const sr_exchange *x)
{
    const struct sr_config *config = x->router->config;
    const struct sr_config_replay *replay = &config->global.replay;
    struct sr_bytes name = sr_bytes_str(x->record.decision_name);
    bool local = x->record.has_verdict && x->record.outcome == SR_OUTCOME_LOCAL;
    if (!replay->entries || x->recall.purpose != SR_PURPOSE_SERVE || local)
        return NULL;
    for (size_t i = 0; name.n && i < config->n_decisions; i++) {
        const struct sr_config_replay_capture *own = &config->decisions[i].plugins.router_replay;
        if (own->set && sr_bytes_eq(name, sr_bytes_str(config->decisions[i].name)))
            return own->enabled ? own : NULL;
    }
    return replay->all.enabled ? &replay->all : NULL;
}

void sr_exchange_note_replay(sr_exchange *x)
{
    char id[SR_REQUEST_ID_SIZE];
    if (x->record.replay_id || !capture_of(x))
        return;
    sr_runtime_request_id(x->runtime, id);
    snprintf(x->replay_id, sizeof x->replay_id, "replay_%s", id);
    x->record.replay_id = x->replay_id;
}

/* ---- the answer's body ---- */

void sr_exchange_capture_begin(sr_exchange *x, bool plain)
{
    const struct sr_config_replay_capture *capture = capture_of(x);
    sr_buf_dispose(&x->captured); /* an answer of another model came before */
    x->captured_cut = false;
    x->captured.max = capture && capture->response_body && plain ? capture->max_body_bytes : 0;
}

void sr_exchange_capture(sr_exchange *x, struct sr_bytes piece)
{
    size_t room = x->captured.max - x->captured.len;
    if (!x->captured.max || !piece.n)
        return;
    x->captured_cut |= piece.n > room;
    if (sr_buf_append(&x->captured, piece.p, piece.n < room ? piece.n : room))
        x->captured_cut = true;
}

/* ---- the end ---- */

static struct sr_bytes cut(struct sr_bytes text, size_t max, bool *was_cut)
{
    *was_cut |= text.n > max;
    return sr_bytes_of(text.n ? text.p : "", text.n < max ? text.n : max);
}

/* The request's body as the model got it; where it was changed, in `out`. */
static struct sr_bytes request_body(const sr_exchange *x, size_t max, struct sr_buf *out, bool *was_cut)
{
    const struct sr_edited *edited = &x->edited;
    bool redacts = x->record.guard.action == SR_GUARD_REDACT;
    if (redacts &&
        !(edited->kinds >> SR_EDIT_REDACTION & 1)) { /* it ended before private data was replaced */
        *was_cut = true;
        return SR_LIT("");
    }
    if (!edited->kinds) {
        *was_cut |= x->record.bytes_in > x->body.bytes.len; /* it passed by */
        return cut(sr_buf_view(&x->body.bytes), max, was_cut);
    }
    for (size_t i = 0; i < edited->n_slices && !*was_cut; i++) {
        struct sr_bytes part = cut(edited->slices[i], max - out->len, was_cut);
        if (sr_buf_append_bytes(out, part))
            *was_cut = true;
    }
    return sr_buf_view(out);
}

static struct sr_bytes response_body(const sr_exchange *x, size_t max, bool *was_cut)
{
    if (x->record.action == SR_ACTION_REPLY)
        return cut(x->record.reply, max, was_cut);
    *was_cut = x->captured_cut;
    return sr_buf_view(&x->captured);
}

/* The followers who take the request. */
static uint32_t takers_of(const sr_exchange *x)
{
    struct sr_followers *followers = sr_runtime_followers(x->runtime);
    struct sr_history_entry brief;
    if (x->recall.purpose != SR_PURPOSE_SERVE || !sr_followers_count(followers))
        return 0;
    sr_report_history_brief(&x->record, x->router, &brief);
    return sr_followers_take(followers, &brief);
}

void sr_exchange_report_history(sr_exchange *x)
{
    const struct sr_config_replay_capture *capture = capture_of(x);
    struct sr_history_more more = {
        .request = SR_LIT(""), .response = SR_LIT(""), .why = SR_LIT(""), .takers = takers_of(x)};
    struct sr_history_entry *entry;
    struct sr_buf body, why;
    if (!capture && !more.takers)
        return;
    sr_exchange_note_replay(x);
    sr_buf_init(&why, SR_WHY_MAX);
    if (more.takers && sr_report_why(&x->record, x->router, &why) == SR_OK)
        more.why = sr_buf_view(&why);
    sr_buf_init(&body, capture ? capture->max_body_bytes : 0);
    if (capture && capture->request_body)
        more.request = request_body(x, capture->max_body_bytes, &body, &more.request_cut);
    if (capture && capture->response_body)
        more.response = response_body(x, capture->max_body_bytes, &more.response_cut);
    if (sr_report_history(&x->record, x->router, &more, &entry) == SR_OK) {
        if (capture)
            sr_history_add(sr_runtime_kept(x->runtime), entry);
        if (more.takers)
            sr_history_add(sr_runtime_live(x->runtime), entry);
        sr_history_entry_unref(entry);
    }
    sr_buf_dispose(&body);
    sr_buf_dispose(&why);
}
