/* The word rules: the default ones and the published ones. row.c has the table that counts the words. */
#include "text/terms/terms.h"

#include "text/terms/row.h"

/* A sentence during the construction of its row. */
struct reading {
    struct sr_terms *terms;
    struct sr_bytes text;
    struct sr_terms_word word;
    struct sr_estimate sum;
    int32_t before; /* the previous character if its script has no spaces, else 0 */
    bool alone;     /* and no such character before it */
    uint64_t pair;  /* else: the latest pair, not counted yet */
};

#define UNDERSCORE 0x7F /* `_` with bit 5 set, which no other character of a word becomes */

/* Scripts without spaces: each pair of neighbours is a term, and a character that has no neighbour. A pair is
 * counted when the next one is known, so that the prefetch of its slot can complete. */
static void end_dense(struct reading *r)
{
    if (r->before == 0)
        return;
    sr_terms_count(r->terms, r->alone ? sr_terms_pair(r->terms, 0, r->before) : r->pair);
    r->before = 0;
}

static inline void add_dense(struct reading *r, int32_t cp)
{
    if (r->before) {
        uint64_t pair = sr_terms_pair(r->terms, r->before, cp);
        __builtin_prefetch(&r->terms->slots[pair & (r->terms->n_slots - 1)]);
        if (!r->alone)
            sr_terms_count(r->terms, r->pair);
        r->pair = pair;
        r->alone = false;
    } else {
        sr_terms_end_word(r->terms, &r->word);
        r->alone = true;
    }
    r->before = cp;
}

/* Appends the lower case of a letter, digit or mark of `n` bytes. */
static inline void put_letter(struct reading *r, size_t at, size_t n, int32_t cp, uint32_t glyph)
{
    if ((int32_t)(glyph & SR_GLYPH_POINT) == cp && r->word.n + 4 <= SR_TERMS_WORD && r->text.n - at >= 4) {
        memcpy(r->word.bytes + r->word.n, r->text.p + at, 4);
        r->word.n += n;
    } else {
        sr_terms_put_lower(r->terms, &r->word, cp, glyph, sr_bytes_of(r->text.p + at, n));
    }
}

/* Appends letters, digits and marks of scripts with spaces while the lower case is as long as the letter;
 * returns where it stopped. The result is the same as with put_letter. */
static size_t read_letters(struct reading *r, size_t at, size_t *points)
{
    const uint32_t *table = r->terms->glyphs;
    const unsigned char *text = (const unsigned char *)r->text.p;
    char *out = r->word.bytes + r->word.n, *full = r->word.bytes + SR_TERMS_WORD - 4;
    for (; at + 4 <= r->text.n && out <= full; ++*points) {
        const unsigned char *p = text + at;
        uint32_t cp = p[0], second = p[1] ^ 0x80u, third = p[2] ^ 0x80u;
        size_t n = 1;
        if (cp >= 0xE0) {
            if (cp > 0xEF || (second | third) > 0x3F)
                break;
            cp = (cp & 0x0F) << 12 | second << 6 | third;
            n = 3;
            if (cp < 0x800 || cp >= SR_GLYPH_TABLE)
                break;
        } else if (cp >= 0x80) {
            if (cp < 0xC2 || second > 0x3F)
                break;
            cp = (cp & 0x1F) << 6 | second;
            n = 2;
        }
        uint32_t glyph = table[cp], lower = glyph & SR_GLYPH_POINT;
        if (!(glyph & (SR_GLYPH_LETTER | SR_GLYPH_DIGIT | SR_GLYPH_MARK)) ||
            (glyph & (SR_GLYPH_CJK | SR_GLYPH_DENSE)))
            break;
        if (lower == cp) {
            memcpy(out, p, 4);
        } else if (n == 1) {
            out[0] = (char)lower;
        } else if (n == 2 && lower >= 0x80 && lower < 0x800) {
            out[0] = (char)(0xC0 | lower >> 6);
            out[1] = (char)(0x80 | (lower & 0x3F));
        } else {
            break;
        }
        out += n;
        at += n;
    }
    r->word.n = (size_t)(out - r->word.bytes);
    return at;
}

/* Reads characters of any script up to the end of the field, and the space after it. */
static size_t read_field(struct reading *r, size_t at)
{
    const uint32_t *table = r->terms->glyphs;
    struct sr_estimate_field field = {0};
    while (at < r->text.n) {
        int32_t cp;
        uint32_t glyph;
        size_t points = 0;
        if (r->before == 0)
            at = read_letters(r, at, &points);
        sr_estimate_letters(&field, points);
        if (at == r->text.n)
            break;
        size_t n = sr_glyph_at(table, r->text, at, &cp, &glyph);
        if (glyph & SR_GLYPH_SPACE) {
            end_dense(r);
            sr_terms_end_word(r->terms, &r->word);
            sr_estimate_add_field(&r->sum, field);
            return at + n;
        }
        sr_estimate_point(&field, cp, glyph);
        if (glyph & (SR_GLYPH_CJK | SR_GLYPH_DENSE)) {
            if (!(glyph & SR_GLYPH_MARK))
                add_dense(r, cp);
        } else {
            end_dense(r);
            if (glyph & (SR_GLYPH_LETTER | SR_GLYPH_DIGIT | SR_GLYPH_MARK))
                put_letter(r, at, n, cp, glyph);
            else if (cp == '_')
                sr_terms_put(r->terms, &r->word, &(char){UNDERSCORE}, 1);
            else
                sr_terms_end_word(r->terms, &r->word);
        }
        at += n;
    }
    sr_estimate_add_field(&r->sum, field);
    return at;
}

/* The mask of the bits of two halves that belong to a word of n bytes. */
#define WORD_MASKS(n)                                                                                        \
    {                                                                                                        \
        (n) == 0 ? 0 : UINT64_MAX >> (64 - 8 * ((n) < 8 ? (n) : 8)),                                         \
            (n) <= 8 ? 0 : UINT64_MAX >> (64 - 8 * ((n)-8))                                                  \
    }

/* A long ASCII word, or one that ends the text. */
static void add_ascii_slowly(struct reading *r, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sr_terms_put(r->terms, &r->word, &(char){(char)(p[i] | 0x20)}, 1);
    sr_terms_end_word(r->terms, &r->word);
}

/* An ASCII word; `left` bytes are readable at p. */
static inline void add_ascii_word(struct reading *r, const char *p, size_t n, size_t left)
{
    static const uint64_t masks[17][2] = {
        WORD_MASKS(0),  WORD_MASKS(1),  WORD_MASKS(2),  WORD_MASKS(3),  WORD_MASKS(4),  WORD_MASKS(5),
        WORD_MASKS(6),  WORD_MASKS(7),  WORD_MASKS(8),  WORD_MASKS(9),  WORD_MASKS(10), WORD_MASKS(11),
        WORD_MASKS(12), WORD_MASKS(13), WORD_MASKS(14), WORD_MASKS(15), WORD_MASKS(16),
    };
    const uint64_t lower = UINT64_C(0x2020202020202020);
    uint64_t halves[2];
    if (n > 16 || left < 16) {
        add_ascii_slowly(r, p, n);
        return;
    }
    memcpy(halves, p, 16);
    sr_terms_count(r->terms, sr_terms_short(r->terms, (halves[0] | lower) & masks[n][0],
                                            (halves[1] | lower) & masks[n][1]));
}

/* The state that 64 bytes need from the 64 before them. */
struct carry {
    uint64_t word, field, mark;
    uint64_t runs[4]; /* bytes that end at least 2, 4, 8, 12 bytes of a field */
};

static uint64_t shifted(uint64_t now, uint64_t before, int by)
{
    return now << by | before >> (64 - by);
}

/* The estimate of fields that are all ASCII, by counting bits: fields begin where a space was; a byte that
 * ends 13 bytes of a field or more is one beyond SR_ESTIMATE_SHORT; a mark between two bytes of a field is an
 * inner mark. */
static void estimate_ascii(struct sr_estimate *sum, struct carry *c, const struct sr_ascii_masks *m)
{
    uint64_t field = ~m->space;
    uint64_t runs[4];
    runs[0] = field & shifted(field, c->field, 1);
    runs[1] = runs[0] & shifted(runs[0], c->runs[0], 2);
    runs[2] = runs[1] & shifted(runs[1], c->runs[1], 4);
    runs[3] = runs[2] & shifted(runs[1], c->runs[1], 8);
    uint64_t beyond = runs[3] & shifted(field, c->field, SR_ESTIMATE_SHORT);
    uint64_t inner = runs[0] & shifted(m->mark, c->mark, 1) & shifted(field, c->field, 2);
    sum->words += sr_ascii_count(field & ~shifted(field, c->field, 1));
    sum->extra += sr_ascii_count(beyond) * SR_ESTIMATE_POINT + sr_ascii_count(inner) * SR_ESTIMATE_MARK;
    memcpy(c->runs, runs, sizeof runs);
    c->field = field;
    c->mark = m->mark;
}

/* Fields from `at` to `end`, all ASCII, with white space or the sentence's end around them. */
static void read_ascii(struct reading *r, size_t at, size_t end)
{
    struct carry carry = {0};
    size_t start = at;
    for (size_t base = at; base < end; base += 64) {
        struct sr_ascii_masks m = sr_ascii_read(r->text.p + base, end - base < 64 ? end - base : 64);
        uint64_t turns = m.word ^ shifted(m.word, carry.word, 1);
        bool inside = carry.word >> 63;
        estimate_ascii(&r->sum, &carry, &m);
        carry.word = m.word;
        if (inside && turns) {
            size_t stop = base + (size_t)__builtin_ctzll(turns);
            turns &= turns - 1;
            add_ascii_word(r, r->text.p + start, stop - start, r->text.n - start);
        }
        while (turns) {
            start = base + (size_t)__builtin_ctzll(turns);
            turns &= turns - 1;
            if (turns == 0)
                break;
            size_t stop = base + (size_t)__builtin_ctzll(turns);
            turns &= turns - 1;
            add_ascii_word(r, r->text.p + start, stop - start, r->text.n - start);
        }
    }
    if (carry.word >> 63)
        add_ascii_word(r, r->text.p + start, end - start, r->text.n - start);
}

/* The end of the ASCII-only fields from `at`. */
static size_t ascii_fields(struct sr_bytes text, size_t at)
{
    size_t end = at + sr_utf8_ascii_prefix(sr_bytes_of(text.p + at, text.n - at));
    while (end < text.n && end > at && !sr_ascii_is_space((unsigned char)text.p[end - 1]))
        end--;
    return end;
}

struct sr_estimate sr_terms_add(struct sr_terms *terms, struct sr_bytes sentence)
{
    struct reading r = {.terms = terms, .text = sentence};
    if (!sr_terms_open_row(terms))
        return r.sum;
    for (size_t i = 0; i < sentence.n && terms->rc == SR_OK;) {
        size_t end = ascii_fields(sentence, i);
        read_ascii(&r, i, end);
        i = end < sentence.n ? read_field(&r, end) : end;
    }
    end_dense(&r);
    sr_terms_end_word(terms, &r.word);
    sr_terms_close_row(terms);
    return r.sum;
}

/* A trimmed field: CJK characters alone and in pairs, other parts whole. */
static void add_field(struct sr_terms *terms, struct sr_bytes field)
{
    struct sr_terms_word word = {0};
    int32_t before = 0;
    for (size_t i = 0; i < field.n;) {
        int32_t cp;
        uint32_t glyph;
        size_t n = sr_glyph_at(terms->glyphs, field, i, &cp, &glyph);
        if (glyph & SR_GLYPH_CJK) {
            sr_terms_end_word(terms, &word);
            sr_terms_count(terms, sr_terms_pair(terms, 0, cp));
            if (before)
                sr_terms_count(terms, sr_terms_pair(terms, before, cp));
            before = cp;
        } else {
            sr_terms_put_lower(terms, &word, cp, glyph, sr_bytes_of(field.p + i, n));
            before = 0;
        }
        i += n;
    }
    sr_terms_end_word(terms, &word);
}

struct sr_estimate sr_terms_add_published(struct sr_terms *terms, struct sr_bytes sentence)
{
    struct sr_estimate sum = {0};
    struct sr_bytes s = sentence;
    if (!sr_terms_open_row(terms))
        return sum;
    for (size_t i = 0; i < s.n && terms->rc == SR_OK;) {
        int32_t cp;
        uint32_t glyph;
        size_t n = sr_glyph_at(terms->glyphs, s, i, &cp, &glyph);
        if (glyph & SR_GLYPH_SPACE) {
            i += n;
            continue;
        }
        struct sr_estimate_field field = {0};
        size_t first = s.n, last = i; /* of the field after trimming both ends */
        for (; i < s.n; i += n) {
            n = sr_glyph_at(terms->glyphs, s, i, &cp, &glyph);
            if (glyph & SR_GLYPH_SPACE)
                break;
            sr_estimate_point(&field, cp, glyph);
            if (!(glyph & (SR_GLYPH_LETTER | SR_GLYPH_DIGIT)))
                continue;
            first = first < i ? first : i;
            last = i + n;
        }
        sr_estimate_add_field(&sum, field);
        if (first < last)
            add_field(terms, sr_bytes_of(s.p + first, last - first));
    }
    sr_terms_close_row(terms);
    return sum;
}
