/*
 * The system prompt of a decision: before or after the client's own, or in its place.
 *
 * Where the dialect has a member for it, that member counts; else only the first message, and only with role
 * system or developer. Its other members and, when inserting, the bytes of its content are unchanged.
 */
#include "router/edit/kinds.h"
#include "router/edit/piece.h"

/* The span of a member of message `message`, the last of a repeated one; SR_SPAN_NONE when it has none. */
static uint32_t member_of(const struct sr_request *doc, uint32_t message, uint16_t id)
{
    uint32_t found = SR_SPAN_NONE;
    for (size_t i = message + 1; i < doc->n_spans && doc->spans[i].start < doc->spans[message].end; i++)
        if (doc->spans[i].id == id && doc->spans[i].parent == message)
            found = (uint32_t)i;
    return found;
}

static bool is_system(struct sr_edit *edit, uint32_t message)
{
    uint32_t role = member_of(edit->doc, message, SR_AT_ROLE);
    if (role == SR_SPAN_NONE)
        return false;
    struct sr_bytes text = sr_span_text(&edit->doc->spans[role], edit->doc->body, edit->arena);
    return sr_bytes_eq(text, SR_LIT("system")) || sr_bytes_eq(text, SR_LIT("developer"));
}

static int prepend_message(struct sr_edit *edit, struct sr_bytes prompt)
{
    struct sr_bytes json = sr_edit_json(edit, "{\"role\":\"system\",\"content\":\"", prompt, "\"}");
    return json.p ? sr_edits_prepend(edit->list, edit->doc->at.messages, json) : SR_ENOMEM;
}

static int replace_content(struct sr_edit *edit, uint32_t message, uint32_t content, struct sr_bytes prompt)
{
    struct sr_bytes json = sr_edit_json(edit, "\"", prompt, "\"");
    if (!json.p)
        return SR_ENOMEM;
    if (content != SR_SPAN_NONE)
        return sr_edits_replace(edit->list, content, json);
    return sr_edits_set_member(edit->list, message, SR_LIT("content"), json);
}

static int insert_content(struct sr_edit *edit, uint32_t content, struct sr_bytes prompt)
{
    const struct sr_span *span = &edit->doc->spans[content];
    if (span->kind == SR_JSON_ARRAY) {
        struct sr_bytes part = sr_edit_json(edit, "{\"type\":\"text\",\"text\":\"", prompt, "\\n\\n\"}");
        return part.p ? sr_edits_prepend(edit->list, content, part) : SR_ENOMEM;
    }
    struct sr_bytes text = sr_edit_json(edit, "", prompt, "\\n\\n");
    return text.p ? sr_edits_range(edit->list, span->start + 1, span->start + 1, text) : SR_ENOMEM;
}

static bool is_empty_array(struct sr_bytes body, const struct sr_span *span)
{
    size_t i = span->start + 1;
    while (i < span->end - 1 && strchr(" \t\r\n", body.p[i]))
        i++;
    return i == span->end - 1;
}

static int append_content(struct sr_edit *edit, uint32_t content, struct sr_bytes prompt)
{
    const struct sr_span *span = &edit->doc->spans[content];
    struct sr_bytes text;
    if (span->kind != SR_JSON_ARRAY)
        text = sr_edit_json(edit, "\\n\\n", prompt, "");
    else if (is_empty_array(edit->doc->body, span))
        text = sr_edit_json(edit, "{\"type\":\"text\",\"text\":\"", prompt, "\"}");
    else
        text = sr_edit_json(edit, ",{\"type\":\"text\",\"text\":\"\\n\\n", prompt, "\"}");
    return text.p ? sr_edits_range(edit->list, span->end - 1, span->end - 1, text) : SR_ENOMEM;
}

/* The prompt in the member for instructions: a string, or a list of text parts. */
static int edit_member(struct sr_edit *edit, struct sr_bytes prompt)
{
    uint32_t system = edit->doc->at.system;
    int kind = system == SR_SPAN_NONE ? -1 : edit->doc->spans[system].kind;
    edit->out->injected_prompt = true;
    if (edit->decision->plugins.system_prompt.mode == SR_PROMPT_REPLACE ||
        (kind != SR_JSON_STRING && kind != SR_JSON_ARRAY)) {
        struct sr_bytes json = sr_edit_json(edit, "\"", prompt, "\"");
        if (!json.p)
            return SR_ENOMEM;
        return sr_edits_set_member(edit->list, SR_SPAN_NONE, sr_bytes_str(edit->doc->dialect->system_member),
                                   json);
    }
    return edit->decision->plugins.system_prompt.mode == SR_PROMPT_APPEND
               ? append_content(edit, system, prompt)
               : insert_content(edit, system, prompt);
}

int sr_edit_prompt(struct sr_edit *edit)
{
    const struct sr_request *doc = edit->doc;
    struct sr_bytes prompt = sr_bytes_str(edit->decision->plugins.system_prompt.text);
    if (!edit->decision->plugins.system_prompt.set || prompt.n == 0 || !doc->dialect->takes_system_prompt)
        return SR_OK;
    if (doc->dialect->system_member)
        return edit_member(edit, prompt);
    uint32_t first = doc->at.messages + 1; /* spans are in order: its first element, if it has one */
    if (first >= doc->n_spans || doc->spans[first].id != SR_AT_MESSAGE ||
        doc->spans[first].parent != doc->at.messages)
        return SR_OK;
    edit->out->injected_prompt = true;
    if (!is_system(edit, first))
        return prepend_message(edit, prompt);
    uint32_t content = member_of(doc, first, SR_AT_CONTENT);
    int kind = content == SR_SPAN_NONE ? -1 : doc->spans[content].kind;
    if (edit->decision->plugins.system_prompt.mode == SR_PROMPT_REPLACE ||
        (kind != SR_JSON_STRING && kind != SR_JSON_ARRAY))
        return replace_content(edit, first, content, prompt);
    return edit->decision->plugins.system_prompt.mode == SR_PROMPT_APPEND
               ? append_content(edit, content, prompt)
               : insert_content(edit, content, prompt);
}
