/*
 * Letters that stand apart: one by one, with the same few marks, line ends or signs between any two. Spaces
 * and the marks of one word are rewrite.c's.
 */
#include "base/unicode.h"
#include "base/utf8.h"
#include "text/disguise/private.h"

#define LETTERS_MIN ((size_t)6)
#define SAMPLE      ((size_t)16) /* letters that tell what the usual gap is */
#define GAP_MAX     ((size_t)12) /* characters between two letters */
#define OPENING_MAX ((size_t)3)  /* marks before the first letter */

static bool is_letter_at(struct sr_bytes text, size_t at)
{
    return at < text.n && (unsigned)((text.p[at] | 0x20) - 'a') < 26;
}

/* The end of what stands between the letter before `at` and the next one; `at` when no letter follows. */
static size_t gap_end(struct sr_bytes text, size_t at)
{
    size_t end = at;
    for (size_t count = 0; end < text.n && !is_letter_at(text, end); count++) {
        int32_t cp;
        size_t n = sr_utf8_decode(text, end, &cp);
        if (count == GAP_MAX || (cp >= '0' && cp <= '9') ||
            (cp >= 0x80 && sr_unicode_class(cp) != SR_UNICODE_OTHER))
            return at;
        end += n;
    }
    return end < text.n ? end : at;
}

/* The letter behind the one at `at`, 0 when none stands apart. */
static size_t next_of(struct sr_bytes text, size_t at)
{
    size_t next = gap_end(text, at + 1);
    if (next == at + 1)
        return 0;
    int32_t cp;
    size_t n = next + 1 < text.n ? sr_utf8_decode(text, next + 1, &cp) : 0;
    bool ends = !n || (cp < 0x80 ? !is_letter_at(text, next + 1) && !(cp >= '0' && cp <= '9')
                                 : sr_unicode_class(cp) == SR_UNICODE_OTHER);
    return ends ? next : 0;
}

static bool is_gap(struct sr_bytes text, size_t at, size_t next, struct sr_bytes gap)
{
    return sr_bytes_eq(sr_bytes_of(text.p + at + 1, next - at - 1), gap);
}

/* What stands between the letters of a word: the gap that most of the first ones are. */
static struct sr_bytes usual_gap(struct sr_bytes text, size_t first)
{
    struct sr_bytes gap = {.n = 0};
    size_t lead = 0;
    for (size_t i = 0, at = first, next; i < SAMPLE && (next = next_of(text, at)); i++, at = next) {
        if (lead == 0)
            gap = sr_bytes_of(text.p + at + 1, next - at - 1);
        lead = is_gap(text, at, next, gap) ? lead + 1 : lead - 1;
    }
    return gap;
}

/* True when some of a gap is seen. */
static bool is_seen(struct sr_bytes gap)
{
    int32_t cp;
    for (size_t at = 0; at < gap.n;) {
        at += sr_utf8_decode(gap, at, &cp);
        if (!sr_is_invisible(cp))
            return true;
    }
    return false;
}

size_t sr_patch_apart(struct sr_bytes text, size_t at, struct sr_patches *out)
{
    size_t first = at, letters = 1, in_words = 0, last, next;
    while (first < text.n && first - at < OPENING_MAX && (unsigned char)text.p[first] < 0x80 &&
           !is_letter_at(text, first))
        first++;
    if (!is_letter_at(text, first) || is_letter_at(text, first + 1) || !next_of(text, first))
        return 0;
    struct sr_bytes gap = usual_gap(text, first);
    if (!is_seen(gap))
        return 0;
    for (last = first; (next = next_of(text, last)); last = next) {
        in_words += is_gap(text, last, next, gap);
        letters++;
        if (letters == SAMPLE && in_words * 2 < letters) /* what is no such row costs no second look */
            return 0;
    }
    if (letters < LETTERS_MIN || (letters < SAMPLE && in_words * 2 < letters))
        return 0;
    for (size_t i = first; i <= last; i = next) {
        sr_patches_put(out, text.p + i, 1);
        next = i < last ? next_of(text, i) : last + 1;
        if (i < last && !is_gap(text, i, next, gap))
            sr_patches_put(out, " ", 1);
    }
    sr_patches_add(out, first, last + 1, SR_DISGUISE_SPACED, false);
    return last + 1;
}
