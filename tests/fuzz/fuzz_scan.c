/*
 * Any bytes, in any pieces: the outcome does not depend on the pieces, spans are sound, jansson agrees on
 * what is JSON, and every kernel of the string scanner sees the same.
 *
 * The first byte of the input seeds the sizes of the pieces; the rest is the document.
 */
#include "tests/unit/json_check.h"
#include "json/simd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "property broken: %s\n", what);
        abort();
    }
}

static size_t next_piece(void *ctx)
{
    struct gen *g = ctx;
    return 1 + gen_below(g, gen_below(g, 2) ? 4 : 64);
}

static void check_kernels(struct sr_bytes text)
{
    const uint8_t *p = (const uint8_t *)text.p, *end = p + text.n;
    for (unsigned with = 0; with < 2 && text.n; with++) {
        bool base = false, other = false;
        const uint8_t *want = sr_simd_skip_for(0)(p, end, with ? &base : NULL);
        for (unsigned mask = SR_SIMD_BASE; mask <= (SR_SIMD_BASE | SR_SIMD_AVX2); mask += 2) {
            other = false;
            check(sr_simd_skip_for(mask)(p, end, with ? &other : NULL) == want && other == base,
                  "kernels agree");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct sr_paths *paths;
    if (!paths)
        paths = check_paths();
    if (size == 0)
        return 0;
    struct sr_bytes text = {(const char *)data + 1, size - 1};
    struct gen g = {.rng = UINT64_C(0x9E3779B97F4A7C15) * (data[0] + 1u)};
    struct sr_scan_limits limits = {.max_depth = data[0] % 2 ? SR_SCAN_DEPTH_MAX : 20, .max_spans = 1000};
    struct scanned whole, pieces;
    scan_pieces(&whole, paths, limits, text, NULL, NULL);
    scan_pieces(&pieces, paths, limits, text, next_piece, &g);
    check(scanned_equal(&whole, &pieces), "pieces do not matter");
    check(spans_are_sound(&whole, text), "spans are sound");
    check(agrees_with_jansson(&whole, text), "jansson agrees");
    check(whole.rc == SR_OK || whole.err.offset <= text.n, "errors are within the input");
    for (size_t i = 0; i < whole.n && whole.rc == SR_OK; i++) {
        json_error_t error;
        json_t *value = check_load(sr_span_raw(&whole.spans[i], text), &error);
        check(value || refused_on_purpose(&error), "a span is a value");
        if (json_is_string(value)) {
            struct sr_bytes decoded = sr_span_text(&whole.spans[i], text, &whole.arena);
            check(sr_bytes_eq(decoded, sr_bytes_of(json_string_value(value), json_string_length(value))),
                  "strings decode alike");
        }
        json_decref(value);
    }
    check_kernels(text);
    scanned_dispose(&whole);
    scanned_dispose(&pieces);
    return 0;
}
