/* Errors and fast responses. */
#include "router/reply.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

#define MESSAGE_MAX 512

static const char oom_body[] = "{\"error\":{\"message\":\"out of memory\",\"type\":\"server_error\","
                               "\"param\":null,\"code\":null}}";

static void settle(sr_exchange *x, enum sr_outcome outcome, int status)
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
    settle(x, SR_OUTCOME_SHED, 503);
    x->error_code = "out_of_memory";
    x->verdict.headers = headers;
    x->verdict.n_headers = sizeof headers / sizeof headers[0];
    x->verdict.reply = sr_bytes_of(oom_body, sizeof oom_body - 1);
}

static void finish(sr_exchange *x, const char *content_type, int rc)
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
    enum sr_outcome outcome = error.status == 503   ? SR_OUTCOME_SHED
                              : error.status >= 500 ? SR_OUTCOME_FAILED
                                                    : SR_OUTCOME_REFUSED;
    settle(x, outcome, error.status);
    x->error_code = error.code;
    x->response_path = "error";
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
    finish(x, "application/json", rc);
}

/* ---- fast responses ---- */

#define FAST_USAGE "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0}"

/* What all pieces of one fast answer share. */
struct fast {
    struct sr_buf *buf;
    unsigned long long created;
    bool chat;
};

static int fast_open(const struct fast *f, const char *object)
{
    return sr_buf_printf(f->buf,
                         "{\"id\":\"%s-fast-%llu\",\"object\":\"%s\",\"created\":%llu,\"model\":\"router\"",
                         f->chat ? "chatcmpl" : "cmpl", f->created, object, f->created);
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
        rc = sr_buf_printf(f->buf, "\"%s,\"logprobs\":null,\"finish_reason\":\"stop\"}]," FAST_USAGE "}",
                           f->chat ? "}" : "");
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
        rc = sr_buf_printf(f->buf, "%s%s,\"logprobs\":null,\"finish_reason\":%s}]}\n\n",
                           f->chat && last ? "" : "\"", f->chat ? "}" : "", last ? "\"stop\"" : "null");
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

void sr_reply_fast(sr_exchange *x, const char *message)
{
    struct fast f = {
        .buf = &x->reply,
        .created = sr_clock_wall_ns() / SR_NS_PER_S,
        .chat = x->doc.dialect == SR_DIALECT_CHAT,
    };
    settle(x, SR_OUTCOME_FAST, 200);
    x->response_path = "fast_response";
    sr_buf_clear(&x->reply);
    int rc = x->is_stream ? fast_stream(&f, sr_bytes_str(message),
                                        sr_request_is_true(&x->doc, x->doc.at.include_usage))
                          : fast_whole(&f, sr_bytes_str(message));
    finish(x, x->is_stream ? "text/event-stream" : "application/json", rc);
}

/* ---- model lists ---- */

static int append_strings(struct sr_buf *buf, const char *key, const struct sr_strings *list)
{
    if (list->count == 0)
        return SR_OK;
    int rc = sr_buf_printf(buf, ",\"%s\":[", key);
    for (size_t i = 0; !rc && i < list->count; i++) {
        rc = sr_buf_append_bytes(buf, i ? SR_LIT(",\"") : SR_LIT("\""));
        if (!rc)
            rc = sr_buf_append_json(buf, sr_bytes_str(list->items[i]));
        if (!rc)
            rc = sr_buf_append(buf, "\"", 1);
    }
    return rc ? rc : sr_buf_append(buf, "]", 1);
}

static int append_text(struct sr_buf *buf, const char *key, const char *text)
{
    return text[0] ? append_nullable(buf, key, text) : SR_OK;
}

static int append_head(struct sr_buf *buf, const sr_exchange *x, const char *id, const char *owner)
{
    int rc = sr_buf_append_bytes(buf, SR_LIT("{\"id\":\""));
    if (!rc)
        rc = sr_buf_append_json(buf, sr_bytes_str(id));
    if (!rc)
        rc = sr_buf_printf(buf, "\",\"object\":\"model\",\"created\":%llu,\"owned_by\":\"%s\"",
                           (unsigned long long)x->engine->created, owner);
    return rc;
}

static int append_auto(struct sr_buf *buf, const sr_exchange *x, const char *name, bool first)
{
    int rc = append_head(buf, x, name, "semroute");
    if (!rc)
        rc = sr_buf_printf(
            buf,
            ",\"description\":\"Chooses the model that suits the request\","
            "\"routing\":{\"resolution\":\"virtual\",\"selectable\":true,\"default_route\":%s}}",
            first ? "true" : "false");
    return rc;
}

static int append_model(struct sr_buf *buf, const sr_exchange *x, const struct sr_config_model *model)
{
    int rc = append_head(buf, x, model->name, "upstream-endpoint");
    if (!rc)
        rc = append_text(buf, "description", model->description);
    if (!rc)
        rc = append_text(buf, "param_size", model->param_size);
    if (!rc)
        rc = append_text(buf, "modality", model->modality);
    if (!rc && model->context_window)
        rc = sr_buf_printf(buf, ",\"context_window_size\":%llu,\"max_model_len\":%llu",
                           (unsigned long long)model->context_window,
                           (unsigned long long)model->context_window);
    if (!rc && model->quality_score > 0)
        rc = sr_buf_printf(buf, ",\"quality_score\":%g", model->quality_score);
    if (!rc)
        rc = append_strings(buf, "capabilities", &model->capabilities);
    if (!rc)
        rc = append_strings(buf, "tags", &model->tags);
    if (!rc)
        rc = append_strings(buf, "loras", &model->loras);
    if (!rc)
        rc = sr_buf_append_bytes(buf,
                                 SR_LIT(",\"routing\":{\"resolution\":\"passthrough\",\"selectable\":true,"
                                        "\"default_route\":false}}"));
    return rc;
}

void sr_reply_models(sr_exchange *x)
{
    const struct sr_config *config = x->engine->config;
    const struct sr_strings *names = &config->global.auto_model_names;
    settle(x, SR_OUTCOME_LOCAL, 200);
    sr_buf_clear(&x->reply);
    int rc = sr_buf_append_bytes(&x->reply, SR_LIT("{\"object\":\"list\",\"data\":["));
    bool first = true;
    for (size_t i = 0; !rc && i < names->count; i++) {
        if (!first)
            rc = sr_buf_append(&x->reply, ",", 1);
        if (!rc)
            rc = append_auto(&x->reply, x, names->items[i], i == 0);
        first = false;
    }
    for (size_t i = 0; !rc && config->global.include_config_models_in_list && i < config->n_models; i++) {
        if (!first)
            rc = sr_buf_append(&x->reply, ",", 1);
        if (!rc)
            rc = append_model(&x->reply, x, &config->models[i]);
        first = false;
    }
    if (!rc)
        rc = sr_buf_append(&x->reply, "]}", 2);
    finish(x, "application/json", rc);
}

static int hex(char c)
{
    return c >= '0' && c <= '9'                                   ? c - '0'
           : sr_ascii_lower(c) >= 'a' && sr_ascii_lower(c) <= 'f' ? sr_ascii_lower(c) - 'a' + 10
                                                                  : -1;
}

/* Percent-decodes into the arena; a broken escape stays as it is. */
static struct sr_bytes percent_decode(struct sr_bytes s, struct sr_arena *arena)
{
    char *out = sr_arena_alloc(arena, s.n + 1);
    size_t n = 0;
    for (size_t i = 0; out && i < s.n; i++) {
        bool escape = s.p[i] == '%' && i + 2 < s.n && hex(s.p[i + 1]) >= 0 && hex(s.p[i + 2]) >= 0;
        out[n++] = escape ? (char)(hex(s.p[i + 1]) * 16 + hex(s.p[i + 2])) : s.p[i];
        i += escape ? 2 : 0;
    }
    return (struct sr_bytes){out, n};
}

void sr_reply_model(sr_exchange *x, struct sr_bytes escaped_id)
{
    const struct sr_config *config = x->engine->config;
    struct sr_bytes id = percent_decode(escaped_id, &x->arena);
    int model = id.p ? sr_config_find_model(config, id) : -1;
    bool automatic = id.p && sr_config_is_auto(config, id);
    if (model < 0 && !automatic) {
        sr_reply_error(x, (struct sr_error_reply){404, NULL, "model_not_found", "model"},
                       "model \"%.*s\" is not available", (int)(id.n < 128 ? id.n : 128), id.p ? id.p : "");
        return;
    }
    settle(x, SR_OUTCOME_LOCAL, 200);
    sr_buf_clear(&x->reply);
    int rc = SR_OK;
    if (model >= 0)
        rc = append_model(&x->reply, x, &config->models[model]);
    else
        rc = append_auto(&x->reply, x, sr_arena_dup(&x->arena, id).p, false);
    finish(x, "application/json", rc);
}
