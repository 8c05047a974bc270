/* Blocks, the list of those that no request holds (oldest first), and an open hash table over the findable.
 */
#include "mock/engine/cache.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define SEED 1337 /* of Dynamo's hashes */
#define NONE UINT32_MAX

struct block {
    uint64_t hash;
    uint32_t holds, next, prev; /* next and prev: in the list, while holds is 0 */
    bool findable;
};

struct sr_mock_cache {
    struct sr_mock_events *events;
    size_t n, idle, stored;
    uint32_t first, last; /* of the list */
    uint32_t *slots;      /* block numbers by hash, NONE: empty */
    size_t n_slots;       /* a power of two, at least twice `n` */
    struct block blocks[];
};

uint64_t sr_mock_block_hash(const uint64_t *parent, const uint32_t *tokens)
{
    uint8_t bytes[SR_MOCK_BLOCK * 4];
    for (size_t i = 0; i < SR_MOCK_BLOCK; i++)
        for (size_t b = 0; b < 4; b++)
            bytes[i * 4 + b] = (uint8_t)(tokens[i] >> (8 * b));
    uint64_t local = sr_hash64(sr_bytes_of((const char *)bytes, sizeof bytes), SEED);
    if (!parent)
        return local;
    for (size_t b = 0; b < 8; b++) {
        bytes[b] = (uint8_t)(*parent >> (8 * b));
        bytes[8 + b] = (uint8_t)(local >> (8 * b));
    }
    return sr_hash64(sr_bytes_of((const char *)bytes, 16), SEED);
}

/* ---- the list of blocks that no request holds ------------------------------------------------------------
 */

static void unlink_block(struct sr_mock_cache *cache, uint32_t at)
{
    struct block *block = &cache->blocks[at];
    *(block->prev == NONE ? &cache->first : &cache->blocks[block->prev].next) = block->next;
    *(block->next == NONE ? &cache->last : &cache->blocks[block->next].prev) = block->prev;
    cache->idle--;
}

/* `soon`: it has no content, so it is taken before all others. */
static void link_block(struct sr_mock_cache *cache, uint32_t at, bool soon)
{
    struct block *block = &cache->blocks[at];
    block->prev = soon ? NONE : cache->last;
    block->next = soon ? cache->first : NONE;
    *(block->prev == NONE ? &cache->first : &cache->blocks[block->prev].next) = at;
    *(block->next == NONE ? &cache->last : &cache->blocks[block->next].prev) = at;
    cache->idle++;
}

/* ---- the table -------------------------------------------------------------------------------------- */

static size_t slot_of(const struct sr_mock_cache *cache, uint64_t hash)
{
    size_t at = (size_t)hash & (cache->n_slots - 1);
    while (cache->slots[at] != NONE && cache->blocks[cache->slots[at]].hash != hash)
        at = (at + 1) & (cache->n_slots - 1);
    return at;
}

/* Empties a slot and moves what lies behind it, so that no search ends too early. */
static void empty_slot(struct sr_mock_cache *cache, size_t hole)
{
    size_t mask = cache->n_slots - 1;
    for (size_t at = (hole + 1) & mask; cache->slots[at] != NONE; at = (at + 1) & mask) {
        size_t home = (size_t)cache->blocks[cache->slots[at]].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            cache->slots[hole] = cache->slots[at];
            hole = at;
        }
    }
    cache->slots[hole] = NONE;
}

static void forget(struct sr_mock_cache *cache, uint32_t at)
{
    struct block *block = &cache->blocks[at];
    if (!block->findable)
        return;
    empty_slot(cache, slot_of(cache, block->hash));
    block->findable = false;
    cache->stored--;
    if (cache->events)
        sr_mock_events_removed(cache->events, block->hash);
}

/* ---- life ------------------------------------------------------------------------------------------- */

int sr_mock_cache_new(struct sr_mock_cache **out, size_t blocks, struct sr_mock_events *events)
{
    *out = NULL;
    if (blocks < 1 || blocks > SR_MOCK_BLOCKS_MAX)
        return SR_EINVAL;
    struct sr_mock_cache *cache = sr_mem_calloc(1, sizeof *cache + blocks * sizeof cache->blocks[0]);
    if (!cache)
        return SR_ENOMEM;
    for (cache->n_slots = 4; cache->n_slots < 2 * blocks; cache->n_slots *= 2)
        ;
    cache->slots = sr_mem_alloc(cache->n_slots * sizeof *cache->slots);
    if (!cache->slots) {
        sr_mem_free(cache);
        return SR_ENOMEM;
    }
    memset(cache->slots, 0xff, cache->n_slots * sizeof *cache->slots);
    cache->events = events;
    cache->n = blocks;
    cache->first = cache->last = NONE;
    for (size_t i = 0; i < blocks; i++)
        link_block(cache, (uint32_t)i, false);
    *out = cache;
    return SR_OK;
}

void sr_mock_cache_free(struct sr_mock_cache *cache)
{
    if (!cache)
        return;
    sr_mem_free(cache->slots);
    sr_mem_free(cache);
}

/* ---- use -------------------------------------------------------------------------------------------- */

size_t sr_mock_cache_match(const struct sr_mock_cache *cache, const uint64_t *hashes, size_t n, size_t *idle)
{
    size_t found = 0;
    *idle = 0;
    for (; found < n; found++) {
        uint32_t at = cache->slots[slot_of(cache, hashes[found])];
        if (at == NONE)
            break;
        *idle += cache->blocks[at].holds == 0;
    }
    return found;
}

void sr_mock_cache_hold(struct sr_mock_cache *cache, const uint64_t *hashes, size_t n, uint32_t *table)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t at = cache->slots[slot_of(cache, hashes[i])];
        if (cache->blocks[at].holds++ == 0)
            unlink_block(cache, at);
        table[i] = at;
    }
}

size_t sr_mock_cache_available(const struct sr_mock_cache *cache)
{
    return cache->idle;
}

int sr_mock_cache_take(struct sr_mock_cache *cache, uint32_t *block)
{
    uint32_t at = cache->first;
    if (at == NONE)
        return SR_AGAIN;
    unlink_block(cache, at);
    forget(cache, at);
    cache->blocks[at].holds = 1;
    *block = at;
    return SR_OK;
}

void sr_mock_cache_commit(struct sr_mock_cache *cache, const uint32_t *table, const uint64_t *hashes,
                          const uint32_t *tokens, size_t from, size_t to)
{
    for (size_t i = from; i < to;) {
        size_t run = i;
        for (; run < to; run++) {
            size_t slot = slot_of(cache, hashes[run]);
            if (cache->slots[slot] != NONE)
                break;
            cache->slots[slot] = table[run];
            cache->blocks[table[run]].hash = hashes[run];
            cache->blocks[table[run]].findable = true;
            cache->stored++;
        }
        if (run > i && cache->events)
            sr_mock_events_stored(cache->events, &hashes[i], run - i, i > 0 ? &hashes[i - 1] : NULL,
                                  &tokens[i * SR_MOCK_BLOCK], SR_MOCK_BLOCK);
        i = run + 1;
    }
}

void sr_mock_cache_release(struct sr_mock_cache *cache, const uint32_t *table, size_t n)
{
    while (n-- > 0) {
        struct block *block = &cache->blocks[table[n]];
        if (--block->holds == 0)
            link_block(cache, table[n], !block->findable);
    }
}

void sr_mock_cache_clear(struct sr_mock_cache *cache)
{
    for (size_t i = 0; i < cache->n; i++)
        cache->blocks[i].findable = false;
    memset(cache->slots, 0xff, cache->n_slots * sizeof *cache->slots);
    cache->stored = 0;
    if (cache->events)
        sr_mock_events_cleared(cache->events);
}

size_t sr_mock_cache_stored(const struct sr_mock_cache *cache)
{
    return cache->stored;
}
