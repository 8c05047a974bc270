/*
 * Random streams in random chunks: the raw runs join to the stream, and the data of frames does not depend on
 * where chunks end. First byte: the size of chunks; second: the maximum of a frame.
 */
#include "json/sse_frames.h"

#include <stdlib.h>

static void split(const char *p, size_t n, size_t chunk, size_t max, struct sr_buf *raw, struct sr_buf *data)
{
    struct sr_sse_frames frames;
    struct sr_sse_frame frame;
    sr_sse_frames_init(&frames, max);
    for (size_t at = 0; at < n; at += chunk) {
        size_t take = n - at < chunk ? n - at : chunk;
        struct sr_bytes in = sr_bytes_of(p + at, take);
        int rc;
        while ((rc = sr_sse_frames_next(&frames, &in, &frame)) == SR_OK) {
            if (sr_buf_append_bytes(raw, frame.raw))
                abort();
            if (frame.whole && frame.has_data &&
                (sr_buf_append_bytes(data, frame.data) || sr_buf_append(data, "|", 1)))
                abort();
            if (frame.lead > frame.raw.n || (frame.lead && frame.raw.p[0] != '\n'))
                abort();
        }
        if (rc != SR_MORE || in.n)
            abort();
    }
    if (sr_sse_frames_finish(&frames, &frame) == SR_OK && sr_buf_append_bytes(raw, frame.raw))
        abort();
    sr_sse_frames_dispose(&frames);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 3 || size > 1 << 14)
        return 0;
    const char *p = (const char *)bytes + 2;
    size_t n = size - 2, max = bytes[1] ? bytes[1] : 1 << 16;
    struct sr_buf raw[2], data[2];
    for (int i = 0; i < 2; i++) {
        sr_buf_init(&raw[i], 1 << 20);
        sr_buf_init(&data[i], 1 << 20);
        split(p, n, i ? (size_t)bytes[0] % 13 + 1 : n, max, &raw[i], &data[i]);
        if (raw[i].len != n || memcmp(raw[i].data, p, n) != 0)
            abort();
    }
    /* Whether a frame just at the maximum fits may depend on where its last CRLF is cut. */
    if (bytes[1] == 0 &&
        (data[0].len != data[1].len || (data[0].len && memcmp(data[0].data, data[1].data, data[0].len) != 0)))
        abort();
    for (int i = 0; i < 2; i++) {
        sr_buf_dispose(&raw[i]);
        sr_buf_dispose(&data[i]);
    }
    return 0;
}
