/* Errors and fast responses; models.c has the model lists. */
#include "router/reply/reply.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define MESSAGE_MAX 512

static const char oom_body[] = "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\","
                               "\"param\":null,\"code\":null}}";

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
    x->verdict.reply = sr_bytes_of(oom_body, sizeof oom_body - 1);
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

static int append_nullable(struct sr_buf *buf, const char *key, const char *text)
{
    if (!text)
        return sr_buf_printf(buf, ",\"%s\":null", key);
    int rc = sr_buf_printf(buf, ",\"%s\":\"", key);
    if (!rc)
        rc = sr_buf_append_json(buf, sr_bytes_str(text));
    return rc ? rc : sr_buf_append(buf, "\"", 1);
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
    int rc = sr_buf_append_bytes(&x->reply, SR_LIT("{\"error\":{\"message\":\""));
    if (!rc)
        rc = sr_buf_append_json(&x->reply, sr_bytes_str(message));
    if (!rc)
        rc = sr_buf_append_bytes(&x->reply, SR_LIT("\",\"type\":\""));
    if (!rc)
        rc = sr_buf_append_json(&x->reply, sr_bytes_str(type));
    if (!rc)
        rc = sr_buf_append(&x->reply, "\"", 1);
    if (!rc)
        rc = append_nullable(&x->reply, "param", error.param);
    if (!rc)
        rc = append_nullable(&x->reply, "code", error.code);
    if (!rc)
        rc = sr_buf_append(&x->reply, "}}", 2);
    sr_reply_finish(x, "application/json", rc);
}

/* ---- fast responses ---- */

#define FAST_USAGE "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}"

/* What all pieces of one fast answer share. */
struct fast {
    struct sr_buf *buf;
    unsigned long long created;
    bool chat;
    const char *id, *model, *finish;
};

static int fast_open(const struct fast *f, const char *object)
{
    return sr_buf_printf(f->buf, "{\"id\":\"%s-%s-%llu\",\"object\":\"%s\",\"created\":%llu,\"model\":\"%s\"",
                         f->chat ? "chatcmpl" : "cmpl", f->id, f->created, object, f->created, f->model);
}

static int fast_whole(const struct fast *f, struct sr_bytes message)
{
    int rc = fast_open(f, f->chat ? "chat.completion" : "text_completion");
    if (!rc)
        rc = sr_buf_append_bytes(
            f->buf,
            f->chat ? SR_LIT(",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"")
                    : SR_LIT(",\"choices\":[{\"index\":0,\"text\":\""));
    if (!rc)
        rc = sr_buf_append_json(f->buf, message);
    if (!rc)
        rc = sr_buf_printf(f->buf, "\"%s,\"logprobs\":null,\"finish_reason\":\"%s\"}]," FAST_USAGE "}",
                           f->chat ? "}" : "", f->finish);
    return rc;
}

/* One event: a piece of the message, or the end when `finish_reason` is there. */
static int fast_event(const struct fast *f, struct sr_bytes piece, bool first, bool last)
{
    int rc = sr_buf_append_bytes(f->buf, SR_LIT("data: "));
    if (!rc)
        rc = fast_open(f, f->chat ? "chat.completion.chunk" : "text_completion");
    if (!rc && f->chat)
        rc = sr_buf_printf(f->buf, ",\"choices\":[{\"index\":0,\"delta\":{%s%s",
                           first ? "\"role\":\"assistant\"," : "", last ? "" : "\"content\":\"");
    else if (!rc)
        rc = sr_buf_append_bytes(f->buf, SR_LIT(",\"choices\":[{\"index\":0,\"text\":\""));
    if (!rc)
        rc = sr_buf_append_json(f->buf, piece);
    if (!rc)
        rc = sr_buf_printf(f->buf, "%s%s,\"logprobs\":null,\"finish_reason\":%s%s%s}]}\n\n",
                           f->chat && last ? "" : "\"", f->chat ? "}" : "", last ? "\"" : "",
                           last ? f->finish : "null", last ? "\"" : "");
    return rc;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A word with the white space behind it; the first piece begins with what stands before the first word. */
static size_t fast_piece(struct sr_bytes rest)
{
    size_t n = 0;
    while (n < rest.n && is_space(rest.p[n]))
        n++;
    while (n < rest.n && !is_space(rest.p[n]))
        n++;
    while (n < rest.n && is_space(rest.p[n]))
        n++;
    return n;
}

static int fast_stream(const struct fast *f, struct sr_bytes message, bool usage)
{
    bool first = true;
    int rc = SR_OK;
    while (!rc && (message.n || first)) {
        size_t n = fast_piece(message);
        rc = fast_event(f, sr_bytes_of(message.p, n), first, false);
        message = sr_bytes_of(message.p + n, message.n - n);
        first = false;
    }
    if (!rc)
        rc = fast_event(f, (struct sr_bytes){"", 0}, false, true);
    if (!rc && usage) {
        rc = sr_buf_append_bytes(f->buf, SR_LIT("data: "));
        if (!rc)
            rc = fast_open(f, f->chat ? "chat.completion.chunk" : "text_completion");
        if (!rc)
            rc = sr_buf_append_bytes(f->buf, SR_LIT(",\"choices\":[]," FAST_USAGE "}\n\n"));
    }
    return rc ? rc : sr_buf_append_bytes(f->buf, SR_LIT("data: [DONE]\n\n"));
}

/* Writes the message as the client wants its answers. */
static void reply_message(sr_exchange *x, struct fast f, const char *message)
{
    f.buf = &x->reply;
    f.created = sr_clock_wall_ns() / SR_NS_PER_S;
    f.chat = x->doc.dialect == SR_DIALECT_CHAT;
    sr_buf_clear(&x->reply);
    int rc = x->is_stream ? fast_stream(&f, sr_bytes_str(message),
                                        sr_request_is_true(&x->doc, x->doc.at.include_usage))
                          : fast_whole(&f, sr_bytes_str(message));
    sr_reply_finish(x, x->is_stream ? "text/event-stream" : "application/json", rc);
}

void sr_reply_fast(sr_exchange *x, const char *message)
{
    sr_reply_settle(x, SR_OUTCOME_FAST, 200);
    x->response_path = "fast_response";
    reply_message(x, (struct fast){.id = "fast", .model = "router", .finish = "stop"}, message);
}

void sr_reply_filtered(sr_exchange *x, const char *message, const char *code)
{
    sr_reply_settle(x, SR_OUTCOME_BLOCKED, 200);
    x->response_path = "blocked";
    x->error_code = code;
    reply_message(x, (struct fast){.id = "blocked", .model = "security-filter", .finish = "content_filter"},
                  message);
}
