/* Capitals, and tokens that are one word. */
#include "infer/classifier/word.h"

#include "base/unicode.h"

#include <string.h>

#define IN_WORD     ((unsigned)SR_UNICODE_LETTER | SR_UNICODE_MARK | SR_UNICODE_DIGIT)
#define SMALL_LEAST 0.35 /* share of a text's words, where it writes common words in small letters */

/* A mark that a sentence, an item or a quotation begins behind. */
static bool is_opening(int32_t cp)
{
    return (cp < 0x80 && cp > 0 && strchr(".?!:;\n\"([*-|", (int)cp)) || cp == 0x201c || cp == 0x201d ||
           cp == 0x2022 || cp == 0x2013 || cp == 0x2014;
}

static bool begins_sentence(struct sr_bytes text, size_t at)
{
    int32_t cp = 0;
    while (at > 0 && (text.p[at - 1] == ' ' || text.p[at - 1] == '\t' || text.p[at - 1] == '\r'))
        at--;
    if (at == 0)
        return true;
    sr_utf8_decode_before(text, at, &cp);
    return is_opening(cp);
}

/* Does the text write some words with a capital, and enough of the others without? */
static bool uses_capitals(struct sr_bytes text)
{
    size_t small = 0, tall = 0;
    bool inside = false;
    for (size_t at = 0; at < text.n;) {
        int32_t cp = 0;
        at += sr_utf8_decode(text, at, &cp);
        unsigned kind = sr_unicode_kind(cp);
        if (!inside) {
            small += (kind & SR_UNICODE_LOWER) != 0;
            tall += (kind & SR_UNICODE_UPPER) != 0;
        }
        inside = (kind & IN_WORD) != 0;
    }
    return small > 0 && tall > 0 && (double)small >= SMALL_LEAST * (double)(small + tall);
}

/* The word that the token at [start, end) belongs to. */
static void find_word(struct sr_bytes text, size_t *start, size_t *end)
{
    size_t low = *start > SR_WORD_MOST ? *start - SR_WORD_MOST : 0;
    size_t high = text.n - *end > SR_WORD_MOST ? *end + SR_WORD_MOST : text.n;
    int32_t cp = 0;
    while (*start > low) {
        size_t n = sr_utf8_decode_before(text, *start, &cp);
        if (!(sr_unicode_kind(cp) & IN_WORD))
            break;
        *start -= n;
    }
    while (*end < high) {
        size_t n = sr_utf8_decode(text, *end, &cp);
        if (!(sr_unicode_kind(cp) & IN_WORD))
            break;
        *end += n;
    }
}

static enum sr_word_case case_of(struct sr_bytes text, size_t start, size_t end)
{
    int32_t cp = 0;
    sr_utf8_decode(text, start, &cp);
    if (!(sr_unicode_kind(cp) & IN_WORD))
        return SR_WORD_PLAIN;
    find_word(text, &start, &end);
    sr_utf8_decode(text, start, &cp);
    unsigned first = sr_unicode_kind(cp);
    size_t letters = 0, upper = 0;
    for (size_t at = start; at < end;) {
        at += sr_utf8_decode(text, at, &cp);
        unsigned kind = sr_unicode_kind(cp);
        letters += (kind & SR_UNICODE_LETTER) != 0;
        upper += (kind & SR_UNICODE_UPPER) != 0;
    }
    if (first & SR_UNICODE_LOWER)
        return upper ? SR_WORD_PLAIN : SR_WORD_SMALL;
    if (!(first & SR_UNICODE_UPPER))
        return SR_WORD_PLAIN;
    if (letters > 1 && upper == letters)
        return SR_WORD_TALL;
    return begins_sentence(text, start) ? SR_WORD_FIRST : SR_WORD_INSIDE;
}

void sr_word_cases(struct sr_bytes text, const uint32_t *starts, const uint32_t *ends, size_t n, uint8_t *out)
{
    bool used = uses_capitals(text);
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)(used && starts[i] < ends[i] ? case_of(text, starts[i], ends[i]) : SR_WORD_PLAIN);
}

/* A letter or a mark on one, of a script that writes words apart; Korean joins particles to them. */
static bool joins(int32_t cp)
{
    return (sr_unicode_kind(cp) & ((unsigned)SR_UNICODE_LETTER | SR_UNICODE_MARK)) != 0 &&
           sr_unicode_class(cp) == SR_UNICODE_WORD;
}

bool sr_word_continues(struct sr_bytes before, struct sr_bytes token, bool spaced)
{
    int32_t last = 0, first = 0;
    if (token.n > 2 && sr_bytes_starts_with(token, SR_LIT("##")))
        return true;
    if (!spaced || before.n == 0 || token.n == 0 || sr_bytes_starts_with(token, SR_LIT(SR_WORD_SPACED)))
        return false;
    sr_utf8_decode_before(before, before.n, &last);
    sr_utf8_decode(token, 0, &first);
    return joins(last) && joins(first);
}
