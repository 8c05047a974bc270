/*
 * Encoded stretches: base64 (both alphabets), base32, hexadecimal and binary digits, in one piece or in
 * several, with or without padding. A stretch is taken as far as it decodes to readable text.
 *
 * Linear time: an attempt either takes what it has read, or ends within the first bytes that are no text, or
 * is not repeated over the same bytes.
 */
#include "base/base64.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "text/ascii.h"
#include "text/disguise/private.h"

#define RUN_MAX     ((size_t)8 << 20) /* bytes of one run; what follows is another one */
#define GAP_MAX     6                 /* marks between two pieces, besides white space */
#define SPACE_MAX   64                /* white space between two pieces */
#define BETWEEN_MAX 40                /* bytes between two quoted pieces: an assignment */
#define KINDS       24                /* characters whose kinds are counted */
#define SHORT_MAX   48                /* decoded bytes that are also read among their neighbours */
#define DEEP_MIN    18                /* decoded bytes of a run that begins within a word */
#define PIECE_MIN   12                /* decoded bytes of a last piece that does not end as text */

enum kind { BASE64, BASE32, HEX, BINARY, CODES };

/* Of each kind: bits of a character, and the fewest decoded bytes. `whole`: of a run from a word's beginning
 * to a word's end. */
static const struct radix {
    int bits;
    size_t least, whole;
    uint32_t disguise;
} radixes[] = {
    [BASE64] = {6, SR_DISGUISE_BASE64_MIN * 3 / 4, 12, SR_DISGUISE_BASE64},
    [BASE32] = {5, 15, 10, SR_DISGUISE_BASE32},
    [HEX] = {4, SR_DISGUISE_HEX_MIN / 2, 10, SR_DISGUISE_HEX},
    [BINARY] = {1, 8, 8, SR_DISGUISE_CODES},
};

/* ---- decoded bytes: text or not ---- */

/* Takes bytes as long as they are readable: UTF-8 without controls, or UTF-16 of Latin letters. */
struct sink {
    char *out; /* or NULL: room for `max` bytes */
    size_t max;
    size_t n; /* bytes taken; those of an unfinished character are not in `good` */
    size_t good;
    size_t fed;
    size_t tails; /* bytes that the character still needs */
    int32_t cp, least;
    bool wide;     /* every second byte is 0 */
    size_t odd;    /* which of them */
    size_t others; /* bytes that are neither digits nor what parts numbers */
    size_t blanks;
};

static bool take(struct sink *sink, unsigned char byte)
{
    if (sink->n < sink->max)
        sink->out[sink->n] = (char)byte;
    sink->n++;
    if (sink->tails == 0)
        sink->good = sink->n;
    return true;
}

static bool take_tail(struct sink *sink, unsigned char byte)
{
    if ((byte & 0xC0) != 0x80)
        return false;
    sink->cp = sink->cp << 6 | (byte & 0x3F);
    if (--sink->tails == 0 && (sink->cp < sink->least || (sink->cp >= 0xD800 && sink->cp < 0xE000) ||
                               sink->cp > 0x10FFFF || (sink->cp >= 0x80 && sink->cp < 0xA0)))
        return false;
    return take(sink, byte);
}

/* False when the byte cannot follow in a text; then nothing changes that counts. */
static bool feed(struct sink *sink, unsigned char byte)
{
    size_t at = sink->fed++;
    if (sink->wide && (at & 1) == sink->odd)
        return byte == 0;
    if (byte == 0 && at < 2) {
        sink->wide = true;
        sink->odd = at;
        return true;
    }
    if (sink->tails)
        return take_tail(sink, byte);
    sink->blanks += byte == ' ';
    sink->others += !((byte >= '0' && byte <= '9') || strchr(" -.,:/+", byte));
    if (byte < 0x80)
        return ((byte >= ' ' && byte < 0x7F) || byte == '\n' || byte == '\r' || byte == '\t') &&
               take(sink, byte);
    if (byte < 0xC2 || byte > 0xF4)
        return false;
    sink->tails = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    sink->least = byte < 0xE0 ? 0x80 : byte < 0xF0 ? 0x800 : 0x10000;
    sink->cp = byte & (0x3F >> sink->tails);
    return take(sink, byte);
}

/* ---- characters of an encoding ---- */

static int value_of(enum kind kind, unsigned char c)
{
    unsigned char low = c | 0x20;
    switch (kind) {
    case BASE64:
        return sr_base64_digit((char)c);
    case BASE32:
        return low >= 'a' && low <= 'z' ? low - 'a' : c >= '2' && c <= '7' ? c - '2' + 26 : -1;
    case HEX:
        return sr_hex_digit((char)c);
    case BINARY:
        return c == '0' || c == '1' ? c - '0' : -1;
    case CODES:
        break;
    }
    return -1;
}

static bool is_open(struct sr_bytes text, size_t at)
{
    return at >= text.n || sr_ascii_is_space((unsigned char)text.p[at]) || strchr("\"'`", text.p[at]);
}

/* The value of the character at `at`; -1 for what parts pieces. A sign between two strings joins them. */
static int value_at(struct sr_bytes text, size_t at, enum kind kind)
{
    unsigned char c = at < text.n ? (unsigned char)text.p[at] : 0;
    int value = c ? value_of(kind, c) : -1;
    if (value >= 62 && kind == BASE64 && at > 0 && is_open(text, at - 1) && is_open(text, at + 1))
        return -1;
    return value;
}

/* The end of what parts two pieces, at `at`; 0 when no further piece follows. */
static size_t gap_end(struct sr_bytes text, size_t at, enum kind kind, bool *space)
{
    size_t i = at, marks = 0, spaces = 0;
    *space = false;
    for (; i < text.n && value_at(text, i, kind) < 0; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (sr_ascii_is_space(c)) {
            *space = true;
            if (++spaces > SPACE_MAX)
                return 0;
            continue;
        }
        if (c == '\\' && i + 1 < text.n && strchr("nrtx", text.p[i + 1]))
            i++;
        else if (!c || !strchr("\"'`,;:.|()[]{}<>*#~^+-_/\\", c))
            return 0;
        if (++marks > GAP_MAX)
            return 0;
    }
    return i < text.n ? i : 0;
}

/* The beginning of the next quoted piece after the one at [start, end), if that is quoted: x = "..."; y =
 * "..." 0 when there is none near. */
static size_t next_quoted(struct sr_bytes text, size_t start, size_t end, enum kind kind)
{
    char quote = end < text.n ? text.p[end] : 0;
    if ((quote != '"' && quote != '\'') || start == 0 || text.p[start - 1] != quote)
        return 0;
    for (size_t i = end + 1; i + 1 < text.n && i < end + BETWEEN_MAX; i++)
        if (text.p[i] == quote)
            return value_at(text, i + 1, kind) >= 0 ? i + 1 : 0;
    return 0;
}

/* ---- reading ---- */

struct reading {
    size_t end;     /* in the text, after the last character that counts */
    size_t n;       /* decoded bytes */
    size_t chars;   /* characters of the encoding */
    unsigned kinds; /* of the first: 1 upper case, 2 lower case, 4 digits */
    bool padded;    /* ends in as many = as it needs */
    bool whole;     /* ends where a word does */
    bool numeric;   /* says only numbers */
    bool has_blanks;
};

struct reader {
    struct sr_bytes text;
    enum kind kind;
    bool apart; /* each piece is encoded by itself */
    size_t i;
    uint32_t bits;
    int have;
    size_t chars, piece; /* read, and of them in this piece */
    size_t piece_from;   /* decoded bytes before it */
    unsigned kinds;
    bool odd, lower; /* of this piece: it is no plain word; it has small letters */
    size_t capitals; /* of this piece */
    struct sink sink;
};

static void note_kind(struct reader *r, unsigned char c)
{
    bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    if (r->chars < KINDS)
        r->kinds |= upper ? 1u : lower ? 2u : 4u;
    r->odd |= (upper && r->lower) || (lower && r->capitals > 1) || (!upper && !lower && r->piece > 0);
    r->capitals += upper;
    r->lower |= lower;
}

/* One character. False when a decoded byte is no text. */
static bool read_one(struct reader *r, int value)
{
    note_kind(r, (unsigned char)r->text.p[r->i]);
    r->chars++;
    r->piece++;
    r->bits = r->bits << radixes[r->kind].bits | (uint32_t)value;
    r->have += radixes[r->kind].bits;
    if (r->have < 8)
        return true;
    r->have -= 8;
    return feed(&r->sink, (unsigned char)(r->bits >> r->have));
}

/* A piece that no word of a language is. */
static bool is_plausible(const struct reader *r)
{
    bool capitals = r->kind == BASE32 && !r->lower;
    return r->kind == HEX || r->kind == BINARY || r->odd || r->piece >= 16 || capitals;
}

static void note(const struct reader *r, size_t end, struct reading *out)
{
    out->end = end;
    out->n = r->sink.good;
    out->chars = r->chars;
    out->kinds = r->kinds;
    out->numeric = r->sink.others == 0;
    out->has_blanks = r->sink.blanks > 0;
    out->whole = end >= r->text.n || !sr_ascii_is_word((unsigned char)r->text.p[end]);
}

/* After the last character of a piece. True when another piece follows, at r->i. */
static bool end_piece(struct reader *r, struct reading *out)
{
    size_t i = r->i;
    bool space, padded;
    if (r->kind == BINARY && r->apart && r->have == 7)
        feed(&r->sink, (unsigned char)(r->bits & 0x7F));
    while (i < r->text.n && r->text.p[i] == '=' && r->kind <= BASE32 && i < r->i + 6)
        i++;
    padded = i > r->i;
    if (is_plausible(r) || padded) {
        note(r, i, out);
        out->padded = padded && (r->piece + (i - r->i)) % 4 == 0;
    }
    size_t next = next_quoted(r->text, r->i - r->piece, i, r->kind),
           near = gap_end(r->text, i, r->kind, &space);
    next = next ? next : near;
    if (!next || next > i + RUN_MAX)
        return false;
    if (padded || r->apart)
        r->have = 0;
    if (r->apart && space && r->kind <= BASE32)
        feed(&r->sink, ' ');
    r->i = next;
    r->piece = 0;
    r->piece_from = r->sink.good;
    r->odd = r->lower = false;
    r->capitals = 0;
    return true;
}

/* True when letters and digits are those of the encoding. */
static bool fits(enum kind kind, unsigned kinds, bool numeric)
{
    switch (kind) {
    case BASE64:
        return (kinds & 3) == 3;
    case BASE32:
        return (kinds & 3) == 1 || (kinds & 3) == 2;
    case HEX: /* digits alone are numbers, unless they say numbers */
        return (kinds & 3) || numeric;
    case BINARY:
    case CODES:
        break;
    }
    return true;
}

/* Decodes from `at` on, as far as it is text; writes at most `max` bytes. */
static struct reading read_run(struct sr_bytes text, size_t at, enum kind kind, bool apart, char *out,
                               size_t max)
{
    struct reader r = {.text = text, .kind = kind, .apart = apart, .i = at, .sink = {.out = out, .max = max}};
    struct reading got = {.n = 0};
    for (;;) {
        int value = value_at(text, r.i, kind);
        if (kind == HEX && value == 0 && r.piece == 0 && r.i + 2 < text.n &&
            (text.p[r.i + 1] | 0x20) == 'x') {
            r.i += 2;
            value = value_at(text, r.i, kind);
        }
        if (value >= 0 && !read_one(&r, value)) {
            if (r.sink.good >= r.piece_from + PIECE_MIN)
                note(&r, r.i, &got);
            break;
        }
        if (value < 0 && (r.piece == 0 || !end_piece(&r, &got)))
            break;
        r.i += value >= 0;
        if (r.chars >= KINDS && !fits(kind, r.kinds, r.sink.others == 0))
            break;
        if (r.sink.good > RUN_MAX) {
            note(&r, r.i, &got);
            break;
        }
    }
    return got;
}

/* ---- where a run begins ---- */

static bool follows_marker(struct sr_bytes text, size_t at)
{
    static const char marker[] = "base64,";
    size_t n = sizeof marker - 1;
    return at >= n && memcmp(text.p + at - n, marker, n) == 0;
}

/* True for name="...": the sign is no padding. */
static bool is_assigned(struct sr_bytes text, size_t at, size_t end)
{
    if (end >= text.n || !strchr("\"'{[(`$", text.p[end]))
        return end < text.n && sr_ascii_is_word((unsigned char)text.p[end]);
    return at == 0 || text.p[at - 1] != text.p[end];
}

/* True when what was decoded is enough, of letters as the encoding has them. */
static bool is_enough(struct sr_bytes text, size_t at, enum kind kind, bool deep, const struct reading *got,
                      struct sr_run *run)
{
    size_t least = deep ? DEEP_MIN : got->whole ? radixes[kind].whole : radixes[kind].least;
    bool marked = kind == BASE64 && !deep && follows_marker(text, at);
    bool padded = kind == BASE64 && !deep && got->padded && got->n >= 5 && !is_assigned(text, at, got->end);
    if (!marked && !fits(kind, got->kinds, got->numeric))
        return false;
    run->alone = got->n >= least;
    run->in_place = got->n > 0 && got->n < SHORT_MAX && (run->alone || marked || padded);
    return run->alone || run->in_place;
}

static bool try_run(struct sr_bytes text, size_t at, enum kind kind, bool deep, struct sr_run *run)
{
    struct reading joined = read_run(text, at, kind, false, NULL, 0);
    struct reading apart = read_run(text, at, kind, true, NULL, 0);
    bool use_apart = apart.end > joined.end;
    const struct reading *got = use_apart ? &apart : &joined;
    *run = (struct sr_run){.start = at,
                           .end = got->end,
                           .n = got->n,
                           .disguise = radixes[kind].disguise,
                           .kind = (unsigned char)kind,
                           .words = apart.end == joined.end && apart.n > joined.n && !joined.has_blanks,
                           .mode = use_apart};
    return got->n > 0 && is_enough(text, at, kind, deep, got, run);
}

/* A word as encodings have it: capitals or digits among small letters. */
static bool is_odd(struct sr_bytes word)
{
    bool lower = false, odd = false;
    for (size_t i = 0; i < word.n; i++) {
        unsigned char c = (unsigned char)word.p[i];
        bool small = c >= 'a' && c <= 'z';
        odd |= i > 0 && !small;
        lower |= small;
    }
    return word.n >= 4 && lower && odd;
}

static bool all_of(struct sr_bytes word, size_t n, const char *set)
{
    for (size_t i = 0; i < n; i++)
        if (i >= word.n || !word.p[i] || !strchr(set, word.p[i]))
            return false;
    return true;
}

/* A run at the beginning of a word. */
static bool try_word(struct sr_bytes text, size_t at, struct sr_bytes word, struct sr_run *run)
{
    static const char base32[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                      small32[] = "abcdefghijklmnopqrstuvwxyz234567";
    bool escaped = word.p[0] == 'x' && at > 0 && text.p[at - 1] == '\\';
    size_t first = at + (size_t)escaped;
    if (all_of(word, 7, "01") && try_run(text, at, BINARY, false, run))
        return true;
    if (value_at(text, first, HEX) >= 0 && first + 1 < text.n &&
        (value_at(text, first + 1, HEX) >= 0 || text.p[first + 1] == 'x') &&
        try_run(text, first, HEX, false, run)) {
        run->start = at - (size_t)escaped;
        return true;
    }
    if ((all_of(word, 4, base32) || all_of(word, 24, small32)) && try_run(text, at, BASE32, false, run))
        return true;
    return (word.n >= 16 || is_odd(word) || follows_marker(text, at)) &&
           try_run(text, at, BASE64, false, run);
}

bool sr_find_run(struct sr_bytes text, size_t from, struct sr_run *run)
{
    for (size_t at = from; at < text.n;) {
        size_t n = 0, skip = 0;
        while (at + n < text.n && sr_base64_digit(text.p[at + n]) >= 0)
            n++;
        if (sr_find_codes(text, at, run, NULL, &skip)) {
            run->kind = CODES;
            return true;
        }
        if (n >= 2 && try_word(text, at, sr_bytes_of(text.p + at, n), run))
            return true;
        for (size_t k = 1; n >= DEEP_MIN * 4 / 3 && k + DEEP_MIN * 4 / 3 <= n; k++)
            if (try_run(text, at + k, BASE64, true, run))
                return true;
        at += n + 1;
        at = skip > at ? skip : at;
    }
    return false;
}

struct sr_run sr_run_words(struct sr_bytes text, const struct sr_run *run)
{
    struct sr_run words = *run;
    words.n = read_run(text, run->start, (enum kind)run->kind, true, NULL, 0).n;
    words.mode = true;
    return words;
}

void sr_run_decode(struct sr_bytes text, const struct sr_run *run, char *out)
{
    size_t skip;
    struct sr_run again;
    size_t start = run->start;
    if (run->kind == CODES) {
        sr_find_codes(text, run->start, &again, out, &skip);
        return;
    }
    if (run->kind == HEX && text.p[start] == '\\')
        start += 2;
    read_run(text, start, (enum kind)run->kind, run->mode != 0, out, run->n);
}
