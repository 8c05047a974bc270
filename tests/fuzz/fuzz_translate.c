/*
 * Requests, answers, errors and streams of each API into each other one. First byte: what and which
 * direction, its highest bit: only tokens are counted; second: the size of chunks. What comes out is JSON, a
 * stream's events too, and does not depend on where its bytes were cut; what is refused leaves nothing
 * behind; comments of streams are plain names. A request that is cleaned for its own API is JSON, and clean.
 */
#include "base/json_read.h"
#include "translate/translate.h"

#include <stdlib.h>

#define MEMORY ((size_t)32 << 20)

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void check_json(struct sr_bytes text)
{
    sr_json_view root;
    must(sr_json_view_open(&root, text, NULL) == SR_OK);
}

static void check_whole(int kind, bool counts, enum sr_translate_api from, enum sr_translate_api to,
                        struct sr_bytes in)
{
    struct sr_translate_settings settings = {.now_s = 1, .asked = in, .counts = counts};
    struct sr_translate_warnings warnings = {.n = 0};
    struct sr_err err = {.code = 0};
    struct sr_arena arena;
    struct sr_buf out;
    sr_arena_init(&arena, MEMORY);
    sr_buf_init(&out, MEMORY);
    bool count = kind == 1 && counts;
    int rc = kind == 0   ? sr_translate_request(from, to, in, &settings, &arena, &out, &warnings, &err)
             : count     ? sr_translate_count(from, to, in, &out)
             : kind == 1 ? sr_translate_answer(from, to, in, &settings, &arena, &out, &warnings, &err)
                         : sr_translate_error(to, 500, in, &arena, &out);
    must(rc || out.len);
    if (rc)
        must(out.len == 0 && (rc != SR_EPARSE || count || err.message[0]));
    else
        check_json(sr_buf_view(&out));
    must(warnings.n <= SR_TRANSLATE_WARNINGS_MAX);
    sr_buf_dispose(&out);
    sr_arena_dispose(&arena);
}

static void check_clean(enum sr_translate_api api, struct sr_bytes in)
{
    struct sr_translate_warnings warnings = {.n = 0};
    struct sr_arena arena;
    struct sr_buf out, again;
    sr_arena_init(&arena, MEMORY);
    sr_buf_init(&out, MEMORY);
    sr_buf_init(&again, MEMORY);
    int rc = sr_translate_clean(api, in, &arena, &out, &warnings);
    must(rc == SR_OK || rc == SR_ENOENT);
    if (rc == SR_OK) {
        check_json(sr_buf_view(&out));
        must(out.len < in.n + 32 && warnings.n);
        must(sr_translate_clean(api, sr_buf_view(&out), &arena, &again, &warnings) == SR_ENOENT);
    }
    must(again.len == 0);
    sr_buf_dispose(&out);
    sr_buf_dispose(&again);
    sr_arena_dispose(&arena);
}

static void feed(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes in, size_t chunk,
                 struct sr_buf *out)
{
    struct sr_translate_settings settings = {.now_s = 1, .usage = true};
    struct sr_translate_stream *stream;
    must(sr_translate_stream_new(&stream, from, to, &settings) == SR_OK);
    for (size_t at = 0; at < in.n; at += chunk) {
        size_t n = in.n - at < chunk ? in.n - at : chunk;
        (void)!sr_translate_stream_feed(stream, sr_bytes_of(in.p + at, n), out);
    }
    (void)!sr_translate_stream_end(stream, out);
    must(sr_translate_stream_done(stream));
    sr_translate_stream_free(stream);
}

static void check_comment(struct sr_bytes line)
{
    must(sr_bytes_starts_with(line, SR_LIT(": x-vsr-protocol-warnings: ")));
    for (size_t i = 0; i < line.n; i++)
        must(line.p[i] >= ' ' && line.p[i] < 127);
}

static void check_events(struct sr_bytes stream)
{
    struct sr_bytes mark = SR_LIT("data: ");
    while (stream.n) {
        const char *end = memchr(stream.p, '\n', stream.n);
        must(end != NULL);
        struct sr_bytes line = sr_bytes_of(stream.p, (size_t)(end - stream.p));
        if (sr_bytes_starts_with(line, mark) && !sr_bytes_eq(line, SR_LIT("data: [DONE]")))
            check_json(sr_bytes_of(line.p + mark.n, line.n - mark.n));
        if (sr_bytes_starts_with(line, SR_LIT(":")))
            check_comment(line);
        stream = sr_bytes_of(end + 1, stream.n - line.n - 1);
    }
}

static void check_stream(enum sr_translate_api from, enum sr_translate_api to, struct sr_bytes in,
                         size_t chunk)
{
    struct sr_buf whole, pieces;
    sr_buf_init(&whole, MEMORY);
    sr_buf_init(&pieces, MEMORY);
    feed(from, to, in, in.n, &whole);
    feed(from, to, in, chunk, &pieces);
    must(whole.len == pieces.len && (!whole.len || memcmp(whole.data, pieces.data, whole.len) == 0));
    check_events(sr_buf_view(&whole));
    sr_buf_dispose(&whole);
    sr_buf_dispose(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 3 || size > 1 << 15)
        return 0;
    int kind = bytes[0] & 3, direction = (bytes[0] >> 2 & 31) % 6;
    int from = direction / 2, to = (from + 1 + direction % 2) % 3;
    struct sr_bytes in = sr_bytes_of(bytes + 2, size - 2);
    if (kind == 0)
        check_clean((enum sr_translate_api)from, in);
    if (kind == 3)
        check_stream((enum sr_translate_api)from, (enum sr_translate_api)to, in, 1 + bytes[1] % 50u);
    else
        check_whole(kind, bytes[0] >> 7, (enum sr_translate_api)from, (enum sr_translate_api)to, in);
    return 0;
}
