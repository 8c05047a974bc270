#include "bench/texts.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "text/estimate.h"
#include "json/doc.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE_MAX_BYTES ((size_t)16 << 20)

int sr_bench_file(const char *path, struct sr_buf *out, size_t max)
{
    char block[64 << 10];
    FILE *f = fopen(path, "rb");
    if (!f)
        return SR_EIO;
    int rc = SR_OK;
    size_t total = 0, n;
    while (rc == SR_OK && total < max && (n = fread(block, 1, sizeof block, f)) > 0) {
        n = n < max - total ? n : max - total;
        rc = sr_buf_append(out, block, n);
        total += n;
    }
    fclose(f);
    return rc;
}

int sr_bench_rows(const char *folder, const char *file,
                  bool (*row)(void *ctx, const struct sr_doc_value *value), void *ctx)
{
    char path[1024];
    struct sr_buf all;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    sr_buf_init(&all, (size_t)256 << 20);
    int rc = sr_bench_file(path, &all, SIZE_MAX);
    bool more = true;
    for (size_t at = 0; rc == SR_OK && more && at < all.len;) {
        const char *newline = memchr(all.data + at, '\n', all.len - at);
        size_t end = newline ? (size_t)(newline - all.data) : all.len;
        struct sr_doc *doc = NULL;
        if (end > at &&
            sr_doc_parse(&doc, sr_bytes_of(all.data + at, end - at), LINE_MAX_BYTES, NULL) == SR_OK)
            more = row(ctx, sr_doc_root(doc));
        sr_doc_free(doc);
        at = end + 1;
    }
    sr_buf_dispose(&all);
    return rc;
}

struct wanted {
    const char *field, *where, *is;
    struct sr_buf *out;
    size_t max;
    int rc;
};

static bool take_row(void *ctx, const struct sr_doc_value *value)
{
    struct wanted *w = ctx;
    if (w->where && !sr_bytes_eq(sr_doc_string(sr_doc_get(value, w->where)), sr_bytes_str(w->is)))
        return true;
    w->rc = sr_buf_append_bytes(w->out, sr_doc_string(sr_doc_get(value, w->field)));
    if (w->rc == SR_OK)
        w->rc = sr_buf_append(w->out, "\n\n", 2);
    return w->rc == SR_OK && w->out->len < w->max;
}

int sr_bench_texts(const char *folder, const char *file, const char *field, const char *where, const char *is,
                   struct sr_buf *out, size_t max)
{
    struct wanted w = {.field = field, .where = where, .is = is, .out = out, .max = out->len + max};
    int rc = sr_bench_rows(folder, file, take_row, &w);
    return rc ? rc : w.rc;
}

struct sr_bytes sr_bench_cut(struct sr_bytes text, size_t tokens)
{
    size_t low = 0, high = text.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (sr_estimate_published(sr_estimate_of(sr_bytes_of(text.p, mid))) < tokens)
            low = mid + 1;
        else
            high = mid;
    }
    while (low < text.n && sr_utf8_is_tail(text.p[low]))
        low++;
    return sr_bytes_of(text.p, low);
}
