/*
 * The packed vectors of an index, by row, with the owner's ids; and the room that a graph keeps for each row.
 *
 * Rows 0 to count - 1 are in use. Memory comes in blocks of SR_VECTOR_BLOCK rows, so that growing never
 * copies much; the first block grows from one row, so that a small index is small. Knows no search.
 */
#ifndef SR_CACHE_INDEX_ROWS_H
#define SR_CACHE_INDEX_ROWS_H

#include "cache/index/pack.h"

#define SR_VECTOR_BLOCK 1024u
#define SR_VECTOR_LINKS 32u        /* of a row on the lowest level of a graph */
#define SR_VECTOR_NONE  UINT32_MAX /* no row, no record */
#define SR_VECTOR_ROWS  (1u << 30) /* no index has more */

struct sr_vector_block {
    uint8_t *coarse, *fine; /* [capacity][padded], [capacity][half] */
    float *steps;           /* [capacity], of the fine part */
    uint32_t *ids;
    uint32_t *links; /* [SR_VECTOR_BLOCK][SR_VECTOR_LINKS], ended by SR_VECTOR_NONE; NULL: without a graph */
    uint32_t *tops;  /* the highest record of a row; SR_VECTOR_NONE */
    uint32_t *nexts; /* the next row with the same hash of its id */
    void *memory;    /* of the vectors */
};

struct sr_vector_rows {
    struct sr_vector_block *blocks;
    uint32_t count, n_blocks, room; /* room: elements of `blocks` */
    uint32_t first; /* rows of the first block: SR_VECTOR_BLOCK, or fewer while it is the only one */
    uint16_t dimension, padded, half;
};

static inline struct sr_vector_block *sr_vector_block_of(const struct sr_vector_rows *rows, uint32_t row)
{
    return &rows->blocks[row / SR_VECTOR_BLOCK];
}
static inline const uint8_t *sr_vector_coarse(const struct sr_vector_rows *rows, uint32_t row)
{
    return sr_vector_block_of(rows, row)->coarse + (size_t)(row % SR_VECTOR_BLOCK) * rows->padded;
}
static inline const uint8_t *sr_vector_fine(const struct sr_vector_rows *rows, uint32_t row)
{
    return sr_vector_block_of(rows, row)->fine + (size_t)(row % SR_VECTOR_BLOCK) * rows->half;
}
static inline float sr_vector_step(const struct sr_vector_rows *rows, uint32_t row)
{
    return sr_vector_block_of(rows, row)->steps[row % SR_VECTOR_BLOCK];
}
static inline uint32_t *sr_vector_id(const struct sr_vector_rows *rows, uint32_t row)
{
    return &sr_vector_block_of(rows, row)->ids[row % SR_VECTOR_BLOCK];
}
static inline uint32_t *sr_vector_row_links(const struct sr_vector_rows *rows, uint32_t row)
{
    return sr_vector_block_of(rows, row)->links + (size_t)(row % SR_VECTOR_BLOCK) * SR_VECTOR_LINKS;
}
static inline uint32_t *sr_vector_top(const struct sr_vector_rows *rows, uint32_t row)
{
    return &sr_vector_block_of(rows, row)->tops[row % SR_VECTOR_BLOCK];
}
static inline uint32_t *sr_vector_next(const struct sr_vector_rows *rows, uint32_t row)
{
    return &sr_vector_block_of(rows, row)->nexts[row % SR_VECTOR_BLOCK];
}

/* No rows; allocates nothing. 0 < dimension <= SR_VECTOR_DIMENSION_MAX. */
void sr_vector_rows_init(struct sr_vector_rows *rows, size_t dimension);
void sr_vector_rows_dispose(struct sr_vector_rows *rows);

/* Room for one more row. SR_ENOMEM, SR_ELIMIT; nothing has changed then. */
int sr_vector_rows_reserve(struct sr_vector_rows *rows) SR_WARN_UNUSED;

/* Appends a packed vector that sr_vector_check accepts; there is room. */
void sr_vector_rows_append(struct sr_vector_rows *rows, uint32_t id, const void *packed);

/* Copies vector and id of a row to another one. */
void sr_vector_rows_copy(struct sr_vector_rows *rows, uint32_t from, uint32_t to);

/* Drops the last row, and memory that is far from being used. */
void sr_vector_rows_drop(struct sr_vector_rows *rows);

/* Room for the links of the rows of `block`, which is full or will be. SR_ENOMEM. */
int sr_vector_rows_reserve_links(struct sr_vector_rows *rows, uint32_t block) SR_WARN_UNUSED;

/* Frees the links of the blocks from `block` on. */
void sr_vector_rows_drop_links(struct sr_vector_rows *rows, uint32_t block);

size_t sr_vector_rows_memory(const struct sr_vector_rows *rows);

/* similarities[i] = cosine of the coarse parts of the query and row list[i]. */
void sr_vector_rows_compare(const struct sr_vector_rows *rows, const struct sr_vector_query *query,
                            const uint32_t *list, size_t n, float *similarities);

#endif
