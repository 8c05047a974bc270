/* Classifies lines, and recognises the dots of abbreviations. */
#include "text/ascii.h"
#include "text/segment/segment.h"

#define CODE_LOOK 240 /* bytes of a line that are read to recognise code */

#define WORD 8 /* bytes: the longest abbreviation and a NUL */

/* Lower case, sorted. After these a sentence does not end, whatever follows. */
static const char abbreviations[][WORD] = {
    "abb",  "abs",  "approx", "art",    "aug",  "ave",  "bd",  "bzw",  "ca",    "cap",  "capt", "cf",   "ch",
    "col",  "dec",  "dept",   "dr",     "dra",  "ed",   "eds", "eq",   "esp",   "est",  "evtl", "feb",  "fig",
    "figs", "fr",   "gen",    "ggf",    "gov",  "hon",  "hr",  "hrsg", "i.d.r", "incl", "jan",  "jr",   "jul",
    "jun",  "lt",   "max",    "messrs", "min",  "mlle", "mme", "mr",   "mrs",   "ms",   "mt",   "nos",  "nov",
    "nr",   "oct",  "op",     "pp",     "prof", "pt",   "rep", "rev",  "sec",   "sen",  "sep",  "sept", "sr",
    "sra",  "srta", "st",     "str",    "tab",  "tel",  "vgl", "viz",  "vol",   "vols", "vs",
};

/* The bytes as a number with the same order. */
static uint64_t packed(const char word[WORD])
{
    uint64_t x = 0;
    for (int i = 0; i < WORD; i++)
        x = x << 8 | (unsigned char)word[i];
    return x;
}

static bool is_listed(const char word[WORD])
{
    const uint64_t wanted = packed(word);
    size_t low = 0, high = sizeof abbreviations / sizeof abbreviations[0];
    while (low < high) {
        size_t middle = (low + high) / 2;
        uint64_t found = packed(abbreviations[middle]);
        if (found == wanted)
            return true;
        if (found < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

bool sr_segment_is_abbreviation(struct sr_bytes text, size_t from, size_t dot)
{
    char word[WORD] = "";
    size_t start = dot, n = 0;
    bool inner_dot = false;
    while (start > from && dot - start < sizeof word - 1) {
        char c = sr_ascii_lower(text.p[start - 1]);
        if ((c < 'a' || c > 'z') && c != '.')
            break;
        inner_dot |= c == '.';
        start--;
    }
    if (start == dot || (start > from && (unsigned char)text.p[start - 1] >= 0x80))
        return false;
    bool word_starts = start == from || !(sr_ascii_lower(text.p[start - 1]) >= 'a' &&
                                          sr_ascii_lower(text.p[start - 1]) <= 'z');
    for (size_t i = start; i < dot; i++)
        word[n++] = sr_ascii_lower(text.p[i]);
    if (!word_starts)
        return false;
    if (n == 1) /* "J." but not "I." and not "a." */
        return text.p[start] >= 'A' && text.p[start] <= 'Z' && text.p[start] != 'I';
    if (inner_dot) { /* "e.g", "U.S", "Ph.D": no part longer than two letters */
        size_t run = 0;
        for (size_t i = 0; i < n; i++) {
            run = word[i] == '.' ? 0 : run + 1;
            if (run > 2)
                return false;
        }
        return word[0] != '.' && !strstr(word, "..");
    }
    return is_listed(word);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The length of a list label at p[0..n): "- ", "* ", "12. ", "(a) ", a bullet; 0 when there is none. */
static size_t list_label(const char *p, size_t n)
{
    if (n >= 2 && (p[0] == '-' || p[0] == '*' || p[0] == '+') && p[1] == ' ')
        return 2;
    if (n >= 4 && memcmp(p, "\xE2\x80\xA2", 3) == 0)
        return 3;
    size_t i = n && p[0] == '(';
    size_t digits = i;
    while (i < n && i < digits + 3 && is_digit(p[i]))
        i++;
    if (i == digits && i < n && sr_ascii_lower(p[i]) >= 'a' && sr_ascii_lower(p[i]) <= 'z')
        i++;
    else if (i == digits)
        return 0;
    bool closes = i < n && (p[i] == ')' || (p[i] == '.' && is_digit(p[i - 1])));
    return closes && i + 1 < n && p[i + 1] == ' ' ? i + 2 : 0;
}

/* A log timestamp: at least four digits and a ':' or '-' between digits, early in the line. */
static bool is_log(const struct sr_ascii_looks *looks)
{
    uint64_t digits = looks->digit & UINT32_MAX;
    uint64_t joints = looks->joint & digits << 1 & digits >> 1;
    return sr_ascii_count(digits) >= 6 && sr_ascii_count(joints) >= 2;
}

/* The weight of a mark as evidence for code: '(' counts after a word, ':' by the next character. */
static const unsigned char code_mark[128] = {
    ['{'] = 2, ['}'] = 2, [';'] = 2, ['='] = 2, ['<'] = 1,  ['>'] = 1, ['['] = 1,
    [']'] = 1, ['_'] = 1, ['&'] = 1, ['|'] = 2, ['\\'] = 1, ['$'] = 1, ['/'] = 1,
    ['+'] = 1, ['#'] = 1, ['@'] = 1, ['^'] = 1, ['~'] = 1,  ['%'] = 1,
};

/* The marks of 64 bytes of a line p[0..n) from `base` on. `*skip`: an address continues up to there. */
static size_t code_weight(const char *p, size_t n, size_t base, uint64_t marks, size_t *skip)
{
    size_t weight = 0;
    for (; marks; marks &= marks - 1) {
        size_t i = base + (size_t)__builtin_ctzll(marks);
        if (i < *skip)
            continue;
        if (p[i] == '(') {
            weight += i && sr_ascii_is_word((unsigned char)p[i - 1]) ? 2 : 0; /* a call */
        } else if (p[i] == ':' && i + 2 < n && p[i + 1] == '/' &&
                   p[i + 2] == '/') { /* an address is not code */
            const char *space = memchr(p + i, ' ', n - i);
            *skip = space ? (size_t)(space - p) : n;
        }
        weight += code_mark[(unsigned char)p[i]];
    }
    return weight;
}

/* Recognises code and data by the share of their marks, or by the end of the line. `looks` are those of its
 * first bytes. */
static bool is_code(const char *p, size_t n, size_t readable, const struct sr_ascii_looks *looks)
{
    char end = p[n - 1];
    n = n < CODE_LOOK ? n : CODE_LOOK;
    size_t skip = 0, weight = code_weight(p, n, 0, looks->mark, &skip);
    for (size_t base = 64; base < n; base += 64) {
        size_t left = n - base < 64 ? n - base : 64;
        weight += code_weight(p, n, base, sr_ascii_look(p + base, left, readable - base).mark, &skip);
    }
    size_t more = weight && (end == ';' || end == '{' || end == '}' || end == ')' || end == ',') ? 3 : 0;
    return (weight + more) * 12 >= n && weight + more >= 3;
}

enum sr_segment_line sr_segment_look(struct sr_bytes text, size_t start, size_t end)
{
    const char *p = text.p + start;
    size_t n = end - start, indent = 0;
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t' || p[n - 1] == '\r' || p[n - 1] == '\n'))
        n--;
    while (n && (*p == ' ' || *p == '\t')) {
        indent += *p == '\t' ? 4 : 1;
        p++;
        n--;
    }
    if (n == 0)
        return SR_SEGMENT_BLANK;
    if (n >= 3 && (memcmp(p, "```", 3) == 0 || memcmp(p, "~~~", 3) == 0))
        return SR_SEGMENT_FENCE;
    size_t hashes = 0;
    while (hashes < n && hashes < 7 && p[hashes] == '#')
        hashes++;
    if (hashes && hashes < 7 && hashes < n && p[hashes] == ' ' && indent < 4)
        return SR_SEGMENT_HEADING;
    if (list_label(p, n))
        return SR_SEGMENT_LIST;
    size_t readable = text.n - (size_t)(p - text.p);
    struct sr_ascii_looks looks = sr_ascii_look(p, n < 64 ? n : 64, readable);
    return *p == '|' || is_log(&looks) || is_code(p, n, readable, &looks) ? SR_SEGMENT_CODE
                                                                          : SR_SEGMENT_PROSE;
}
