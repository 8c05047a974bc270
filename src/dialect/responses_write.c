/* One message with one text part, in one answer or in the events of a stream. */
#include "dialect/responses_write.h"

#include "base/json_write.h"
#include "dialect/openai.h"

#include <stdio.h>

/* A response that is written: what of it is there. */
struct shape {
    const struct sr_completion *of;
    char id[96], item[96];
    uint64_t sequence; /* of the next event */
};

static struct shape shape_of(const struct sr_completion *c)
{
    struct shape shape = {.of = c};
    snprintf(shape.id, sizeof shape.id, "resp_%s_%llu", c->id, c->since);
    snprintf(shape.item, sizeof shape.item, "msg_%s_%llu", c->id, c->since);
    return shape;
}

static bool is_filtered(const struct sr_completion *c)
{
    return strcmp(c->finish, "content_filter") == 0;
}

/* ---- the response ---- */

static void put_part(struct sr_json_writer *w, const char *key, struct sr_bytes text)
{
    sr_json_object(w, key);
    sr_json_text(w, "type", "output_text");
    sr_json_bytes(w, "text", text);
    sr_json_array(w, "annotations");
    sr_json_array_end(w);
    sr_json_object_end(w);
}

static void put_item(struct sr_json_writer *w, const char *key, const struct shape *shape, bool done)
{
    sr_json_object(w, key);
    sr_json_text(w, "id", shape->item);
    sr_json_text(w, "type", "message");
    sr_json_text(w, "status", done ? "completed" : "in_progress");
    sr_json_text(w, "role", "assistant");
    sr_json_array(w, "content");
    if (done)
        put_part(w, NULL, shape->of->message);
    sr_json_array_end(w);
    sr_json_object_end(w);
}

/* No model was called. */
static void put_usage(struct sr_json_writer *w)
{
    sr_json_object(w, "usage");
    sr_json_uint(w, "input_tokens", 0);
    sr_json_object(w, "input_tokens_details");
    sr_json_uint(w, "cached_tokens", 0);
    sr_json_uint(w, "cache_write_tokens", 0);
    sr_json_object_end(w);
    sr_json_uint(w, "output_tokens", 0);
    sr_json_object(w, "output_tokens_details");
    sr_json_uint(w, "reasoning_tokens", 0);
    sr_json_object_end(w);
    sr_json_uint(w, "total_tokens", 0);
    sr_json_object_end(w);
}

static void put_details(struct sr_json_writer *w, bool filtered)
{
    if (!filtered) {
        sr_json_null(w, "incomplete_details");
        return;
    }
    sr_json_object(w, "incomplete_details");
    sr_json_text(w, "reason", "content_filter");
    sr_json_object_end(w);
}

/* Members whose values no request has set. */
static void put_settings(struct sr_json_writer *w)
{
    sr_json_null(w, "error");
    sr_json_null(w, "instructions");
    sr_json_object(w, "metadata");
    sr_json_object_end(w);
    sr_json_bool(w, "parallel_tool_calls", true);
    sr_json_null(w, "previous_response_id");
    sr_json_bool(w, "store", false);
    sr_json_text(w, "tool_choice", "auto");
    sr_json_array(w, "tools");
    sr_json_array_end(w);
    sr_json_null(w, "temperature");
    sr_json_null(w, "top_p");
}

static void put_response(struct sr_json_writer *w, const char *key, const struct shape *shape, bool done)
{
    const struct sr_completion *c = shape->of;
    bool filtered = done && is_filtered(c);
    sr_json_object(w, key);
    sr_json_text(w, "id", shape->id);
    sr_json_text(w, "object", "response");
    sr_json_uint(w, "created_at", c->since);
    sr_json_text(w, "status", filtered ? "incomplete" : done ? "completed" : "in_progress");
    put_details(w, filtered);
    sr_json_text(w, "model", c->model);
    put_settings(w);
    sr_json_array(w, "output");
    if (done)
        put_item(w, NULL, shape, true);
    sr_json_array_end(w);
    if (done)
        put_usage(w);
    else
        sr_json_null(w, "usage");
    sr_json_object_end(w);
}

int sr_responses_completion(const struct sr_completion *c, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    struct shape shape = shape_of(c);
    put_response(&w, NULL, &shape, true);
    return w.rc;
}

/* ---- streams ---- */

/* Begin and end an event with its type and number. */
static struct sr_json_writer event_begin(const char *type, uint64_t *sequence, struct sr_buf *out)
{
    struct sr_json_writer w = {.out = out, .rc = sr_buf_printf(out, "event: %s\ndata: ", type)};
    sr_json_object(&w, NULL);
    sr_json_text(&w, "type", type);
    sr_json_uint(&w, "sequence_number", (*sequence)++);
    return w;
}

static int event_end(struct sr_json_writer *w)
{
    sr_json_object_end(w);
    return w->rc ? w->rc : sr_buf_append(w->out, "\n\n", 2);
}

int sr_responses_error_event(const struct sr_dialect_error *error, struct sr_buf *out)
{
    uint64_t sequence = 0;
    struct sr_json_writer w = event_begin("error", &sequence, out);
    sr_json_text(&w, "code", error->code ? error->code : error->type);
    sr_json_bytes(&w, "message", error->message);
    sr_json_text(&w, "param", error->param);
    return event_end(&w);
}

static int put_state(struct shape *shape, const char *type, bool done, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin(type, &shape->sequence, out);
    put_response(&w, "response", shape, done);
    return event_end(&w);
}

static int put_item_event(struct shape *shape, bool done, struct sr_buf *out)
{
    struct sr_json_writer w =
        event_begin(done ? "response.output_item.done" : "response.output_item.added", &shape->sequence, out);
    sr_json_uint(&w, "output_index", 0);
    put_item(&w, "item", shape, done);
    return event_end(&w);
}

static void put_where(struct sr_json_writer *w, const struct shape *shape)
{
    sr_json_text(w, "item_id", shape->item);
    sr_json_uint(w, "output_index", 0);
    sr_json_uint(w, "content_index", 0);
}

static int put_part_event(struct shape *shape, bool done, struct sr_buf *out)
{
    struct sr_json_writer w = event_begin(done ? "response.content_part.done" : "response.content_part.added",
                                          &shape->sequence, out);
    put_where(&w, shape);
    put_part(&w, "part", done ? shape->of->message : SR_LIT(""));
    return event_end(&w);
}

static int put_text_event(struct shape *shape, const char *type, const char *key, struct sr_bytes text,
                          struct sr_buf *out)
{
    struct sr_json_writer w = event_begin(type, &shape->sequence, out);
    put_where(&w, shape);
    sr_json_bytes(&w, key, text);
    sr_json_array(&w, "logprobs");
    sr_json_array_end(&w);
    return event_end(&w);
}

static int put_text_events(struct shape *shape, struct sr_buf *out)
{
    struct sr_bytes rest = shape->of->message;
    int rc = put_part_event(shape, false, out);
    while (!rc && rest.n) {
        size_t n = sr_openai_piece(rest);
        rc = put_text_event(shape, "response.output_text.delta", "delta", sr_bytes_of(rest.p, n), out);
        rest = sr_bytes_of(rest.p + n, rest.n - n);
    }
    if (!rc)
        rc = put_text_event(shape, "response.output_text.done", "text", shape->of->message, out);
    return rc ? rc : put_part_event(shape, true, out);
}

int sr_responses_count(const struct sr_completion *c, struct sr_buf *out)
{
    (void)c;
    return sr_buf_append_bytes(out, SR_LIT("{\"object\":\"response.input_tokens\",\"input_tokens\":0}"));
}

int sr_responses_completion_stream(const struct sr_completion *c, struct sr_buf *out)
{
    struct shape shape = shape_of(c);
    int rc = put_state(&shape, "response.created", false, out);
    if (!rc)
        rc = put_state(&shape, "response.in_progress", false, out);
    if (!rc)
        rc = put_item_event(&shape, false, out);
    if (!rc)
        rc = put_text_events(&shape, out);
    if (!rc)
        rc = put_item_event(&shape, true, out);
    return rc ? rc
              : put_state(&shape, is_filtered(c) ? "response.incomplete" : "response.completed", true, out);
}

/* The response of a stream that ends: its id, time and model are JSON from the stream. */
static void put_cut(struct sr_json_writer *w, const struct sr_stream_end *end, bool done)
{
    sr_json_object(w, "response");
    sr_json_raw(w, "id", sr_bytes_str(end->id[0] ? end->id : "\"resp_blocked\""));
    sr_json_text(w, "object", "response");
    sr_json_raw(w, "created_at", sr_bytes_str(end->created[0] ? end->created : "0"));
    sr_json_text(w, "status", done ? "incomplete" : "in_progress");
    put_details(w, done);
    sr_json_raw(w, "model", sr_bytes_str(end->model[0] ? end->model : "\"\""));
    put_settings(w);
    sr_json_array(w, "output");
    sr_json_array_end(w);
    sr_json_null(w, "usage");
    sr_json_object_end(w);
}

int sr_responses_stream_end(const struct sr_stream_end *end, struct sr_buf *out)
{
    uint64_t sequence = end->at.sequence;
    int rc = SR_OK;
    if (!end->at.begun) {
        struct sr_json_writer w = event_begin("response.created", &sequence, out);
        put_cut(&w, end, false);
        rc = event_end(&w);
    }
    if (rc)
        return rc;
    struct sr_json_writer w = event_begin("response.incomplete", &sequence, out);
    put_cut(&w, end, true);
    return event_end(&w);
}
