/*
 * Buckets lie in segments that double in size, so that growing moves none of them. The bucket of a hash is
 * its lower bits; where that bucket does not exist yet, one bit less.
 */
#include "cache/keymap.h"

#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>

#define FIRST 64u

static size_t segment_of(size_t b)
{
    return b < FIRST ? 0 : (size_t)(63 - __builtin_clzll(b)) - 5; /* 64..127: 1, 128..255: 2 */
}

static size_t segment_size(size_t segment)
{
    return segment ? (size_t)FIRST << (segment - 1) : FIRST;
}

static struct sr_keymap_node **bucket_at(const struct sr_keymap *map, size_t b)
{
    size_t segment = segment_of(b);
    return &map->segments[segment][segment ? b - segment_size(segment) : b];
}

static struct sr_keymap_node **bucket_of(const struct sr_keymap *map, const struct sr_cache_key *key)
{
    uint64_t hash = sr_hash64(sr_bytes_of(key->bytes, sizeof key->bytes), map->seed);
    size_t top =
        (size_t)1 << (63 - __builtin_clzll(map->buckets)); /* the highest power of two in `buckets` */
    size_t b = (size_t)hash & (2 * top - 1);
    return bucket_at(map, b < map->buckets ? b : b & (top - 1));
}

int sr_keymap_init(struct sr_keymap *map, uint64_t seed)
{
    *map = (struct sr_keymap){.buckets = FIRST, .seed = seed};
    map->segments[0] = sr_mem_calloc(FIRST, sizeof(struct sr_keymap_node *));
    return map->segments[0] ? SR_OK : SR_ENOMEM;
}

void sr_keymap_dispose(struct sr_keymap *map)
{
    for (size_t i = 0; i < SR_KEYMAP_SEGMENTS; i++)
        sr_mem_free(map->segments[i]);
    *map = (struct sr_keymap){0};
}

/* Adds one bucket, which takes its part of the bucket that had its nodes. */
static void split(struct sr_keymap *map)
{
    size_t added = map->buckets, segment = segment_of(added);
    if (segment >= SR_KEYMAP_SEGMENTS)
        return;
    if (!map->segments[segment])
        map->segments[segment] = sr_mem_calloc(segment_size(segment), sizeof(struct sr_keymap_node *));
    if (!map->segments[segment])
        return;
    size_t top = (size_t)1 << (63 - __builtin_clzll(added));
    struct sr_keymap_node **from = bucket_at(map, added - top), *node = *from;
    struct sr_keymap_node **kept = from, **moved = bucket_at(map, added);
    map->buckets++;
    for (; node; node = node->next) {
        struct sr_keymap_node ***tail = bucket_of(map, node->key) == from ? &kept : &moved;
        **tail = node;
        *tail = &node->next;
    }
    *kept = NULL;
    *moved = NULL;
}

void sr_keymap_insert(struct sr_keymap *map, struct sr_keymap_node *node)
{
    if (++map->n > map->buckets)
        split(map);
    struct sr_keymap_node **bucket = bucket_of(map, node->key);
    node->next = *bucket;
    *bucket = node;
}

void sr_keymap_remove(struct sr_keymap *map, struct sr_keymap_node *node)
{
    struct sr_keymap_node **at = bucket_of(map, node->key);
    while (*at && *at != node)
        at = &(*at)->next;
    assert(*at);
    *at = node->next;
    map->n--;
}

struct sr_keymap_node *sr_keymap_find(const struct sr_keymap *map, const struct sr_cache_key *key)
{
    struct sr_keymap_node *node = *bucket_of(map, key);
    while (node && memcmp(node->key->bytes, key->bytes, SR_CACHE_KEY) != 0)
        node = node->next;
    return node;
}

struct sr_keymap_node *sr_keymap_bucket(const struct sr_keymap *map, size_t b)
{
    return *bucket_at(map, b);
}

void sr_keymap_shrink(struct sr_keymap *map)
{
    if (map->n)
        return;
    for (size_t i = 1; i < SR_KEYMAP_SEGMENTS; i++) {
        sr_mem_free(map->segments[i]);
        map->segments[i] = NULL;
    }
    map->buckets = FIRST;
}

size_t sr_keymap_memory(const struct sr_keymap *map)
{
    size_t bytes = 0;
    for (size_t i = 0; i < SR_KEYMAP_SEGMENTS && map->segments[i]; i++)
        bytes += segment_size(i) * sizeof(struct sr_keymap_node *);
    return bytes;
}
