/*
 * A hash table from keys to nodes that are embedded in their owners' objects.
 *
 * Linear hashing: each insertion splits at most one bucket, so that no insertion waits for a table to be
 * copied. Seeded, so that no client can choose keys that fall together. Keys may occur twice; the latest is
 * found first. Not thread-safe; owns no node.
 */
#ifndef SR_CACHE_KEYMAP_H
#define SR_CACHE_KEYMAP_H

#include "cache/record.h"

#define SR_KEYMAP_SEGMENTS 32 /* 64 buckets, then twice as many with each */

struct sr_keymap_node {
    struct sr_keymap_node *next;
    const struct sr_cache_key *key; /* valid as long as the node is in a table */
};

struct sr_keymap {
    struct sr_keymap_node **segments[SR_KEYMAP_SEGMENTS];
    size_t buckets, n;
    uint64_t seed;
};

/* SR_ENOMEM; then the table can be disposed. */
int sr_keymap_init(struct sr_keymap *map, uint64_t seed) SR_WARN_UNUSED;
void sr_keymap_dispose(struct sr_keymap *map);

/* Never fails: without memory for another bucket, chains get longer. */
void sr_keymap_insert(struct sr_keymap *map, struct sr_keymap_node *node);
/* The node is in the table. */
void sr_keymap_remove(struct sr_keymap *map, struct sr_keymap_node *node);
struct sr_keymap_node *sr_keymap_find(const struct sr_keymap *map, const struct sr_cache_key *key);

/* The first node of a bucket (b < map->buckets). A node moves to a higher bucket, never to a lower one, so a
 * walk from 0 up to `buckets`, also in steps, sees every node that stays in the table. */
struct sr_keymap_node *sr_keymap_bucket(const struct sr_keymap *map, size_t b);

/* Gives back the buckets of an empty table. */
void sr_keymap_shrink(struct sr_keymap *map);

/* Bytes of the buckets. */
size_t sr_keymap_memory(const struct sr_keymap *map);

#endif
