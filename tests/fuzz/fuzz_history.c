/*
 * Any bytes as an entry of the history's file: what decodes has that size again, and a JSON document; and
 * any bytes as the query of a URL.
 */
#include "history/json.h"
#include "history/select.h"
#include "router/report/history.h"

#include <stdlib.h>

static void query(struct sr_bytes text, const struct sr_history_entry *entry)
{
    struct sr_history_query q;
    struct sr_arena arena;
    const char *why;
    sr_arena_init(&arena, 1 << 20);
    if (sr_history_query_read(&q, text, &arena, &why)) {
        if (!q.limit || q.limit > SR_HISTORY_PAGE_MAX || !q.per_second)
            abort();
        if (entry)
            (void)sr_history_passes(&q.filter, entry);
    } else if (!why) {
        abort();
    }
    sr_arena_dispose(&arena);
}

static void render(const struct sr_history_entry *entry)
{
    struct sr_buf out;
    sr_buf_init(&out, SR_HISTORY_JSON_MAX);
    struct sr_json_writer w = sr_json_writer_of(&out);
    sr_history_json(&w, NULL, entry, &sr_history_words, true);
    if (w.rc)
        abort();
    sr_buf_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sr_history_entry *entry;
    uint8_t *in = malloc(size + 1);
    memcpy(in, bytes, size);
    int rc = sr_history_entry_read(&entry, sr_bytes_of(in, size));
    if (rc == SR_OK) {
        uint8_t *out = malloc(size);
        if (sr_history_entry_size(entry) != size)
            abort();
        sr_history_entry_write(entry, out);
        free(out);
        render(entry);
    } else if (entry) {
        abort();
    }
    query(sr_bytes_of(in, size), entry);
    sr_history_entry_unref(entry);
    free(in);
    return 0;
}
