/*
 * What the cache has in memory: records by their exact key and by request keys, in the order of eviction and
 * of expiry.
 *
 * An entry has a number, which is its id in the vector index of its partition: the slot is used again only
 * after sr_entries_release. Not thread-safe: cache/memory has the lock. Knows no index and no limit.
 */
#ifndef SR_CACHE_ENTRIES_H
#define SR_CACHE_ENTRIES_H

#include "cache/cache.h"
#include "cache/heap.h"
#include "cache/keymap.h"

#define SR_ENTRY_ALIASES 8 /* request keys of a record besides its own; the oldest makes room */

struct sr_partition;

/* Both clocks, in milliseconds. */
struct sr_cache_now {
    int64_t wall, mono;
};

struct sr_entry_name {
    struct sr_keymap_node node;
    struct sr_entry *entry;
    struct sr_entry_name *next; /* the names of an entry, its own first, then the latest alias */
};

struct sr_entry {
    struct sr_cache_record *record; /* a reference */
    struct sr_partition *partition; /* has its vector; NULL: none has. cache/memory's */
    struct sr_keymap_node exact;
    struct sr_entry_name request;
    struct sr_heap_place rank, death;
    uint64_t added, used;        /* numbers of a counter of changes */
    int64_t born_ms, expires_ms; /* of the monotonic clock; INT64_MAX: never expires */
    uint32_t uses, id;
    bool linked;
    struct sr_entry *next; /* a list of the owner while it is not linked */
};

struct sr_entries {
    struct sr_keymap exact, requests;
    struct sr_heap ranks, deaths;
    struct sr_entry **blocks; /* [n_blocks], of slots */
    size_t n_blocks, blocks_cap, taken, n, aliases;
    size_t record_bytes; /* of linked entries */
    uint64_t clock;
    struct sr_entry *unused;
    enum sr_cache_eviction eviction;
};

struct sr_cache_now sr_cache_now(void);

/* SR_ENOMEM; then it can be disposed. */
int sr_entries_init(struct sr_entries *entries, enum sr_cache_eviction eviction) SR_WARN_UNUSED;
void sr_entries_dispose(struct sr_entries *entries);
void sr_entries_set_eviction(struct sr_entries *entries, enum sr_cache_eviction eviction);

/* A slot for a record, of which it has a reference; in no table yet. NULL: out of memory. */
struct sr_entry *sr_entries_take(struct sr_entries *entries, struct sr_cache_record *record,
                                 struct sr_cache_now now);
/* Files it in all tables. No linked entry has its exact key. */
void sr_entries_link(struct sr_entries *entries, struct sr_entry *entry);
/* Takes it out of all tables. */
void sr_entries_unlink(struct sr_entries *entries, struct sr_entry *entry);
/* Of an entry that is not linked: the slot is free again. Returns the record with the entry's reference. */
struct sr_cache_record *sr_entries_release(struct sr_entries *entries, struct sr_entry *entry);

struct sr_entry *sr_entries_by_exact(const struct sr_entries *entries, const struct sr_cache_key *key);
struct sr_entry *sr_entries_by_request(const struct sr_entries *entries, const struct sr_cache_key *key);
/* Slots have the ids from 0 up; the entry of one, which may be unused. */
size_t sr_entries_slots(const struct sr_entries *entries);
struct sr_entry *sr_entries_by_id(const struct sr_entries *entries, uint32_t id);

/* Files a linked entry under one more request key; one that another entry has becomes this one's. Without
 * memory nothing happens. */
void sr_entries_alias(struct sr_entries *entries, struct sr_entry *entry, const struct sr_cache_key *key);

/* It was a hit. */
void sr_entries_use(struct sr_entries *entries, struct sr_entry *entry);

/* What to evict first; what expires first, if it has expired by the monotonic clock. NULL: none. */
struct sr_entry *sr_entries_weakest(const struct sr_entries *entries);
struct sr_entry *sr_entries_expired(const struct sr_entries *entries, struct sr_cache_now now);

/* By either clock. */
bool sr_entry_has_expired(const struct sr_entry *entry, struct sr_cache_now now);
/* True when it is older than max_age_ms by either clock; 0: no record is. */
bool sr_entry_is_older(const struct sr_entry *entry, int64_t max_age_ms, struct sr_cache_now now);

/* Bytes of everything but the records' index. */
size_t sr_entries_memory(const struct sr_entries *entries);

#endif
