/*
 * Rewrites word by word: a word is a run of bytes between white space. A patch says what a word reads as.
 */
#include "base/unicode.h"
#include "base/utf8.h"
#include "text/disguise/private.h"

#define WORD_MAX   96 /* maximum characters of a word; of a longer one each such part is examined */
#define SPACED_MIN 4  /* minimum number of single letters in a row that count as spaced */

/* A character of a word, and the character that it looks like. */
struct point {
    int32_t cp;
    uint32_t at, n; /* bytes of the text */
    char latin;     /* what it looks like; 0 = itself */
    bool sure;
};

struct word {
    struct point points[WORD_MAX];
    size_t n;
    size_t start, end;
    bool partial; /* a part of a longer word */
};

static inline size_t decode(struct sr_bytes text, size_t at, int32_t *cp)
{
    *cp = (unsigned char)text.p[at];
    return *cp < 0x80 ? 1 : sr_utf8_decode(text, at, cp);
}

static bool is_space(int32_t cp)
{
    return cp == ' ' || (cp >= '\t' && cp <= '\r') || cp == 0xA0 || cp == 0x3000 ||
           (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 || cp == 0x202F || cp == 0x205F;
}

static bool is_mark(int32_t cp)
{
    return cp >= 0x300 && (sr_unicode_kind(cp) & SR_UNICODE_MARK);
}

static bool is_ascii_letter(int32_t cp)
{
    return cp < 0x80 && (unsigned)((cp | 0x20) - 'a') < 26;
}

/* The patch that a word at `start` adjoins, or NULL. */
static const struct sr_patch *patch_beside(const struct sr_patches *out, size_t start)
{
    const struct sr_patch *last = out->n ? &out->items[out->n - 1] : NULL;
    return last && last->end + (size_t)1 >= start ? last : NULL;
}

/* Reads the word at `at`, or its first WORD_MAX characters. Returns the end. */
static size_t read_word(struct sr_bytes text, size_t at, struct word *word)
{
    word->n = 0;
    word->start = at;
    word->partial = at > 0 && (unsigned char)text.p[at - 1] > ' ';
    while (at < text.n) {
        int32_t cp;
        size_t n = decode(text, at, &cp);
        if (is_space(cp))
            break;
        if (word->n == WORD_MAX) {
            word->partial = true;
            break;
        }
        struct point *p = &word->points[word->n++];
        *p = (struct point){.cp = cp, .at = (uint32_t)(at - word->start), .n = (uint32_t)n};
        p->latin = sr_lookalike(cp, &p->sure);
        at += n;
    }
    word->end = at;
    return at;
}

/* ---- the four rewritings of a word ---- */

/* A letter, or what numbers and addresses consist of. */
static bool is_letter(const struct point *p)
{
    return is_ascii_letter(p->cp) || p->latin || (p->cp >= '0' && p->cp <= '9') || p->cp == '@' ||
           p->cp == '.' || p->cp == '-';
}

/* True when an invisible character is between two letters. */
static bool splits_letters(const struct word *word)
{
    const struct point *before = NULL;
    bool hidden = false;
    for (size_t i = 0; i < word->n; i++) {
        const struct point *p = &word->points[i];
        if (sr_is_invisible(p->cp)) {
            hidden = true;
            continue;
        }
        if (hidden && before && is_letter(before) && is_letter(p))
            return true;
        hidden = false;
        before = p;
    }
    return false;
}

/* Removes invisible characters that split words or that are in a word next to such words, and marks that are
 * stacked on letters. */
static uint32_t drop_invisible(struct word *word, bool beside)
{
    size_t kept = 0, letters = 0, marks = 0, hidden = 0;
    for (size_t i = 0; i < word->n; i++) {
        letters += is_letter(&word->points[i]);
        marks += is_mark(word->points[i].cp);
        hidden += sr_is_invisible(word->points[i].cp);
    }
    bool piled = marks >= 3 && marks * 2 > letters && letters > 0;
    bool split = splits_letters(word) || (beside && hidden && letters);
    if (!split && !piled)
        return 0;
    for (size_t i = 0; i < word->n; i++) {
        struct point p = word->points[i];
        if (!sr_is_invisible(p.cp) && !(piled && is_mark(p.cp)))
            word->points[kept++] = p;
    }
    word->n = kept;
    return split ? SR_DISGUISE_INVISIBLE : SR_DISGUISE_LOOKALIKE;
}

/* Look-alikes are replaced where they are styled letters, where Latin letters are next to them, or where all
 * letters of other alphabets are `posing` as Latin ones. */
static uint32_t read_lookalikes(struct word *word, bool posing)
{
    size_t latin = 0, like = 0, sure = 0, other = 0;
    for (size_t i = 0; i < word->n; i++) {
        const struct point *p = &word->points[i];
        latin += is_ascii_letter(p->cp);
        like += p->latin != 0;
        sure += p->latin && p->sure;
        other += p->cp >= 0x80 && !p->latin && !sr_is_invisible(p->cp) && !is_mark(p->cp);
    }
    bool mixed = like > 0 && (latin > 0 || posing) && other <= 1;
    bool flags = sure == 2 && word->n == 2 && word->points[0].cp >= 0x1F1E6 && word->points[0].cp <= 0x1F1FF;
    if ((!mixed && !sure) || flags) {
        for (size_t i = 0; i < word->n; i++)
            word->points[i].latin = 0;
        return 0;
    }
    for (size_t i = 0; i < word->n; i++) {
        struct point *p = &word->points[i];
        if (!p->latin || (!mixed && !p->sure))
            continue;
        p->cp = p->latin;
        p->latin = 0;
    }
    return SR_DISGUISE_LOOKALIKE;
}

static char leet_letter(int32_t cp)
{
    static const char from[] = "013457@$!|+", to[] = "oieastasilt";
    const char *found = cp > 0 && cp < 0x80 ? strchr(from, (int)cp) : NULL;
    return found ? to[found - from] : 0;
}

static bool is_digit(int32_t cp)
{
    return cp >= '0' && cp <= '9';
}

/* a11y, l10n: a number of letters between two of them; W3C: capitals around a digit. */
static bool is_numeronym(const struct point *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i].cp == '\'' || p[i].cp == '-')
            n = i;
    if (n == 4)
        return is_ascii_letter(p[0].cp) && p[1].cp == '1' && is_digit(p[2].cp) && is_ascii_letter(p[3].cp);
    return n == 3 && p[0].cp >= 'A' && p[0].cp <= 'Z' && is_digit(p[1].cp) && p[2].cp >= 'A' &&
           p[2].cp <= 'Z';
}

/* A digit or sign that replaces a letter has letters around it and no other digits near, in contrast to
 * counters and versions. */
static uint32_t read_leet(struct word *word)
{
    size_t first = 0, last = word->n, letters = 0, codes = 0, before_letter = 0, digits = 0;
    while (first < last && !is_ascii_letter(word->points[first].cp) && !leet_letter(word->points[first].cp))
        first++;
    while (last > first && !is_ascii_letter(word->points[last - 1].cp) &&
           !is_digit(word->points[last - 1].cp))
        last--;
    for (size_t i = first; i < last; i++) {
        int32_t cp = word->points[i].cp;
        bool code = leet_letter(cp) != 0;
        letters += is_ascii_letter(cp);
        codes += code;
        digits = is_digit(cp) ? digits + 1 : 0;
        before_letter += code && i + 1 < last && is_ascii_letter(word->points[i + 1].cp);
        if ((!code && !is_ascii_letter(cp) && cp != '\'' && cp != '-' && cp != '_') || digits > 2)
            return 0;
    }
    if (letters < 2 || codes == 0 || before_letter == 0 || letters + codes < 3 || codes > letters * 2 ||
        is_numeronym(&word->points[first], last - first))
        return 0;
    /* 3rd, 1st, 5kg are numbers; 4ll and 4nd are words. */
    const struct point *p = &word->points[first];
    bool number = codes == 1 && letters == 2 && is_digit(p->cp);
    bool known =
        number && p->cp == '4' && ((p[1].cp == 'l' && p[2].cp == 'l') || (p[1].cp == 'n' && p[2].cp == 'd'));
    if (number && !known)
        return 0;
    for (size_t i = first; i < last; i++) {
        char letter = leet_letter(word->points[i].cp);
        if (letter)
            word->points[i].cp = letter;
    }
    return SR_DISGUISE_LEET;
}

/* i.g.n.o.r.e: single letters with one mark between every two. */
static uint32_t join_marked(struct word *word)
{
    size_t letters = 0;
    if (word->n < 7)
        return 0;
    int32_t separator = word->points[1].cp;
    if (separator != '.' && separator != '-' && separator != '_' && separator != '*' && separator != '/' &&
        separator != '|' && separator != ',')
        return 0;
    for (size_t i = 0; i < word->n; i++) {
        bool odd = i & 1;
        if (odd ? word->points[i].cp != separator : !is_ascii_letter(word->points[i].cp))
            return 0;
        letters += !odd;
    }
    for (size_t i = 0; i < letters; i++)
        word->points[i] = word->points[i * 2];
    word->n = letters;
    return SR_DISGUISE_SPACED;
}

/* ---- spaced letters ---- */

/* Single letters with spaces between them: the most in a row from `at`, and where they end. After the first
 * SPACED_MIN, other single characters belong to them. */
static size_t spaced_end(struct sr_bytes text, size_t at, size_t *letters)
{
    size_t end = at, i = at, row = 0;
    *letters = 0;
    while (i < text.n) {
        int32_t cp;
        size_t n = decode(text, i, &cp), gap = 0;
        bool alone = i + n == text.n || (unsigned char)text.p[i + n] <= ' ', letter = is_ascii_letter(cp);
        if (!alone || is_space(cp) || (!letter && *letters < SPACED_MIN))
            break;
        row = letter ? row + 1 : 0;
        *letters = row > *letters ? row : *letters;
        end = i += n;
        while (i + gap < text.n && text.p[i + gap] == ' ' && gap < 4)
            gap++;
        if (gap == 0)
            break;
        i += gap;
    }
    return end;
}

/* One space is removed, several become one. */
static void put_spaced(struct sr_bytes text, size_t at, size_t end, struct sr_patches *out)
{
    for (size_t i = at; i < end; i++)
        if (text.p[i] != ' ')
            sr_patches_put(out, text.p + i, 1);
        else if (text.p[i + 1] == ' ' && text.p[i - 1] != ' ')
            sr_patches_put(out, " ", 1);
    sr_patches_add(out, at, end, SR_DISGUISE_SPACED, true);
}

static void rewrite_word(struct sr_bytes text, struct word *word, bool posing, struct sr_patches *out)
{
    const struct sr_patch *beside = patch_beside(out, word->start);
    uint32_t disguise = drop_invisible(word, beside && (beside->disguise & SR_DISGUISE_INVISIBLE));
    disguise |= read_lookalikes(word, posing);
    disguise |= join_marked(word);
    disguise |= word->partial ? 0 : read_leet(word);
    if (!disguise)
        return;
    for (size_t i = 0; i < word->n; i++) {
        const struct point *p = &word->points[i];
        char one = p->latin ? p->latin : (char)p->cp;
        if (p->cp < 0x80 || p->latin)
            sr_patches_put(out, &one, 1);
        else
            sr_patches_put(out, text.p + word->start + p->at, p->n);
    }
    sr_patches_add(out, word->start, word->end, disguise, !(disguise & SR_DISGUISE_LEET));
}

/* The end of a word that cannot hide anything: ASCII, no sign for a letter before a letter, no separator
 * after its first letter. 0 where it needs a closer check. */
static size_t plain_end(struct sr_bytes text, size_t at)
{
    static const char codes[] = "013457@$!|+", separators[] = ".-_*/|,";
    size_t i = at;
    for (; i < text.n && (unsigned char)text.p[i] > ' '; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (is_ascii_letter(c))
            continue;
        bool before_letter = i + 1 < text.n && is_ascii_letter((unsigned char)text.p[i + 1]);
        if (c >= 0x80 || (before_letter && strchr(codes, c)) || (i == at + 1 && strchr(separators, c)))
            return 0;
    }
    return i;
}

static bool is_of_other_alphabet(int32_t cp)
{
    return (cp >= 0x370 && cp < 0x590) || (cp >= 0x13A0 && cp < 0x1400);
}

/* True when a word mixes Latin letters with those of another alphabet, all of which look like Latin ones. */
static bool is_posing(struct sr_bytes text)
{
    bool latin = false, like = false, mixed = false, sure;
    for (size_t at = 0; at < text.n;) {
        int32_t cp;
        at += decode(text, at, &cp);
        bool other = is_of_other_alphabet(cp);
        if (other && !sr_lookalike(cp, &sure))
            return false;
        bool space = is_space(cp);
        latin = !space && (latin || is_ascii_letter(cp));
        like = !space && (like || other);
        mixed |= latin && like;
    }
    return mixed;
}

void sr_patch_words(struct sr_bytes text, struct sr_patches *out)
{
    struct word word;
    bool posing = is_posing(text);
    for (size_t at = 0; at < text.n && out->rc == SR_OK;) {
        int32_t cp;
        size_t letters, n = decode(text, at, &cp);
        if (is_space(cp)) {
            at += n;
            continue;
        }
        size_t end = spaced_end(text, at, &letters);
        if (letters >= SPACED_MIN) {
            put_spaced(text, at, end, out);
            at = end;
            continue;
        }
        end = sr_patch_apart(text, at, out);
        if (end > at) {
            at = end;
            continue;
        }
        end = plain_end(text, at);
        if (end <= at) {
            end = read_word(text, at, &word);
            rewrite_word(text, &word, posing, out);
        }
        at = end;
    }
}
