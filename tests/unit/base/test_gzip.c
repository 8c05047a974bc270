/* Content codings: names, round trips cut anywhere, members, and what is refused. */
#include "tests/unit/cmocka_all.h"

#include "base/gzip.h"

#include <string.h>

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(sr_coding_of(SR_LIT("")), SR_CODING_NONE);
    assert_int_equal(sr_coding_of(SR_LIT(" Identity ")), SR_CODING_NONE);
    assert_int_equal(sr_coding_of(SR_LIT("GZip")), SR_CODING_GZIP);
    assert_int_equal(sr_coding_of(SR_LIT("x-gzip")), SR_CODING_GZIP);
    assert_int_equal(sr_coding_of(SR_LIT("deflate")), SR_CODING_DEFLATE);
    assert_int_equal(sr_coding_of(SR_LIT("gzip, gzip")), SR_CODING_OTHER);
    assert_int_equal(sr_coding_of(SR_LIT("br")), SR_CODING_OTHER);
    assert_int_equal(sr_coding_with(SR_CODING_GZIP, SR_LIT("identity")), SR_CODING_GZIP);
    assert_int_equal(sr_coding_with(SR_CODING_NONE, SR_LIT("gzip")), SR_CODING_GZIP);
    assert_int_equal(sr_coding_with(SR_CODING_GZIP, SR_LIT("gzip")), SR_CODING_OTHER);
}

/* Undoes `in`, given in pieces of `step`. The first code that is not SR_OK or SR_MORE; else SR_OK if it is
 * whole, SR_MORE if it is not. */
static int undo(enum sr_coding coding, struct sr_bytes in, size_t step, struct sr_buf *out)
{
    struct sr_inflate *z;
    struct sr_bytes piece;
    int rc = SR_MORE;
    assert_int_equal(sr_inflate_new(&z, coding), SR_OK);
    for (size_t at = 0; at < in.n && rc == SR_MORE; at += step) {
        struct sr_bytes chunk = sr_bytes_of(in.p + at, in.n - at < step ? in.n - at : step);
        for (rc = SR_OK; rc == SR_OK;) {
            rc = sr_inflate_next(z, &chunk, &piece);
            assert_true(piece.n <= SR_INFLATE_PIECE);
            if (rc == SR_OK || rc == SR_MORE)
                assert_int_equal(sr_buf_append_bytes(out, piece), SR_OK);
        }
        assert_true(rc != SR_MORE || chunk.n == 0);
    }
    if (rc == SR_MORE && sr_inflate_is_whole(z))
        rc = SR_OK;
    sr_inflate_free(z);
    return rc;
}

static void test_round_trips(void **state)
{
    (void)state;
    static char text[200000];
    static const size_t steps[] = {1, 2, 7, 64, 4096, 1 << 20};
    struct sr_buf packed, out;
    sr_buf_init(&packed, 1 << 20);
    sr_buf_init(&out, 1 << 20);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)(i * i >> 5);
    assert_int_equal(sr_gzip(sr_bytes_of(text, sizeof text), &packed), SR_OK);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        sr_buf_clear(&out);
        assert_int_equal(undo(SR_CODING_GZIP, sr_buf_view(&packed), steps[i], &out), SR_OK);
        assert_int_equal(out.len, sizeof text);
        assert_memory_equal(out.data, text, sizeof text);
    }
    size_t one = packed.len; /* two members */
    assert_int_equal(sr_gzip(SR_LIT("more"), &packed), SR_OK);
    sr_buf_clear(&out);
    assert_int_equal(undo(SR_CODING_GZIP, sr_buf_view(&packed), 3, &out), SR_OK);
    assert_int_equal(out.len, sizeof text + 4);
    for (size_t n = 1; n < one; n += 1 + n / 3) { /* cut */
        sr_buf_clear(&out);
        assert_int_equal(undo(SR_CODING_GZIP, sr_bytes_of(packed.data, n), 1000, &out), SR_MORE);
    }
    sr_buf_dispose(&packed);
    sr_buf_dispose(&out);
}

static void test_refused(void **state)
{
    (void)state;
    static char zeros[8 << 20];
    struct sr_buf packed, out;
    sr_buf_init(&packed, 16 << 20);
    sr_buf_init(&out, 16 << 20);
    assert_int_equal(undo(SR_CODING_GZIP, SR_LIT("{\"a\": 1}"), 100, &out), SR_EPARSE);
    assert_int_equal(undo(SR_CODING_DEFLATE, SR_LIT("{\"a\": 1}"), 100, &out), SR_EPARSE);
    assert_int_equal(sr_gzip(sr_bytes_of(zeros, sizeof zeros), &packed), SR_OK);
    assert_int_equal(undo(SR_CODING_GZIP, sr_buf_view(&packed), 100000, &out), SR_ELIMIT);
    assert_true(out.len < SR_INFLATE_FREE + packed.len * SR_INFLATE_RATIO);
    sr_buf_clear(&out);
    sr_buf_clear(&packed);
    assert_int_equal(sr_gzip(sr_bytes_of(zeros, SR_INFLATE_FREE), &packed), SR_OK); /* small enough */
    assert_int_equal(undo(SR_CODING_GZIP, sr_buf_view(&packed), 100000, &out), SR_OK);
    assert_int_equal(sr_buf_append(&packed, "{}", 2), SR_OK); /* something behind */
    assert_int_equal(undo(SR_CODING_GZIP, sr_buf_view(&packed), 100000, &out), SR_EPARSE);
    sr_inflate_free(NULL);
    sr_buf_dispose(&packed);
    sr_buf_dispose(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
