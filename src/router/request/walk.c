/* Spans are in order of their start, so the content of a container follows it. */
#include "router/request/walk.h"

#define ROLE_MAX 64 /* bytes of JSON: longest role, with any escapes */

bool sr_walk_is_text(const struct sr_span *span, enum sr_texts which)
{
    if (span->kind != SR_JSON_STRING)
        return false;
    switch (span->id) {
    case SR_AT_CONTENT:
    case SR_AT_PART_TEXT:
    case SR_AT_PROMPT:
    case SR_AT_PROMPT_ITEM:
        return true;
    case SR_PATH_TOP:
        return false;
    default:
        return which == SR_TEXTS_JUDGED && (sr_span_tag(span) & SR_CLASS_MASK) == SR_CLASS_JUDGED;
    }
}

size_t sr_walk_text(const struct sr_request *doc, size_t from, size_t end, enum sr_texts which)
{
    for (size_t i = from; i < doc->n_spans && doc->spans[i].start < end; i++)
        if (sr_walk_is_text(&doc->spans[i], which))
            return i;
    return doc->n_spans;
}

size_t sr_walk_message(const struct sr_request *doc, size_t from)
{
    size_t i = from;
    while (i < doc->n_spans && doc->spans[i].id != SR_AT_MESSAGE)
        i++;
    return i;
}

enum sr_signal_role sr_walk_role_of(const struct sr_request *doc, const struct sr_span *role)
{
    static const struct {
        struct sr_bytes name;
        enum sr_signal_role role;
    } names[] = {
        {{"user", 4}, SR_ROLE_USER},     {{"assistant", 9}, SR_ROLE_ASSISTANT},
        {{"tool", 4}, SR_ROLE_TOOL},     {{"function", 8}, SR_ROLE_TOOL},
        {{"system", 6}, SR_ROLE_SYSTEM}, {{"developer", 9}, SR_ROLE_SYSTEM},
    };
    char decoded[ROLE_MAX];
    struct sr_bytes said = sr_span_raw(role, doc->body);
    if (role->kind != SR_JSON_STRING || said.n < 2 || said.n > ROLE_MAX)
        return SR_ROLE_OTHER;
    said = sr_bytes_of(said.p + 1, said.n - 2);
    if (role->flags & SR_SPAN_ESCAPED) {
        size_t n;
        sr_json_unescape_part(said, true, decoded, &n);
        said = sr_bytes_of(decoded, n);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sr_bytes_eq(said, names[i].name))
            return names[i].role;
    return SR_ROLE_OTHER;
}

/* The last member of a message with this id; SR_SPAN_NONE without one. */
static uint32_t member(const struct sr_request *doc, size_t message, enum sr_at at)
{
    const struct sr_span *whole = &doc->spans[message];
    size_t end = whole->flags & SR_SPAN_OPEN ? SIZE_MAX : whole->end;
    uint32_t found = SR_SPAN_NONE;
    for (size_t i = message + 1; i < doc->n_spans && doc->spans[i].start < end; i++)
        if (doc->spans[i].id == at && doc->spans[i].parent == message)
            found = (uint32_t)i;
    return found;
}

enum sr_signal_role sr_walk_role(const struct sr_request *doc, size_t message)
{
    uint32_t role = member(doc, message, SR_AT_ROLE);
    if (role == SR_SPAN_NONE || doc->spans[role].flags & SR_SPAN_OPEN)
        return SR_ROLE_OTHER;
    return sr_walk_role_of(doc, &doc->spans[role]);
}

uint32_t sr_walk_content(const struct sr_request *doc, size_t message)
{
    return member(doc, message, SR_AT_CONTENT);
}
