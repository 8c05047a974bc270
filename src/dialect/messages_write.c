/* One text block, in one answer or in the events of a stream. */
#include "dialect/messages_write.h"

#include "base/json_write.h"
#include "dialect/openai.h"

#include <stdio.h>

/* ---- errors ---- */

/* Anthropic's types; clients tell errors apart by the status. */
static const char *type_of(const struct sr_dialect_error *error)
{
    switch (error->status) {
    case 0:
        return error->type;
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
        return "overloaded_error";
    case 504:
        return "timeout_error";
    default:
        return error->status >= 500 ? "api_error" : "invalid_request_error";
    }
}

static int put_error(const struct sr_dialect_error *error, const char *before, const char *after,
                     struct sr_buf *out)
{
    struct sr_json_writer w = {.out = out, .rc = sr_buf_append_bytes(out, sr_bytes_str(before))};
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", "error");
    sr_json_object(&w, "error");
    sr_json_text(&w, "type", type_of(error));
    sr_json_bytes(&w, "message", error->message);
    sr_json_text(&w, "param", error->param);
    sr_json_text(&w, "code", error->code);
    sr_json_object_end(&w);
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append_bytes(out, sr_bytes_str(after));
}

int sr_messages_error(const struct sr_dialect_error *error, struct sr_buf *out)
{
    return put_error(error, "", "", out);
}

int sr_messages_error_event(const struct sr_dialect_error *error, struct sr_buf *out)
{
    return put_error(error, "event: error\ndata: ", "\n\n", out);
}

/* ---- answers ---- */

static const char *stop_reason(const char *finish)
{
    if (strcmp(finish, "content_filter") == 0)
        return "refusal";
    return strcmp(finish, "length") == 0 ? "max_tokens" : "end_turn";
}

static void put_stop(struct sr_json_writer *w, const char *reason)
{
    sr_json_text(w, "stop_reason", reason);
    sr_json_null(w, "stop_sequence");
}

/* A usage of zero: no model was called. */
static void put_usage(struct sr_json_writer *w)
{
    sr_json_object(w, "usage");
    sr_json_uint(w, "input_tokens", 0);
    sr_json_uint(w, "output_tokens", 0);
    sr_json_object_end(w);
}

/* Begins a message; its content and what follows are the caller's. */
static void put_head(struct sr_json_writer *w, const char *key, const struct sr_completion *c)
{
    char id[96];
    snprintf(id, sizeof id, "msg_%s_%llu", c->id, c->since);
    sr_json_object(w, key);
    sr_json_text(w, "id", id);
    sr_json_text(w, "type", "message");
    sr_json_text(w, "role", "assistant");
    sr_json_text(w, "model", c->model);
    sr_json_array(w, "content");
}

static void put_text_block(struct sr_json_writer *w, const char *key, struct sr_bytes text)
{
    sr_json_object(w, key);
    sr_json_text(w, "type", "text");
    sr_json_bytes(w, "text", text);
    sr_json_object_end(w);
}

int sr_messages_completion(const struct sr_completion *c, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    put_head(&w, NULL, c);
    put_text_block(&w, NULL, c->message);
    sr_json_array_end(&w);
    put_stop(&w, stop_reason(c->finish));
    put_usage(&w);
    sr_json_object_end(&w);
    return w.rc;
}

int sr_messages_count(const struct sr_completion *c, struct sr_buf *out)
{
    (void)c;
    return sr_buf_append_bytes(out, SR_LIT("{\"input_tokens\":0}"));
}

/* ---- streams ---- */

/* Begin and end an event with the member `type`. */
static struct sr_json_writer event_begin(const char *type, struct sr_buf *out)
{
    struct sr_json_writer w = {.out = out, .rc = sr_buf_printf(out, "event: %s\ndata: ", type)};
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", type);
    return w;
}

static int event_end(struct sr_json_writer *w)
{
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append(w->out, "\n\n", 2);
}

static int put_start(const struct sr_completion *c, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin("message_start", out);
    put_head(&w, "message", c);
    sr_json_array_end(&w);
    put_stop(&w, NULL);
    put_usage(&w);
    sr_json_object_end(&w);
    return event_end(&w);
}

static int put_block_start(struct sr_buf *out)
{
    struct sr_json_writer w = event_begin("content_block_start", out);
    sr_json_uint(&w, "index", 0);
    put_text_block(&w, "content_block", SR_LIT(""));
    return event_end(&w);
}

static int put_delta(struct sr_bytes piece, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin("content_block_delta", out);
    sr_json_uint(&w, "index", 0);
    sr_json_object(&w, "delta");
    sr_json_text(&w, "type", "text_delta");
    sr_json_bytes(&w, "text", piece);
    sr_json_object_end(&w);
    return event_end(&w);
}

static int put_block_stop(uint64_t index, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin("content_block_stop", out);
    sr_json_uint(&w, "index", index);
    return event_end(&w);
}

static int put_stops(const char *reason, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin("message_delta", out);
    sr_json_object(&w, "delta");
    put_stop(&w, reason);
    sr_json_object_end(&w);
    sr_json_object(&w, "usage");
    sr_json_uint(&w, "output_tokens", 0);
    sr_json_object_end(&w);
    int rc = event_end(&w);
    if (rc)
        return rc;
    w = event_begin("message_stop", out);
    return event_end(&w);
}

int sr_messages_completion_stream(const struct sr_completion *c, struct sr_buf *out)
{
    struct sr_bytes rest = c->message;
    int rc = put_start(c, out);
    if (!rc)
        rc = put_block_start(out);
    while (!rc && rest.n) {
        size_t n = sr_openai_piece(rest);
        rc = put_delta(sr_bytes_of(rest.p, n), out);
        rest = sr_bytes_of(rest.p + n, rest.n - n);
    }
    if (!rc)
        rc = put_block_stop(0, out);
    return rc ? rc : put_stops(stop_reason(c->finish), out);
}

int sr_messages_stream_end(const struct sr_stream_end *end, struct sr_buf *out)
{
    const struct sr_completion none = {.id = "blocked", .model = ""};
    int rc = end->at.begun ? SR_OK : put_start(&none, out);
    if (!rc && end->at.open)
        rc = put_block_stop(end->at.block, out);
    return rc ? rc : put_stops("refusal", out);
}
