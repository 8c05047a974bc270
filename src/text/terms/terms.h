/*
 * Term vectors of sentences, built one sentence at a time while a text arrives.
 *
 * A sentence is a row; a row holds each of its terms once, with its count. A term is identified by a 64-bit
 * hash with a secret seed and gets a number in the order of first appearance, so rows are deterministic
 * (except after a collision of 64-bit hashes). Ordinary words are runs of letters, marks, digits and `_`, in
 * lower case; scripts without spaces give each pair of neighbours. Memory is linear in the text.
 * Single-threaded.
 */
#ifndef SR_TEXT_TERMS_TERMS_H
#define SR_TEXT_TERMS_TERMS_H

#include "base/err.h"
#include "text/estimate.h"

struct sr_terms_entry {
    uint32_t term;
    uint32_t count;
};

struct sr_terms_row {
    uint32_t start; /* of its entries */
    uint32_t n;     /* distinct terms */
    uint32_t total; /* terms, repeats counted */
    double squares; /* sum of the squares of its counts */
};

/* Totals of a term over the rows so far. */
struct sr_terms_term {
    double share;    /* sum of its frequencies in the rows */
    uint32_t df;     /* rows that have it */
    uint32_t column; /* for the ranking: see rank.c; 0 after a reset */
};

/* Four slots fit a cache line. */
struct sr_terms_slot {
    uint64_t hash; /* 0: free */
    uint32_t row;  /* the latest row with this term, counted from 1 */
    uint32_t at;   /* index of its entry there, which has the term */
};

struct sr_terms {
    struct sr_terms_entry *entries;
    struct sr_terms_row *rows;
    struct sr_terms_term *terms;
    struct sr_terms_slot *slots, *spare; /* the table, and memory for the next one */
    size_t n_entries, cap_entries;
    size_t n_rows, cap_rows;
    size_t n_terms, cap_terms;
    size_t n_slots, cap_slots, cap_spare; /* n_slots is a power of two */
    size_t total;                         /* terms of the open row, repeats counted */
    uint64_t seed;
    const uint32_t *glyphs;
    int rc; /* the first failure since the last reset; rows added after it are incomplete */
};

/* Nothing is allocated before the first reset. SR_EIO: no random seed. */
int sr_terms_init(struct sr_terms *terms) SR_WARN_UNUSED;
void sr_terms_dispose(struct sr_terms *terms);

/* Drops all rows; keeps a moderate amount of memory for the next text. SR_ENOMEM. */
int sr_terms_reset(struct sr_terms *terms) SR_WARN_UNUSED;

/* Adds `sentence` as the next row and returns its number of tokens. Failures are in `rc`. */
struct sr_estimate sr_terms_add(struct sr_terms *terms, struct sr_bytes sentence);

/* The same with the published word rules: white-space fields without leading and trailing punctuation, CJK
 * characters alone and in pairs, other parts of a mixed field whole. */
struct sr_estimate sr_terms_add_published(struct sr_terms *terms, struct sr_bytes sentence);

/* Bytes of heap memory in use. */
size_t sr_terms_memory(const struct sr_terms *terms);

#endif
