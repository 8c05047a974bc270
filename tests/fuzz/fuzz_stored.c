/*
 * Any bytes as what a store gives back for a response: the first line is its head, the rest the response and
 * the input. What is read is written again as the same, its pages and its continuation are JSON, and every
 * item is in exactly one page. The second line of the bytes is a query, and the third the input of the next
 * turn.
 */
#include "base/json_read.h"
#include "router/state/list.h"

#include <stdlib.h>
#include <string.h>

static struct sr_bytes take_line(struct sr_bytes *in)
{
    const char *end = in->n ? memchr(in->p, '\n', in->n) : NULL;
    struct sr_bytes line = sr_bytes_of(in->p, end ? (size_t)(end - in->p) : in->n);
    size_t n = line.n + (end ? 1 : 0);
    *in = sr_bytes_of(in->p + n, in->n - n);
    return line;
}

static size_t count(struct sr_bytes list)
{
    size_t n = 0, at = 0;
    sr_json_view value;
    while (sr_json_view_next(list, &at, NULL, &value))
        n++;
    return n;
}

/* The value is JSON of this first character. */
static sr_json_view must_be(const struct sr_buf *text, char first)
{
    sr_json_view root;
    if (sr_json_view_open(&root, sr_buf_view(text), NULL) || root.p[0] != first)
        abort();
    return root;
}

static void list(const struct sr_stored *stored, struct sr_bytes query)
{
    struct sr_stored_page page;
    struct sr_arena arena;
    struct sr_buf out;
    if (sr_stored_page_read(&page, query))
        return;
    sr_arena_init(&arena, (size_t)64 << 20);
    sr_buf_init(&out, (size_t)16 << 20);
    if (sr_stored_list(stored, &page, &arena, &out) == SR_OK) {
        size_t shown = count(sr_json_view_get(must_be(&out, '{'), "data"));
        if (shown > page.limit || shown > count(stored->input))
            abort();
    }
    sr_buf_dispose(&out);
    sr_arena_dispose(&arena);
}

static void go_on(const struct sr_stored *stored, struct sr_bytes input)
{
    struct sr_buf out;
    sr_json_view own;
    size_t more = 0;
    sr_buf_init(&out, (size_t)16 << 20);
    if (sr_json_view_open(&own, input, NULL))
        own = SR_LIT("");
    if (own.n && own.p[0] != 'n')
        more = own.p[0] == '[' ? count(own) : 1;
    int rc = sr_stored_continue(stored, own, &out);
    if (rc == SR_OK && count(must_be(&out, '[')) != count(stored->input) + count(stored->output) + more)
        abort();
    sr_buf_clear(&out);
    if (rc == SR_OK && sr_stored_items(own, &out) == SR_OK && count(must_be(&out, '[')) != more)
        abort();
    sr_buf_clear(&out);
    if (sr_stored_name_previous(stored->response, SR_LIT("resp_\"\\"), &out) == SR_OK)
        (void)must_be(&out, '{');
    sr_buf_dispose(&out);
}

static void write_again(const struct sr_stored *stored)
{
    struct sr_stored_owner owner = {.name = SR_LIT("red"), .user = SR_LIT(""), .model = "one", .now_ms = 1};
    struct sr_cache_record *record;
    struct sr_stored back;
    if (sr_stored_write(&record, stored, &owner, 1 << 20))
        return;
    if (sr_stored_read(&back, record) || !sr_bytes_eq(back.response, stored->response) ||
        !sr_bytes_eq(back.input, stored->input) || back.turns != stored->turns)
        abort();
    sr_cache_record_unref(record);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_bytes in = sr_bytes_of(bytes, size);
    struct sr_cache_fields fields = {.form = SR_CACHE_JSON, .verdict = take_line(&in)};
    struct sr_bytes query = take_line(&in), input = take_line(&in);
    struct sr_cache_record *record;
    struct sr_stored stored;
    fields.answer = in;
    if (size > 1 << 16 || sr_cache_record_new(&record, &fields))
        return 0;
    if (sr_stored_read(&stored, record) == SR_OK) {
        list(&stored, query);
        go_on(&stored, input);
        write_again(&stored);
    }
    sr_cache_record_unref(record);
    return 0;
}
