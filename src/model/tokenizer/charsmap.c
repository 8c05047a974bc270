/*
 * SentencePiece's `precompiled_charsmap`: reading it, looking up, and replacing in a text.
 *
 * Follows the reference (tokenizers, normalizers/precompiled, and its crate spm_precompiled) also where it
 * surprises: a user-perceived character of less than six bytes is replaced as a whole by what its shortest
 * known prefix stands for; longer ones are replaced character by character. A replacement by fewer characters
 * takes the position of the first; what is replaced by nothing is counted to the character before it.
 */
#include "base/base64.h"
#include "model/tokenizer/private.h"

#include "base/json_read.h"

#include <limits.h>

#define CLUSTER_MAX 6u /* bytes: longer ones are not looked up as a whole */

/* ---- the double array (darts-clone) ---- */

static inline uint32_t unit_offset(uint32_t unit)
{
    return unit >> 10 << ((unit & 1u << 9) >> 6);
}

static inline bool has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

/* Follows one byte; false when there is none. *node is the place of the children. */
static inline bool follow(const struct sr_tok_charsmap *map, size_t *node, unsigned char c, uint32_t *unit)
{
    size_t at = *node ^ c;
    if (c == 0 || at >= map->n_units)
        return false;
    *unit = map->units[at];
    *node = at ^ unit_offset(*unit);
    return (*unit & (1u << 31 | 0xFF)) == c;
}

/* The replacement of the shortest known prefix of p[0..n); p NULL: there is none. */
static struct sr_bytes look_up(const struct sr_tok_charsmap *map, const char *p, size_t n)
{
    size_t node = unit_offset(map->units[0]);
    uint32_t unit;
    for (size_t i = 0; i < n && follow(map, &node, (unsigned char)p[i], &unit); i++) {
        if (!has_leaf(unit) || node >= map->n_units)
            continue;
        size_t at = map->units[node] & INT32_MAX;
        if (at >= map->replacements.n)
            return (struct sr_bytes){0};
        const char *from = map->replacements.p + at, *end = memchr(from, 0, map->replacements.n - at);
        return sr_bytes_of(from, end ? (size_t)(end - from) : map->replacements.n - at);
    }
    return (struct sr_bytes){0};
}

static bool begins_any(const struct sr_tok_charsmap *map, const char *p, size_t n)
{
    size_t node = unit_offset(map->units[0]), i = 0;
    uint32_t unit;
    while (i < n && follow(map, &node, (unsigned char)p[i], &unit))
        i++;
    return i == n;
}

/* ---- opening ---- */

static uint32_t little32(const char *p)
{
    uint32_t v = 0;
    for (unsigned i = 0; i < 4; i++)
        v |= (uint32_t)(unsigned char)p[i] << 8 * i;
    return v;
}

static void mark_beginnings(struct sr_tok_charsmap *map)
{
    char bytes[SR_UTF8_MAX];
    for (int32_t cp = 1; cp < 0x10000; cp++) {
        size_t n = sr_utf8_encode(cp, bytes);
        if (begins_any(map, bytes, n) || look_up(map, bytes, n).p)
            map->begins[cp / 64] |= UINT64_C(1) << cp % 64;
        if (cp < 128)
            map->alone[cp] = look_up(map, bytes, 1).p;
    }
}

int sr_tok_open_charsmap(struct sr_tokenizer *t, struct sr_bytes json, const struct sr_tok_charsmap **out,
                         struct sr_err *err)
{
    static const char wrong[] = "normalizer Precompiled: `precompiled_charsmap` is damaged";
    struct sr_bytes text;
    struct sr_tok_charsmap *map = sr_arena_calloc(&t->arena, 1, sizeof *map);
    if (!sr_json_view_is_string(json))
        return sr_err_set(err, SR_EPARSE, "normalizer Precompiled: `precompiled_charsmap` must be a string");
    if (!map || !sr_json_view_dup(json, &t->arena, &text))
        return sr_err_set(err, SR_ENOMEM, "out of memory for a tokenizer");
    size_t n;
    if (sr_base64_read(text, (uint8_t *)text.p, &n) || n < 8)
        return sr_err_set(err, SR_EPARSE, "%s", wrong);
    size_t bytes = little32(text.p);
    map->n_units = bytes / 4;
    map->replacements = sr_bytes_of(text.p + 4 + bytes, n - 4 - (bytes < n - 4 ? bytes : n - 4));
    if (bytes % 4 || bytes < 4 || bytes > n - 4 || !sr_utf8_valid(map->replacements))
        return sr_err_set(err, SR_EPARSE, "%s", wrong);
    map->units = sr_arena_alloc(&t->arena, bytes);
    if (!map->units)
        return sr_err_set(err, SR_ENOMEM, "out of memory for a tokenizer");
    for (size_t i = 0; i < map->n_units; i++)
        map->units[i] = little32(text.p + 4 + 4 * i);
    mark_beginnings(map);
    *out = map;
    return SR_OK;
}

/* ---- replacing ---- */

/* The text as it is written. The latest character waits: one behind it that is replaced by nothing changes
 * what it stands for. */
struct writer {
    struct sr_tok_work *w;
    struct sr_tok_text *from, *out;
    size_t begin, end; /* of the part of `from` */
    size_t source;     /* the next character of `from` that something stands for */
    bool waits;
    int32_t cp;
    int change; /* 1: inserted; 0: stands for one character; -k: for 1 + k */
};

static void skip_source(struct writer *w, size_t chars)
{
    int32_t cp;
    for (; chars && w->source < w->end; chars--)
        w->source += sr_utf8_decode_valid(w->from->p + w->source, &cp);
}

static void flush(struct writer *w)
{
    char bytes[SR_UTF8_MAX];
    if (!w->waits)
        return;
    size_t at = w->source;
    if ((w->change > 0 || at == w->end) && at > w->begin)
        at--;
    sr_tok_text_put(w->w, w->out, bytes, sr_utf8_encode(w->cp, bytes), sr_tok_text_unit(w->w, w->from, at));
    if (w->change <= 0)
        skip_source(w, (size_t)(1 - w->change));
    w->waits = false;
}

static void put(struct writer *w, int32_t cp, int change)
{
    flush(w);
    w->waits = true;
    w->cp = cp;
    w->change = change;
}

/* from[a..b) as it is. */
static void keep(struct writer *w, size_t a, size_t b)
{
    int32_t cp;
    size_t last = b;
    if (a == b)
        return;
    flush(w);
    do
        last--;
    while (last > a && sr_utf8_is_tail(w->from->p[last]));
    if (w->source == a && a < last) {
        sr_tok_text_copy(w->w, w->out, w->from, a, last);
        w->source = a = last;
    }
    while (a < b && !w->w->rc) {
        a += sr_utf8_decode_valid(w->from->p + a, &cp);
        put(w, cp, 0);
    }
}

static void replace(struct writer *w, size_t old_chars, struct sr_bytes by)
{
    size_t chars = 0;
    int32_t cp;
    for (size_t i = 0; i < by.n; i++)
        chars += !sr_utf8_is_tail(by.p[i]);
    for (size_t i = 0, length, k = 0; i < by.n; i += length, k++) {
        length = sr_utf8_decode_valid(by.p + i, &cp);
        put(w, cp, k >= old_chars);
    }
    if (chars < old_chars && w->waits)
        w->change -= (int)(old_chars - chars);
}

/* The end of the user-perceived character at from[i]; *chars of it. */
static size_t cluster_end(const char *p, size_t i, size_t end, size_t *chars)
{
    int32_t cp, next, state = 0;
    i += sr_utf8_decode_valid(p + i, &cp);
    for (*chars = 1; i < end && *chars < INT_MAX; ++*chars, cp = next) {
        size_t length = sr_utf8_decode_valid(p + i, &next);
        if (sr_chars_cluster_break(cp, next, &state))
            break;
        i += length;
    }
    return i;
}

static inline bool may_begin(const struct sr_tok_charsmap *map, int32_t cp)
{
    return cp >= 0x10000 || (map->begins[cp / 64] >> cp % 64 & 1);
}

/* Characters that stay as they are from p[i] on, found without looking at clusters: ASCII before ASCII. */
static size_t plain_end(const struct sr_tok_charsmap *map, const char *p, size_t i, size_t end)
{
    while (i < end && (unsigned char)p[i] < 0x80 && !map->alone[(unsigned char)p[i]] && p[i] != '\r' &&
           (i + 1 == end || (unsigned char)p[i + 1] < 0x80))
        i++;
    return i;
}

/* Writes from[*kept..i) and what p[i..end) becomes. */
static void write_part(struct writer *w, size_t *kept, size_t i, size_t end, size_t chars, struct sr_bytes by)
{
    keep(w, *kept, i);
    replace(w, chars, by);
    *kept = end;
}

bool sr_tok_charsmap_apply(struct sr_tok_work *w, const struct sr_tok_charsmap *map, struct sr_tok_text *from,
                           size_t a, size_t b, struct sr_tok_text *out)
{
    struct writer writer = {.w = w, .from = from, .out = out, .begin = a, .end = b, .source = a};
    size_t kept = a, chars;
    bool changed = false;
    for (size_t i = a, end; i < b && !w->rc; i = end) {
        const char *p = from->p;
        struct sr_bytes by = {0};
        int32_t cp;
        end = plain_end(map, p, i, b);
        if (end > i)
            continue;
        end = cluster_end(p, i, b, &chars);
        sr_utf8_decode_valid(p + i, &cp);
        if (end - i < CLUSTER_MAX && may_begin(map, cp))
            by = look_up(map, p + i, end - i);
        if (by.p) {
            write_part(&writer, &kept, i, end, chars, by);
            changed = true;
            continue;
        }
        for (size_t k = i, length; k < end; k += length) {
            length = sr_utf8_decode_valid(p + k, &cp);
            by = may_begin(map, cp) ? look_up(map, p + k, length) : (struct sr_bytes){0};
            if (!by.p)
                continue;
            write_part(&writer, &kept, k, k + length, 1, by);
            changed = true;
        }
    }
    if (!changed || w->rc)
        return false;
    keep(&writer, kept, b);
    flush(&writer);
    return true;
}
