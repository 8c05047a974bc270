/* Writes errors and messages; models.c writes the lists of models. */
#include "router/reply/reply.h"

#include "base/clock.h"
#include "dialect/openai.h"

struct sr_reply_constant sr_reply_out_of_memory(void)
{
    static const struct sr_header headers[] = {
        {{"content-type", sizeof "content-type" - 1}, {"application/json", sizeof "application/json" - 1}},
        {{"x-vsr-schema-version", sizeof "x-vsr-schema-version" - 1}, {"2", 1}},
        {{"x-vsr-response-path", sizeof "x-vsr-response-path" - 1}, {"error", sizeof "error" - 1}},
    };
    return (struct sr_reply_constant){sr_openai_out_of_memory, headers, sizeof headers / sizeof headers[0]};
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

int sr_reply_error(const struct sr_dialect_ops *dialect, const struct sr_refusal *refusal, struct sr_buf *out)
{
    bool typed = refusal->type && refusal->type[0];
    struct sr_dialect_error error = {sr_bytes_str(refusal->message),
                                     typed ? refusal->type : type_of(refusal->status), refusal->code,
                                     refusal->param, refusal->status};
    return dialect->error(&error, out);
}

int sr_reply_message(const struct sr_request *doc, const struct sr_reply_message *message, struct sr_buf *out)
{
    struct sr_completion completion = {
        .message = message->text,
        .id = message->id,
        .model = message->model,
        .finish = message->finish,
        .since = sr_clock_wall_ns() / SR_NS_PER_S,
        .usage = sr_request_is_true(doc, doc->at.include_usage),
    };
    return message->stream ? doc->dialect->completion_stream(&completion, out)
                           : doc->dialect->completion(&completion, out);
}
