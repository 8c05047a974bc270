/*
 * A unit vector as the cache stores it: each component has 12 bits, times one step of the vector.
 *
 * The upper 8 bits (coarse) and the lower 4 (fine) lie apart: a search compares the coarse bytes of many
 * vectors, and computes the similarity of the few best from all 12 bits. The same bytes are in memory, on
 * disk and in every store. Knows no index.
 */
#ifndef SR_CACHE_INDEX_PACK_H
#define SR_CACHE_INDEX_PACK_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdalign.h>

#define SR_VECTOR_DIMENSION     384u
#define SR_VECTOR_DIMENSION_MAX 4096u

/* Bytes of a packed vector: the step (a float, little-endian), `dimension` coarse bytes, (dimension + 1) / 2
 * fine ones. 580 at 384 dimensions. */
static inline size_t sr_vector_packed_size(size_t dimension)
{
    return 4 + dimension + (dimension + 1) / 2;
}

/* Packs unit[dimension] into packed[sr_vector_packed_size(dimension)]. SR_EINVAL: the dimension is 0 or above
 * SR_VECTOR_DIMENSION_MAX, a component is not finite, or the length is not 1 within a hundredth. */
int sr_vector_pack(const float *unit, size_t dimension, void *packed) SR_WARN_UNUSED;

/* The inverse, for bytes of any origin. SR_EPARSE: they are no packed unit vector of this dimension. Each
 * component differs from the packed one by at most 1/4064 of the largest. */
int sr_vector_unpack(struct sr_bytes packed, size_t dimension, float *unit) SR_WARN_UNUSED;

/* SR_EPARSE as sr_vector_unpack. */
int sr_vector_check(struct sr_bytes packed, size_t dimension) SR_WARN_UNUSED;

/* ---- for the index ---- */

#define SR_VECTOR_ZERO 128u /* the coarse byte of 0 */
#define SR_VECTOR_FINE 16   /* fine steps of a coarse one */

/* What rows are compared with: the coarse bytes, with a sign, up to a multiple of 64. */
struct sr_vector_query {
    alignas(64) int8_t coarse[SR_VECTOR_DIMENSION_MAX];
    int32_t offset;    /* of every product of coarse bytes: SR_VECTOR_ZERO times their sum */
    float step;        /* of the coarse bytes */
    const float *unit; /* borrowed; NULL: of a row */
};

void sr_vector_query_init(struct sr_vector_query *query, const float *unit, size_t dimension);

/* A row as a query: `coarse` has `padded` bytes. */
void sr_vector_query_row(struct sr_vector_query *query, const uint8_t *coarse, float step, size_t padded);

/* The cosine of unit[dimension] and a row, from all 12 bits. */
float sr_vector_cosine(const float *unit, const uint8_t *coarse, const uint8_t *fine, float step,
                       size_t dimension);

#endif
