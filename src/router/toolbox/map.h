/*
 * A trained map of questions towards the tools that answer them: question + U (V question), U and V of low
 * rank. It belongs to one encoder.
 *
 * training/train_tools.py makes it; its figures are in models/tools/card.md. Immutable; any thread.
 */
#ifndef SR_ROUTER_TOOLBOX_MAP_H
#define SR_ROUTER_TOOLBOX_MAP_H

#include "base/arena.h"

struct sr_tool_map;

/* The map inside the executable; NULL when it does not belong to vectors of so many dimensions, or there is
 * no memory. */
struct sr_tool_map *sr_tool_map_new(size_t dimensions);
void sr_tool_map_free(struct sr_tool_map *map); /* NULL is allowed */

/* The question as it is compared with tools: out[dimensions]. */
void sr_tool_map_apply(const struct sr_tool_map *map, const float *question, float *out);

#endif
