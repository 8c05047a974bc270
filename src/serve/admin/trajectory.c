/* The selection is newest first; a trajectory is read from its end. */
#include "serve/admin/trajectory.h"

#include "json/doc.h"

#define MODELS_MAX 1000 /* changes of the model that are listed */

/* The array of messages of a request; NULL: it has none that is known. */
static const sr_doc_value *messages_of(const sr_doc_value *request)
{
    const sr_doc_value *messages = sr_doc_get(request, "messages");
    if (!messages)
        messages = sr_doc_get(request, "input");
    return sr_doc_kind(messages) == SR_JSON_ARRAY ? messages : NULL;
}

static void put_value(struct sr_json_writer *w, const sr_doc_value *value)
{
    struct sr_buf text;
    sr_buf_init(&text, SR_HISTORY_BODY_MAX);
    int rc = sr_doc_dump(value, &text);
    if (rc)
        w->rc = rc;
    else
        sr_json_raw(w, NULL, sr_buf_view(&text));
    sr_buf_dispose(&text);
}

/* The message of an answer that is one document; a stream has none. */
static void put_answer(struct sr_json_writer *w, struct sr_bytes body)
{
    struct sr_doc *doc = NULL;
    struct sr_err err;
    if (!body.n || sr_doc_parse(&doc, body, SR_HISTORY_BODY_MAX, &err))
        return;
    const sr_doc_value *message =
        sr_doc_get(sr_doc_at(sr_doc_get(sr_doc_root(doc), "choices"), 0), "message");
    if (sr_doc_kind(message) == SR_JSON_OBJECT)
        put_value(w, message);
    sr_doc_free(doc);
}

/* The conversation as this request and its answer have it. False: its body was not captured whole. */
static bool put_conversation(struct sr_json_writer *w, const struct sr_history_facts *f)
{
    struct sr_doc *doc = NULL;
    struct sr_err err;
    struct sr_bytes body = f->texts[SR_HISTORY_REQUEST_BODY];
    if (!body.n || f->numbers[SR_HISTORY_REQUEST_CUT] > 0 ||
        sr_doc_parse(&doc, body, SR_HISTORY_BODY_MAX, &err))
        return false;
    const sr_doc_value *messages = messages_of(sr_doc_root(doc));
    for (size_t i = 0; i < sr_doc_size(messages); i++)
        put_value(w, sr_doc_at(messages, i));
    sr_doc_free(doc);
    if (messages && !(f->numbers[SR_HISTORY_RESPONSE_CUT] > 0))
        put_answer(w, f->texts[SR_HISTORY_RESPONSE_BODY]);
    return messages != NULL;
}

static void put_models(struct sr_json_writer *w, const struct sr_history_selection *all)
{
    struct sr_bytes last = SR_LIT("");
    size_t n = 0;
    sr_json_array(w, "models");
    for (size_t i = all->n; i-- > 0 && n < MODELS_MAX;) {
        struct sr_bytes model = all->items[i]->f.texts[SR_HISTORY_SELECTED_MODEL];
        if (!model.n || sr_bytes_eq(model, last))
            continue;
        sr_json_bytes(w, NULL, model);
        last = model;
        n++;
    }
    sr_json_array_end(w);
}

void sr_api_trajectory(struct sr_json_writer *w, const struct sr_history_selection *all,
                       const struct sr_history_query *q, const struct sr_history_words *words)
{
    size_t from = q->offset < all->n ? q->offset : all->n, end = all->n - from;
    end = q->limit < end ? from + q->limit : all->n;
    sr_json_object(w, NULL);
    sr_json_text(w, "object", "router_replay.trajectory");
    sr_json_bytes(w, "session_id", q->filter.session);
    sr_json_uint(w, "record_count", all->n);
    sr_json_array(w, "messages");
    for (size_t i = 0; i < all->n && !w->rc; i++)
        if (put_conversation(w, &all->items[i]->f))
            break;
    sr_json_array_end(w);
    put_models(w, all);
    sr_json_bool(w, "has_more", end < all->n);
    if (end < all->n)
        sr_json_uint(w, "next_offset", end);
    sr_json_array(w, "data");
    for (size_t i = from; i < end && !w->rc; i++)
        sr_history_json(w, NULL, all->items[all->n - 1 - i], words, false);
    sr_json_array_end(w);
    sr_json_object_end(w);
}
