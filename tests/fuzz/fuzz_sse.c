/*
 * The SSE reader: its items put together are the stream, byte for byte, and what is parsed does not depend on
 * how the bytes are cut. First byte: the size of the pieces.
 */
#include "net/sse.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static void note(const struct sr_sse_item *item, struct sr_buf *log, struct sr_buf *raw)
{
    CHECK(item->raw.n > 0 && item->start == raw->len && item->end == item->start + item->raw.n);
    CHECK(sr_buf_append_bytes(raw, item->raw) == SR_OK);
    if (!item->parsed)
        return;
    CHECK(sr_buf_printf(log, "%zu-%zu %d ", (size_t)item->start, (size_t)item->end, item->has_data) == SR_OK);
    CHECK(sr_buf_append_bytes(log, item->data) == SR_OK);
    CHECK(sr_buf_append_bytes(log, item->event) == SR_OK);
    CHECK(sr_buf_append_bytes(log, item->id) == SR_OK);
    CHECK(item->data.n == 0 || !memchr(item->data.p, '\r', item->data.n));
}

static void read_in_steps(const uint8_t *data, size_t n, size_t step, struct sr_buf *log, struct sr_buf *raw)
{
    struct sr_sse sse;
    struct sr_sse_item item;
    sr_sse_init(&sse, 64);
    for (size_t at = 0; at < n; at += step) {
        size_t size = step < n - at ? step : n - at, done = 0, used;
        char *piece = malloc(size);
        int rc;
        memcpy(piece, data + at, size);
        while ((rc = sr_sse_next(&sse, piece + done, size - done, &used, &item)) == SR_OK) {
            note(&item, log, raw);
            done += used;
        }
        CHECK(rc == SR_MORE && done + used == size);
        free(piece);
    }
    while (sr_sse_finish(&sse, &item) == SR_OK)
        note(&item, log, raw);
    CHECK(raw->len == n && (!n || memcmp(raw->data, data, n) == 0));
    sr_sse_dispose(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sr_buf log[2], raw[2];
    if (n < 2 || n > 4096)
        return 0;
    for (int i = 0; i < 2; i++) {
        sr_buf_init(&log[i], 1 << 20);
        sr_buf_init(&raw[i], 1 << 20);
        read_in_steps(data + 1, n - 1, i ? (size_t)data[0] % 17 + 1 : n, &log[i], &raw[i]);
    }
    CHECK(log[0].len == log[1].len && (!log[0].len || memcmp(log[0].data, log[1].data, log[0].len) == 0));
    for (int i = 0; i < 2; i++) {
        sr_buf_dispose(&log[i]);
        sr_buf_dispose(&raw[i]);
    }
    return 0;
}
