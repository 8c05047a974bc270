/*
 * The prompts of table XI: real articles of several kinds, 2K to 16K tokens long, with a question of one of
 * eight domains, a sentence that attacks, and personal data at the start, in the middle or at the end.
 */
#ifndef SR_BENCH_PAPER_CASES_H
#define SR_BENCH_PAPER_CASES_H

#include "base/buf.h"

#include <stdbool.h>

#define SR_PAPER_DOMAINS   8
#define SR_PAPER_SIZES     4
#define SR_PAPER_POSITIONS 3
#define SR_PAPER_KINDS     4 /* attack and data; the same, the question elsewhere; attack; data */
#define SR_PAPER_ARTICLES  3 /* of the question's own domain; guides to open source; bills of a parliament */
#define SR_PAPER_QUESTIONS (SR_PAPER_SIZES * SR_PAPER_POSITIONS * SR_PAPER_KINDS)
#define SR_PAPER_CASES     (SR_PAPER_ARTICLES * SR_PAPER_DOMAINS * SR_PAPER_QUESTIONS)

extern const char *const sr_paper_domains[SR_PAPER_DOMAINS];
extern const size_t sr_paper_sizes[SR_PAPER_SIZES]; /* tokens, by the published estimate */
extern const char *const sr_paper_positions[SR_PAPER_POSITIONS];
extern const char *const sr_paper_articles[SR_PAPER_ARTICLES];

struct sr_paper_corpus;

/* Reads the folder that --help describes. SR_EIO, SR_ENOENT (texts are missing), SR_ENOMEM. */
int sr_paper_corpus_new(struct sr_paper_corpus **out, const char *folder) SR_WARN_UNUSED;
void sr_paper_corpus_free(struct sr_paper_corpus *corpus); /* NULL is allowed */

struct sr_paper_case {
    size_t articles, domain, size, position, kind; /* indices */
    struct sr_bytes text;                          /* owned by the buffer it was made in */
    const char *attack, *data;                     /* what was planted, verbatim; NULL: not planted */
};

/* Makes case `i` of SR_PAPER_CASES in `buffer`, which is cleared before. SR_ENOMEM, SR_ELIMIT. */
int sr_paper_case_make(const struct sr_paper_corpus *corpus, size_t i, struct sr_buf *buffer,
                       struct sr_paper_case *out) SR_WARN_UNUSED;

/* Where `sentence` is in `text`; text.n when it is not. */
size_t sr_paper_find(struct sr_bytes text, const char *sentence);

#endif
