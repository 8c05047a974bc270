/*
 * The prompt compressor: keeps the most informative sentences, verbatim and in order, within a budget of
 * tokens (arXiv 2603.12646, section IV-B). No model runs.
 *
 * A text is fed as it arrives: sentences, terms and vectors are built at once, so that only ranking remains
 * at its end. The result is deterministic and does not depend on how the text is split into pieces; of two
 * sentences with the same score the earlier one ranks first. The kept text never has more tokens than the
 * budget, by the counter of the settings. Memory is linear in the text. One text at a time; single-threaded.
 */
#ifndef SR_TEXT_COMPRESS_COMPRESS_H
#define SR_TEXT_COMPRESS_COMPRESS_H

#include "base/buf.h"
#include "text/compress/rank.h"

#define SR_COMPRESS_BUDGET    512
#define SR_COMPRESS_TEXT_MAX  ((size_t)64 << 20) /* default maximum of a text, bytes */
#define SR_COMPRESS_UNITS_MAX ((size_t)1 << 18)  /* sentences; later ones are merged into longer ones */

/* A tokenizer, for exact budgets. Both functions are pure; the caller adds special tokens. */
struct sr_compress_counter {
    size_t (*count)(void *ctx, struct sr_bytes text);
    /* Bytes of the longest prefix of `text` with at most `tokens` tokens that ends between two tokens. */
    size_t (*prefix)(void *ctx, struct sr_bytes text, size_t tokens);
    void *ctx;
};

struct sr_compress_settings {
    size_t budget; /* tokens, at least 1 */
    /* Weights of the four scores; divided by their sum, all equal when that is not positive. */
    double textrank, position, tfidf, novelty;
    double depth;       /* of the U over positions, 0..1 */
    size_t first, last; /* number of sentences that are kept first, when they fit */
    bool compat;        /* follow the published algorithm exactly: see docs/internals/compress.md */
    const struct sr_compress_counter *counter; /* NULL: the estimate. Borrowed until the end of the text. */
};

/* The settings of a profile: default, coding, medical, security, multi_turn ('-' and upper case are allowed;
 * empty means default). False when there is no such profile; `settings` then has the default's. */
bool sr_compress_profile(struct sr_bytes name, struct sr_compress_settings *settings);

struct sr_compress_unit {
    size_t start, end; /* bytes of the text */
    size_t tokens;     /* by the settings' counter when `exact`, else estimated */
    bool exact;
    bool kept;
    struct sr_scores scores;
    double score; /* the weighted sum */
};

struct sr_compress_result {
    size_t original_tokens;
    bool original_exact; /* counted by the tokenizer; false: estimated */
    size_t compressed_tokens;
    bool compressed_exact;
    bool whole; /* the text fits and is kept unchanged: `kept` is one span, nothing was scored */
    const struct sr_compress_unit *kept; /* in order; the last byte of a cut sentence is moved */
    size_t n_kept;
    const struct sr_compress_unit *units; /* every sentence that was scored, in order */
    size_t n_units;
};

typedef struct sr_compressor sr_compressor;

/* `max_bytes`: bound of a text. SR_ENOMEM, SR_EIO (no random seed). */
int sr_compressor_new(sr_compressor **out, size_t max_bytes) SR_WARN_UNUSED;
void sr_compressor_free(sr_compressor *c); /* NULL is allowed */

/* Starts a text and drops the previous one. SR_EINVAL: settings out of range. SR_ENOMEM. */
int sr_compress_begin(sr_compressor *c, const struct sr_compress_settings *settings) SR_WARN_UNUSED;

/* Adds a piece (copied). SR_ELIMIT: longer than the bound; SR_ENOMEM. After a failure begin again. */
int sr_compress_feed(sr_compressor *c, struct sr_bytes piece) SR_WARN_UNUSED;

/* The text fed since the latest begin; borrowed until the next call. */
struct sr_bytes sr_compress_arrived(const sr_compressor *c);

/* Ends the text. `result` borrows from the compressor until the next begin. */
int sr_compress_end(sr_compressor *c, struct sr_compress_result *result) SR_WARN_UNUSED;

/* Begin, feed and end. */
int sr_compress_text(sr_compressor *c, const struct sr_compress_settings *settings, struct sr_bytes text,
                     struct sr_compress_result *result) SR_WARN_UNUSED;

/* Appends the text that the latest end kept: the pieces with one space between them, or one line break where
 * the text has one before the later piece (always a space with `compat`). */
int sr_compress_write(const sr_compressor *c, struct sr_buf *out) SR_WARN_UNUSED;

/* Appends the latest result as one JSON object: `text`, `original_tokens`, `compressed_tokens`, `estimated`,
 * `original_estimated`, `ratio`, `sentences`, `kept` (`start`, `end`, `tokens`, `score` and the four scores)
 * and `us`. */
int sr_compress_json(const sr_compressor *c, const struct sr_compress_result *result, double us,
                     struct sr_buf *out) SR_WARN_UNUSED;

/* Bytes of heap memory that the compressor holds. */
size_t sr_compressor_memory(const sr_compressor *c);

#endif
