/*
 * Forms of strangers: parts lie inside the body and in their order, nothing but them holds the boundary, and
 * a document that nobody edited stands for the same bytes.
 */
#include "router/request/multipart.h"
#include "router/request/upload.h"

#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

static void check_parts(struct sr_bytes body, struct sr_bytes boundary, struct sr_arena *arena)
{
    struct sr_multipart m;
    struct sr_err err = {0};
    const char *at = body.p;
    int rc = sr_multipart_read(body, boundary, arena, &m, &err);
    CHECK(rc == SR_OK || err.message[0] || rc == SR_ENOMEM);
    CHECK(err.offset <= body.n);
    CHECK(rc != SR_OK || sr_multipart_is_whole(body, boundary));
    for (size_t i = 0; rc == SR_OK && i < m.n; i++) {
        struct sr_bytes content = m.parts[i].content;
        CHECK(m.parts[i].name.n && m.parts[i].name.p >= at);
        CHECK(content.p >= m.parts[i].name.p && content.p + content.n <= body.p + body.n);
        CHECK(!memmem(content.p, content.n, boundary.p, boundary.n));
        at = content.p + content.n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *line = memchr(bytes, '\n', size);
    struct sr_bytes boundary;
    struct sr_arena arena;
    struct sr_upload upload;
    struct sr_buf json;
    struct sr_err err = {0};
    if (!line || size > 1 << 14)
        return 0;
    struct sr_bytes type = sr_bytes_of(bytes, (size_t)(line - bytes));
    struct sr_bytes body = sr_bytes_of(line + 1, size - type.n - 1);
    if (sr_multipart_boundary(type, &boundary))
        return 0;
    sr_arena_init(&arena, 4 << 20);
    check_parts(body, boundary, &arena);
    sr_upload_init(&upload, boundary, 1 << 14);
    sr_buf_init(&json, 1 << 20);
    if (body.n && sr_buf_append_bytes(&upload.raw, body) == SR_OK &&
        sr_upload_read(&upload, SR_UNREAD_FILES, &arena, &json, &err) == SR_OK) {
        const struct sr_bytes *slices;
        size_t n;
        CHECK(sr_upload_write(&upload, sr_buf_view(&json), &arena, &slices, &n) == SR_OK);
        CHECK(n == 1 && slices[0].n == body.n && !memcmp(slices[0].p, body.p, body.n));
    }
    sr_buf_dispose(&json);
    sr_upload_dispose(&upload);
    sr_arena_dispose(&arena);
    return 0;
}
