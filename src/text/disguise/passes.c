/*
 * Which passes can find anything in a short text: those whose bytes it has, and enough of them. Finds nothing
 * itself.
 *
 * A request may have tens of thousands of words, most of which need no pass. Of a long text all passes are
 * made.
 */
#include "text/disguise/private.h"

#define SHORT_TEXT ((size_t)256)
#define SPACED     7  /* bytes of the shortest row of single letters: four of them, and what parts them */
#define APART      6  /* letters with any marks between them */
#define RUN        14 /* of the shortest run: five characters give at most four bytes, and ten are enough */

enum {
    HIGH = 1,     /* no ASCII */
    LEADS = 2,    /* may begin an escape */
    REPLACES = 4, /* may stand for a letter */
    PARTS = 8,    /* may part letters */
    BLANK = 16,
    JOINS = 32, /* may make a short run one: padding, or "base64," before it */
    LETTER = 64,
};

static unsigned class_of(unsigned char c)
{
    static const unsigned char signs[128] = {
        ['%'] = LEADS,    ['='] = LEADS | JOINS, ['\\'] = LEADS,   ['&'] = LEADS,    ['U'] = LEADS | LETTER,
        ['0'] = REPLACES, ['1'] = REPLACES,      ['3'] = REPLACES, ['4'] = REPLACES, ['5'] = REPLACES,
        ['7'] = REPLACES, ['@'] = REPLACES,      ['$'] = REPLACES, ['!'] = REPLACES, ['|'] = REPLACES | PARTS,
        ['+'] = REPLACES, ['.'] = PARTS,         ['-'] = PARTS,    ['_'] = PARTS,    ['*'] = PARTS,
        ['/'] = PARTS,    [','] = PARTS | JOINS,
    };
    if (c >= 0x80)
        return HIGH;
    if (c <= ' ')
        return BLANK;
    return (unsigned)((c | 0x20) - 'a') < 26 ? LETTER | signs[c] : signs[c];
}

unsigned sr_passes_for(struct sr_bytes text)
{
    unsigned seen = 0, before = 0, passes = 0;
    size_t words = 0;
    if (text.n > SHORT_TEXT)
        return SR_PASS_ALL;
    for (size_t i = 0; i < text.n; i++) {
        unsigned now = class_of((unsigned char)text.p[i]);
        words += (now & LETTER) && !(before & LETTER);
        seen |= before = now;
    }
    passes |= seen & LEADS ? SR_PASS_ESCAPES : 0;
    passes |= seen & HIGH ? SR_PASS_HIDDEN : 0;
    passes |= seen & (HIGH | REPLACES | PARTS) || (seen & BLANK && text.n >= SPACED) || words >= APART
                  ? SR_PASS_WORDS
                  : 0;
    passes |= seen & JOINS || text.n >= RUN ? SR_PASS_RUNS : 0;
    passes |= words > 1 ? SR_PASS_TURNED : 0;
    return passes;
}
