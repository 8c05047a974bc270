/*
 * Escapes of characters: percent-encoding, entities of HTML, backslashes (\u0069, \u{69}, \x69, \151), U+0069
 * and quoted-printable.
 *
 * A word whose escapes hide letters, digits or what parts words is patched; a word with other escapes, such
 * as &lt; or %2F, reads the same without them and stays.
 */
#include "base/hex.h"
#include "base/utf8.h"
#include "text/ascii.h"
#include "text/disguise/private.h"

#define HIDES 2 /* points of a word that is patched: one hidden letter, or two hidden spaces */

/* What the escapes of a word hide. */
struct tally {
    unsigned points;
    unsigned quoted; /* escapes of quoted-printable, which single ones may only look like */
};

/* One escape: where it ends, and what it says. */
struct escape {
    size_t end;
    char text[SR_UTF8_MAX];
    size_t n;
    uint32_t disguise;
    bool quoted;
    bool named; /* as texts about characters write them: one alone hides nothing */
};

/* Reads `min` to `max` digits of a base up to 16; returns how many there are, 0 when they are too few. */
static size_t read_digits(struct sr_bytes text, size_t at, int base, size_t min, size_t max, int32_t *value)
{
    size_t n = 0;
    *value = 0;
    while (n < max && at + n < text.n) {
        int digit = sr_hex_digit(text.p[at + n]);
        if (digit < 0 || digit >= base)
            break;
        *value = *value < 0x200000 ? *value * base + digit : *value;
        n++;
    }
    return n >= min ? n : 0;
}

static bool is_shown(int32_t cp)
{
    return (cp >= 0x20 && cp < 0x7F) || cp == '\n' || cp == '\r' || cp == '\t' ||
           (cp >= 0xA0 && cp < 0xD800) || (cp >= 0xE000 && cp <= 0x10FFFF && (cp & 0xFFFE) != 0xFFFE);
}

static bool say(struct escape *out, int32_t cp, size_t end, uint32_t disguise)
{
    if (!is_shown(cp))
        return false;
    out->n = sr_utf8_encode(cp, out->text);
    out->end = end;
    out->disguise = disguise;
    return true;
}

/* ---- bytes: %69, =69, \x69 ---- */

/* The byte of one escape, -1 when there is none at `at`. */
static int read_byte(struct sr_bytes text, size_t at, char lead, size_t *n)
{
    int32_t value;
    size_t skip = lead == '\\' ? 2 : 1;
    if (at + skip + 2 > text.n || text.p[at] != lead || (lead == '\\' && (text.p[at + 1] | 0x20) != 'x') ||
        !read_digits(text, at + skip, 16, 2, 2, &value))
        return -1;
    *n = skip + 2;
    return value;
}

/* A character that is written as one to four bytes, each of them escaped. */
static bool read_bytes(struct sr_bytes text, size_t at, uint32_t disguise, struct escape *out)
{
    char bytes[SR_UTF8_MAX], lead = text.p[at];
    size_t n = 0, end = at, step;
    int32_t cp;
    do {
        int byte = read_byte(text, end, lead, &step);
        if (byte < 0)
            break;
        bytes[n++] = (char)byte;
        end += step;
    } while ((unsigned char)bytes[0] >= 0xC0 && n < SR_UTF8_MAX && !sr_utf8_valid(sr_bytes_of(bytes, n)));
    if (n == 0)
        return false;
    if (sr_utf8_valid(sr_bytes_of(bytes, n))) {
        sr_utf8_decode(sr_bytes_of(bytes, n), 0, &cp);
        return say(out, cp, end, disguise);
    }
    return lead == '\\' && say(out, (unsigned char)bytes[0], at + 4, disguise); /* Latin-1 */
}

static bool read_percent(struct sr_bytes text, size_t at, struct escape *out)
{
    int32_t cp;
    if (at + 1 < text.n && (text.p[at + 1] | 0x20) == 'u' && read_digits(text, at + 2, 16, 4, 4, &cp))
        return say(out, cp, at + 6, SR_DISGUISE_PERCENT);
    return read_bytes(text, at, SR_DISGUISE_PERCENT, out);
}

/* =69, and a line that ends in = goes on in the next one. */
static bool read_quoted(struct sr_bytes text, size_t at, struct escape *out)
{
    size_t feed = at + 1 + (at + 2 < text.n && text.p[at + 1] == '\r');
    out->quoted = true;
    if (feed < text.n && text.p[feed] == '\n') {
        out->n = 0;
        out->end = feed + 1;
        out->disguise = SR_DISGUISE_PERCENT;
        return true;
    }
    return read_bytes(text, at, SR_DISGUISE_PERCENT, out);
}

/* ---- code points ---- */

static bool read_backslash(struct sr_bytes text, size_t at, struct escape *out)
{
    size_t i = at + 1, n;
    int32_t cp, low;
    if (i >= text.n)
        return false;
    char kind = text.p[i];
    if ((kind | 0x20) == 'x' && i + 1 < text.n && text.p[i + 1] != '{')
        return read_bytes(text, at, SR_DISGUISE_ESCAPE, out);
    if ((kind == 'u' || kind == 'x') && i + 1 < text.n && text.p[i + 1] == '{') {
        n = read_digits(text, i + 2, 16, 1, 8, &cp);
        return n && i + 2 + n < text.n && text.p[i + 2 + n] == '}' &&
               say(out, cp, i + 3 + n, SR_DISGUISE_ESCAPE);
    }
    if (kind == 'u' && read_digits(text, i + 1, 16, 4, 4, &cp)) {
        bool high = cp >= 0xD800 && cp < 0xDC00 && i + 6 < text.n && text.p[i + 5] == '\\' &&
                    text.p[i + 6] == 'u' && read_digits(text, i + 7, 16, 4, 4, &low) && low >= 0xDC00 &&
                    low < 0xE000;
        return high ? say(out, 0x10000 + ((cp & 0x3FF) << 10 | (low & 0x3FF)), i + 11, SR_DISGUISE_ESCAPE)
                    : say(out, cp, i + 5, SR_DISGUISE_ESCAPE);
    }
    if (kind == 'U' && read_digits(text, i + 1, 16, 8, 8, &cp))
        return say(out, cp, i + 9, SR_DISGUISE_ESCAPE);
    if (read_digits(text, i, 8, 3, 3, &cp))
        return cp < 0x80 && say(out, cp, i + 3, SR_DISGUISE_ESCAPE);
    return false;
}

/* U+0069; a space before the next one belongs to it. */
static bool read_code_point(struct sr_bytes text, size_t at, struct escape *out)
{
    int32_t cp;
    size_t n = at + 1 < text.n && text.p[at + 1] == '+' ? read_digits(text, at + 2, 16, 4, 6, &cp) : 0;
    if (n == 0 || (at > 0 && sr_ascii_is_word((unsigned char)text.p[at - 1])))
        return false;
    size_t end = at + 2 + n;
    if (end + 2 < text.n && text.p[end] == ' ' && text.p[end + 1] == 'U' && text.p[end + 2] == '+')
        end++;
    out->named = true;
    return say(out, cp, end, SR_DISGUISE_ESCAPE);
}

/* Names of entities that hide what matters; in the order of bytes. */
static const struct {
    const char *name;
    uint16_t cp;
} names[] = {
    {"Auml", 0xC4},   {"NewLine", '\n'}, {"Ouml", 0xD6},   {"Tab", '\t'},    {"Uuml", 0xDC},
    {"aacute", 0xE1}, {"acirc", 0xE2},   {"aelig", 0xE6},  {"agrave", 0xE0}, {"amp", '&'},
    {"apos", '\''},   {"aring", 0xE5},   {"ast", '*'},     {"atilde", 0xE3}, {"auml", 0xE4},
    {"bsol", '\\'},   {"ccedil", 0xE7},  {"colon", ':'},   {"comma", ','},   {"commat", '@'},
    {"dollar", '$'},  {"eacute", 0xE9},  {"ecirc", 0xEA},  {"egrave", 0xE8}, {"emsp", ' '},
    {"ensp", ' '},    {"equals", '='},   {"euml", 0xEB},   {"excl", '!'},    {"gt", '>'},
    {"iacute", 0xED}, {"icirc", 0xEE},   {"igrave", 0xEC}, {"imath", 0x131}, {"iuml", 0xEF},
    {"lbrack", '['},  {"lcub", '{'},     {"lowbar", '_'},  {"lpar", '('},    {"lsqb", '['},
    {"lt", '<'},      {"nbsp", ' '},     {"ntilde", 0xF1}, {"num", '#'},     {"oacute", 0xF3},
    {"ocirc", 0xF4},  {"ograve", 0xF2},  {"oslash", 0xF8}, {"otilde", 0xF5}, {"ouml", 0xF6},
    {"percnt", '%'},  {"period", '.'},   {"plus", '+'},    {"quest", '?'},   {"quot", '"'},
    {"rbrack", ']'},  {"rcub", '}'},     {"rpar", ')'},    {"rsqb", ']'},    {"semi", ';'},
    {"shy", 0xAD},    {"sol", '/'},      {"szlig", 0xDF},  {"thinsp", ' '},  {"uacute", 0xFA},
    {"ucirc", 0xFB},  {"ugrave", 0xF9},  {"uuml", 0xFC},   {"verbar", '|'},  {"yacute", 0xFD},
    {"zwj", 0x200D},  {"zwnj", 0x200C},
};

/* -1 for an unknown name. Letters have names in three styles: &ifr;, &iopf;, &iscr;. */
static int32_t find_name(struct sr_bytes name)
{
    size_t low = 0, high = sizeof names / sizeof names[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = sr_bytes_cmp(name, sr_bytes_str(names[middle].name));
        if (order == 0)
            return names[middle].cp;
        if (order > 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct sr_bytes style = sr_bytes_of(name.p + 1, name.n ? name.n - 1 : 0);
    bool letter = name.n && (unsigned)((name.p[0] | 0x20) - 'a') < 26;
    if (letter && (sr_bytes_eq(style, SR_LIT("fr")) || sr_bytes_eq(style, SR_LIT("opf")) ||
                   sr_bytes_eq(style, SR_LIT("scr"))))
        return name.p[0];
    return -1;
}

static bool read_entity(struct sr_bytes text, size_t at, struct escape *out)
{
    size_t i = at + 1, n = 0;
    int32_t cp;
    if (i < text.n && text.p[i] == '#') {
        bool hex = i + 1 < text.n && (text.p[i + 1] | 0x20) == 'x';
        i += 1 + (size_t)hex;
        n = read_digits(text, i, hex ? 16 : 10, 1, 10, &cp);
        i += n;
        return n && say(out, cp, i + (i < text.n && text.p[i] == ';'), SR_DISGUISE_ENTITY);
    }
    while (i + n < text.n && n < 8 && sr_ascii_is_word((unsigned char)text.p[i + n]))
        n++;
    if (i + n >= text.n || text.p[i + n] != ';')
        return false;
    cp = find_name(sr_bytes_of(text.p + i, n));
    return cp >= 0 && say(out, cp, i + n + 1, SR_DISGUISE_ENTITY);
}

/* ---- words ---- */

static bool read_escape(struct sr_bytes text, size_t at, struct escape *out)
{
    out->quoted = out->named = false;
    switch (text.p[at]) {
    case '%':
        return read_percent(text, at, out);
    case '=':
        return read_quoted(text, at, out);
    case '\\':
        return read_backslash(text, at, out);
    case '&':
        return read_entity(text, at, out);
    case 'U':
        return read_code_point(text, at, out);
    }
    return false;
}

/* True when what follows an ampersand makes an escape of it. */
static bool begins_entity(struct sr_bytes text, size_t at)
{
    return at < text.n && (text.p[at] == '#' || (unsigned)((text.p[at] | 0x20) - 'a') < 26);
}

/* Dashes, quotation marks and dots. */
static bool is_punctuation(int32_t cp)
{
    return (cp >= 0x2010 && cp <= 0x2027) || (cp >= 0x2030 && cp <= 0x205E) || cp == 0xAB || cp == 0xBB;
}

static void count(struct tally *tally, struct sr_bytes text, const struct escape *escape)
{
    unsigned char c = (unsigned char)escape->text[0];
    int32_t cp;
    if (escape->n == 0)
        return;
    sr_utf8_decode(sr_bytes_of(escape->text, escape->n), 0, &cp);
    if (is_punctuation(cp))
        return;
    tally->quoted += escape->quoted;
    if (sr_ascii_is_word(c) || c >= 0x80 || c == '@' || c == '.' || c == '-')
        tally->points += escape->named ? 1 : HIDES;
    else if (sr_ascii_is_space(c))
        tally->points++;
    else if (c == '&' && begins_entity(text, escape->end))
        tally->points += HIDES;
}

static bool is_kept(const struct tally *tally)
{
    return tally->points >= HIDES && (tally->quoted == 0 || tally->quoted >= 3 || tally->points > 8);
}

void sr_patch_escapes(struct sr_bytes text, struct sr_patches *out)
{
    struct escape escape;
    struct tally tally = {0};
    size_t kept = 0;
    for (size_t at = 0; at < text.n && out->rc == SR_OK;) {
        unsigned char c = (unsigned char)text.p[at];
        if (sr_ascii_is_space(c)) {
            if (!is_kept(&tally))
                sr_patches_cut(out, kept);
            kept = out->n;
            tally = (struct tally){0};
            at++;
        } else if ((c == '%' || c == '=' || c == '\\' || c == '&' || c == 'U') &&
                   read_escape(text, at, &escape)) {
            sr_patches_put(out, escape.text, escape.n);
            sr_patches_add(out, at, escape.end, escape.disguise, true);
            count(&tally, text, &escape);
            at = escape.end;
        } else {
            at++;
        }
    }
    if (!is_kept(&tally))
        sr_patches_cut(out, kept);
}
