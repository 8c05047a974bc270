/*
 * Undoes disguises: forms of words that an n-gram model does not recognise but people and models do.
 *
 * A text gives views: rewritten (invisible characters, look-alikes, spaced letters, leet) and decoded (pieces
 * in base64, hexadecimal or ROT13, also inside of one another). A plain text gives none, in one pass. The
 * views are for classifiers: a rewritten word is likelier, not certain.
 */
#ifndef SR_TEXT_DISGUISE_DEOBFUSCATE_H
#define SR_TEXT_DISGUISE_DEOBFUSCATE_H

#include "base/arena.h"

#include <stdint.h>

enum sr_disguise {
    SR_DISGUISE_INVISIBLE = 1, /* zero-width characters, tags, soft hyphens inside words */
    SR_DISGUISE_LOOKALIKE =
        2, /* Cyrillic and Greek among Latin letters, full-width, styled letters, piled marks */
    SR_DISGUISE_SPACED = 4,  /* i g n o r e, i.g.n.o.r.e */
    SR_DISGUISE_LEET = 8,    /* 1gn0r3 */
    SR_DISGUISE_BASE64 = 16, /* at least SR_DISGUISE_BASE64_MIN characters */
    SR_DISGUISE_HEX = 32,    /* at least SR_DISGUISE_HEX_MIN digits */
    SR_DISGUISE_ROT13 = 64,  /* at least three words */
};

#define SR_DISGUISE_BASE64_MIN 20
#define SR_DISGUISE_HEX_MIN    24
#define SR_DISGUISE_VIEWS_MAX  256 /* of one text */
#define SR_DISGUISE_LEFT_MAX   16  /* visible bytes that cannot hold an instruction */

/* "base64", ...: of one bit. */
const char *sr_disguise_name(enum sr_disguise disguise);

/* A piece of the text as it reads undisguised. */
struct sr_undisguised {
    struct sr_bytes text;
    size_t start, end; /* what it stands for: bytes of the text that was given */
    size_t undone;     /* bytes of them that were disguised, without the neighbours; 0 where some of them may
                          read better as they were written, or where an outer view counts them */
    uint32_t disguise; /* enum sr_disguise, one or several */
};

/* Views in order of their place, at most SR_DISGUISE_VIEWS_MAX; each is at most `reach` bytes longer on
 * either side than what was undone, so that a word is seen among its neighbours. Any bytes are a text. What
 * is made lives in `arena`. SR_ENOMEM. */
int sr_undisguise(struct sr_bytes text, size_t reach, struct sr_arena *arena,
                  const struct sr_undisguised **views, size_t *n) SR_WARN_UNUSED;

/* Need bytes [start, end) of `text` not be read as they were written, beside its views? So it is where most
 * of them were disguised and nothing of SR_DISGUISE_LEFT_MAX bytes or more stands in no view: what hides
 * beside a disguised part is still read. Pure. */
bool sr_undisguised_stand_for(struct sr_bytes text, const struct sr_undisguised *views, size_t n,
                              size_t start, size_t end);

#endif
