/*
 * Reads a question into tokens. What they mean in its language is settle.c's.
 */
#include "cache/gate/text.h"

#include "base/hash.h"
#include "cache/gate/scan.h"
#include "cache/gate/stem.h"
#include "text/words.h"

#define DENSE_WORD  24 /* bytes of a known word in a script without spaces */
#define NUMERAL_MAX 64 /* bytes of a number in Chinese numerals */

struct reader {
    struct sr_gate_text *out;
    struct sr_bytes text;
    bool initial; /* a sentence begins: a capital says nothing */
    size_t capitals, cased;
};

/* NULL when there are too many. */
static struct sr_gate_token *add(struct reader *r, enum sr_gate_kind kind, size_t start, size_t end)
{
    struct sr_gate_text *out = r->out;
    if (out->n == SR_GATE_TOKENS_MAX) {
        out->overflow = true;
        return NULL;
    }
    struct sr_gate_token *t = &out->tokens[out->n++];
    *t = (struct sr_gate_token){.start = (uint32_t)start,
                                .end = (uint32_t)end,
                                .kind = (uint8_t)kind,
                                .unit = -1,
                                .word = -1,
                                .match = -1};
    return t;
}

static int32_t index_of(const struct sr_gate_word *word)
{
    return word ? (int32_t)(word - sr_gate_words) : -1;
}

/* ---- words of scripts with spaces ---- */

/* The bytes of an elision before a word ("l'", "qu'"), 0 when it has none. */
static size_t elision(struct sr_bytes folded)
{
    static const char *const elided[] = {"l", "d",  "n",    "s",    "c",   "j",  "m",
                                         "t", "qu", "dell", "nell", "all", "un", NULL};
    for (size_t i = 1; i < folded.n && i < 5; i++) {
        size_t mark = folded.p[i] == '\''                                                 ? 1
                      : i + 3 <= folded.n && memcmp(folded.p + i, "\xe2\x80\x99", 3) == 0 ? 3
                                                                                          : 0;
        if (mark)
            return folded.n > i + mark + 1 && sr_gate_is_one_of(sr_bytes_of(folded.p, i), elided) ? i + mark
                                                                                                  : 0;
    }
    return 0;
}

/* How the word is written: as a name, with a capital. */
static unsigned flags_of(struct reader *r, struct sr_bytes written)
{
    size_t upper = 0, lower = 0, inner = 0;
    unsigned flags = 0;
    for (size_t at = 0; at < written.n;) {
        int32_t cp;
        size_t n = sr_utf8_decode(written, at, &cp);
        unsigned kind = cp < 0x80 ? (cp >= 'A' && cp <= 'Z'   ? SR_UNICODE_UPPER
                                     : cp >= 'a' && cp <= 'z' ? SR_UNICODE_LOWER
                                                              : 0)
                                  : sr_unicode_kind(cp);
        upper += (kind & SR_UNICODE_UPPER) != 0;
        lower += (kind & SR_UNICODE_LOWER) != 0;
        inner += at > 0 && (kind & SR_UNICODE_UPPER) != 0;
        if (at == 0 && (kind & SR_UNICODE_UPPER))
            flags |= SR_GATE_IS_UPPER;
        at += n;
    }
    r->cased += upper + lower > 0;
    r->capitals += (flags & SR_GATE_IS_UPPER) != 0;
    if (upper > 0 && ((lower == 0 && upper > 1) || (inner > 0 && lower > 0) || !r->initial))
        flags |= SR_GATE_IS_NAME;
    return flags;
}

/* The word is word->folded from `from` on; it is changed. */
static void add_word(struct reader *r, struct sr_word *word, size_t from, size_t to, size_t start, size_t end,
                     unsigned flags)
{
    static const char *const joining[] = {"and", "or", "und", "oder", "y",  "o",      "et",
                                          "ou",  "e",  "и",   "или",  "vs", "versus", NULL};
    static const char *const acting[] = {"by", "von", "durch", "par", "por", "da", "door", NULL};
    struct sr_bytes folded = sr_bytes_of(word->folded + from, to - from);
    struct sr_gate_token *t = add(r, SR_GATE_TOKEN_WORD, start, end);
    if (!t)
        return;
    if (sr_gate_ends(folded, "n't") || sr_gate_ends(folded, "n\xe2\x80\x99t"))
        flags |= SR_GATE_IS_NOT | SR_GATE_IS_STOP;
    flags |= folded.n && folded.n < 8 && sr_gate_is_one_of(folded, joining) ? SR_GATE_IS_AND : 0;
    flags |= folded.n && folded.n < 8 && sr_gate_is_one_of(folded, acting) ? SR_GATE_IS_BY : 0;
    t->flags = (uint8_t)flags;
    t->points = (uint8_t)(word->points < 255 ? word->points : 255);
    t->word = index_of(sr_gate_find_form(folded));
    t->id = sr_hash64(sr_gate_stem(word->folded + from, folded.n, word->class), 0);
}

static size_t read_word(struct reader *r, size_t at)
{
    struct sr_words words = {r->text, at, false};
    struct sr_word word;
    if (!sr_words_next(&words, &word))
        return r->text.n;
    struct sr_bytes folded = sr_bytes_of(word.folded, word.n);
    unsigned flags = flags_of(r, sr_bytes_of(r->text.p + word.start, word.end - word.start));
    size_t cut = word.class == SR_UNICODE_WORD ? elision(folded) : 0, start = word.start;
    r->out->hangul |= word.class == SR_UNICODE_KOREAN;
    if (cut) {
        size_t mark = folded.p[cut - 1] == '\'' ? 1 : 3;
        add_word(r, &word, 0, cut - mark, start, start + cut, 0);
        start += cut;
        if (start < word.end)
            flags = flags_of(r, sr_bytes_of(r->text.p + start, word.end - start));
    }
    if (word.n == 1 && word.folded[0] != 'i' && flags & SR_GATE_IS_NAME && word.end - word.start == 1) {
        struct sr_gate_token *t = add(r, SR_GATE_TOKEN_CODE, start, word.end); /* plan A */
        if (t)
            t->id = sr_hash64(folded, 3);
        return word.end;
    }
    add_word(r, &word, cut, word.n, start, word.end, flags);
    r->initial = false;
    return word.end > at ? word.end : at + 1;
}

/* ---- scripts without spaces ---- */

static int numeral(int32_t cp)
{
    static const int32_t digits[] = {0x96F6, 0x4E00, 0x4E8C, 0x4E09, 0x56DB,
                                     0x4E94, 0x516D, 0x4E03, 0x516B, 0x4E5D};
    for (int i = 0; i < 10; i++)
        if (digits[i] == cp)
            return i;
    return cp == 0x3007 ? 0 : cp == 0x4E24 ? 2 : -1;
}

static double multiplier(int32_t cp)
{
    return cp == 0x5341                   ? 10
           : cp == 0x767E                 ? 100
           : cp == 0x5343                 ? 1e3
           : cp == 0x4E07                 ? 1e4
           : cp == 0x4EBF || cp == 0x5104 ? 1e8
                                          : 0;
}

/* The number in Chinese numerals at `at`, and its end; `at` when there is none. */
static size_t read_numerals(struct sr_bytes text, size_t at, double *value)
{
    double total = 0, section = 0, digit = -1;
    size_t end = at;
    while (end < text.n && end - at < NUMERAL_MAX) {
        int32_t cp;
        size_t n = sr_utf8_decode(text, end, &cp);
        double times = multiplier(cp);
        int d = numeral(cp);
        if (d >= 0)
            digit = digit < 0 || d == 0 ? d : digit * 10 + d;
        else if (times >= 1e4)
            total = (total + section + (digit < 0 ? (section > 0 || total > 0 ? 0 : 1) : digit)) * times,
            section = 0, digit = -1;
        else if (times > 0)
            section += (digit < 0 ? 1 : digit) * times, digit = -1;
        else
            break;
        end += n;
    }
    *value = total + section + (digit > 0 ? digit : 0);
    return end;
}

static size_t longest_known(struct sr_bytes text, size_t at, int32_t *word)
{
    size_t ends_at[DENSE_WORD], n_ends = 0, end = at;
    while (end < text.n && end - at < DENSE_WORD && n_ends < 9) {
        int32_t cp;
        size_t n = sr_utf8_decode(text, end, &cp);
        if (sr_unicode_class(cp) != SR_UNICODE_DENSE || end + n - at > DENSE_WORD)
            break;
        end += n;
        ends_at[n_ends++] = end;
    }
    *word = -1;
    while (n_ends > 0) {
        const struct sr_gate_word *known = sr_gate_find(sr_bytes_of(text.p + at, ends_at[n_ends - 1] - at));
        if (known) {
            *word = index_of(known);
            return ends_at[n_ends - 1];
        }
        n_ends--;
    }
    return at;
}

/* The end of a run of katakana, which spells one word. */
static size_t katakana_end(struct sr_bytes text, size_t at)
{
    int32_t cp;
    while (at < text.n) {
        size_t n = sr_utf8_decode(text, at, &cp);
        if (cp < 0x30A1 || cp > 0x30FE)
            break;
        at += n;
    }
    return at;
}

static size_t read_dense(struct reader *r, size_t at)
{
    int32_t cp, word;
    double value = 0;
    size_t n = sr_utf8_decode(r->text, at, &cp), known = longest_known(r->text, at, &word);
    size_t numerals = read_numerals(r->text, at, &value);
    r->out->kana |= cp >= 0x3040 && cp < 0x3100;
    r->out->han |= cp >= 0x4E00 && cp < 0xA000;
    bool ordinal = r->out->n > 0 && at >= 3 && memcmp(r->text.p + at - 3, "第", 3) == 0;
    if (numerals > at && numerals >= known && (value > 1 || ordinal)) {
        struct sr_gate_token *t = add(r, SR_GATE_TOKEN_NUMBER, at, numerals);
        if (t)
            t->number = t->other = value;
        return numerals;
    }
    size_t katakana = katakana_end(r->text, at), end = known > at ? known : at + n;
    if (katakana > end) {
        end = katakana;
        word = -1;
    }
    struct sr_gate_token *t = add(r, SR_GATE_TOKEN_WORD, at, end);
    if (t) {
        struct sr_bytes written = sr_bytes_of(r->text.p + at, end - at);
        t->flags = SR_GATE_IS_DENSE;
        if (sr_bytes_eq(written, SR_LIT("和")) || sr_bytes_eq(written, SR_LIT("与")) ||
            sr_bytes_eq(written, SR_LIT("と")))
            t->flags |= SR_GATE_IS_AND;
        if (sr_bytes_eq(written, SR_LIT("被")))
            t->flags |= SR_GATE_IS_BY;
        t->points = katakana > at ? 3 : (uint8_t)((end - at) / 3);
        t->word = word;
        t->id = sr_hash64(written, 0);
    }
    r->initial = false;
    return end;
}

/* ---- the whole text ---- */

static size_t read_ascii(struct reader *r, size_t at)
{
    struct sr_gate_scanned s = {0};
    struct sr_gate_token *t;
    switch (sr_gate_scan(r->text, at, &s)) {
    case SR_GATE_SCAN_NUMBER:
        if ((t = add(r, SR_GATE_TOKEN_NUMBER, at, s.end)) != NULL) {
            t->number = s.number;
            t->other = s.other;
            t->digits = (uint8_t)s.digits;
        }
        break;
    case SR_GATE_SCAN_DATE:
        for (int i = 0; i < 3; i++)
            if ((t = add(r, i == 1 ? SR_GATE_TOKEN_MONTH : SR_GATE_TOKEN_NUMBER, at, s.end)) != NULL)
                t->number = t->other = i == 0 ? s.y : i == 1 ? s.m : s.d;
        break;
    case SR_GATE_SCAN_CODE:
        if ((t = add(r, SR_GATE_TOKEN_CODE, at, s.end)) != NULL) {
            char folded[256];
            size_t n = s.end - at < sizeof folded ? s.end - at : sizeof folded;
            for (size_t i = 0; i < n; i++)
                folded[i] = sr_ascii_lower(r->text.p[at + i]);
            t->id = sr_hash64(sr_bytes_of(folded, n),
                              sr_hash64(sr_bytes_of(r->text.p + at + n, s.end - at - n), 0));
        }
        break;
    default:
        return read_word(r, at);
    }
    r->initial = false;
    return s.end;
}

/* A sign: of a unit, or one that begins or ends a sentence. */
static size_t read_sign(struct reader *r, size_t at, int32_t cp, size_t n)
{
    const struct sr_gate_word *word = sr_gate_find(sr_bytes_of(r->text.p + at, n));
    struct sr_gate_token *t = word ? add(r, SR_GATE_TOKEN_WORD, at, at + n) : NULL;
    if (t) {
        t->word = index_of(word);
        t->id = sr_hash64(sr_bytes_of(r->text.p + at, n), 0);
    }
    if (cp == '.' || cp == '!' || cp == '?' || cp == ':' || cp == '\n' || cp == '"' || cp == '(' ||
        cp == 0xBF || cp == 0xA1 || cp == 0x201C || cp == 0x201E || cp == 0xAB)
        r->initial = true;
    return at + n;
}

static bool is_ascii_word(struct sr_bytes text, size_t at)
{
    char c = text.p[at];
    if (c == '/')
        return at + 1 < text.n && (text.p[at + 1] | 0x20) >= 'a' && (text.p[at + 1] | 0x20) <= 'z' &&
               (at == 0 || (unsigned char)text.p[at - 1] >= 0x80 || strchr(" \t\n\"'`(", text.p[at - 1]));
    return (unsigned)((c | 0x20) - 'a') < 26 || (c >= '0' && c <= '9') || c == '_';
}

void sr_gate_read(struct sr_gate_text *out, struct sr_bytes text)
{
    struct reader r = {.out = out, .text = text, .initial = true};
    out->text = text;
    out->n = 0;
    out->overflow = out->shouted = out->kana = out->han = out->hangul = false;
    for (size_t at = 0; at < text.n && !out->overflow;) {
        int32_t cp;
        if (is_ascii_word(text, at)) {
            at = read_ascii(&r, at);
            continue;
        }
        size_t n = sr_utf8_decode(text, at, &cp);
        enum sr_unicode_class class = cp < 0x80 ? SR_UNICODE_OTHER : sr_unicode_class(cp);
        if (class == SR_UNICODE_OTHER)
            at = read_sign(&r, at, cp, n);
        else if (class == SR_UNICODE_DENSE)
            at = read_dense(&r, at);
        else
            at = read_word(&r, at);
    }
    out->shouted = r.cased >= 5 && r.capitals * 10 > r.cased * 7;
}
