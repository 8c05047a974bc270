/*
 * How both word rules add a term to the row in progress. Private to text/terms. row.c also creates and
 * disposes struct sr_terms (terms.h).
 */
#ifndef SR_TEXT_TERMS_ROW_H
#define SR_TEXT_TERMS_ROW_H

#include "base/hash.h"
#include "text/terms/terms.h"

#define SR_TERMS_WORD 128 /* bytes of a word that are collected before they are hashed */

/* A word in progress. */
struct sr_terms_word {
    size_t n;
    uint64_t hash; /* of the full buffers before this one */
    char bytes[SR_TERMS_WORD];
};

/* Opens the next row; false when out of memory or at the 32-bit limits. */
bool sr_terms_open_row(struct sr_terms *terms);

/* Ends the open row: adds its counts to its terms. */
void sr_terms_close_row(struct sr_terms *terms);

/* Slow paths of the next functions. */
void sr_terms_insert(struct sr_terms *terms, size_t slot, uint64_t hash);
bool sr_terms_more_entries(struct sr_terms *terms);

/* Adds a term that is new to the row; there is room for an entry. */
static inline void sr_terms_append(struct sr_terms *terms, struct sr_terms_slot *slot, uint32_t term)
{
    slot->row = (uint32_t)terms->n_rows;
    slot->at = (uint32_t)terms->n_entries;
    terms->entries[terms->n_entries++] = (struct sr_terms_entry){term, 1};
}

static inline void sr_terms_count(struct sr_terms *terms, uint64_t hash)
{
    hash += hash == 0;
    terms->total++;
    size_t mask = terms->n_slots - 1, slot = hash & mask;
    while (terms->slots[slot].hash != hash) {
        if (terms->slots[slot].hash == 0) {
            sr_terms_insert(terms, slot, hash);
            return;
        }
        slot = (slot + 1) & mask;
    }
    struct sr_terms_slot *found = &terms->slots[slot];
    if (found->row == terms->n_rows)
        terms->entries[found->at].count++;
    else if (terms->n_entries < terms->cap_entries || sr_terms_more_entries(terms))
        sr_terms_append(terms, found, terms->entries[found->at].term);
}

/* The hash of a word of at most 16 bytes, given as two little-endian halves padded with zeros. */
static inline uint64_t sr_terms_short(const struct sr_terms *terms, uint64_t low, uint64_t high)
{
    uint64_t x = (low ^ terms->seed) * UINT64_C(0x9FB21C651E98DF25);
    x = (x ^ x >> 32 ^ high) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

/* The first n bytes of a word, n <= 8. */
static inline uint64_t sr_terms_first(uint64_t bytes, size_t n)
{
    return n == 0 ? 0 : bytes & UINT64_MAX >> (64 - 8 * n);
}

/* The hash of the last piece of a collected word. */
static inline uint64_t sr_terms_hash(const struct sr_terms *terms, const struct sr_terms_word *word)
{
    uint64_t halves[4];
    size_t n = word->n;
    if (n > 32 || word->hash)
        return sr_hash64(sr_bytes_of(word->bytes, n), word->hash ^ terms->seed);
    memcpy(halves, word->bytes, 32);
    uint64_t hash = sr_terms_short(terms, sr_terms_first(halves[0], n < 8 ? n : 8),
                                   sr_terms_first(halves[1], n < 8    ? 0
                                                             : n < 16 ? n - 8
                                                                      : 8));
    if (n <= 16)
        return hash;
    return sr_terms_short(terms, sr_terms_first(halves[2], n < 24 ? n - 16 : 8) ^ hash,
                          sr_terms_first(halves[3], n < 24 ? 0 : n - 24));
}

/* A term of one character or two. */
static inline uint64_t sr_terms_pair(const struct sr_terms *terms, int32_t first, int32_t second)
{
    uint64_t x = ((uint64_t)(uint32_t)first << 32 | (uint32_t)second) ^ terms->seed;
    x = (x ^ x >> 31) * UINT64_C(0x9FB21C651E98DF25);
    x = (x ^ x >> 29) * UINT64_C(0xD6E8FEB86659FD93);
    return x ^ x >> 32;
}

static inline void sr_terms_put(const struct sr_terms *terms, struct sr_terms_word *word, const char *p,
                                size_t n)
{
    if (word->n + n > SR_TERMS_WORD) {
        word->hash = sr_hash64(sr_bytes_of(word->bytes, word->n), word->hash ^ terms->seed);
        word->n = 0;
    }
    for (size_t i = 0; i < n; i++)
        word->bytes[word->n++] = p[i];
}

/* Appends the lower case of a character. */
static inline void sr_terms_put_lower(const struct sr_terms *terms, struct sr_terms_word *word, int32_t cp,
                                      uint32_t glyph, struct sr_bytes as_written)
{
    char lower[SR_UTF8_MAX];
    int32_t point = (int32_t)(glyph & SR_GLYPH_POINT);
    if (point == cp) {
        sr_terms_put(terms, word, as_written.p, as_written.n);
    } else if (point >= 0x80 && point < 0x800) {
        lower[0] = (char)(0xC0 | point >> 6);
        lower[1] = (char)(0x80 | (point & 0x3F));
        sr_terms_put(terms, word, lower, 2);
    } else
        sr_terms_put(terms, word, lower, sr_utf8_encode(point, lower));
}

/* Counts the word, if there is one, and empties it. */
static inline void sr_terms_end_word(struct sr_terms *terms, struct sr_terms_word *word)
{
    if (word->n == 0)
        return;
    sr_terms_count(terms, sr_terms_hash(terms, word));
    word->n = 0;
    word->hash = 0;
}

#endif
