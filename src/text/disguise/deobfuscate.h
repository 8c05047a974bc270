/*
 * Undoes disguises: forms of words that an n-gram model does not recognise but people and models do.
 *
 * A text gives views: rewritten (invisible characters, look-alikes, spaced letters, leet) and decoded (pieces
 * in base64, hexadecimal or ROT13, also nested). A plain text has no views, which one pass finds. The views
 * are for classifiers: a rewritten word is likely, not certain.
 */
#ifndef SR_TEXT_DISGUISE_DEOBFUSCATE_H
#define SR_TEXT_DISGUISE_DEOBFUSCATE_H

#include "base/arena.h"

#include <stdint.h>

enum sr_disguise {
    SR_DISGUISE_INVISIBLE = 1, /* zero-width characters, tags, soft hyphens inside words */
    SR_DISGUISE_LOOKALIKE = 2, /* Cyrillic and Greek among Latin letters, full-width, styled, stacked marks */
    SR_DISGUISE_SPACED = 4,    /* i g n o r e, i.g.n.o.r.e */
    SR_DISGUISE_LEET = 8,      /* 1gn0r3 */
    SR_DISGUISE_BASE64 = 16,   /* at least SR_DISGUISE_BASE64_MIN characters */
    SR_DISGUISE_HEX = 32,      /* at least SR_DISGUISE_HEX_MIN digits */
    SR_DISGUISE_ROT13 = 64,    /* at least three words */
};

#define SR_DISGUISE_BASE64_MIN 20
#define SR_DISGUISE_HEX_MIN    24
#define SR_DISGUISE_VIEWS_MAX  256 /* of one text */
#define SR_DISGUISE_LEFT_MAX   16  /* bytes of visible text too short to hold an instruction */

/* The name of one bit: "base64", ... */
const char *sr_disguise_name(enum sr_disguise disguise);

/* A piece of the text with its disguise undone. */
struct sr_undisguised {
    struct sr_bytes text;
    size_t start, end; /* the bytes of the given text that it replaces */
    size_t undone;     /* bytes of them that were disguised, without the neighbours; 0 where some of them may
                          read better as they were written, or where an outer view counts them */
    uint32_t disguise; /* bits of enum sr_disguise */
};

/* Finds views in order of their offset, at most SR_DISGUISE_VIEWS_MAX; each extends at most `reach` bytes
 * beyond the disguise on either side, so that words keep their context. Any bytes are a text. The views are
 * allocated in `arena`. SR_ENOMEM. */
int sr_undisguise(struct sr_bytes text, size_t reach, struct sr_arena *arena,
                  const struct sr_undisguised **views, size_t *n) SR_WARN_UNUSED;

/* True when the views of `text` replace bytes [start, end), so that these need no classification as they were
 * written: most of them were disguised, and no run of SR_DISGUISE_LEFT_MAX bytes or more is outside all
 * views. So text next to a disguised part is still classified. Pure. */
bool sr_undisguised_stand_for(struct sr_bytes text, const struct sr_undisguised *views, size_t n,
                              size_t start, size_t end);

#endif
