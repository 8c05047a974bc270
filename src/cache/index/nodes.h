/*
 * What a graph is made of. On the lowest level a node is a row; above it is a record. Every link has its
 * counterpart in the other node.
 */
#ifndef SR_CACHE_INDEX_NODES_H
#define SR_CACHE_INDEX_NODES_H

#include "cache/index/ids.h"

#include <stdbool.h>

#define SR_VECTOR_UPPER_LINKS 16u /* of a record; one row of so many has a record on a level */
#define SR_VECTOR_LEVELS      8u  /* above the lowest */

/* A row's place on a level above the lowest. */
struct sr_vector_record {
    uint32_t row; /* SR_VECTOR_NONE: the record is free */
    uint32_t
        below; /* the record on the level below, SR_VECTOR_NONE on level 1; of a free record the next free */
    uint32_t level;
    uint32_t links[SR_VECTOR_UPPER_LINKS]; /* records; ended by SR_VECTOR_NONE */
};

struct sr_vector_graph {
    struct sr_vector_ids ids; /* of linked rows */
    struct sr_vector_record **pages;
    uint32_t n_pages, room;
    uint32_t records, free, n_free; /* records in pages; the first free one; free ones */
    uint32_t linked;
    uint32_t entry; /* a node of level `top`; nothing when no row is linked */
    uint32_t top;
    uint64_t random;
};

static inline struct sr_vector_record *sr_vector_record_of(const struct sr_vector_graph *graph,
                                                           uint32_t record)
{
    return &graph->pages[record / SR_VECTOR_BLOCK][record % SR_VECTOR_BLOCK];
}
static inline uint32_t sr_vector_node_row(const struct sr_vector_graph *graph, bool upper, uint32_t node)
{
    return upper ? sr_vector_record_of(graph, node)->row : node;
}
static inline uint32_t *sr_vector_node_links(const struct sr_vector_graph *graph,
                                             const struct sr_vector_rows *rows, bool upper, uint32_t node)
{
    return upper ? sr_vector_record_of(graph, node)->links : sr_vector_row_links(rows, node);
}
static inline uint32_t sr_vector_node_room(bool upper)
{
    return upper ? SR_VECTOR_UPPER_LINKS : SR_VECTOR_LINKS;
}

#endif
