/*
 * The tools of a request, as its plan says (router/toolbox/plan.h): elements go, others join them, or all go
 * with what speaks of them. Tools that stay keep their bytes.
 */
#include "router/edit/kinds.h"

#define ADDED_MAX ((size_t)16 << 20)

/* ---- all tools go ---- */

static bool is_of_tools(struct sr_bytes name)
{
    static const char *const members[] = {"tools", "tool_choice", "parallel_tool_calls", "functions",
                                          "function_call"};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (sr_bytes_eq(name, sr_bytes_str(members[i])))
            return true;
    return false;
}

static int remove_members(struct sr_edit *edit)
{
    const struct sr_request *doc = edit->doc;
    int rc = SR_OK;
    for (size_t i = 0; i < doc->n_spans && !rc; i++) {
        if (!sr_request_is_top(&doc->spans[i]))
            continue;
        struct sr_bytes name = sr_request_key(doc, &doc->spans[i], edit->arena);
        if (!name.p)
            return SR_ENOMEM;
        if (is_of_tools(name))
            rc = sr_edits_remove_one(edit->list, (uint32_t)i);
    }
    return rc;
}

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

static int strip_history(struct sr_edit *edit)
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

/* ---- some go, some come ---- */

/* The tools of this array that stay. */
static size_t left_in(const struct sr_tool_plan *plan, uint32_t list)
{
    size_t left = 0;
    for (size_t i = 0; i < plan->n_own; i++)
        left += plan->own[i].list == list && !plan->own[i].drop;
    return left;
}

/* `list` stays without an element. */
static int empty(struct sr_edit *edit, const struct sr_tool_plan *plan, uint32_t list)
{
    return plan->empty_list ? sr_edits_replace(edit->list, list, SR_LIT("[]"))
                            : sr_edits_remove(edit->list, list);
}

static int drop_tools(struct sr_edit *edit, const struct sr_tool_plan *plan)
{
    int rc = SR_OK;
    for (size_t i = 0; i < plan->n_own && !rc; i++) {
        const struct sr_tool_own *own = &plan->own[i];
        bool filled = own->list == plan->list && plan->n_add;
        if (!own->drop)
            continue;
        if (left_in(plan, own->list) || filled)
            rc = sr_edits_remove(edit->list, own->span);
        else if (i == 0 || plan->own[i - 1].list != own->list)
            rc = empty(edit, plan, own->list);
    }
    return rc;
}

static struct sr_bytes joined(struct sr_edit *edit, const struct sr_tool_plan *plan, const char *before,
                              const char *after)
{
    struct sr_buf buf;
    struct sr_bytes out = {NULL, 0};
    sr_buf_init(&buf, ADDED_MAX);
    int rc = sr_buf_append_bytes(&buf, sr_bytes_str(before));
    for (size_t i = 0; i < plan->n_add && !rc; i++) {
        if (i)
            rc = sr_buf_append_bytes(&buf, SR_LIT(","));
        if (!rc)
            rc = sr_buf_append_bytes(&buf, plan->add[i]);
    }
    if (!rc)
        rc = sr_buf_append_bytes(&buf, sr_bytes_str(after));
    if (!rc)
        out = sr_arena_dup(edit->arena, sr_buf_view(&buf));
    sr_buf_dispose(&buf);
    return out;
}

/* After the request's own: a prompt that begins as before is one that an engine has cached. */
static int add_tools(struct sr_edit *edit, const struct sr_tool_plan *plan)
{
    const struct sr_request *doc = edit->doc;
    bool has_list = plan->list != SR_SPAN_NONE && doc->spans[plan->list].kind == SR_JSON_ARRAY;
    if (!plan->n_add)
        return SR_OK;
    struct sr_bytes json = has_list ? joined(edit, plan, left_in(plan, plan->list) ? "," : "", "")
                                    : joined(edit, plan, "[", "]");
    if (!json.p)
        return SR_ENOMEM;
    if (!has_list)
        return sr_edits_set_member(edit->list, SR_SPAN_NONE, SR_LIT("tools"), json);
    size_t end = doc->spans[plan->list].end - 1;
    return sr_edits_range(edit->list, end, end, json);
}

/* `tool_choice` follows: without tools it goes, and it names no tool that went. */
static int fix_choice(struct sr_edit *edit, const struct sr_tool_plan *plan)
{
    const struct sr_request *doc = edit->doc;
    bool none = plan->n_own == plan->n_dropped && !plan->n_add;
    int rc = SR_OK;
    for (size_t i = 0; i < doc->n_spans && !rc; i++) {
        const struct sr_span *span = &doc->spans[i];
        if (!sr_request_is_top(span))
            continue;
        struct sr_bytes key = sr_request_key(doc, span, edit->arena);
        bool choice = span->id == SR_AT_TOOL_CHOICE || sr_bytes_eq(key, SR_LIT("function_call"));
        if (none && (choice || sr_bytes_eq(key, SR_LIT("parallel_tool_calls"))))
            rc = sr_edits_remove_one(edit->list, (uint32_t)i);
        else if (choice && plan->retargets)
            rc = sr_edits_replace(edit->list, (uint32_t)i, SR_LIT("\"auto\""));
    }
    return rc;
}

int sr_edit_tools(struct sr_edit *edit)
{
    const struct sr_tool_plan *plan = edit->in->tools;
    if (!plan)
        return SR_OK;
    if (plan->remove_all) {
        int rc = remove_members(edit);
        return rc || !plan->strip_history ? rc : strip_history(edit);
    }
    if (!plan->n_dropped && !plan->n_add && (plan->why_not || plan->n_own))
        return SR_OK;
    int rc = drop_tools(edit, plan);
    if (!rc)
        rc = add_tools(edit, plan);
    return rc ? rc : fix_choice(edit, plan);
}
