/*
 * Any bytes, in any pieces, under any settings: what is kept is verbatim, in order and within the budget, and
 * the pieces do not matter.
 *
 * The first four bytes of the input choose budget, profile, counter and the size of the pieces.
 */
#include "tests/unit/compress_kit.h"

static const char *const profiles[] = {"default", "coding", "medical", "security", "multi_turn"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "property broken: %s\n", what);
        abort();
    }
}

static void check_pieces(sr_compressor *c, const struct sr_compress_settings *s, struct sr_bytes text,
                         size_t step, const struct sr_compress_result *whole)
{
    struct sr_compress_result r;
    check(sr_compress_begin(c, s) == SR_OK, "begins");
    for (size_t at = 0; at < text.n; at += step)
        check(sr_compress_feed(c, sr_bytes_of(text.p + at, text.n - at < step ? text.n - at : step)) == SR_OK,
              "feeds");
    check(sr_compress_end(c, &r) == SR_OK, "ends");
    check(r.n_units == whole->n_units && r.n_kept == whole->n_kept &&
              r.original_tokens == whole->original_tokens && r.compressed_tokens == whole->compressed_tokens,
          "pieces do not matter");
    for (size_t i = 0; i < r.n_kept; i++)
        check(r.kept[i].start == whole->kept[i].start && r.kept[i].end == whole->kept[i].end,
              "pieces do not matter for what is kept");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static sr_compressor *c, *other;
    if (!c && (sr_compressor_new(&c, 1 << 20) || sr_compressor_new(&other, 1 << 20)))
        abort();
    if (size < 4 || size > 1 << 16)
        return 0;
    struct sr_compress_settings s;
    struct sr_compress_result r;
    struct sr_bytes text = {(const char *)data + 4, size - 4};
    sr_compress_profile(sr_bytes_str(profiles[data[1] % 5u]), &s);
    s.budget = 1 + data[0] % 64u;
    s.compat = data[2] % 4 == 1;
    s.counter = data[2] % 4 >= 2 ? &kit_counter : NULL;
    struct sr_buf joined;
    sr_buf_init(&joined, 1 << 20);
    check(sr_compress_text(c, &s, text, &r) == SR_OK, "compresses");
    check(sr_compress_write(c, &joined) == SR_OK, "writes");
    const char *broken = kit_broken(&r, text, &s, sr_buf_view(&joined));
    check(!broken, broken ? broken : "");
    check_pieces(other, &s, text, 1 + data[3] % 80u, &r);
    sr_buf_dispose(&joined);
    return 0;
}
