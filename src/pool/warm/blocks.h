/*
 * Which worker has which blocks: a table from a block's hash to the workers that have it, and for each worker
 * its blocks in the order of their use.
 *
 * A hash stands for a block and all before it, so a worker has a prefix when it has its last block. The
 * blocks of a worker have a limit: over it those that were used least recently are forgotten, the last blocks
 * of a prompt before its first, as engines do. Knows nothing of how the hashes are made. One thread at a
 * time.
 */
#ifndef SR_POOL_WARM_BLOCKS_H
#define SR_POOL_WARM_BLOCKS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sr_pool_blocks;

/* `most`: blocks of one worker, at least 1. SR_ENOMEM. */
int sr_pool_blocks_new(struct sr_pool_blocks **out, uint64_t most) SR_WARN_UNUSED;
void sr_pool_blocks_free(struct sr_pool_blocks *blocks); /* NULL is allowed */

/* A worker without blocks. Its number should be low. SR_ENOMEM. */
int sr_pool_blocks_join(struct sr_pool_blocks *blocks, uint32_t slot) SR_WARN_UNUSED;
void sr_pool_blocks_leave(struct sr_pool_blocks *blocks, uint32_t slot);

/* The worker uses these blocks, which follow each other: it has them, and they count as used now. What does
 * not fit into memory is left out. */
void sr_pool_blocks_use(struct sr_pool_blocks *blocks, uint32_t slot, const uint64_t *hashes, size_t n);
void sr_pool_blocks_remove(struct sr_pool_blocks *blocks, uint32_t slot, uint64_t hash);
void sr_pool_blocks_clear(struct sr_pool_blocks *blocks, uint32_t slot);

/* How many of these blocks, from the first one on, each worker has: [slots], valid until the next call. A gap
 * in a prefix that a worker has otherwise may be overlooked. */
const uint32_t *sr_pool_blocks_match(struct sr_pool_blocks *blocks, const uint64_t *hashes, size_t n);

/* The worker's blocks, and bytes of memory, with its share of the table. */
uint64_t sr_pool_blocks_count(const struct sr_pool_blocks *blocks, uint32_t slot);
uint64_t sr_pool_blocks_bytes(const struct sr_pool_blocks *blocks, uint32_t slot);

#endif
