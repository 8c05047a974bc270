/* Ids of items that have none are made of the response's id and their number: the same in every page. */
#include "router/state/list.h"

#include "base/hash.h"
#include "base/json_read.h"
#include "base/json_write.h"

#include <inttypes.h>
#include <stdio.h>

#define LIMIT_DEFAULT 20u
#define LIMIT_MAX     100u

struct item {
    sr_json_view value;
    struct sr_bytes id; /* decoded */
    bool own_id;        /* the item has it */
};

/* ---- the query ---- */

static const char *take_parameter(struct sr_stored_page *out, struct sr_bytes name, struct sr_bytes value)
{
    unsigned long long number;
    if (sr_bytes_eq(name, SR_LIT("limit"))) {
        if (!sr_bytes_to_u64(value, &number) || number < 1 || number > LIMIT_MAX)
            return "limit";
        out->limit = (size_t)number;
    } else if (sr_bytes_eq(name, SR_LIT("order"))) {
        out->ascending = sr_bytes_eq(value, SR_LIT("asc"));
        if (!out->ascending && !sr_bytes_eq(value, SR_LIT("desc")))
            return "order";
    } else if (sr_bytes_eq(name, SR_LIT("after"))) {
        out->after = value;
    }
    return NULL;
}

const char *sr_stored_page_read(struct sr_stored_page *out, struct sr_bytes query)
{
    const char *wrong = NULL;
    *out = (struct sr_stored_page){.limit = LIMIT_DEFAULT, .after = SR_LIT("")};
    for (size_t at = 1; at < query.n && !wrong;) {
        const char *p = query.p + at, *end = memchr(p, '&', query.n - at);
        size_t n = end ? (size_t)(end - p) : query.n - at;
        const char *equals = memchr(p, '=', n);
        size_t name = equals ? (size_t)(equals - p) : n;
        if (equals)
            wrong = take_parameter(out, sr_bytes_of(p, name), sr_bytes_of(equals + 1, n - name - 1));
        at += n + 1;
    }
    return wrong;
}

/* ---- items ---- */

static bool name_item(struct item *item, struct sr_bytes response_id, size_t number, struct sr_arena *arena)
{
    sr_json_view id = sr_json_view_get(item->value, "id");
    item->own_id = sr_json_view_is_string(id) && id.n > 2;
    if (item->own_id)
        return sr_json_view_dup(id, arena, &item->id);
    const char *made = sr_arena_printf(arena, "msg_%016" PRIx64, sr_hash64(response_id, number));
    item->id = made ? sr_bytes_str(made) : (struct sr_bytes){NULL, 0};
    return made != NULL;
}

static struct item *items_of(const struct sr_stored *stored, struct sr_arena *arena, size_t *n)
{
    struct sr_bytes response_id = sr_stored_id(stored->response, arena);
    size_t count = 0, at = 0;
    sr_json_view value;
    while (sr_json_view_next(stored->input, &at, NULL, &value))
        count++;
    struct item *items = sr_arena_calloc(arena, count + 1, sizeof *items);
    at = 0;
    *n = 0;
    while (items && response_id.p && sr_json_view_next(stored->input, &at, NULL, &value)) {
        items[*n].value = value;
        if (!name_item(&items[*n], response_id, *n, arena))
            return NULL;
        ++*n;
    }
    return response_id.p ? items : NULL;
}

/* A content that is a string, as a list of one part. */
static void write_content(struct sr_json_writer *w, sr_json_view content, bool answered)
{
    if (!sr_json_view_is_string(content)) {
        sr_json_raw(w, "content", content);
        return;
    }
    sr_json_array(w, "content");
    sr_json_object(w, NULL);
    sr_json_text(w, "type", answered ? "output_text" : "input_text");
    sr_json_raw(w, "text", content);
    if (answered)
        sr_json_raw(w, "annotations", SR_LIT("[]"));
    sr_json_object_end(w);
    sr_json_array_end(w);
}

/* False: out of memory. */
static bool write_item(struct sr_json_writer *w, const struct item *item, struct sr_arena *arena)
{
    sr_json_view name, value;
    bool answered = sr_json_view_eq(sr_json_view_get(item->value, "role"), "assistant");
    size_t at = 0;
    if (!sr_json_view_is_object(item->value)) {
        sr_json_raw(w, NULL, item->value);
        return true;
    }
    sr_json_object(w, NULL);
    if (!item->own_id)
        sr_json_bytes(w, "id", item->id);
    if (!sr_json_view_get(item->value, "type").p)
        sr_json_text(w, "type", "message");
    while (sr_json_view_next(item->value, &at, &name, &value)) {
        if (sr_json_view_eq(name, "content")) {
            write_content(w, value, answered);
        } else if (item->own_id || !sr_json_view_eq(name, "id")) {
            struct sr_bytes text;
            if (!sr_json_view_dup(name, arena, &text))
                return false;
            sr_json_name(w, text);
            sr_json_raw(w, NULL, value);
        }
    }
    sr_json_object_end(w);
    return true;
}

int sr_stored_list(const struct sr_stored *stored, const struct sr_stored_page *page, struct sr_arena *arena,
                   struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    const struct item *first = NULL, *last = NULL;
    size_t n, from = 0;
    struct item *items = items_of(stored, arena, &n);
    if (!items)
        return SR_ENOMEM;
    if (page->after.n) {
        while (from < n && !sr_bytes_eq(items[page->ascending ? from : n - 1 - from].id, page->after))
            from++;
        if (from++ == n)
            return SR_ENOENT;
    }
    sr_json_object(&w, NULL);
    sr_json_text(&w, "object", "list");
    sr_json_array(&w, "data");
    size_t end = page->limit < n - from ? from + page->limit : n;
    for (size_t i = from; i < end; i++) {
        last = &items[page->ascending ? i : n - 1 - i];
        first = first ? first : last;
        if (!write_item(&w, last, arena))
            return SR_ENOMEM;
    }
    sr_json_array_end(&w);
    if (first) {
        sr_json_bytes(&w, "first_id", first->id);
        sr_json_bytes(&w, "last_id", last->id);
    } else {
        sr_json_null(&w, "first_id");
        sr_json_null(&w, "last_id");
    }
    sr_json_bool(&w, "has_more", end < n);
    sr_json_object_end(&w);
    return w.rc;
}

int sr_stored_deleted(struct sr_bytes id, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_bytes(&w, "id", id);
    sr_json_text(&w, "object", "response");
    sr_json_bool(&w, "deleted", true);
    sr_json_object_end(&w);
    return w.rc;
}
