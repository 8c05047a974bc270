/*
 * A lock of an index lets a writer pass readers that come later: searches never hold up a put for long.
 */
#include "cache/partitions.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>

int sr_partitions_init(struct sr_partitions *partitions)
{
    uint64_t seed = 0;
    if (sr_random(&seed, sizeof seed) != SR_OK)
        seed = sr_clock_ns();
    partitions->memory = 0;
    return sr_keymap_init(&partitions->map, seed);
}

void sr_partitions_dispose(struct sr_partitions *partitions)
{
    assert(!partitions->map.n);
    sr_keymap_dispose(&partitions->map);
}

struct sr_partition *sr_partitions_use(struct sr_partitions *partitions, const struct sr_cache_key *key)
{
    struct sr_keymap_node *node = sr_keymap_find(&partitions->map, key);
    if (!node)
        return NULL;
    struct sr_partition *partition =
        (struct sr_partition *)((char *)node - offsetof(struct sr_partition, node));
    partition->users++;
    return partition;
}

void sr_partitions_add(struct sr_partitions *partitions, struct sr_partition *partition)
{
    partition->users = 1;
    sr_keymap_insert(&partitions->map, &partition->node);
    sr_partitions_charge(partitions, partition, 0);
}

void sr_partitions_charge(struct sr_partitions *partitions, struct sr_partition *partition, size_t bytes)
{
    bytes += sizeof *partition;
    partitions->memory += bytes - partition->charged;
    partition->charged = bytes;
}

bool sr_partitions_leave(struct sr_partitions *partitions, struct sr_partition *partition)
{
    if (--partition->users)
        return false;
    sr_keymap_remove(&partitions->map, &partition->node);
    partitions->memory -= partition->charged;
    sr_keymap_shrink(&partitions->map);
    return true;
}

int sr_partition_new(struct sr_partition **out, const struct sr_cache_key *key, size_t dimensions)
{
    struct sr_partition *partition = sr_mem_calloc(1, sizeof *partition);
    *out = NULL;
    if (!partition)
        return SR_ENOMEM;
    int rc = sr_vectors_new(&partition->vectors, dimensions);
    if (rc) {
        sr_mem_free(partition);
        return rc;
    }
    partition->key = *key;
    partition->node.key = &partition->key;
    partition->dimensions = dimensions;
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&partition->lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
    *out = partition;
    return SR_OK;
}

void sr_partition_free(struct sr_partition *partition)
{
    if (!partition)
        return;
    sr_vectors_free(partition->vectors);
    pthread_rwlock_destroy(&partition->lock);
    sr_mem_free(partition);
}

int sr_partition_insert(struct sr_partition *partition, uint32_t id, struct sr_bytes packed)
{
    pthread_rwlock_wrlock(&partition->lock);
    int rc = sr_vectors_add_packed(partition->vectors, id, packed);
    pthread_rwlock_unlock(&partition->lock);
    return rc;
}

void sr_partition_remove(struct sr_partition *partition, uint32_t id)
{
    pthread_rwlock_wrlock(&partition->lock);
    sr_vectors_remove(partition->vectors, id);
    pthread_rwlock_unlock(&partition->lock);
}

size_t sr_partition_memory(struct sr_partition *partition)
{
    pthread_rwlock_rdlock(&partition->lock);
    size_t bytes = sr_vectors_memory(partition->vectors);
    pthread_rwlock_unlock(&partition->lock);
    return bytes;
}
