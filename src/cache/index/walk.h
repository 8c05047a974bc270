/*
 * Searches in a graph. They change nothing and allocate nothing.
 */
#ifndef SR_CACHE_INDEX_WALK_H
#define SR_CACHE_INDEX_WALK_H

#include "cache/index/nodes.h"

#define SR_VECTOR_EFFORT_MAX 640u /* candidates of a search */

/* A candidate. In a pool that is being searched the highest bit of `node` says that its links were followed.
 */
struct sr_vector_near {
    float similarity;
    uint32_t node;
};

/* The best nodes so far, the nearest first. */
struct sr_vector_pool {
    size_t n, room; /* room <= SR_VECTOR_EFFORT_MAX */
    struct sr_vector_near items[SR_VECTOR_EFFORT_MAX];
};

/* Adds a candidate that is among the best `room`; returns its place, or `room`. */
size_t sr_vector_pool_add(struct sr_vector_pool *pool, struct sr_vector_near near);

/* Adds the nearest linked rows to the pool; its room is the effort. */
void sr_vector_walk(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows,
                    const struct sr_vector_query *query, struct sr_vector_pool *pool);

/* Searches one level from the candidates of the pool, which are nodes of that level. */
void sr_vector_walk_level(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows,
                          const struct sr_vector_query *query, bool upper, struct sr_vector_pool *pool);

/* From the entry to the nearest node of `level`; graph.top >= level. */
struct sr_vector_near sr_vector_walk_down(const struct sr_vector_graph *graph,
                                          const struct sr_vector_rows *rows,
                                          const struct sr_vector_query *query, uint32_t level);

#endif
