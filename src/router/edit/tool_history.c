/*
 * Chat completions have calls as a member of a message and results as messages; Responses have items of their
 * own for both; Messages have blocks of a message's content.
 */
#include "router/edit/tool_history.h"

/* ---- members of messages ---- */

/* What a message has to do with tools. */
struct trace {
    bool result; /* it is the result of a call */
    bool calls;  /* it calls */
    bool speaks; /* it has a content, too */
};

static struct trace trace_of(struct sr_edit *edit, uint32_t message)
{
    const struct sr_request *doc = edit->doc;
    struct trace trace = {false, false, false};
    for (size_t i = message + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[message].end; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (span->parent != message)
            continue;
        struct sr_bytes key = sr_request_key(doc, span, edit->arena), text = SR_LIT("");
        if (span->kind == SR_JSON_STRING)
            text = sr_span_text(span, doc->body, edit->arena);
        if (span->id == SR_AT_ROLE)
            trace.result = sr_bytes_eq(text, SR_LIT("tool")) || sr_bytes_eq(text, SR_LIT("function"));
        else if (span->id == SR_AT_CONTENT)
            trace.speaks = text.n != 0 || (span->kind == SR_JSON_ARRAY && !(span->flags & SR_SPAN_EMPTY));
        else if (sr_bytes_eq(key, SR_LIT("tool_calls")) || sr_bytes_eq(key, SR_LIT("function_call")))
            trace.calls = true;
    }
    return trace;
}

static int remove_calls(struct sr_edit *edit, uint32_t message)
{
    const struct sr_request *doc = edit->doc;
    int rc = SR_OK;
    for (size_t i = message + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[message].end && !rc;
         i++) {
        struct sr_bytes key = sr_request_key(doc, &doc->spans[i], edit->arena);
        if (doc->spans[i].parent == message &&
            (sr_bytes_eq(key, SR_LIT("tool_calls")) || sr_bytes_eq(key, SR_LIT("function_call"))))
            rc = sr_edits_remove_one(edit->list, (uint32_t)i);
    }
    return rc;
}

static int strip_messages(struct sr_edit *edit)
{
    const struct sr_request *doc = edit->doc;
    int rc = SR_OK;
    for (size_t i = 0; i < doc->n_spans && !rc; i++) {
        if (doc->spans[i].id != SR_AT_MESSAGE || doc->spans[i].kind != SR_JSON_OBJECT)
            continue;
        struct trace trace = trace_of(edit, (uint32_t)i);
        if (trace.result || (trace.calls && !trace.speaks))
            rc = sr_edits_remove(edit->list, (uint32_t)i);
        else if (trace.calls)
            rc = remove_calls(edit, (uint32_t)i);
    }
    return rc;
}

/* ---- items and blocks ---- */

static bool ends_with(struct sr_bytes raw, struct sr_bytes end)
{
    return raw.n >= end.n && memcmp(raw.p + raw.n - end.n, end.p, end.n) == 0;
}

/* Is the type of this item or block that of a call or a result? */
static bool is_trace(const struct sr_request *doc, uint32_t owner)
{
    bool trace = false;
    for (size_t i = owner + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[owner].end; i++) {
        struct sr_bytes raw = sr_span_raw(&doc->spans[i], doc->body);
        if (doc->spans[i].id == SR_AT_TYPE && doc->spans[i].parent == owner)
            trace = ends_with(raw, SR_LIT("_call\"")) || ends_with(raw, SR_LIT("_call_output\"")) ||
                    ends_with(raw, SR_LIT("tool_use\"")) || ends_with(raw, SR_LIT("tool_result\""));
    }
    return trace;
}

static int strip_items(struct sr_edit *edit)
{
    int rc = SR_OK;
    for (size_t i = 0; i < edit->doc->n_spans && !rc; i++)
        if (edit->doc->spans[i].id == SR_AT_MESSAGE && is_trace(edit->doc, (uint32_t)i))
            rc = sr_edits_remove(edit->list, (uint32_t)i);
    return rc;
}

/* The blocks of a content that stay. */
static size_t blocks_left(const struct sr_request *doc, uint32_t content)
{
    size_t left = 0;
    for (size_t i = content + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[content].end; i++)
        left += doc->spans[i].parent == content && !is_trace(doc, (uint32_t)i);
    return left;
}

static int strip_blocks(struct sr_edit *edit)
{
    const struct sr_request *doc = edit->doc;
    int rc = SR_OK;
    for (size_t i = 0; i < doc->n_spans && !rc; i++) {
        const struct sr_span *content = &doc->spans[i];
        if (content->id != SR_AT_CONTENT || content->kind != SR_JSON_ARRAY ||
            (content->flags & SR_SPAN_EMPTY))
            continue;
        if (!blocks_left(doc, (uint32_t)i)) {
            rc = sr_edits_remove(edit->list, content->parent);
            continue;
        }
        for (size_t k = i + 1; k < doc->n_spans && doc->spans[k].start < content->end && !rc; k++)
            if (doc->spans[k].parent == i && is_trace(doc, (uint32_t)k))
                rc = sr_edits_remove(edit->list, (uint32_t)k);
    }
    return rc;
}

int sr_edit_strip_history(struct sr_edit *edit)
{
    switch (edit->doc->dialect->tool_form) {
    case SR_TOOL_FORM_FLAT:
        return strip_items(edit);
    case SR_TOOL_FORM_SCHEMA:
        return strip_blocks(edit);
    case SR_TOOL_FORM_NESTED:
        break;
    }
    return strip_messages(edit);
}
