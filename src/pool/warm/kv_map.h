/*
 * The names that an engine gives its blocks: a bounded table from the engine's hash to ours. One thread at a
 * time.
 */
#ifndef SR_POOL_WARM_KV_MAP_H
#define SR_POOL_WARM_KV_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sr_kv_pair {
    uint64_t engine, own; /* own 0: free */
};

struct sr_kv_map {
    struct sr_kv_pair *pairs;
    size_t size, used, most; /* `most`: the limit of pairs, set by the owner */
};

void sr_kv_map_dispose(struct sr_kv_map *map);

/* Our hash, never 0; 0: not known. */
uint64_t sr_kv_map_get(const struct sr_kv_map *map, uint64_t engine);

/* False: the table is full, or out of memory. */
bool sr_kv_map_set(struct sr_kv_map *map, uint64_t engine, uint64_t own);
void sr_kv_map_remove(struct sr_kv_map *map, uint64_t engine);

#endif
