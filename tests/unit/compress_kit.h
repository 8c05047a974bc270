/*
 * What the compressor's tests share: reading a file, an exact counter with unusual rules, and the properties
 * that hold for every result.
 */
#ifndef TESTS_UNIT_COMPRESS_KIT_H
#define TESTS_UNIT_COMPRESS_KIT_H

#include "text/compress/compress.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef SR_SOURCE_DIR
#define SR_SOURCE_DIR "."
#endif

/* The bytes of a file below the repository's root, to be freed; NULL when it cannot be read. */
static inline char *kit_read(const char *name, size_t *n)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SR_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*n + 1);
    *n = text ? fread(text, 1, *n, f) : 0;
    fclose(f);
    return text;
}

/* A tokenizer for tests: four bytes are a token, and so is the rest; a joined text is not the sum of its
 * parts. */
static inline size_t kit_count(void *ctx, struct sr_bytes text)
{
    (void)ctx;
    return (text.n + 3) / 4;
}

static inline size_t kit_prefix(void *ctx, struct sr_bytes text, size_t tokens)
{
    (void)ctx;
    return tokens > text.n / 4 ? text.n : tokens * 4;
}

static const struct sr_compress_counter kit_counter = {kit_count, kit_prefix, NULL};

/* What holds for each result; NULL, or what does not. */
static inline const char *kit_broken(const struct sr_compress_result *r, struct sr_bytes text,
                                     const struct sr_compress_settings *settings, struct sr_bytes joined)
{
    size_t before = 0, at = 0;
    for (size_t i = 0; i < r->n_kept; i++) {
        size_t n = r->kept[i].end - r->kept[i].start;
        if (r->kept[i].start < before || r->kept[i].end > text.n || r->kept[i].end <= r->kept[i].start)
            return "kept pieces are in order, apart and inside the text";
        if (i && (at == joined.n || (joined.p[at] != ' ' && joined.p[at] != '\n')))
            return "one separator between pieces";
        at += i > 0;
        if (at + n > joined.n || memcmp(joined.p + at, text.p + r->kept[i].start, n) != 0)
            return "each piece is verbatim";
        at += n;
        before = r->kept[i].end;
    }
    if (at != joined.n)
        return "nothing else is in the joined text";
    if (settings->compat)
        return NULL;
    if (r->compressed_tokens > settings->budget)
        return "the budget holds";
    if (settings->counter && r->compressed_tokens != settings->counter->count(settings->counter->ctx, joined))
        return "exact means counted on the joined text";
    if (!settings->counter && !r->whole &&
        r->compressed_tokens != sr_estimate_tokens(sr_estimate_tenths(sr_estimate_of(joined))))
        return "the estimate is that of the joined text";
    for (size_t i = 0; i < r->n_units; i++)
        if (!(r->units[i].score >= 0 && r->units[i].score <= 1.000001))
            return "scores are between 0 and 1";
    return NULL;
}

#endif
