/* The frame splitter at every chunk boundary. */
#include "tests/unit/cmocka_all.h"
#include "json/sse_frames.h"

#include <stdlib.h>

/* All frames of a stream as text, one `<data>` for each, and all raw bytes. */
struct seen {
    struct sr_buf raw, data;
    size_t frames;
};

static void note(struct seen *seen, const struct sr_sse_frame *frame)
{
    assert_int_equal(sr_buf_append_bytes(&seen->raw, frame->raw), SR_OK);
    if (!frame->whole || !frame->has_data)
        return;
    seen->frames++;
    assert_int_equal(sr_buf_printf(&seen->data, "<%.*s>", (int)frame->data.n, frame->data.p), SR_OK);
    if (frame->data_lines == 1)
        assert_memory_equal(frame->raw.p + frame->data_at, frame->data.p, frame->data.n);
}

static void split_at(const char *stream, size_t n, size_t chunk, size_t max, struct seen *seen)
{
    struct sr_sse_frames frames;
    struct sr_sse_frame frame;
    sr_sse_frames_init(&frames, max);
    sr_buf_init(&seen->raw, 1 << 20);
    sr_buf_init(&seen->data, 1 << 20);
    for (size_t at = 0; at < n; at += chunk) {
        size_t take = n - at < chunk ? n - at : chunk;
        char *copy = malloc(take);
        memcpy(copy, stream + at, take);
        struct sr_bytes in = {copy, take};
        while (sr_sse_frames_next(&frames, &in, &frame) == SR_OK)
            note(seen, &frame);
        assert_int_equal(in.n, 0);
        free(copy);
    }
    if (sr_sse_frames_finish(&frames, &frame) == SR_OK)
        note(seen, &frame);
    assert_int_equal(sr_sse_frames_finish(&frames, &frame), SR_MORE);
    sr_sse_frames_dispose(&frames);
}

static void check(const char *stream, const char *data)
{
    size_t n = strlen(stream);
    for (size_t chunk = 1; chunk <= n; chunk++) {
        struct seen seen = {.frames = 0};
        split_at(stream, n, chunk, 1 << 16, &seen);
        assert_int_equal(seen.raw.len, n);
        assert_memory_equal(seen.raw.data, stream, n);
        assert_string_equal(seen.data.data ? seen.data.data : "", data);
        sr_buf_dispose(&seen.raw);
        sr_buf_dispose(&seen.data);
    }
}

static void test_line_ends(void **state)
{
    (void)state;
    check("data: a\n\ndata: b\n\n", "<a><b>");
    check("data: a\r\n\r\ndata: b\r\n\r\n", "<a><b>");
    check("data: a\r\rdata: b\r\r", "<a><b>");
    check("data: a\n\r\ndata: b\r\n\n", "<a><b>");
}

static void test_fields(void **state)
{
    (void)state;
    check("data:a\n\n", "<a>");
    check("data:  a \n\n", "< a >");
    check("data\n\n", "<>");
    check("event: x\ndata: 1\nid: 7\ndata: 2\ndata:\n\n", "<1\n2\n>");
    check(": comment\n\ndata: a\n: more\n\n", "<a>");
    check("database: x\n\nretry: 5\n\n", "");
    check("\xef\xbb\xbf"
          "data: a\n\n",
          "<a>");
    check("\n\n\ndata: a\n\n\n\n", "<a>");
}

static void test_unfinished(void **state)
{
    (void)state;
    check("data: a\n\ndata: b\n", "<a>");
    check("data: a", "");
    check("", "");
}

/* A frame over the maximum passes in pieces; those after it are read again. */
static void test_oversized(void **state)
{
    (void)state;
    static const char stream[] = "data: ok\n\ndata: 0123456789012345678901234567890123456789\n\ndata: b\n\n";
    size_t n = sizeof stream - 1;
    for (size_t chunk = 1; chunk <= n; chunk++) {
        struct seen seen = {.frames = 0};
        split_at(stream, n, chunk, 20, &seen);
        assert_int_equal(seen.raw.len, n);
        assert_memory_equal(seen.raw.data, stream, n);
        assert_string_equal(seen.data.data, "<ok><b>");
        sr_buf_dispose(&seen.raw);
        sr_buf_dispose(&seen.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_oversized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
