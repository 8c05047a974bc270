/*
 * The paged prefix cache of one mock engine, as in vLLM: a fixed number of blocks of SR_MOCK_BLOCK tokens.
 *
 * A full block has a hash over its tokens and everything before them, and is found again by it. A block that
 * no sequence holds keeps its content until it is needed; the one that was released first is taken first, and
 * of one sequence the last block first. What is stored and removed goes to `events`, when there are any. Not
 * for several threads; knows no time.
 */
#ifndef SR_MOCK_ENGINE_CACHE_H
#define SR_MOCK_ENGINE_CACHE_H

#include "base/err.h"
#include "mock/engine/events.h"

#include <stddef.h>
#include <stdint.h>

#define SR_MOCK_BLOCK      16u
#define SR_MOCK_BLOCKS_MAX ((size_t)1 << 22)

struct sr_mock_cache;

/* `blocks` is the budget, 1 to SR_MOCK_BLOCKS_MAX (SR_EINVAL). `events` may be NULL; borrowed. SR_ENOMEM. */
int sr_mock_cache_new(struct sr_mock_cache **out, size_t blocks,
                      struct sr_mock_events *events) SR_WARN_UNUSED;
void sr_mock_cache_free(struct sr_mock_cache *cache);

/* The hash of a full block: Dynamo's sequence hash. XXH3-64 with seed 1337 over the tokens, little-endian;
 * from the second block on, the same over the parent's hash and that. `parent` NULL: the first block. */
uint64_t sr_mock_block_hash(const uint64_t *parent, const uint32_t *tokens);

/* How many of the `n` hashes, from the first on, are cached; `*idle` of them no request holds. */
size_t sr_mock_cache_match(const struct sr_mock_cache *cache, const uint64_t *hashes, size_t n, size_t *idle);

/* Takes a hold of the first `n` blocks, which match; their numbers go to `table`. */
void sr_mock_cache_hold(struct sr_mock_cache *cache, const uint64_t *hashes, size_t n, uint32_t *table);

/* Blocks that can be taken now. */
size_t sr_mock_cache_available(const struct sr_mock_cache *cache);

/* Takes a block for new content; what it held is forgotten. SR_AGAIN when none is available. */
int sr_mock_cache_take(struct sr_mock_cache *cache, uint32_t *block) SR_WARN_UNUSED;

/* Blocks table[from .. to) are full now: their hashes and tokens (those of the whole sequence, as hashes and
 * table) make them findable. A hash that another block has already stays with that block. */
void sr_mock_cache_commit(struct sr_mock_cache *cache, const uint32_t *table, const uint64_t *hashes,
                          const uint32_t *tokens, size_t from, size_t to);

/* Gives up the holds of a sequence's `n` blocks. */
void sr_mock_cache_release(struct sr_mock_cache *cache, const uint32_t *table, size_t n);

/* Forgets the content of all blocks; those that are held are not findable any more. */
void sr_mock_cache_clear(struct sr_mock_cache *cache);

/* Findable blocks, held or not. */
size_t sr_mock_cache_stored(const struct sr_mock_cache *cache);

#endif
