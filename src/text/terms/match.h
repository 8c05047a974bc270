/*
 * Finds many literals in one pass over a text, with an Aho-Corasick automaton.
 *
 * Built once, immutable, shared between threads. A literal whose edge is a letter or digit matches whole
 * words only; edges in scripts without spaces (and the right edge of Hangul, where particles follow) match
 * anywhere. Without case, pattern and text are compared by full Unicode case folding.
 */
#ifndef SR_TEXT_TERMS_MATCH_H
#define SR_TEXT_TERMS_MATCH_H

#include "base/err.h"
#include "base/utf8.h"

#define SR_MATCH_LITERAL_MAX 256               /* bytes of one folded literal */
#define SR_MATCH_TABLE_MAX   ((size_t)8 << 20) /* entries of the transition table, 4 bytes each */

struct sr_matcher;

/* Builds the automaton of `n` literals (their index is their id). SR_EINVAL: a literal is empty or too long;
 * SR_ELIMIT: too many of them; SR_ENOMEM. The literals are not kept. */
int sr_matcher_new(struct sr_matcher **out, const struct sr_bytes *literals, size_t n, bool case_sensitive,
                   struct sr_err *err) SR_WARN_UNUSED;
void sr_matcher_free(struct sr_matcher *matcher);

/* Adds to counts[id] the number of occurrences of each literal (overlaps included). Any text. */
void sr_matcher_count(const struct sr_matcher *matcher, struct sr_bytes text, uint32_t *counts);

/* Calls `hit` for each occurrence in the order of their ends; start and end are offsets in the folded text,
 * so only their order is meaningful. Slower than counting. */
typedef void sr_matcher_hit(void *ctx, size_t id, size_t start, size_t end);
void sr_matcher_each(const struct sr_matcher *matcher, struct sr_bytes text, sr_matcher_hit *hit, void *ctx);

#endif
