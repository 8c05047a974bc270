/*
 * The tools of a request, as its plan says (router/toolbox/plan.h): elements go, others join them, or all go
 * with what speaks of them. Tools that stay keep their bytes.
 */
#include "base/json_read.h"
#include "base/json_write.h"
#include "router/edit/kinds.h"
#include "router/edit/tool_history.h"

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

/* Appends a tool of a database, which chat completions define, as the request's dialect does. */
static int put_tool(enum sr_tool_form form, struct sr_bytes tool, struct sr_buf *out)
{
    static const char *const copied[] = {"name", "description", "parameters", "strict"};
    sr_json_view root;
    if (form == SR_TOOL_FORM_NESTED || sr_json_view_open(&root, tool, NULL))
        return sr_buf_append_bytes(out, tool);
    sr_json_view function = sr_json_view_get(root, "function");
    struct sr_json_writer w = sr_json_writer_of(out);
    bool schema = form == SR_TOOL_FORM_SCHEMA;
    sr_json_object(&w, NULL);
    if (!schema)
        sr_json_text(&w, "type", "function");
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        sr_json_view value = sr_json_view_get(function, copied[i]);
        bool parameters = strcmp(copied[i], "parameters") == 0;
        if (value.n && !(schema && strcmp(copied[i], "strict") == 0))
            sr_json_raw(&w, schema && parameters ? "input_schema" : copied[i], value);
        else if (schema && parameters)
            sr_json_raw(&w, "input_schema", SR_LIT("{\"type\":\"object\"}"));
    }
    sr_json_object_end(&w);
    return w.rc;
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
            rc = put_tool(edit->doc->dialect->tool_form, plan->add[i], &buf);
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
            rc = sr_edits_replace(edit->list, (uint32_t)i,
                                  doc->dialect->tool_form == SR_TOOL_FORM_SCHEMA
                                      ? SR_LIT("{\"type\":\"auto\"}")
                                      : SR_LIT("\"auto\""));
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
        return rc || !plan->strip_history ? rc : sr_edit_strip_history(edit);
    }
    if (!plan->n_dropped && !plan->n_add && (plan->why_not || plan->n_own))
        return SR_OK;
    int rc = drop_tools(edit, plan);
    if (!rc)
        rc = add_tools(edit, plan);
    return rc ? rc : fix_choice(edit, plan);
}
