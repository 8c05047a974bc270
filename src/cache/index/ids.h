/*
 * Finds a row by the owner's id: linear hashing. Each insertion splits at most one bucket, so that growing
 * never takes a pause. The rows of a bucket are chained through sr_vector_next.
 */
#ifndef SR_CACHE_INDEX_IDS_H
#define SR_CACHE_INDEX_IDS_H

#include "cache/index/rows.h"

struct sr_vector_ids {
    uint32_t **pages; /* the first rows of the buckets, SR_VECTOR_BLOCK of them each */
    uint32_t n_pages, room;
    uint32_t entries, buckets, round; /* buckets below `buckets - round` are split already */
};

void sr_vector_ids_init(struct sr_vector_ids *ids);
void sr_vector_ids_dispose(struct sr_vector_ids *ids);

/* Room for `more` insertions. SR_ENOMEM; nothing has changed then. */
int sr_vector_ids_reserve(struct sr_vector_ids *ids, uint32_t more) SR_WARN_UNUSED;

/* Adds a row under its id; there is room. */
void sr_vector_ids_add(struct sr_vector_ids *ids, const struct sr_vector_rows *rows, uint32_t row);

/* SR_VECTOR_NONE: it is not there. */
uint32_t sr_vector_ids_find(const struct sr_vector_ids *ids, const struct sr_vector_rows *rows, uint32_t id);

/* Takes a row out, before its id changes; with `by` another row, which will have the same id, takes its
 * place. */
void sr_vector_ids_replace(struct sr_vector_ids *ids, const struct sr_vector_rows *rows, uint32_t row,
                           uint32_t by);

size_t sr_vector_ids_memory(const struct sr_vector_ids *ids);

#endif
