/*
 * The links of one level of a graph: which a new node gets, and what its neighbours get when a node goes.
 * Links are kept in pairs.
 */
#ifndef SR_CACHE_INDEX_LINKS_H
#define SR_CACHE_INDEX_LINKS_H

#include "cache/index/walk.h"

/* Links a new node, which has no links, to the best of the candidates. */
void sr_vector_links_enter(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows, bool upper,
                           uint32_t node, const struct sr_vector_pool *candidates);

/* Takes the links of a node away and links its neighbours to each other. */
void sr_vector_links_leave(const struct sr_vector_graph *graph, const struct sr_vector_rows *rows, bool upper,
                           uint32_t node);

/* The neighbours of row `from` on the lowest level point to `to`, which has the links that `from` had. */
void sr_vector_links_move(const struct sr_vector_rows *rows, uint32_t from, uint32_t to);

#endif
