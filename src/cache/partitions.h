/*
 * The partitions that have vectors, each with its index.
 *
 * The table and the counts of users are under the caller's lock (cache/memory); each index has a lock of its
 * own, which searches share, so that a long search holds up no other partition. A partition lives as long as
 * it has users: the entries with a vector in it, and calls in progress.
 */
#ifndef SR_CACHE_PARTITIONS_H
#define SR_CACHE_PARTITIONS_H

#include "cache/index/vectors.h"
#include "cache/keymap.h"

#include <pthread.h>

struct sr_partition {
    struct sr_keymap_node node;
    struct sr_cache_key key;
    pthread_rwlock_t lock;
    struct sr_vectors *vectors;
    size_t dimensions, users, charged; /* charged: its part of `memory` below */
};

struct sr_partitions {
    struct sr_keymap map;
    size_t memory; /* bytes of partitions and indexes */
};

/* SR_ENOMEM; then it can be disposed. No partition is left when it is disposed. */
int sr_partitions_init(struct sr_partitions *partitions) SR_WARN_UNUSED;
void sr_partitions_dispose(struct sr_partitions *partitions);

/* ---- under the caller's lock ---- */

/* Becomes a user; NULL: there is none. */
struct sr_partition *sr_partitions_use(struct sr_partitions *partitions, const struct sr_cache_key *key);
/* Files a new one and becomes its user. */
void sr_partitions_add(struct sr_partitions *partitions, struct sr_partition *partition);
/* Counts what its index uses now. */
void sr_partitions_charge(struct sr_partitions *partitions, struct sr_partition *partition, size_t bytes);
/* Gives up one use. True: it was the last, the partition is in no table any more and the caller frees it. */
bool sr_partitions_leave(struct sr_partitions *partitions, struct sr_partition *partition) SR_WARN_UNUSED;

/* ---- without a lock ---- */

/* SR_ENOMEM, SR_EINVAL: the dimension. */
int sr_partition_new(struct sr_partition **out, const struct sr_cache_key *key,
                     size_t dimensions) SR_WARN_UNUSED;
void sr_partition_free(struct sr_partition *partition); /* NULL is allowed */

/* As sr_vectors_add_packed. */
int sr_partition_insert(struct sr_partition *partition, uint32_t id, struct sr_bytes packed) SR_WARN_UNUSED;
void sr_partition_remove(struct sr_partition *partition, uint32_t id);
/* The bytes of its index. */
size_t sr_partition_memory(struct sr_partition *partition);

#endif
