/*
 * Compressed bodies of strangers: what comes out does not depend on how the bytes were cut, is bounded by the
 * ratio, and is the text where the bytes are its compressed form.
 */
#include "base/gzip.h"

#include <stdlib.h>

#define CHECK(x)                                                                                             \
    do {                                                                                                     \
        if (!(x))                                                                                            \
            abort();                                                                                         \
    } while (0)

#define OUT_MAX ((size_t)8 << 20)

static int undo(enum sr_coding coding, struct sr_bytes in, size_t step, struct sr_buf *out, bool *whole)
{
    struct sr_inflate *z;
    struct sr_bytes piece;
    int rc = SR_MORE;
    CHECK(sr_inflate_new(&z, coding) == SR_OK);
    for (size_t at = 0; at < in.n && rc == SR_MORE; at += step) {
        struct sr_bytes chunk = sr_bytes_of(in.p + at, in.n - at < step ? in.n - at : step);
        for (rc = SR_OK; rc == SR_OK;) {
            rc = sr_inflate_next(z, &chunk, &piece);
            CHECK(piece.n <= SR_INFLATE_PIECE);
            if (rc == SR_OK || rc == SR_MORE)
                CHECK(sr_buf_append_bytes(out, piece) == SR_OK);
        }
    }
    *whole = sr_inflate_is_whole(z);
    sr_inflate_free(z);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 2 || size > 1 << 14)
        return 0;
    enum sr_coding coding = bytes[0] & 1 ? SR_CODING_GZIP : SR_CODING_DEFLATE;
    struct sr_bytes in = sr_bytes_of(bytes + 2, size - 2);
    struct sr_buf once, cut;
    bool once_whole, cut_whole;
    sr_buf_init(&once, OUT_MAX);
    sr_buf_init(&cut, OUT_MAX);
    int rc = undo(coding, in, in.n + 1, &once, &once_whole);
    int again = undo(coding, in, 1 + bytes[1] % 64, &cut, &cut_whole);
    if (rc == SR_MORE || again == SR_MORE)
        CHECK((rc == again && once_whole == cut_whole && once.len == cut.len) || again == SR_ELIMIT);
    CHECK(once.len <= SR_INFLATE_FREE + (in.n + 1) * SR_INFLATE_RATIO + SR_INFLATE_PIECE);
    sr_buf_clear(&once);
    sr_buf_clear(&cut);
    CHECK(sr_gzip(in, &once) == SR_OK);
    rc = undo(SR_CODING_GZIP, sr_buf_view(&once), 1 + bytes[1], &cut, &cut_whole);
    CHECK((in.n == 0 || rc == SR_MORE) && cut_whole && cut.len == in.n &&
          (!in.n || !memcmp(cut.data, in.p, in.n)));
    sr_buf_dispose(&once);
    sr_buf_dispose(&cut);
    return 0;
}
