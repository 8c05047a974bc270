/*
 * Whether a text is in English: a model whose vocabulary is English spells other languages in Latin script
 * and hardly knows what their words mean.
 *
 * As a whole, for what a text is about; and by pieces, for one sentence in a long text, of which a share of
 * the whole says little. Pure and thread-safe. The cost is bounded: one look, or SR_ENGLISH_PIECES of them,
 * three where the text is English.
 */
#ifndef SR_TEXT_ENGLISH_H
#define SR_TEXT_ENGLISH_H

#include "base/bytes.h"

#include <stdbool.h>

#define SR_ENGLISH_PIECE  512u /* bytes; the next one begins SR_ENGLISH_STEP bytes later */
#define SR_ENGLISH_STEP   384u
#define SR_ENGLISH_PIECES 32u /* of one text; of a longer one this many places are read */

/* False when most of the text is, most likely, in another language. True also where no language was
 * recognised, as of a formula. A few words may be mistaken. `text` must be valid UTF-8. */
bool sr_english_is_main(struct sr_bytes text);

/* A piece is in another language when most of it surely is; it has English from a tenth on. */
enum sr_english {
    SR_ENGLISH_ALL,  /* no piece is in another language, or it cannot be told */
    SR_ENGLISH_PART, /* other languages, but not alone; also a text that is too long to be sure */
    SR_ENGLISH_NONE, /* each piece is in another language and has no English */
};

/* `text` must be valid UTF-8. */
enum sr_english sr_english_by_pieces(struct sr_bytes text);

#endif
