/* Linear probing; an entry that loses its last worker is removed by moving back those that follow. */
#include "pool/warm/blocks_table.h"

#include "base/mem.h"

#include <string.h>

#define SHARD_FIRST 64

void sr_blocks_table_dispose(struct sr_blocks_table *table)
{
    for (size_t i = 0; i < SR_BLOCKS_SHARDS; i++)
        sr_mem_free(table->shards[i].entries);
    *table = (struct sr_blocks_table){.words = table->words};
}

static const struct sr_blocks_shard *shard_of(const struct sr_blocks_table *table, uint64_t hash)
{
    return &table->shards[hash >> 56];
}

static uint64_t *entry_at(const struct sr_blocks_table *table, const struct sr_blocks_shard *shard, size_t at)
{
    return shard->entries + at * (1 + table->words);
}

static bool is_free(const struct sr_blocks_table *table, const uint64_t *entry)
{
    uint64_t any = 0;
    for (size_t w = 0; w < table->words; w++)
        any |= entry[1 + w];
    return any == 0;
}

/* The position of the hash, or of the free entry where it would stand. The shard has a free entry. */
static size_t find(const struct sr_blocks_table *table, const struct sr_blocks_shard *shard, uint64_t hash)
{
    size_t at = hash & (shard->size - 1);
    for (;;) {
        const uint64_t *entry = entry_at(table, shard, at);
        if (entry[0] == hash || is_free(table, entry))
            return at;
        at = (at + 1) & (shard->size - 1);
    }
}

/* Moves a shard to new memory of `size` entries of `words` words. */
static bool rebuild(const struct sr_blocks_table *table, struct sr_blocks_shard *shard, size_t size,
                    size_t words)
{
    struct sr_blocks_table to_table = {.words = words};
    struct sr_blocks_shard to = {.size = size, .used = shard->used};
    to.entries = sr_mem_calloc(size * (1 + words), sizeof *to.entries);
    if (!to.entries)
        return false;
    for (size_t i = 0; i < shard->size; i++) {
        const uint64_t *entry = entry_at(table, shard, i);
        if (is_free(table, entry))
            continue;
        uint64_t *copy = entry_at(&to_table, &to, find(&to_table, &to, entry[0]));
        memcpy(copy, entry, (1 + (words < table->words ? words : table->words)) * sizeof *copy);
    }
    sr_mem_free(shard->entries);
    *shard = to;
    return true;
}

int sr_blocks_table_widen(struct sr_blocks_table *table, size_t words)
{
    struct sr_blocks_table wide = {.words = words};
    if (words <= table->words)
        return SR_OK;
    for (size_t i = 0; i < SR_BLOCKS_SHARDS; i++) {
        struct sr_blocks_shard *from = &table->shards[i], *to = &wide.shards[i];
        if (from->size == 0)
            continue;
        *to = (struct sr_blocks_shard){.size = from->size, .used = from->used};
        to->entries = sr_mem_calloc(to->size * (1 + words), sizeof *to->entries);
        if (!to->entries) {
            sr_blocks_table_dispose(&wide);
            return SR_ENOMEM;
        }
        for (size_t k = 0; k < from->size; k++)
            memcpy(entry_at(&wide, to, k), entry_at(table, from, k), (1 + table->words) * sizeof(uint64_t));
    }
    sr_blocks_table_dispose(table);
    *table = wide;
    return SR_OK;
}

uint64_t *sr_blocks_table_find(const struct sr_blocks_table *table, uint64_t hash)
{
    const struct sr_blocks_shard *shard = shard_of(table, hash);
    if (shard->size == 0)
        return NULL;
    uint64_t *entry = entry_at(table, shard, find(table, shard, hash));
    return is_free(table, entry) ? NULL : entry + 1;
}

void sr_blocks_table_prefetch(const struct sr_blocks_table *table, uint64_t hash)
{
    const struct sr_blocks_shard *shard = shard_of(table, hash);
    if (shard->size)
        __builtin_prefetch(entry_at(table, shard, hash & (shard->size - 1)));
}

/* Shards grow at different loads, of a half to three quarters, so that they do not all grow at once. */
static bool is_full(const struct sr_blocks_shard *shard, size_t number)
{
    return shard->used * 4 * SR_BLOCKS_SHARDS >= shard->size * (2 * SR_BLOCKS_SHARDS + number);
}

bool sr_blocks_table_set(struct sr_blocks_table *table, uint64_t hash, uint32_t slot)
{
    struct sr_blocks_shard *shard = &table->shards[hash >> 56];
    if (is_full(shard, hash >> 56) &&
        !rebuild(table, shard, shard->size ? shard->size * 2 : SHARD_FIRST, table->words))
        return false;
    uint64_t *entry = entry_at(table, shard, find(table, shard, hash));
    shard->used += is_free(table, entry);
    entry[0] = hash;
    entry[1 + slot / 64] |= UINT64_C(1) << slot % 64;
    return true;
}

/* Frees the entry at a position: entries behind it that would not be found any more move back. */
static void erase(struct sr_blocks_table *table, struct sr_blocks_shard *shard, size_t hole)
{
    size_t mask = shard->size - 1, at = hole, bytes = (1 + table->words) * sizeof(uint64_t);
    for (;;) {
        at = (at + 1) & mask;
        const uint64_t *entry = entry_at(table, shard, at);
        if (is_free(table, entry))
            break;
        if (((at - entry[0]) & mask) < ((at - hole) & mask))
            continue; /* its own position is behind the hole */
        memcpy(entry_at(table, shard, hole), entry, bytes);
        hole = at;
    }
    memset(entry_at(table, shard, hole), 0, bytes);
    shard->used--;
}

void sr_blocks_table_unset(struct sr_blocks_table *table, uint64_t hash, uint32_t slot)
{
    struct sr_blocks_shard *shard = &table->shards[hash >> 56];
    if (shard->size == 0)
        return;
    size_t at = find(table, shard, hash);
    uint64_t *entry = entry_at(table, shard, at);
    if (is_free(table, entry))
        return;
    entry[1 + slot / 64] &= ~(UINT64_C(1) << slot % 64);
    if (is_free(table, entry))
        erase(table, shard, at);
}

size_t sr_blocks_table_bytes(const struct sr_blocks_table *table)
{
    size_t bytes = sizeof *table;
    for (size_t i = 0; i < SR_BLOCKS_SHARDS; i++)
        bytes += table->shards[i].size * (1 + table->words) * sizeof(uint64_t);
    return bytes;
}
