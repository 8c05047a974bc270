/*
 * Entries lie in blocks that never move. One heap orders them for eviction, by a number that the policy makes
 * of use: FIFO when it came, LRU when it was used last, LFU how often, and among equals when last.
 */
#include "cache/entries.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/hash.h"
#include "base/mem.h"

#include <assert.h>

#define BLOCK    64u /* entries */
#define USES_MAX 0xffffffu

struct alias {
    struct sr_entry_name name;
    struct sr_cache_key key;
};

struct sr_cache_now sr_cache_now(void)
{
    return (struct sr_cache_now){.wall = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS),
                                 .mono = (int64_t)(sr_clock_ns() / SR_NS_PER_MS)};
}

int sr_entries_init(struct sr_entries *entries, enum sr_cache_eviction eviction)
{
    uint64_t seed = 0;
    *entries = (struct sr_entries){.eviction = eviction};
    if (sr_random(&seed, sizeof seed) != SR_OK)
        seed = sr_clock_ns();
    int rc = sr_keymap_init(&entries->exact, seed);
    return rc ? rc : sr_keymap_init(&entries->requests, seed);
}

void sr_entries_dispose(struct sr_entries *entries)
{
    sr_keymap_dispose(&entries->exact);
    sr_keymap_dispose(&entries->requests);
    sr_heap_dispose(&entries->ranks);
    sr_heap_dispose(&entries->deaths);
    for (size_t i = 0; i < entries->n_blocks; i++)
        sr_mem_free(entries->blocks[i]);
    sr_mem_free(entries->blocks);
    *entries = (struct sr_entries){0};
}

static uint64_t rank_of(const struct sr_entries *entries, const struct sr_entry *entry)
{
    switch (entries->eviction) {
    case SR_CACHE_FIFO:
        return entry->added;
    case SR_CACHE_LRU:
        return entry->used;
    case SR_CACHE_LFU:
        return (uint64_t)entry->uses << 40 | (entry->used & (((uint64_t)1 << 40) - 1));
    }
    return 0;
}

void sr_entries_set_eviction(struct sr_entries *entries, enum sr_cache_eviction eviction)
{
    if (entries->eviction == eviction)
        return;
    entries->eviction = eviction;
    for (size_t id = 0; id < sr_entries_slots(entries); id++) {
        struct sr_entry *entry = sr_entries_by_id(entries, (uint32_t)id);
        if (entry->linked)
            sr_heap_set(&entries->ranks, &entry->rank, rank_of(entries, entry));
    }
}

/* One more block of unused slots. */
static int add_block(struct sr_entries *entries)
{
    size_t n = entries->n_blocks;
    if (n >= UINT32_MAX / BLOCK)
        return SR_ELIMIT;
    int rc = sr_grow(&entries->blocks, &entries->blocks_cap, n + 1, sizeof *entries->blocks, SR_GROW_NO_MAX);
    struct sr_entry *block = rc ? NULL : sr_mem_calloc(BLOCK, sizeof *block);
    if (!block)
        return rc ? rc : SR_ENOMEM;
    for (size_t i = BLOCK; i-- > 0;) {
        block[i].id = (uint32_t)(n * BLOCK + i);
        block[i].next = entries->unused;
        entries->unused = &block[i];
    }
    entries->blocks[n] = block;
    entries->n_blocks++;
    return SR_OK;
}

/* An empty cache keeps no tables. */
static void give_back(struct sr_entries *entries)
{
    for (size_t i = 0; i < entries->n_blocks; i++)
        sr_mem_free(entries->blocks[i]);
    entries->n_blocks = 0;
    entries->unused = NULL;
    sr_heap_dispose(&entries->ranks);
    sr_heap_dispose(&entries->deaths);
    sr_keymap_shrink(&entries->exact);
    sr_keymap_shrink(&entries->requests);
}

struct sr_entry *sr_entries_take(struct sr_entries *entries, struct sr_cache_record *record,
                                 struct sr_cache_now now)
{
    size_t need = entries->taken + 1;
    if ((!entries->unused && add_block(entries)) || sr_heap_reserve(&entries->ranks, need) ||
        sr_heap_reserve(&entries->deaths, need))
        return NULL;
    struct sr_entry *entry = entries->unused;
    const struct sr_cache_fields *f = &record->f;
    int64_t created = f->created_ms > 0 ? f->created_ms : 0;
    int64_t age = now.wall > created ? now.wall - created : 0;
    entries->unused = entry->next;
    entries->taken++;
    *entry = (struct sr_entry){.record = sr_cache_record_ref(record), .id = entry->id};
    entry->exact.key = &record->f.exact;
    entry->request.node.key = &record->f.request;
    entry->request.entry = entry;
    entry->born_ms = now.mono - age;
    entry->expires_ms = INT64_MAX;
    if (f->expires_ms) {
        int64_t left = f->expires_ms > now.wall ? f->expires_ms - now.wall : 0;
        if (left < INT64_MAX - now.mono)
            entry->expires_ms = now.mono + left;
    }
    return entry;
}

struct sr_cache_record *sr_entries_release(struct sr_entries *entries, struct sr_entry *entry)
{
    struct sr_cache_record *record = entry->record;
    assert(!entry->linked);
    entry->record = NULL;
    entry->next = entries->unused;
    entries->unused = entry;
    if (--entries->taken == 0)
        give_back(entries);
    return record;
}

/* Takes a request key away from the entry that has it. */
static void drop_name(struct sr_entries *entries, struct sr_entry_name *name)
{
    struct sr_entry_name **at = &name->entry->request.next;
    sr_keymap_remove(&entries->requests, &name->node);
    name->node.key = NULL;
    if (name == &name->entry->request)
        return;
    while (*at != name)
        at = &(*at)->next;
    *at = name->next;
    sr_mem_free(name);
    entries->aliases--;
}

static struct sr_entry_name *find_name(const struct sr_entries *entries, const struct sr_cache_key *key)
{
    struct sr_keymap_node *node = sr_keymap_find(&entries->requests, key);
    return node ? (struct sr_entry_name *)((char *)node - offsetof(struct sr_entry_name, node)) : NULL;
}

static void add_name(struct sr_entries *entries, struct sr_entry_name *name)
{
    struct sr_entry_name *before = find_name(entries, name->node.key);
    if (before)
        drop_name(entries, before);
    sr_keymap_insert(&entries->requests, &name->node);
}

void sr_entries_link(struct sr_entries *entries, struct sr_entry *entry)
{
    entry->linked = true;
    entry->added = entry->used = ++entries->clock;
    sr_keymap_insert(&entries->exact, &entry->exact);
    if (sr_cache_key_is_set(&entry->record->f.request))
        add_name(entries, &entry->request);
    else
        entry->request.node.key = NULL;
    sr_heap_set(&entries->ranks, &entry->rank, rank_of(entries, entry));
    if (entry->expires_ms != INT64_MAX)
        sr_heap_set(&entries->deaths, &entry->death, (uint64_t)entry->expires_ms);
    entries->n++;
    entries->record_bytes += entry->record->bytes;
}

void sr_entries_unlink(struct sr_entries *entries, struct sr_entry *entry)
{
    while (entry->request.next)
        drop_name(entries, entry->request.next);
    if (entry->request.node.key)
        drop_name(entries, &entry->request);
    sr_keymap_remove(&entries->exact, &entry->exact);
    sr_heap_remove(&entries->ranks, &entry->rank);
    sr_heap_remove(&entries->deaths, &entry->death);
    entry->linked = false;
    entries->n--;
    entries->record_bytes -= entry->record->bytes;
}

struct sr_entry *sr_entries_by_exact(const struct sr_entries *entries, const struct sr_cache_key *key)
{
    struct sr_keymap_node *node = sr_keymap_find(&entries->exact, key);
    return node ? (struct sr_entry *)((char *)node - offsetof(struct sr_entry, exact)) : NULL;
}

struct sr_entry *sr_entries_by_request(const struct sr_entries *entries, const struct sr_cache_key *key)
{
    struct sr_entry_name *name = find_name(entries, key);
    return name ? name->entry : NULL;
}

size_t sr_entries_slots(const struct sr_entries *entries)
{
    return entries->n_blocks * BLOCK;
}

struct sr_entry *sr_entries_by_id(const struct sr_entries *entries, uint32_t id)
{
    return &entries->blocks[id / BLOCK][id % BLOCK];
}

void sr_entries_alias(struct sr_entries *entries, struct sr_entry *entry, const struct sr_cache_key *key)
{
    struct sr_entry_name *before = find_name(entries, key), *last = entry->request.next;
    size_t n = 0;
    if ((before && before->entry == entry) || !sr_cache_key_is_set(key))
        return;
    struct alias *alias = sr_mem_alloc(sizeof *alias);
    if (!alias)
        return;
    for (struct sr_entry_name *name = last; name; name = name->next, n++)
        last = name;
    if (n >= SR_ENTRY_ALIASES)
        drop_name(entries, last);
    *alias = (struct alias){.key = *key, .name = {.entry = entry, .next = entry->request.next}};
    alias->name.node.key = &alias->key;
    add_name(entries, &alias->name);
    entry->request.next = &alias->name;
    entries->aliases++;
}

void sr_entries_use(struct sr_entries *entries, struct sr_entry *entry)
{
    entry->used = ++entries->clock;
    if (entry->uses < USES_MAX)
        entry->uses++;
    if (entries->eviction != SR_CACHE_FIFO)
        sr_heap_set(&entries->ranks, &entry->rank, rank_of(entries, entry));
}

struct sr_entry *sr_entries_weakest(const struct sr_entries *entries)
{
    uint64_t rank;
    struct sr_heap_place *place = sr_heap_first(&entries->ranks, &rank);
    return place ? (struct sr_entry *)((char *)place - offsetof(struct sr_entry, rank)) : NULL;
}

struct sr_entry *sr_entries_expired(const struct sr_entries *entries, struct sr_cache_now now)
{
    uint64_t expires;
    struct sr_heap_place *place = sr_heap_first(&entries->deaths, &expires);
    if (!place || (int64_t)expires > now.mono)
        return NULL;
    return (struct sr_entry *)((char *)place - offsetof(struct sr_entry, death));
}

bool sr_entry_has_expired(const struct sr_entry *entry, struct sr_cache_now now)
{
    int64_t expires = entry->record->f.expires_ms;
    return now.mono >= entry->expires_ms || (expires && now.wall >= expires);
}

bool sr_entry_is_older(const struct sr_entry *entry, int64_t max_age_ms, struct sr_cache_now now)
{
    int64_t created = entry->record->f.created_ms > 0 ? entry->record->f.created_ms : 0;
    return max_age_ms && (now.mono - entry->born_ms > max_age_ms || now.wall - created > max_age_ms);
}

size_t sr_entries_memory(const struct sr_entries *entries)
{
    return entries->record_bytes + entries->n_blocks * BLOCK * sizeof(struct sr_entry) +
           entries->blocks_cap * sizeof *entries->blocks + entries->aliases * sizeof(struct alias) +
           (entries->ranks.cap + entries->deaths.cap) * sizeof *entries->ranks.items +
           sr_keymap_memory(&entries->exact) + sr_keymap_memory(&entries->requests);
}
