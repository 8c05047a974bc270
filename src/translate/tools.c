/* Tools: the list of those that may be called, grammars of free text, and whose results are whose. */
#include "translate/tools.h"

#include <stdlib.h>

/* ---- allowed tools ---- */

static sr_json_view name_of(sr_json_view tool)
{
    sr_json_view of = sr_json_view_get(tool, "function");
    if (!sr_json_view_is_object(of))
        of = sr_json_view_get(tool, "custom");
    return sr_json_view_get(sr_json_view_is_object(of) ? of : tool, "name");
}

static int by_name(const void *a, const void *b)
{
    return sr_bytes_cmp((*(struct sr_tr_tool *const *)a)->name, (*(struct sr_tr_tool *const *)b)->name);
}

/* The tools by their names, all kept back; NULL: there are none, or out of memory. */
static struct sr_tr_tool **keep_back(struct sr_tr *tr, struct sr_tr_request *request, size_t *n)
{
    *n = 0;
    for (struct sr_tr_tool *tool = request->tools; tool; tool = tool->next, ++*n)
        tool->kept_back = true;
    struct sr_tr_tool **tools = *n ? sr_arena_alloc(tr->arena, *n * sizeof *tools) : NULL;
    if (!tools)
        return NULL;
    size_t i = 0;
    for (struct sr_tr_tool *tool = request->tools; tool; tool = tool->next)
        tools[i++] = tool;
    qsort(tools, *n, sizeof(struct sr_tr_tool *), by_name);
    return tools;
}

void sr_tr_allow_tools(struct sr_tr *tr, sr_json_view allowed, struct sr_tr_request *request)
{
    sr_json_view list = sr_json_view_get(allowed, "tools"), value;
    size_t n, at = 0;
    struct sr_tr_tool **tools = keep_back(tr, request, &n);
    request->choice_some = true;
    request->choice =
        sr_json_view_eq(sr_json_view_get(allowed, "mode"), "required") ? SR_TR_CHOICE_ANY : SR_TR_CHOICE_AUTO;
    while (sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &value)) {
        struct sr_tr_tool wanted = {.name = name_of(value)}, *key = &wanted;
        struct sr_tr_tool **found =
            tools && wanted.name.p ? bsearch(&key, tools, n, sizeof(struct sr_tr_tool *), by_name) : NULL;
        if (found)
            (*found)->kept_back = false;
        else
            sr_tr_warn(tr, "tool_choice.tools[].", sr_tr_inner(sr_json_view_get(value, "type")));
    }
}

const struct sr_tr_tool *sr_tr_tool_allowed(const struct sr_tr_tool *tool)
{
    while (tool && tool->kept_back)
        tool = tool->next;
    return tool;
}

/* ---- the choice ---- */

static bool has_chosen(const struct sr_tr_request *request)
{
    const struct sr_tr_tool *tool = request->tools;
    while (tool && (tool->custom != request->choice_custom || !sr_bytes_eq(tool->name, request->choice_name)))
        tool = tool->next;
    return tool != NULL;
}

void sr_tr_check_choice(struct sr_tr *tr, struct sr_tr_request *request)
{
    bool named = request->choice == SR_TR_CHOICE_NAMED;
    if (request->tools && (!named || has_chosen(request))) {
        if (request->choice_some && !sr_tr_tool_allowed(request->tools)) {
            request->choice_some = false;
            request->choice = SR_TR_CHOICE_NO_TOOL;
        }
        return;
    }
    if (named || request->choice == SR_TR_CHOICE_ANY) /* without tools the others say nothing */
        sr_tr_warn(tr, "tool_choice", SR_LIT(""));
    request->choice_some = false;
    request->choice = SR_TR_CHOICE_NONE_GIVEN;
    if (!request->tools)
        request->parallel = (sr_json_view){0};
}

/* ---- free text ---- */

void sr_tr_read_tool_format(struct sr_tr *tr, sr_json_view format, struct sr_tr_tool *tool)
{
    static const char *const known[] = {"type", "grammar", "syntax", "definition", NULL};
    sr_json_view inside = sr_json_view_get(format, "grammar");
    sr_tr_lost_members(tr, "tools[].format.", format, known);
    if (!sr_json_view_eq(sr_json_view_get(format, "type"), "grammar")) {
        tool->format = format;
        return;
    }
    sr_json_view of = sr_json_view_is_object(inside) ? inside : format;
    tool->syntax = sr_json_view_get(of, "syntax");
    tool->definition = sr_json_view_get(of, "definition");
}

static int by_bytes(const void *a, const void *b)
{
    return sr_bytes_cmp(*(const sr_json_view *)a, *(const sr_json_view *)b);
}

int sr_tr_mark_custom_results(struct sr_tr *tr, struct sr_tr_request *request)
{
    size_t n = 0, i = 0;
    for (const struct sr_tr_turn *turn = request->turns; turn; turn = turn->next)
        for (const struct sr_tr_part *p = turn->parts.first; p; p = p->next)
            n += p->kind == SR_TR_CALL && p->custom;
    if (!n)
        return SR_OK;
    sr_json_view *ids = sr_arena_alloc(tr->arena, n * sizeof *ids);
    if (!ids)
        return SR_ENOMEM;
    for (const struct sr_tr_turn *turn = request->turns; turn; turn = turn->next)
        for (const struct sr_tr_part *p = turn->parts.first; p; p = p->next)
            if (p->kind == SR_TR_CALL && p->custom)
                ids[i++] = p->id;
    qsort(ids, n, sizeof *ids, by_bytes);
    for (const struct sr_tr_turn *turn = request->turns; turn; turn = turn->next)
        for (struct sr_tr_part *p = turn->parts.first; p; p = p->next)
            if (p->kind == SR_TR_RESULT)
                p->custom = bsearch(&p->id, ids, n, sizeof *ids, by_bytes) != NULL;
    return SR_OK;
}
