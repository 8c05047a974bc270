/*
 * Windows of a text that is longer than an encoder reads at once: where they are cut, and how what they say
 * becomes one vector again.
 *
 * A text that fits is one window. A longer one becomes the fewest windows that cover it with `overlap` tokens
 * shared by neighbours, all of the same length but for one token, so that none reads a mere rest. Or, `full`:
 * all of the largest length, one after the other from the start, and the last ends with the text: then a text
 * that grows keeps all windows but its last. Cuts are at tokens; each window gets the template's tokens
 * around it. Nothing is left out but what lies behind max_windows, and that is said. The vector of a text is
 * the mean of its windows' vectors, weighted by the windows' own tokens, at length 1.
 */
#ifndef SR_INFER_WINDOWS_H
#define SR_INFER_WINDOWS_H

#include "model/tokenizer/tokenizer.h"

#include <stdbool.h>

#define SR_WINDOWS_OVERLAP 64u /* tokens */
#define SR_WINDOWS_MAX     64u /* of one text: 28,000 tokens of an encoder with 512 positions */

struct sr_windows_options {
    size_t max_tokens;  /* of a window, template included */
    size_t overlap;     /* tokens of the text; at most a quarter of a window is used */
    size_t max_windows; /* of one text, at least 1 */
    bool offsets;       /* keep where each token of the text lies */
    bool full;          /* windows of the largest length, the last one overlapping more */
};

/* Tokens of the text that a window has room for beside a template of `own`, and those it shares with the
 * next. */
struct sr_windows_shape {
    size_t room, overlap;
};
struct sr_windows_shape sr_windows_shape(const struct sr_windows_options *options, size_t own);

/* For an encoder of `max_tokens` positions. */
struct sr_windows_options sr_windows_defaults(size_t max_tokens);

struct sr_window {
    const int32_t *ids; /* [n_ids], template included */
    uint32_t n_ids;
    uint32_t first, count; /* tokens of the text */
    uint32_t start, end;   /* bytes of the text that they cover */
};

/* Everything belongs to the arena. An empty text is one window of the template alone (n_ids may be 0 where
 * there is no template: nothing to read then). */
struct sr_windows {
    struct sr_window *items; /* [n], in the order of the text */
    size_t n;
    size_t tokens;                 /* of the text, template not counted */
    size_t read;                   /* of these, inside a window */
    size_t total_ids;              /* of all windows: what the encoder computes */
    size_t read_bytes;             /* the text's bytes that were read: [0, read_bytes) */
    const uint32_t *starts, *ends; /* [read] bytes of each token of the text; NULL without `offsets` */
};

/* Tokenizes `text` and cuts it. SR_EINVAL when the template leaves no room for a token, SR_ELIMIT for texts
 * over SR_TOKENIZER_TEXT_MAX or an arena that is full, SR_ENOMEM. Any thread. */
int sr_windows_cut(struct sr_windows *out, struct sr_tokenizer *tokenizer, struct sr_bytes text,
                   const struct sr_windows_options *options, struct sr_arena *arena) SR_WARN_UNUSED;

/* The mean of `vectors` ([windows->n][d], each of any length) into out[d], at length 1 (all zeros stay). */
void sr_windows_join(const struct sr_windows *windows, const float *vectors, size_t d, float *out);

#endif
