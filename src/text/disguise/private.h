/* What the files of deobfuscate share. Private to the layer. */
#ifndef SR_TEXT_DISGUISE_PRIVATE_H
#define SR_TEXT_DISGUISE_PRIVATE_H

#include "text/disguise/deobfuscate.h"

/* ---- patches: bytes of a text that read differently ---- */

/* Bytes [start, end) of a text read as `n` bytes at `at` of the list's `bytes`. Texts are below 4 GiB. */
struct sr_patch {
    uint32_t start, end;
    uint32_t at, n;
    uint32_t undone; /* bytes in words that certainly read so, with what parts them from the patch before */
    uint32_t likely; /* bytes in words that may not */
    uint32_t disguise;
};

/* Patches by offset, without overlaps. Owns its memory. */
struct sr_patches {
    struct sr_patch *items;
    size_t n, cap;
    char *bytes;
    size_t n_bytes, cap_bytes;
    int rc; /* SR_OK or SR_ENOMEM: adding does nothing after a failure */
};

/* Zeros are an empty list. */
void sr_patches_dispose(struct sr_patches *list);

/* Appends to the replacement of the patch that is added next. */
void sr_patches_put(struct sr_patches *list, const char *p, size_t n);

/* Adds a patch for [start, end), which is not empty and begins at or after the end of the last one. Its
 * replacement is what was put since. `sure`: it certainly reads so. */
void sr_patches_add(struct sr_patches *list, size_t start, size_t end, uint32_t disguise, bool sure);

/* Drops all patches from the `n`th on, and what was put for them. */
void sr_patches_cut(struct sr_patches *list, size_t n);

/* ---- layers: from the bytes of a view to those of the given text ---- */

/* Bytes [start, end) of a view's text come from [from, to) of the text below it. */
struct sr_layer_piece {
    uint32_t start, end, from, to;
};

/* A view's text: its pieces, between which it is the same as the text below it. */
struct sr_layer {
    const struct sr_layer *below; /* NULL: the text below is the given one */
    uint32_t from;                /* where the view's first byte is in the text below, if no piece is there */
    uint32_t n_pieces;
    const struct sr_layer_piece *pieces;
};

/* The bytes of the given text that bytes [*start, *end) of a layer's text come from. True when some of them
 * read differently there. */
bool sr_layer_locate(const struct sr_layer *layer, size_t *start, size_t *end);

/* True when [start, end) of a layer's text touches one of its own pieces. */
bool sr_layer_touches(const struct sr_layer *layer, size_t start, size_t end);

/* Offsets at or before `at` among n that ascend, the first at `first` and each `step` bytes after the one
 * before. */
size_t sr_count_to(const uint32_t *first, size_t n, size_t step, size_t at);

/* Sets the covers of a list whose views are in order. SR_ENOMEM. */
int sr_cover_views(struct sr_undisguised_list *list, struct sr_arena *arena) SR_WARN_UNUSED;

/* ---- passes over a text: each adds its patches or finds the next run ---- */

enum {
    SR_PASS_ESCAPES = 1, /* sr_patch_escapes */
    SR_PASS_HIDDEN = 2,  /* sr_patch_hidden */
    SR_PASS_WORDS = 4,   /* sr_patch_words */
    SR_PASS_RUNS = 8,    /* sr_find_run */
    SR_PASS_TURNED = 16, /* sr_find_turned */
    SR_PASS_ALL = 31,
};

/* The passes that may find something: of a short text, those without which nothing is lost. */
unsigned sr_passes_for(struct sr_bytes text);

/* Escapes of characters: percent, entities, backslashes, quoted-printable. */
void sr_patch_escapes(struct sr_bytes text, struct sr_patches *out);

/* Characters that are not shown as they are stored: tags, bytes in variation selectors, right-to-left
 * overrides. */
void sr_patch_hidden(struct sr_bytes text, struct sr_patches *out);

/* Words: invisible characters, look-alikes, spaced letters, leet. */
void sr_patch_words(struct sr_bytes text, struct sr_patches *out);

/* Characters without a glyph: format characters, fillers and blanks of other scripts, selectors, those that
 * stand for nothing; also the joiner of Arabic letters, which is one between Latin letters. */
bool sr_is_invisible(int32_t cp);

/* Letters that stand apart from the word at `at` on: adds a patch for all of them and returns its end; 0 when
 * there are none, or too few. */
size_t sr_patch_apart(struct sr_bytes text, size_t at, struct sr_patches *out);

/* The Latin letter or digit that a character looks like, or 0. `*sure`: the character has no other use than
 * style. */
char sr_lookalike(int32_t cp, bool *sure);

/* An encoded stretch of a text. */
struct sr_run {
    size_t start, end;
    size_t n;      /* bytes that it decodes to */
    bool in_place; /* short: it reads so where it stands, among its neighbours */
    bool alone;    /* long enough to be read by itself */
    bool words;    /* its pieces may also be words, encoded one by one: sr_run_words */
    uint32_t disguise;
    unsigned char kind, mode; /* how to decode it: of runs.c */
};

/* The first run that begins at or after `from`. Calls from run to run take linear time together. */
bool sr_find_run(struct sr_bytes text, size_t from, struct sr_run *run);

/* Writes the run's `n` decoded bytes. */
void sr_run_decode(struct sr_bytes text, const struct sr_run *run, char *out);

/* The run with each piece decoded by itself, and spaces between them. */
struct sr_run sr_run_words(struct sr_bytes text, const struct sr_run *run);

/* Codes of single characters: decimal numbers, Morse. Finds a run that begins at `at`; false when none does,
 * and then `*skip` bytes need no second look. `out` receives the text when it is not NULL. */
bool sr_find_codes(struct sr_bytes text, size_t at, struct sr_run *run, char *out, size_t *skip);

/* How words are changed. */
enum sr_turned { SR_TURNED_ROT13, SR_TURNED_BACKWARDS };

/* A stretch of words that reads as English when they are turned. */
struct sr_turned_run {
    size_t start, end;
    bool mixed; /* may contain words of another language, or in clear */
};

/* The first one at or after `from`. */
bool sr_find_turned(struct sr_bytes text, size_t from, enum sr_turned how, struct sr_turned_run *run);
char sr_rot13(char c);

#endif
