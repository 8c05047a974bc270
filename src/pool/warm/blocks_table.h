/*
 * The table from a block's hash to a set of workers: open addressing in shards that grow on their own, so
 * that no single call moves more than a small part of it. One thread at a time.
 */
#ifndef SR_POOL_WARM_BLOCKS_TABLE_H
#define SR_POOL_WARM_BLOCKS_TABLE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_BLOCKS_SHARDS 256

/* An entry is the hash and `words` words, a bit for each worker. An entry without a bit is free. */
struct sr_blocks_shard {
    uint64_t *entries;
    size_t size, used; /* entries; `size` is 0 or a power of two */
};

struct sr_blocks_table {
    struct sr_blocks_shard shards[SR_BLOCKS_SHARDS];
    size_t words;
};

void sr_blocks_table_dispose(struct sr_blocks_table *table);

/* Makes room for so many workers. SR_ENOMEM: all is as before. */
int sr_blocks_table_widen(struct sr_blocks_table *table, size_t words) SR_WARN_UNUSED;

/* The set of workers of a block, [words]; NULL: none has it. */
uint64_t *sr_blocks_table_find(const struct sr_blocks_table *table, uint64_t hash);

/* Loads what sr_blocks_table_find will read. */
void sr_blocks_table_prefetch(const struct sr_blocks_table *table, uint64_t hash);

/* False: out of memory. */
bool sr_blocks_table_set(struct sr_blocks_table *table, uint64_t hash, uint32_t slot);
void sr_blocks_table_unset(struct sr_blocks_table *table, uint64_t hash, uint32_t slot);

size_t sr_blocks_table_bytes(const struct sr_blocks_table *table);

#endif
