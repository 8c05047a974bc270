/* Requests in the shape of chats, answers by the dialect's own writers. */
#include "serve/warm/build.h"

#include "base/json_write.h"
#include "serve/warm/events.h"

/* ---- the request ---- */

static void put_message(struct sr_json_writer *w, const char *role, struct sr_bytes content)
{
    sr_json_object(w, NULL);
    sr_json_text(w, "role", role);
    sr_json_bytes(w, "content", content);
    sr_json_object_end(w);
}

int sr_warm_request(const struct sr_warm_line *line, const char *model, bool streamed, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_view name, value;
    size_t at = 0;
    if (line->request.p)
        return sr_buf_append_bytes(out, line->request);
    sr_json_object(&w, NULL);
    sr_json_bytes(&w, "model", line->model.p ? line->model : sr_bytes_str(model));
    sr_json_array(&w, "messages");
    if (line->system.p)
        put_message(&w, "system", line->system);
    put_message(&w, "user", line->question);
    sr_json_array_end(&w);
    while (sr_json_view_next(line->parameters, &at, &name, &value)) {
        sr_json_raw(&w, NULL, name);
        if (!w.rc)
            w.rc = sr_buf_append(out, ":", 1);
        w.comma = false;
        sr_json_raw(&w, NULL, value);
    }
    if (streamed)
        sr_json_bool(&w, "stream", true);
    sr_json_object_end(&w);
    return w.rc;
}

/* ---- the answer ---- */

int sr_warm_answer(const struct sr_warm_line *line, const struct sr_dialect_ops *dialect, const char *model,
                   uint64_t now, bool streamed, struct sr_buf *out, struct sr_err *err)
{
    struct sr_completion completion = {.message = line->answer,
                                       .id = "known",
                                       .model = model,
                                       .finish = "stop",
                                       .since = now,
                                       .usage = true};
    if (line->events.p)
        return sr_buf_append_bytes(out, line->events);
    if (line->answer.p)
        return streamed ? dialect->completion_stream(&completion, out)
                        : dialect->completion(&completion, out);
    if (!streamed)
        return sr_buf_append_bytes(out, line->response);
    if (!dialect->has_messages || !dialect->takes_usage_option)
        return sr_err_set(err, SR_EUNSUPPORTED,
                          "the response to a stream of this endpoint must be the text of its events");
    return sr_warm_events(line->response, out, err);
}
