/*
 * Shards, each a hash table of chains and a list by last use, under a lock of its own. The limit is of all
 * shards together: what goes first is the oldest of their oldest.
 */
#include "model/memo.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define SHARDS      8u
#define BUCKETS_MAX (1u << 16)
#define NEVER       UINT64_MAX /* when an empty shard's oldest entry was used */

struct copy {
    struct sr_memo_entry entry;
    size_t n;
    _Alignas(16) char value[];
};

struct shard {
    pthread_mutex_t lock;
    struct sr_memo_entry **buckets; /* made with the first entry */
    size_t n_buckets;
    struct sr_memo_entry *newest, *oldest;
    size_t entries;
    atomic_uint_fast64_t oldest_use; /* written under the lock, read without */
};

struct sr_memo {
    struct sr_ref ref;
    atomic_uint_fast64_t hits, misses, dropped, uses, readers;
    atomic_size_t bytes, max;
    struct shard shards[SHARDS];
};

static size_t cost_of(const struct sr_memo_entry *entry)
{
    return entry->bytes + 32; /* the allocator's share and a bucket */
}

int sr_memo_new(struct sr_memo **out, size_t max_bytes)
{
    struct sr_memo *memo = sr_mem_calloc(1, sizeof *memo);
    if (!memo)
        return SR_ENOMEM;
    sr_ref_init(&memo->ref);
    atomic_init(&memo->hits, 0);
    atomic_init(&memo->misses, 0);
    atomic_init(&memo->dropped, 0);
    atomic_init(&memo->uses, 0);
    atomic_init(&memo->readers, 0);
    atomic_init(&memo->bytes, 0);
    atomic_init(&memo->max, max_bytes);
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_init(&memo->shards[i].lock, NULL);
        atomic_init(&memo->shards[i].oldest_use, NEVER);
    }
    *out = memo;
    return SR_OK;
}

struct sr_memo *sr_memo_ref(struct sr_memo *memo)
{
    sr_ref_get(&memo->ref);
    return memo;
}

void sr_memo_entry_unref(struct sr_memo_entry *entry)
{
    if (entry && sr_ref_put(&entry->ref))
        entry->free(entry);
}

uint64_t sr_memo_reader(struct sr_memo *memo)
{
    return atomic_fetch_add_explicit(&memo->readers, 1, memory_order_relaxed) + 1;
}

bool sr_memo_key_eq(const struct sr_memo_key *a, const struct sr_memo_key *b)
{
    return a->salt == b->salt && a->reader == b->reader && memcmp(a->digest, b->digest, SR_SHA256_SIZE) == 0;
}

static struct sr_memo_entry **slot_of(struct shard *shard, const struct sr_memo_key *key)
{
    uint64_t word;
    memcpy(&word, key->digest + 8, sizeof word);
    struct sr_memo_entry **slot = &shard->buckets[(word ^ key->salt ^ key->reader) % shard->n_buckets];
    while (*slot && !sr_memo_key_eq(&(*slot)->key, key))
        slot = &(*slot)->chain;
    return slot;
}

static struct shard *shard_of(struct sr_memo *memo, const struct sr_memo_key *key)
{
    return &memo->shards[key->digest[0] % SHARDS];
}

/* ---- of a shard, under its lock ---- */

static void unlink_use(struct shard *shard, struct sr_memo_entry *entry)
{
    *(entry->newer ? &entry->newer->older : &shard->newest) = entry->older;
    *(entry->older ? &entry->older->newer : &shard->oldest) = entry->newer;
}

static void link_newest(struct sr_memo *memo, struct shard *shard, struct sr_memo_entry *entry)
{
    entry->used = atomic_fetch_add_explicit(&memo->uses, 1, memory_order_relaxed);
    entry->newer = NULL;
    entry->older = shard->newest;
    *(shard->newest ? &shard->newest->newer : &shard->oldest) = entry;
    shard->newest = entry;
}

static void tell_oldest(struct shard *shard)
{
    atomic_store_explicit(&shard->oldest_use, shard->oldest ? shard->oldest->used : NEVER,
                          memory_order_relaxed);
}

/* The memo's reference is the caller's from here on. */
static struct sr_memo_entry *take(struct sr_memo *memo, struct shard *shard, struct sr_memo_entry *entry)
{
    *slot_of(shard, &entry->key) = entry->chain;
    unlink_use(shard, entry);
    tell_oldest(shard);
    shard->entries--;
    atomic_fetch_sub_explicit(&memo->bytes, cost_of(entry), memory_order_relaxed);
    return entry;
}

static void insert(struct sr_memo *memo, struct shard *shard, struct sr_memo_entry *entry)
{
    struct sr_memo_entry **slot = slot_of(shard, &entry->key);
    sr_ref_get(&entry->ref);
    entry->chain = *slot;
    *slot = entry;
    link_newest(memo, shard, entry);
    tell_oldest(shard);
    shard->entries++;
    atomic_fetch_add_explicit(&memo->bytes, cost_of(entry), memory_order_relaxed);
}

static bool has_buckets(struct shard *shard, size_t max)
{
    if (shard->buckets)
        return true;
    size_t n = 64;
    while (n < BUCKETS_MAX && n * 512 < max / SHARDS)
        n *= 2;
    shard->buckets = sr_mem_calloc(n, sizeof *shard->buckets);
    shard->n_buckets = n;
    return shard->buckets != NULL;
}

/* ---- of all shards; no lock is held ---- */

/* False: there is no entry. True also if another thread was first. */
static bool drop_oldest(struct sr_memo *memo)
{
    struct shard *shard = NULL;
    uint64_t oldest = NEVER;
    for (unsigned i = 0; i < SHARDS; i++) {
        uint64_t use = atomic_load_explicit(&memo->shards[i].oldest_use, memory_order_relaxed);
        if (use < oldest) {
            oldest = use;
            shard = &memo->shards[i];
        }
    }
    if (!shard)
        return false;
    pthread_mutex_lock(&shard->lock);
    struct sr_memo_entry *entry = shard->oldest ? take(memo, shard, shard->oldest) : NULL;
    pthread_mutex_unlock(&shard->lock);
    if (entry)
        atomic_fetch_add_explicit(&memo->dropped, 1, memory_order_relaxed);
    sr_memo_entry_unref(entry);
    return true;
}

static void shrink(struct sr_memo *memo)
{
    bool more = true;
    while (more && atomic_load_explicit(&memo->bytes, memory_order_relaxed) >
                       atomic_load_explicit(&memo->max, memory_order_relaxed))
        more = drop_oldest(memo);
}

void sr_memo_resize(struct sr_memo *memo, size_t max_bytes)
{
    atomic_store_explicit(&memo->max, max_bytes, memory_order_relaxed);
    shrink(memo);
}

void sr_memo_unref(struct sr_memo *memo)
{
    if (!memo || !sr_ref_put(&memo->ref))
        return;
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &memo->shards[i];
        while (shard->oldest)
            sr_memo_entry_unref(take(memo, shard, shard->oldest));
        sr_mem_free(shard->buckets);
        pthread_mutex_destroy(&shard->lock);
    }
    sr_mem_free(memo);
}

struct sr_memo_entry *sr_memo_find(struct sr_memo *memo, const struct sr_memo_key *key)
{
    struct shard *shard = shard_of(memo, key);
    pthread_mutex_lock(&shard->lock);
    struct sr_memo_entry *entry = shard->buckets ? *slot_of(shard, key) : NULL;
    if (entry) {
        sr_ref_get(&entry->ref);
        unlink_use(shard, entry);
        link_newest(memo, shard, entry);
        tell_oldest(shard);
    }
    pthread_mutex_unlock(&shard->lock);
    atomic_fetch_add_explicit(entry ? &memo->hits : &memo->misses, 1, memory_order_relaxed);
    return entry;
}

void sr_memo_keep(struct sr_memo *memo, struct sr_memo_entry *entry)
{
    struct shard *shard = shard_of(memo, &entry->key);
    struct sr_memo_entry *before = NULL;
    size_t max = atomic_load_explicit(&memo->max, memory_order_relaxed);
    if (cost_of(entry) > max)
        return;
    pthread_mutex_lock(&shard->lock);
    if (has_buckets(shard, max)) {
        before = *slot_of(shard, &entry->key);
        if (before)
            take(memo, shard, before);
        insert(memo, shard, entry);
    }
    pthread_mutex_unlock(&shard->lock);
    sr_memo_entry_unref(before);
    shrink(memo);
}

/* ---- copies ---- */

int sr_memo_scope(struct sr_memo_scope *out, struct sr_bytes reader, struct sr_bytes tenant)
{
    int rc = sr_sha256(reader, out->digests);
    return rc ? rc : sr_sha256(tenant, out->digests + SR_SHA256_SIZE);
}

/* The scope has one length, so no two pairs of a scope and a text are the same bytes. */
int sr_memo_key(struct sr_memo_key *out, const struct sr_memo_scope *scope, struct sr_bytes text)
{
    out->salt = out->reader = 0;
    return sr_sha256_both(sr_bytes_of(scope->digests, sizeof scope->digests), text, out->digest);
}

int sr_memo_get(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_arena *arena,
                struct sr_bytes *value)
{
    struct sr_memo_entry *entry = sr_memo_find(memo, key);
    if (!entry)
        return SR_ENOENT;
    const struct copy *known = (const struct copy *)entry;
    char *copy = sr_arena_alloc(arena, known->n + 1);
    if (copy) {
        memcpy(copy, known->value, known->n);
        *value = sr_bytes_of(copy, known->n);
    }
    sr_memo_entry_unref(entry);
    return copy ? SR_OK : SR_ENOMEM;
}

static void free_copy(struct sr_memo_entry *entry)
{
    sr_mem_free((struct copy *)entry);
}

bool sr_memo_has(struct sr_memo *memo, const struct sr_memo_key *key)
{
    struct shard *shard = shard_of(memo, key);
    pthread_mutex_lock(&shard->lock);
    bool has = shard->buckets && *slot_of(shard, key);
    pthread_mutex_unlock(&shard->lock);
    return has;
}

void sr_memo_put(struct sr_memo *memo, const struct sr_memo_key *key, struct sr_bytes value)
{
    if (value.n > SR_MEMO_VALUE_MAX)
        return;
    struct copy *fresh = sr_mem_alloc(sizeof *fresh + value.n);
    if (!fresh)
        return;
    fresh->entry = (struct sr_memo_entry){.key = *key, .bytes = sizeof *fresh + value.n, .free = free_copy};
    sr_ref_init(&fresh->entry.ref);
    fresh->n = value.n;
    if (value.n)
        memcpy(fresh->value, value.p, value.n);
    sr_memo_keep(memo, &fresh->entry);
    sr_memo_entry_unref(&fresh->entry);
}

void sr_memo_stats(struct sr_memo *memo, struct sr_memo_stats *out)
{
    *out = (struct sr_memo_stats){.hits = atomic_load_explicit(&memo->hits, memory_order_relaxed),
                                  .misses = atomic_load_explicit(&memo->misses, memory_order_relaxed),
                                  .dropped = atomic_load_explicit(&memo->dropped, memory_order_relaxed),
                                  .bytes = atomic_load_explicit(&memo->bytes, memory_order_relaxed)};
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &memo->shards[i];
        pthread_mutex_lock(&shard->lock);
        out->entries += shard->entries;
        pthread_mutex_unlock(&shard->lock);
    }
}
