/* Linear probing; the engine's hashes are mixed, as they may be small numbers. */
#include "pool/warm/kv_map.h"

#include "base/mem.h"

void sr_kv_map_dispose(struct sr_kv_map *map)
{
    sr_mem_free(map->pairs);
    *map = (struct sr_kv_map){.most = map->most};
}

/* The finaliser of MurmurHash3. */
static size_t home_of(const struct sr_kv_map *map, uint64_t engine)
{
    engine = (engine ^ engine >> 33) * UINT64_C(0xff51afd7ed558ccd);
    engine = (engine ^ engine >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    return (engine ^ engine >> 33) & (map->size - 1);
}

static size_t find(const struct sr_kv_map *map, uint64_t engine)
{
    size_t at = home_of(map, engine);
    while (map->pairs[at].own && map->pairs[at].engine != engine)
        at = (at + 1) & (map->size - 1);
    return at;
}

uint64_t sr_kv_map_get(const struct sr_kv_map *map, uint64_t engine)
{
    return map->size ? map->pairs[find(map, engine)].own : 0;
}

static bool grow(struct sr_kv_map *map)
{
    struct sr_kv_map to = {.size = map->size ? map->size * 2 : 256, .used = map->used, .most = map->most};
    to.pairs = sr_mem_calloc(to.size, sizeof *to.pairs);
    if (!to.pairs)
        return false;
    for (size_t i = 0; i < map->size; i++)
        if (map->pairs[i].own)
            to.pairs[find(&to, map->pairs[i].engine)] = map->pairs[i];
    sr_mem_free(map->pairs);
    *map = to;
    return true;
}

bool sr_kv_map_set(struct sr_kv_map *map, uint64_t engine, uint64_t own)
{
    if (map->used * 3 >= map->size * 2 && !grow(map))
        return false;
    size_t at = find(map, engine);
    if (!map->pairs[at].own) {
        if (map->used >= map->most)
            return false;
        map->used++;
    }
    map->pairs[at] = (struct sr_kv_pair){engine, own};
    return true;
}

void sr_kv_map_remove(struct sr_kv_map *map, uint64_t engine)
{
    if (!map->size)
        return;
    size_t mask = map->size - 1, hole = find(map, engine), at = hole;
    if (!map->pairs[hole].own)
        return;
    for (;;) {
        at = (at + 1) & mask;
        if (!map->pairs[at].own)
            break;
        if (((at - home_of(map, map->pairs[at].engine)) & mask) < ((at - hole) & mask))
            continue;
        map->pairs[hole] = map->pairs[at];
        hole = at;
    }
    map->pairs[hole].own = 0;
    map->used--;
}
