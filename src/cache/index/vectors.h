/*
 * The vector index of one hard partition of the cache: the nearest of its vectors by cosine.
 *
 * A small index compares every vector (exact), a large one walks a graph (approximate); the graph is built
 * over many calls, so that none takes long. An empty index has some dozens of bytes, and a vector of 384
 * dimensions 588, with the graph about 740. Ids are the owner's. Nothing is locked: the owner holds a lock,
 * which several threads may share for searches. Knows no record, no text and no time.
 */
#ifndef SR_CACHE_INDEX_VECTORS_H
#define SR_CACHE_INDEX_VECTORS_H

#include "cache/index/pack.h"

#include <stdbool.h>

struct sr_vectors;

struct sr_vector_hit {
    uint32_t id;
    float similarity; /* cosine, within 0.001 of that of the vectors that were added */
};

#define SR_VECTOR_HITS_MAX 32u

/* SR_EINVAL: a dimension of 0 or above SR_VECTOR_DIMENSION_MAX. SR_ENOMEM. */
int sr_vectors_new(struct sr_vectors **out, size_t dimension) SR_WARN_UNUSED;
void sr_vectors_free(struct sr_vectors *vectors); /* NULL is allowed */

/* Adds unit[dimension] under an id. SR_EINVAL: no vector of length 1 (sr_vector_pack), or an id that is
 * there. SR_ENOMEM, SR_ELIMIT (2^30 vectors). After an error the index is as it was. */
int sr_vectors_add(struct sr_vectors *vectors, uint32_t id, const float *unit) SR_WARN_UNUSED;

/* The same with a packed vector; SR_EPARSE when it is none. */
int sr_vectors_add_packed(struct sr_vectors *vectors, uint32_t id, struct sr_bytes packed) SR_WARN_UNUSED;

/* Removes an id; false when it is not there. Allocates nothing that it needs. */
bool sr_vectors_remove(struct sr_vectors *vectors, uint32_t id);

/* The at most k nearest to unit[dimension], which has length 1, the nearest first; returns how many. k is at
 * most SR_VECTOR_HITS_MAX. Takes about 80 KB of stack. */
size_t sr_vectors_search(const struct sr_vectors *vectors, const float *unit, size_t k,
                         struct sr_vector_hit *hits);

size_t sr_vectors_count(const struct sr_vectors *vectors);

/* Bytes on the heap. */
size_t sr_vectors_memory(const struct sr_vectors *vectors);

#endif
