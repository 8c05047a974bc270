/*
 * Reasoning that answers of other APIs left in a conversation, cut out of a request that is not translated.
 *
 * Its upstream refuses it: a signature that is empty, or behind the id of an item of Responses ("rs_1~..."),
 * is none of Messages; an item whose id is made from that of a chat completion or a message is none of
 * Responses.
 */
#include "translate/api.h"
#include "translate/responses.h"

struct cut {
    const char *from, *to;
    struct sr_bytes put; /* in its place */
    struct cut *next;
};

struct cleaner {
    struct sr_tr tr;
    struct cut *first, *last; /* in the order of the body */
    bool unproven;            /* the calls of the last turn follow no thinking any more */
};

/* ---- what is foreign ---- */

static bool is_foreign_block(sr_json_view block)
{
    static const char *const words[] = {"thinking", "redacted_thinking", NULL};
    int word = sr_tr_word(sr_json_view_get(block, "type"), words);
    if (word < 0)
        return false;
    sr_json_view signature = sr_json_view_get(block, word ? "data" : "signature");
    struct sr_bytes inner = sr_tr_inner(signature);
    return sr_json_view_is_string(signature) && (!inner.n || memchr(inner.p, '~', inner.n));
}

static bool is_foreign_item(sr_json_view item)
{
    struct sr_bytes id = sr_tr_inner(sr_json_view_get(item, "id"));
    return sr_json_view_eq(sr_json_view_get(item, "type"), "reasoning") && sr_tr_responses_made_id(id);
}

/* How many blocks of a message's content are of this type; NULL: are foreign. */
static size_t count_blocks(sr_json_view content, const char *type, size_t *all)
{
    sr_json_view block;
    size_t at = 0, n = 0;
    *all = 0;
    while (sr_json_view_is_array(content) && sr_json_view_next(content, &at, NULL, &block)) {
        n += type ? sr_json_view_eq(sr_json_view_get(block, "type"), type) : is_foreign_block(block);
        ++*all;
    }
    return n;
}

/* A message of nothing else: an empty content would be refused too. */
static bool is_foreign_message(sr_json_view message)
{
    size_t all, foreign = count_blocks(sr_json_view_get(message, "content"), NULL, &all);
    return all && foreign == all;
}

/* ---- cutting ---- */

static int cut(struct cleaner *c, const char *from, const char *to)
{
    struct cut *new = sr_arena_calloc(c->tr.arena, 1, sizeof *new);
    if (!new)
        return SR_ENOMEM;
    *new = (struct cut){.from = from, .to = to};
    if (c->last)
        c->last->next = new;
    else
        c->first = new;
    c->last = new;
    sr_tr_warn(&c->tr, "reasoning", SR_LIT(""));
    return SR_OK;
}

/* Cuts the foreign elements, each with one comma; `enter` (NULL: nothing) cuts inside of those that stay. */
static int cut_list(struct cleaner *c, sr_json_view list, bool (*foreign)(sr_json_view value),
                    int (*enter)(struct cleaner *c, sr_json_view value))
{
    const char *leading = NULL, *end = NULL;
    sr_json_view value;
    size_t at = 0;
    bool kept = false;
    int rc = SR_OK;
    while (!rc && sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &value)) {
        if (foreign(value)) {
            if (kept)
                rc = cut(c, end, value.p + value.n);
            else if (!leading)
                leading = value.p;
        } else {
            if (leading)
                rc = cut(c, leading, value.p);
            if (!rc && enter)
                rc = enter(c, value);
            kept = true;
            leading = NULL;
        }
        end = value.p + value.n;
    }
    return rc || !leading ? rc : cut(c, leading, end);
}

static int clean_message(struct cleaner *c, sr_json_view message)
{
    sr_json_view content = sr_json_view_get(message, "content");
    size_t all, foreign = count_blocks(content, NULL, &all);
    if (sr_json_view_eq(sr_json_view_get(message, "role"), "user")) {
        if (!count_blocks(content, "tool_result", &all))
            c->unproven = false;
        return SR_OK;
    }
    if (!foreign)
        return SR_OK;
    if (count_blocks(content, "thinking", &all) + count_blocks(content, "redacted_thinking", &all) == foreign)
        c->unproven |= count_blocks(content, "tool_use", &all) > 0;
    return cut_list(c, content, is_foreign_block, NULL);
}

/* Messages refuse thinking with a budget where calls that are answered now follow no thinking. */
static int turn_thinking_off(struct cleaner *c, sr_json_view root, sr_json_view messages)
{
    sr_json_view thinking = sr_json_view_get(root, "thinking");
    if (!c->unproven || !sr_json_view_eq(sr_json_view_get(thinking, "type"), "enabled"))
        return SR_OK;
    struct cut *off = sr_arena_calloc(c->tr.arena, 1, sizeof *off);
    if (!off)
        return SR_ENOMEM;
    *off = (struct cut){
        .from = thinking.p, .to = thinking.p + thinking.n, .put = SR_LIT("{\"type\":\"disabled\"}")};
    sr_tr_warn(&c->tr, "thinking", SR_LIT(""));
    if (thinking.p < messages.p) {
        off->next = c->first;
        c->first = off;
    } else {
        c->last->next = off;
    }
    return SR_OK;
}

static int render(const struct cleaner *c, struct sr_bytes body, struct sr_buf *out)
{
    const char *at = body.p;
    int rc = SR_OK;
    for (const struct cut *i = c->first; i && !rc; i = i->next) {
        rc = sr_buf_append(out, at, (size_t)(i->from - at));
        if (!rc && i->put.n)
            rc = sr_buf_append_bytes(out, i->put);
        at = i->to;
    }
    return rc ? rc : sr_buf_append(out, at, (size_t)(body.p + body.n - at));
}

/* A quick look: most requests have nothing of the kind. */
static bool may_have(enum sr_translate_api api, struct sr_bytes body)
{
    return api == SR_TRANSLATE_MESSAGES
               ? sr_bytes_contains(body, SR_LIT("thinking\""))
               : api == SR_TRANSLATE_RESPONSES && sr_bytes_contains(body, SR_LIT("\"rs_"));
}

int sr_translate_clean(enum sr_translate_api api, struct sr_bytes body, struct sr_arena *arena,
                       struct sr_buf *out, struct sr_translate_warnings *warnings)
{
    struct cleaner c = {.tr = {.from = api, .to = api, .arena = arena, .warnings = warnings}};
    sr_json_view root, messages;
    if (!may_have(api, body) || sr_json_view_open(&root, body, NULL))
        return SR_ENOENT;
    int rc;
    if (api == SR_TRANSLATE_RESPONSES) {
        rc = cut_list(&c, sr_json_view_get(root, "input"), is_foreign_item, NULL);
    } else {
        messages = sr_json_view_get(root, "messages");
        rc = cut_list(&c, messages, is_foreign_message, clean_message);
        if (!rc)
            rc = turn_thinking_off(&c, root, messages);
    }
    if (!rc && !c.first)
        return SR_ENOENT;
    return rc ? rc : render(&c, body, out);
}
