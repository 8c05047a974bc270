/*
 * Undoes disguises: forms of words that an n-gram model does not recognise but people and models do.
 *
 * A text gives views: pieces of it with their disguises undone, also disguises within disguises, down to
 * SR_DISGUISE_DEPTH_MAX and SR_DISGUISE_GROWTH. A plain text has no views, which one pass finds. The views
 * are for classifiers: a rewritten word is likely, not certain. Time is linear in the text.
 */
#ifndef SR_TEXT_DISGUISE_DEOBFUSCATE_H
#define SR_TEXT_DISGUISE_DEOBFUSCATE_H

#include "base/arena.h"

#include <stdint.h>

enum sr_disguise {
    SR_DISGUISE_INVISIBLE =
        1, /* zero-width characters and soft hyphens in words, tags, variation selectors */
    SR_DISGUISE_LOOKALIKE = 2, /* Cyrillic and Greek among Latin letters, full-width, styled, stacked marks */
    SR_DISGUISE_SPACED = 4,    /* i g n o r e, i.g.n.o.r.e */
    SR_DISGUISE_LEET = 8,      /* 1gn0r3 */
    SR_DISGUISE_BASE64 = 16,   /* at least SR_DISGUISE_BASE64_MIN characters, also in pieces */
    SR_DISGUISE_HEX = 32,      /* at least SR_DISGUISE_HEX_MIN digits */
    SR_DISGUISE_ROT13 = 64,    /* at least three words */
    SR_DISGUISE_BASE32 = 128,
    SR_DISGUISE_PERCENT = 256,   /* %69gnore, =69gnore */
    SR_DISGUISE_ENTITY = 512,    /* &#105;gnore */
    SR_DISGUISE_ESCAPE = 1024,   /* \u0069gnore, \x69gnore, U+0069 */
    SR_DISGUISE_REVERSED = 2048, /* erongi */
    SR_DISGUISE_BIDI = 4096,     /* stored backwards, shown forwards */
    SR_DISGUISE_CODES = 8192,    /* binary digits, decimal codes, Morse */
};

#define SR_DISGUISE_LAST       SR_DISGUISE_CODES
#define SR_DISGUISE_BASE64_MIN 20
#define SR_DISGUISE_HEX_MIN    24
#define SR_DISGUISE_DEPTH_MAX  6  /* disguises within each other */
#define SR_DISGUISE_GROWTH     4  /* bytes of all views for each byte of the text */
#define SR_DISGUISE_LEFT_MAX   16 /* bytes of visible text too short to hold an instruction */

/* The name of one bit: "base64", ... */
const char *sr_disguise_name(enum sr_disguise disguise);

struct sr_layer;

/* A piece of the text with its disguise undone. */
struct sr_undisguised {
    struct sr_bytes text;
    size_t start, end; /* the bytes of the given text that it replaces */
    size_t undone;     /* bytes of them that were disguised, without the neighbours; 0 where some of them may
                          read better as they were written, or where an outer view counts them */
    uint32_t disguise; /* bits of enum sr_disguise */
    const struct sr_layer *layer;
};

/* A stretch of the text that views replace; `share` of its bytes were disguised. */
struct sr_cover {
    uint32_t start, end;
    float share;
};

struct sr_undisguised_list {
    const struct sr_undisguised *items; /* in the order of `start` */
    size_t n;
    bool cut;                      /* there are more disguises than the limits allow: not all are undone */
    const struct sr_cover *covers; /* by offset, without overlaps */
    size_t n_covers;
};

/* Finds views of `text`, which is shorter than 4 GiB; each extends at most `reach` bytes beyond the disguise
 * on either side, so that words keep their context. Any bytes are a text. The views are allocated in `arena`.
 * SR_ENOMEM, SR_ELIMIT for a longer text. */
int sr_undisguise(struct sr_bytes text, size_t reach, struct sr_arena *arena,
                  struct sr_undisguised_list *out) SR_WARN_UNUSED;

/* The bytes [*from, *to) of the given text that bytes [start, end) of a view's text come from; of an encoded
 * run all of it. True when some of them read differently in the view. */
bool sr_undisguised_locate(const struct sr_undisguised *view, size_t start, size_t end, size_t *from,
                           size_t *to);

/* True when the views of `text` replace bytes [start, end), so that these need no classification as they were
 * written: most of them were disguised, and no run of SR_DISGUISE_LEFT_MAX bytes or more is outside all
 * views. So text next to a disguised part is still classified. Pure; time grows with the views that meet
 * [start, end). */
bool sr_undisguised_stand_for(struct sr_bytes text, const struct sr_undisguised_list *views, size_t start,
                              size_t end);

#endif
