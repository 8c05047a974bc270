/* Shards, each a hash table of chains and a list by last use, under a lock of its own. */
#include "model/memo.h"

#include "base/mem.h"
#include "base/ref.h"

#include <pthread.h>
#include <stdatomic.h>

#define SHARDS      8u
#define BUCKETS_MAX (1u << 16)

struct entry {
    struct entry *chain;
    struct entry *newer, *older;
    struct sr_memo_key key;
    size_t n;
    _Alignas(16) char value[];
};

struct shard {
    pthread_mutex_t lock;
    struct entry **buckets; /* made with the first entry */
    size_t n_buckets;
    struct entry *newest, *oldest;
    size_t entries, bytes, max;
};

struct sr_memo {
    struct sr_ref ref;
    atomic_uint_fast64_t hits, misses;
    struct shard shards[SHARDS];
};

static size_t cost_of(const struct entry *entry)
{
    return sizeof *entry + entry->n + 32; /* the allocator's share and a bucket */
}

int sr_memo_new(struct sr_memo **out, size_t max_bytes)
{
    struct sr_memo *memo = sr_mem_calloc(1, sizeof *memo);
    if (!memo)
        return SR_ENOMEM;
    sr_ref_init(&memo->ref);
    atomic_init(&memo->hits, 0);
    atomic_init(&memo->misses, 0);
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&memo->shards[i].lock, NULL);
        memo->shards[i].max = max_bytes / SHARDS;
    }
    *out = memo;
    return SR_OK;
}

struct sr_memo *sr_memo_ref(struct sr_memo *memo)
{
    sr_ref_get(&memo->ref);
    return memo;
}

static uint64_t word_of(const struct sr_memo_key *key, size_t at)
{
    uint64_t word;
    memcpy(&word, key->bytes + at, sizeof word);
    return word;
}

static struct entry **slot_of(struct shard *shard, const struct sr_memo_key *key)
{
    struct entry **slot = &shard->buckets[word_of(key, 8) % shard->n_buckets];
    while (*slot && memcmp((*slot)->key.bytes, key->bytes, sizeof key->bytes) != 0)
        slot = &(*slot)->chain;
    return slot;
}

static void unlink_use(struct shard *shard, struct entry *entry)
{
    *(entry->newer ? &entry->newer->older : &shard->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &shard->oldest) = entry->newer;
}

static void link_newest(struct shard *shard, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = shard->newest;
    *(shard->newest ? &shard->newest->newer : &shard->oldest) = entry;
    shard->newest = entry;
}

static void drop(struct shard *shard, struct entry *entry)
{
    *slot_of(shard, &entry->key) = entry->chain;
    unlink_use(shard, entry);
    shard->entries--;
    shard->bytes -= cost_of(entry);
    sr_mem_free(entry);
}

static void shrink(struct shard *shard)
{
    while (shard->oldest && shard->bytes > shard->max)
        drop(shard, shard->oldest);
}

void sr_memo_unref(struct sr_memo *memo)
{
    if (!memo || !sr_ref_put(&memo->ref))
        return;
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &memo->shards[i];
        while (shard->oldest)
            drop(shard, shard->oldest);
        sr_mem_free(shard->buckets);
        pthread_mutex_destroy(&shard->lock);
    }
    sr_mem_free(memo);
}

void sr_memo_resize(struct sr_memo *memo, size_t max_bytes)
{
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &memo->shards[i];
        pthread_mutex_lock(&shard->lock);
        shard->max = max_bytes / SHARDS;
        shrink(shard);
        pthread_mutex_unlock(&shard->lock);
    }
}

int sr_memo_key(struct sr_memo_key *out, struct sr_bytes reader, struct sr_bytes tenant, struct sr_bytes text)
{
    uint8_t parts[3][SR_SHA256_SIZE];
    const struct sr_bytes all[3] = {reader, tenant, text};
    for (int i = 0; i < 3; i++)
        if (sr_sha256(all[i], parts[i]))
            return SR_ENOMEM;
    return sr_sha256(sr_bytes_of(parts, sizeof parts), out->bytes) ? SR_ENOMEM : SR_OK;
}

static struct shard *shard_of(struct sr_memo *memo, const struct sr_memo_key *key)
{
    return &memo->shards[key->bytes[0] % SHARDS];
}

int sr_memo_get(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_arena *arena,
                struct sr_bytes *value)
{
    struct shard *shard = shard_of(memo, key);
    int rc = SR_ENOENT;
    pthread_mutex_lock(&shard->lock);
    struct entry *entry = shard->buckets ? *slot_of(shard, key) : NULL;
    if (entry) {
        unlink_use(shard, entry);
        link_newest(shard, entry);
        char *copy = sr_arena_alloc(arena, entry->n + 1);
        rc = copy ? SR_OK : SR_ENOMEM;
        if (copy) {
            memcpy(copy, entry->value, entry->n);
            *value = sr_bytes_of(copy, entry->n);
        }
    }
    pthread_mutex_unlock(&shard->lock);
    atomic_fetch_add_explicit(entry ? &memo->hits : &memo->misses, 1, memory_order_relaxed);
    return rc;
}

static bool has_buckets(struct shard *shard)
{
    if (shard->buckets)
        return true;
    size_t n = 64;
    while (n < BUCKETS_MAX && n * 512 < shard->max)
        n *= 2;
    shard->buckets = sr_mem_calloc(n, sizeof *shard->buckets);
    shard->n_buckets = n;
    return shard->buckets != NULL;
}

void sr_memo_put(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_bytes value)
{
    struct shard *shard = shard_of(memo, key);
    if (value.n > SR_MEMO_VALUE_MAX)
        return;
    struct entry *fresh = sr_mem_alloc(sizeof *fresh + value.n);
    if (!fresh)
        return;
    fresh->key = *key;
    fresh->n = value.n;
    if (value.n)
        memcpy(fresh->value, value.p, value.n);
    pthread_mutex_lock(&shard->lock);
    if (cost_of(fresh) <= shard->max && has_buckets(shard)) {
        struct entry **slot = slot_of(shard, key);
        if (*slot)
            drop(shard, *slot);
        slot = slot_of(shard, key);
        fresh->chain = *slot;
        *slot = fresh;
        link_newest(shard, fresh);
        shard->entries++;
        shard->bytes += cost_of(fresh);
        fresh = NULL;
        shrink(shard);
    }
    pthread_mutex_unlock(&shard->lock);
    sr_mem_free(fresh);
}

void sr_memo_stats(struct sr_memo *memo, struct sr_memo_stats *out)
{
    *out = (struct sr_memo_stats){.hits = atomic_load_explicit(&memo->hits, memory_order_relaxed),
                                  .misses = atomic_load_explicit(&memo->misses, memory_order_relaxed)};
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &memo->shards[i];
        pthread_mutex_lock(&shard->lock);
        out->entries += shard->entries;
        out->bytes += shard->bytes;
        pthread_mutex_unlock(&shard->lock);
    }
}
