/* Errors and fast responses; models.c has the model lists. */
#include "router/reply/reply.h"

#include "base/clock.h"
#include "dialect/openai.h"

#include <stdarg.h>
#include <stdio.h>

#define MESSAGE_MAX 512

void sr_reply_settle(sr_exchange *x, enum sr_outcome outcome, int status)
{
    struct sr_verdict *v = &x->verdict;
    v->action = SR_ACTION_REPLY;
    v->outcome = outcome;
    v->status = status;
    v->streaming = false;
    v->n_body = 0;
    v->body_size = 0;
    v->edited = false;
    x->has_verdict = true;
    x->state = SR_EXCHANGE_SETTLED;
}

/* The reply that needs no memory. */
static void settle_without_memory(sr_exchange *x)
{
    static const struct sr_header headers[] = {
        {{"content-type", sizeof "content-type" - 1}, {"application/json", sizeof "application/json" - 1}},
        {{"x-vsr-schema-version", sizeof "x-vsr-schema-version" - 1}, {"2", 1}},
        {{"x-vsr-response-path", sizeof "x-vsr-response-path" - 1}, {"error", sizeof "error" - 1}},
    };
    sr_reply_settle(x, SR_OUTCOME_SHED, 503);
    x->error_code = "out_of_memory";
    x->verdict.headers = headers;
    x->verdict.n_headers = sizeof headers / sizeof headers[0];
    x->verdict.reply = sr_openai_out_of_memory;
}

void sr_reply_finish(sr_exchange *x, const char *content_type, int rc)
{
    if (rc || sr_headers_reply(x, content_type))
        settle_without_memory(x);
    else
        x->verdict.reply = sr_buf_view(&x->reply);
}

static const char *type_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return "authentication_error";
    case 429:
        return "rate_limit_error";
    case 504:
        return "timeout_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

void sr_reply_error(sr_exchange *x, struct sr_error_reply error, const char *fmt, ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    const char *type = error.type && error.type[0] ? error.type : type_of(error.status);
    enum sr_outcome outcome = error.blocked                                ? SR_OUTCOME_BLOCKED
                              : error.status == 503 || error.status == 429 ? SR_OUTCOME_SHED
                              : error.status >= 500                        ? SR_OUTCOME_FAILED
                                                                           : SR_OUTCOME_REFUSED;
    sr_reply_settle(x, outcome, error.status);
    x->error_code = error.code;
    x->response_path = error.path ? error.path : error.blocked ? "blocked" : "error";
    sr_buf_clear(&x->reply);
    struct sr_dialect_error said = {sr_bytes_str(message), type, error.code, error.param};
    int rc = x->doc.dialect->error(&said, &x->reply);
    sr_reply_finish(x, "application/json", rc);
}

/* ---- fast responses ---- */

/* Writes the message as the client wants its answers. */
static void reply_message(sr_exchange *x, struct sr_completion completion)
{
    const struct sr_dialect_ops *dialect = x->doc.dialect;
    completion.since = sr_clock_wall_ns() / SR_NS_PER_S;
    completion.usage = sr_request_is_true(&x->doc, x->doc.at.include_usage);
    sr_buf_clear(&x->reply);
    int rc = x->is_stream ? dialect->completion_stream(&completion, &x->reply)
                          : dialect->completion(&completion, &x->reply);
    sr_reply_finish(x, x->is_stream ? "text/event-stream" : "application/json", rc);
}

void sr_reply_fast(sr_exchange *x, const char *message)
{
    sr_reply_settle(x, SR_OUTCOME_FAST, 200);
    x->response_path = "fast_response";
    reply_message(x, (struct sr_completion){sr_bytes_str(message), "fast", "router", "stop"});
}

void sr_reply_filtered(sr_exchange *x, const char *message, const char *code)
{
    sr_reply_settle(x, SR_OUTCOME_BLOCKED, 200);
    x->response_path = "blocked";
    x->error_code = code;
    reply_message(
        x, (struct sr_completion){sr_bytes_str(message), "blocked", "security-filter", "content_filter"});
}
