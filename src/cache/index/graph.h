/*
 * A navigable small-world graph with levels (Malkov and Yashunin 2016) over the rows of an index.
 *
 * Every link has its counterpart: a row that goes takes its links with it, and its neighbours are linked to
 * each other instead, so that no tombstones are left and rows can move. A row that enters between two linked
 * rows takes their link over when they have no room (Hezel et al. 2023), so that it never separates any.
 *
 * The graph has rows 0 to `linked` - 1; the owner compares the others one by one. On the lowest level a node
 * is a row; above it is a record. Searches change nothing and allocate nothing.
 */
#ifndef SR_CACHE_INDEX_GRAPH_H
#define SR_CACHE_INDEX_GRAPH_H

#include "cache/index/nodes.h"

int sr_vector_graph_new(struct sr_vector_graph **out) SR_WARN_UNUSED;
void sr_vector_graph_free(struct sr_vector_graph *graph); /* NULL is allowed; links of rows stay */

/* Room to link `more` rows after `linked`. SR_ENOMEM; the graph is as before then. */
int sr_vector_graph_reserve(struct sr_vector_graph *graph, struct sr_vector_rows *rows,
                            uint32_t more) SR_WARN_UNUSED;

/* Links row `linked`; there is room. */
void sr_vector_graph_link(struct sr_vector_graph *graph, struct sr_vector_rows *rows);

/* Takes a linked row out; row `linked` - 1 moves to its place, and `linked` is one less. */
void sr_vector_graph_unlink(struct sr_vector_graph *graph, struct sr_vector_rows *rows, uint32_t row);

size_t sr_vector_graph_memory(const struct sr_vector_graph *graph);

#endif
