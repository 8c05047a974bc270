/* Asks the language detector about the whole, or about one piece after the other. */
#include "text/english.h"

#include "text/language.h"

#include <string.h>

#define OTHER_LEAST   0.5F /* the share of other languages that makes a text one; half as much if not sure */
#define ENGLISH_LEAST 0.1F
#define FIRST_PLACES  3u /* beginning, middle and end, before the rest is read */

struct pieces {
    struct sr_bytes text;
    size_t n;
    bool seen[SR_ENGLISH_PIECES];
    size_t other, english; /* pieces in other languages, and pieces with English or of no language */
};

static bool is_middle(struct sr_bytes text, size_t at)
{
    return at < text.n && ((unsigned char)text.p[at] & 0xC0) == 0x80;
}

/* Piece `i`; those of a long text do not meet. */
static struct sr_bytes piece_at(const struct pieces *pieces, size_t i)
{
    struct sr_bytes text = pieces->text;
    size_t start = 0, end = text.n;
    if (pieces->n > 1) { /* the last one ends with the text */
        start = (size_t)((double)(text.n - SR_ENGLISH_PIECE) / (double)(pieces->n - 1) * (double)i);
        end = i + 1 == pieces->n ? text.n : start + SR_ENGLISH_PIECE;
    }
    while (is_middle(text, start))
        start++;
    while (end < text.n && is_middle(text, end))
        end++;
    return sr_bytes_of(text.p + start, end > start ? end - start : 0);
}

static void look_at(struct pieces *pieces, size_t i)
{
    if (pieces->seen[i])
        return;
    pieces->seen[i] = true;
    struct sr_languages found = sr_language_detect(piece_at(pieces, i));
    float other = 0, english = 0;
    for (int k = 0; k < found.count; k++)
        *(strcmp(found.items[k].code, "en") == 0 ? &english : &other) += found.items[k].confidence;
    pieces->other += other >= OTHER_LEAST;
    pieces->english += english >= ENGLISH_LEAST || other < OTHER_LEAST;
}

bool sr_english_is_main(struct sr_bytes text)
{
    struct sr_languages found = sr_language_detect(text);
    return found.count == 0 || strcmp(found.items[0].code, "en") == 0 ||
           found.items[0].confidence <= OTHER_LEAST; /* not sure, or a half and less of the text */
}

enum sr_english sr_english_by_pieces(struct sr_bytes text)
{
    struct pieces pieces = {.text = text};
    size_t rest = text.n > SR_ENGLISH_PIECE ? text.n - SR_ENGLISH_PIECE : 0;
    size_t n = 1 + (rest + SR_ENGLISH_STEP - 1) / SR_ENGLISH_STEP;
    if (text.n == 0)
        return SR_ENGLISH_ALL;
    pieces.n = n < SR_ENGLISH_PIECES ? n : SR_ENGLISH_PIECES;
    for (size_t i = 0; i < FIRST_PLACES; i++)
        look_at(&pieces, i * (pieces.n - 1) / (FIRST_PLACES - 1));
    if (!pieces.other)
        return SR_ENGLISH_ALL;
    for (size_t i = 0; i < pieces.n; i++)
        look_at(&pieces, i);
    return pieces.english || n > SR_ENGLISH_PIECES ? SR_ENGLISH_PART : SR_ENGLISH_NONE;
}
