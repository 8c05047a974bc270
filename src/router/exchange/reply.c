/*
 * Makes the verdict that is a reply: errors, messages, lists of models.
 *
 * Facts are written to the record first; headers and the door's struct sr_verdict are made from the
 * record.
 */
#include "router/exchange/reply.h"

#include "base/clock.h"
#include "router/exchange/history.h"
#include "router/exchange/store.h"
#include "router/reply/headers.h"
#include "router/reply/models.h"

#define RETRY_AFTER_MAX_S 10u /* what waits has a deadline */

/* Door and record say the same. */
void sr_exchange_publish(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_verdict *v = &x->verdict;
    v->action = r->action;
    v->outcome = r->outcome;
    v->decision = r->decision_name;
    v->category = r->category;
    v->confidence = r->confidence;
    v->reasoning = r->reasoning;
    v->effort = r->effort;
    v->model = r->model_name;
    v->edited = r->edited;
    v->status = r->status;
    v->reply = r->reply;
    r->has_verdict = true;
    x->state = SR_EXCHANGE_SETTLED;
}

void sr_exchange_begin_reply(sr_exchange *x, enum sr_outcome outcome, int status, const char *path)
{
    struct sr_record *r = &x->record;
    r->action = SR_ACTION_REPLY;
    r->outcome = outcome;
    r->status = status;
    r->response_path = path;
    r->edited = false;
    r->n_sent = 0;
    x->verdict.streaming = false;
    x->verdict.n_body = 0;
    x->verdict.body_size = 0;
    sr_buf_clear(&x->reply);
}

/* Makes the verdict from the reply buffer, whose writer returned `rc`; when out of memory the reply is a
 * constant. */
void sr_exchange_finish_reply(sr_exchange *x, const char *content_type, int rc)
{
    struct sr_record *r = &x->record;
    struct sr_verdict *v = &x->verdict;
    sr_exchange_note_replay(x);
    if (!rc)
        rc = sr_headers_reply(r, x->router->config, content_type, &x->arena, &v->headers, &v->n_headers);
    r->reply = sr_buf_view(&x->reply);
    if (rc) {
        struct sr_reply_constant constant = sr_reply_out_of_memory();
        r->outcome = SR_OUTCOME_SHED;
        r->status = 503;
        r->error_code = "out_of_memory";
        r->reply = constant.body;
        v->headers = constant.headers;
        v->n_headers = constant.n_headers;
    }
    sr_exchange_publish(x);
}

/* When what waits is done. */
static unsigned retry_after_s(const sr_exchange *x)
{
    uint64_t seconds = sr_runtime_rest_ns(x->runtime) / SR_NS_PER_S + 1;
    return (unsigned)(seconds < RETRY_AFTER_MAX_S ? seconds : RETRY_AFTER_MAX_S);
}

void sr_exchange_refuse(sr_exchange *x, const struct sr_refusal *refusal)
{
    struct sr_record *r = &x->record;
    int status = refusal->status;
    enum sr_outcome outcome = refusal->blocked                 ? SR_OUTCOME_BLOCKED
                              : status == 503 || status == 429 ? SR_OUTCOME_SHED
                              : status >= 500                  ? SR_OUTCOME_FAILED
                                                               : SR_OUTCOME_REFUSED;
    r->error_code = refusal->code;
    if (refusal->reason)
        r->error_reason = refusal->reason;
    r->allow = refusal->allow;
    r->retry_after_s = status == 503 ? retry_after_s(x) : refusal->retry_after_s;
    sr_exchange_begin_reply(x, outcome, status,
                            refusal->path      ? refusal->path
                            : refusal->blocked ? "blocked"
                                               : "error");
    sr_exchange_finish_reply(x, "application/json", sr_reply_error(x->body.doc.dialect, refusal, &x->reply));
}

void sr_exchange_refuse_memory(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse_memory(&refusal);
    sr_exchange_refuse(x, &refusal);
}

/* Others leave no time to read what the guards need. */
void sr_exchange_refuse_busy(sr_exchange *x)
{
    struct sr_refusal refusal;
    sr_refuse_busy(&refusal);
    sr_exchange_refuse(x, &refusal);
    sr_runtime_tell(x->runtime, sr_identity_client(&x->identity, x->head.peer),
                    sr_clock_ns() + x->record.retry_after_s * SR_NS_PER_S);
}

void sr_exchange_reply_message(sr_exchange *x, struct sr_reply_message message)
{
    message.stream = x->body.is_stream;
    int rc = sr_reply_message(&x->body.doc, &message, &x->reply);
    if (!rc && x->record.outcome == SR_OUTCOME_LOCAL)
        sr_exchange_store_reply(x, message.stream, false);
    sr_exchange_finish_reply(x, message.stream ? "text/event-stream" : "application/json", rc);
}

void sr_exchange_reply_models(sr_exchange *x)
{
    sr_exchange_begin_reply(x, SR_OUTCOME_LOCAL, 200, NULL);
    sr_exchange_finish_reply(x, "application/json", sr_reply_models(x->router, &x->identity, &x->reply));
}

void sr_exchange_reply_options(sr_exchange *x, struct sr_bytes methods)
{
    x->record.allow = methods;
    sr_exchange_begin_reply(x, SR_OUTCOME_LOCAL, 204, NULL);
    sr_exchange_finish_reply(x, NULL, SR_OK);
}

void sr_exchange_reply_model(sr_exchange *x, struct sr_bytes escaped_id)
{
    struct sr_refusal refusal;
    sr_exchange_begin_reply(x, SR_OUTCOME_LOCAL, 200, NULL);
    int rc = sr_reply_model(x->router, &x->identity, escaped_id, &x->arena, &refusal, &x->reply);
    if (rc == SR_ENOENT)
        sr_exchange_refuse(x, &refusal);
    else
        sr_exchange_finish_reply(x, "application/json", rc);
}
