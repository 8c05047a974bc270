/*
 * Order of locks: a partition's, then the store's. A put adds the vector before the entry is linked, and a
 * removal unlinks the entry before it takes the vector out, so an index may name entries that are in no
 * table, never one whose slot is free. Records are freed without a lock.
 */
#include "cache/memory.h"

#include <time.h>

#define BATCH   32u    /* entries that are evicted with the lock held once */
#define BUCKETS 64u    /* buckets that are walked with the lock held once */
#define REST_NS 50000L /* between two of these */

int sr_memory_init(struct sr_memory *memory, const struct sr_cache_limits *limits)
{
    *memory = (struct sr_memory){.limits = *limits};
    int rc = sr_entries_init(&memory->entries, limits->eviction);
    if (!rc)
        rc = sr_partitions_init(&memory->partitions);
    if (rc) {
        sr_partitions_dispose(&memory->partitions);
        sr_entries_dispose(&memory->entries);
        return rc;
    }
    pthread_mutex_init(&memory->lock, NULL);
    return SR_OK;
}

static void lock(struct sr_memory *memory)
{
    pthread_mutex_lock(&memory->lock);
}

static void unlock(struct sr_memory *memory)
{
    pthread_mutex_unlock(&memory->lock);
}

/* ---- the index ---- */

/* Gives up a use of a partition and counts its memory anew. */
static void leave(struct sr_memory *memory, struct sr_partition *partition)
{
    size_t bytes = sr_partition_memory(partition);
    lock(memory);
    sr_partitions_charge(&memory->partitions, partition, bytes);
    bool last = sr_partitions_leave(&memory->partitions, partition);
    unlock(memory);
    if (last)
        sr_partition_free(partition);
}

/* The partition of a key, with one more user; made when there is none. */
static int use_partition(struct sr_memory *memory, const struct sr_cache_key *key, size_t dimensions,
                         struct sr_partition **out)
{
    struct sr_partition *made = NULL;
    lock(memory);
    *out = sr_partitions_use(&memory->partitions, key);
    unlock(memory);
    if (*out)
        return SR_OK;
    int rc = sr_partition_new(&made, key, dimensions);
    if (rc)
        return rc;
    lock(memory);
    *out = sr_partitions_use(&memory->partitions, key);
    if (!*out) {
        sr_partitions_add(&memory->partitions, made);
        *out = made;
        made = NULL;
    }
    unlock(memory);
    sr_partition_free(made);
    return SR_OK;
}

/* Adds an entry's vector to the index of its partition. A vector of other dimensions is left out. */
static int add_vector(struct sr_memory *memory, struct sr_entry *entry, size_t dimensions)
{
    const struct sr_cache_fields *f = &entry->record->f;
    struct sr_partition *partition;
    if (!f->vector.n || !dimensions || f->vector.n != sr_vector_packed_size(dimensions))
        return SR_OK;
    int rc = use_partition(memory, &f->partition, dimensions, &partition);
    if (rc)
        return rc;
    rc = partition->dimensions == dimensions ? sr_partition_insert(partition, entry->id, f->vector)
                                             : SR_EPARSE;
    if (rc) {
        leave(memory, partition);
        return rc == SR_EPARSE ? SR_OK : rc; /* no vector of ours: for exact hits only */
    }
    size_t bytes = sr_partition_memory(partition);
    lock(memory);
    sr_partitions_charge(&memory->partitions, partition, bytes);
    unlock(memory);
    entry->partition = partition;
    return SR_OK;
}

/* Frees a list of entries that are not linked. */
static void bury(struct sr_memory *memory, struct sr_entry *list)
{
    while (list) {
        struct sr_entry *entry = list;
        struct sr_partition *partition = entry->partition;
        list = entry->next;
        if (partition)
            sr_partition_remove(partition, entry->id);
        lock(memory);
        struct sr_cache_record *record = sr_entries_release(&memory->entries, entry);
        unlock(memory);
        if (partition)
            leave(memory, partition);
        sr_cache_record_unref(record);
    }
}

/* ---- limits ---- */

/* With the lock. Takes an entry out of the tables and puts it on a list. */
static void condemn(struct sr_memory *memory, struct sr_entry *entry, struct sr_entry **list)
{
    sr_entries_unlink(&memory->entries, entry);
    entry->next = *list;
    *list = entry;
}

/* With the lock: bytes in use. */
static size_t bytes_in_use(const struct sr_memory *memory)
{
    return sr_entries_memory(&memory->entries) + memory->partitions.memory +
           sr_keymap_memory(&memory->partitions.map);
}

/* What burying an entry will give back of its partition's index. */
static size_t share_of_index(const struct sr_entry *entry)
{
    const struct sr_partition *partition = entry->partition;
    return partition ? partition->charged / (partition->users ? partition->users : 1) : 0;
}

/* Condemns what has expired, at most `max`. With the lock. */
static size_t condemn_expired(struct sr_memory *memory, size_t max, struct sr_entry **list)
{
    struct sr_cache_now now = sr_cache_now();
    struct sr_entry *entry;
    size_t n = 0;
    for (; n < max && (entry = sr_entries_expired(&memory->entries, now)); n++)
        condemn(memory, entry, list);
    memory->expired += n;
    memory->last_cleanup_ms = now.wall;
    return n;
}

/* With the lock: so many more entries and bytes are within the limits, once `given_back` bytes are. */
static bool fits(const struct sr_memory *memory, size_t entries, size_t bytes, size_t given_back)
{
    size_t used = bytes_in_use(memory);
    used = used > given_back ? used - given_back : 0;
    return memory->entries.n + entries <= memory->limits.max_entries && used <= memory->limits.max_bytes &&
           bytes <= memory->limits.max_bytes - used;
}

/* Evicts until there is room for so many more. False: there is none in an empty store either. */
static bool make_room(struct sr_memory *memory, size_t entries, size_t bytes)
{
    struct sr_entry *list, *entry;
    bool enough;
    do {
        size_t given_back = 0;
        list = NULL;
        lock(memory);
        condemn_expired(memory, BATCH, &list);
        for (size_t i = 0; i < BATCH && !fits(memory, entries, bytes, given_back); i++) {
            entry = sr_entries_weakest(&memory->entries);
            if (!entry)
                break;
            given_back += share_of_index(entry);
            condemn(memory, entry, &list);
            memory->evicted++;
        }
        enough = fits(memory, entries, bytes, given_back);
        unlock(memory);
        bury(memory, list);
    } while (list);
    return enough;
}

void sr_memory_dispose(struct sr_memory *memory)
{
    struct sr_cache_selector all = {0};
    struct sr_memory_walk walk;
    sr_memory_walk_begin(memory, &walk, &all, false);
    while (sr_memory_walk_on(memory, &walk))
        continue;
    sr_partitions_dispose(&memory->partitions);
    sr_entries_dispose(&memory->entries);
    pthread_mutex_destroy(&memory->lock);
}

/* Takes the vectors of so many slots out of their indexes. */
static void drop_vectors(struct sr_memory *memory, size_t dimensions)
{
    size_t id = 0;
    struct sr_partition *partition;
    do {
        partition = NULL;
        lock(memory);
        while (!partition && id < sr_entries_slots(&memory->entries)) {
            struct sr_entry *entry = sr_entries_by_id(&memory->entries, (uint32_t)id++);
            if (entry->linked && entry->partition && entry->partition->dimensions != dimensions) {
                partition = entry->partition;
                entry->partition = NULL;
            }
        }
        unlock(memory);
        if (partition) {
            sr_partition_remove(partition, (uint32_t)id - 1);
            leave(memory, partition);
        }
    } while (partition);
}

void sr_memory_set(struct sr_memory *memory, const struct sr_cache_limits *limits)
{
    lock(memory);
    bool other = memory->limits.dimensions != limits->dimensions;
    memory->limits = *limits;
    sr_entries_set_eviction(&memory->entries, limits->eviction);
    unlock(memory);
    if (other)
        drop_vectors(memory, limits->dimensions);
    make_room(memory, 0, 0);
}

/* ---- changes ---- */

/* Files an entry in place of one with the same exact key. False: that one is newer and stays. */
static bool link_entry(struct sr_memory *memory, struct sr_entry *entry, bool loaded)
{
    struct sr_entry *list = NULL;
    lock(memory);
    struct sr_entry *before = sr_entries_by_exact(&memory->entries, &entry->record->f.exact);
    bool stays = before && loaded && before->record->f.created_ms >= entry->record->f.created_ms;
    if (before && !stays)
        condemn(memory, before, &list);
    if (!stays) {
        sr_entries_link(&memory->entries, entry);
        memory->stored += !loaded;
    }
    unlock(memory);
    bury(memory, list);
    return !stays;
}

int sr_memory_put(struct sr_memory *memory, struct sr_cache_record *record, bool loaded)
{
    const struct sr_cache_fields *f = &record->f;
    struct sr_cache_now now = sr_cache_now();
    if (!sr_cache_key_is_set(&f->exact) || (f->vector.n && !sr_cache_key_is_set(&f->partition)))
        return SR_EINVAL;
    if (f->expires_ms && f->expires_ms <= now.wall)
        return SR_OK;
    lock(memory);
    size_t dimensions = memory->limits.dimensions;
    bool too_large = record->bytes + f->vector.n > memory->limits.max_bytes;
    bool new = !sr_entries_by_exact(&memory->entries, &f->exact);
    unlock(memory);
    if (too_large || !make_room(memory, new, record->bytes + f->vector.n))
        return SR_ELIMIT;
    lock(memory);
    struct sr_entry *entry = sr_entries_take(&memory->entries, record, now);
    unlock(memory);
    if (!entry)
        return SR_ENOMEM;
    int rc = add_vector(memory, entry, dimensions);
    if (rc || !link_entry(memory, entry, loaded))
        bury(memory, entry);
    make_room(memory, 0, 0);
    return rc;
}

void sr_memory_alias(struct sr_memory *memory, const struct sr_cache_key *request,
                     const struct sr_cache_record *record)
{
    lock(memory);
    struct sr_entry *entry = sr_entries_by_exact(&memory->entries, &record->f.exact);
    if (entry && entry->record == record)
        sr_entries_alias(&memory->entries, entry, request);
    unlock(memory);
}

static bool agrees(const struct sr_cache_key *wanted, const struct sr_cache_key *key)
{
    return !sr_cache_key_is_set(wanted) || memcmp(wanted->bytes, key->bytes, SR_CACHE_KEY) == 0;
}

/* True when all members of the selector agree. */
static bool selector_has(const struct sr_cache_selector *selector, const struct sr_cache_record *record)
{
    const struct sr_cache_fields *f = &record->f;
    return agrees(&selector->tenant, &f->tenant) && agrees(&selector->user, &f->user) &&
           agrees(&selector->partition, &f->partition) && agrees(&selector->exact, &f->exact) &&
           (!selector->model.n || sr_bytes_eq(selector->model, f->model)) &&
           (!selector->created_before_ms || f->created_ms < selector->created_before_ms);
}

/* With the lock: the entries of one bucket that a walk means; unless it is dry they get on the list. */
static void select_bucket(struct sr_memory *memory, struct sr_memory_walk *walk, struct sr_entry **list)
{
    struct sr_keymap_node *next, *node = sr_keymap_bucket(&memory->entries.exact, walk->bucket++);
    for (; node; node = next) {
        struct sr_entry *entry = (struct sr_entry *)((char *)node - offsetof(struct sr_entry, exact));
        next = node->next;
        if (entry->added > walk->until || !selector_has(walk->selector, entry->record))
            continue;
        walk->found++;
        if (!walk->dry)
            condemn(memory, entry, list);
    }
}

void sr_memory_walk_begin(struct sr_memory *memory, struct sr_memory_walk *walk,
                          const struct sr_cache_selector *selector, bool dry)
{
    *walk = (struct sr_memory_walk){.selector = selector, .dry = dry};
    lock(memory);
    walk->until = memory->entries.clock;
    unlock(memory);
}

bool sr_memory_walk_on(struct sr_memory *memory, struct sr_memory_walk *walk)
{
    struct sr_entry *list = NULL;
    size_t before = walk->found;
    lock(memory);
    for (size_t i = 0; i < BUCKETS && walk->bucket < memory->entries.exact.buckets; i++)
        select_bucket(memory, walk, &list);
    bool more = walk->bucket < memory->entries.exact.buckets;
    memory->removed += walk->dry ? 0 : walk->found - before;
    unlock(memory);
    bury(memory, list);
    return more;
}

/* By its exact key. */
static size_t remove_one(struct sr_memory *memory, const struct sr_cache_selector *selector, bool dry)
{
    struct sr_entry *list = NULL;
    lock(memory);
    struct sr_entry *entry = sr_entries_by_exact(&memory->entries, &selector->exact);
    bool found = entry && selector_has(selector, entry->record);
    if (found && !dry) {
        condemn(memory, entry, &list);
        memory->removed++;
    }
    unlock(memory);
    bury(memory, list);
    return found;
}

size_t sr_memory_remove(struct sr_memory *memory, const struct sr_cache_selector *selector, bool dry)
{
    static const struct timespec rest = {.tv_nsec = REST_NS};
    struct sr_memory_walk walk;
    if (sr_cache_key_is_set(&selector->exact))
        return remove_one(memory, selector, dry);
    sr_memory_walk_begin(memory, &walk, selector, dry);
    while (sr_memory_walk_on(memory, &walk))
        nanosleep(&rest, NULL);
    return walk.found;
}

size_t sr_memory_sweep(struct sr_memory *memory, size_t max)
{
    struct sr_entry *list = NULL;
    lock(memory);
    size_t n = condemn_expired(memory, max, &list);
    unlock(memory);
    bury(memory, list);
    return n;
}

/* ---- finding ---- */

struct sr_cache_record *sr_memory_get(struct sr_memory *memory, enum sr_memory_key kind,
                                      const struct sr_cache_key *key, int64_t max_age_ms)
{
    struct sr_cache_now now = sr_cache_now();
    struct sr_cache_record *record = NULL;
    struct sr_entry *list = NULL;
    lock(memory);
    struct sr_entry *entry = kind == SR_MEMORY_EXACT ? sr_entries_by_exact(&memory->entries, key)
                                                     : sr_entries_by_request(&memory->entries, key);
    if (entry && sr_entry_has_expired(entry, now)) {
        condemn(memory, entry, &list);
        memory->expired++;
    } else if (entry && !sr_entry_is_older(entry, max_age_ms, now)) {
        record = sr_cache_record_ref(entry->record);
        sr_entries_use(&memory->entries, entry);
    }
    unlock(memory);
    bury(memory, list);
    return record;
}

size_t sr_memory_search(struct sr_memory *memory, const struct sr_cache_key *key, const float *unit,
                        size_t dimensions, float threshold, int64_t max_age_ms,
                        struct sr_cache_candidate candidates[SR_MEMORY_CANDIDATES])
{
    struct sr_cache_now now = sr_cache_now();
    struct sr_vector_hit hits[SR_MEMORY_CANDIDATES];
    size_t found = 0, n = 0;
    lock(memory);
    struct sr_partition *partition = sr_partitions_use(&memory->partitions, key);
    unlock(memory);
    if (!partition)
        return 0;
    pthread_rwlock_rdlock(&partition->lock);
    if (partition->dimensions == dimensions)
        found = sr_vectors_search(partition->vectors, unit, SR_MEMORY_CANDIDATES, hits);
    lock(memory);
    for (size_t i = 0; i < found; i++) {
        struct sr_entry *entry = sr_entries_by_id(&memory->entries, hits[i].id);
        if (hits[i].similarity >= threshold && entry->linked && entry->partition == partition &&
            memcmp(entry->record->f.partition.bytes, key->bytes, SR_CACHE_KEY) == 0 &&
            !sr_entry_has_expired(entry, now) && !sr_entry_is_older(entry, max_age_ms, now))
            candidates[n++] =
                (struct sr_cache_candidate){sr_cache_record_ref(entry->record), hits[i].similarity};
    }
    unlock(memory);
    pthread_rwlock_unlock(&partition->lock);
    lock(memory);
    bool last = sr_partitions_leave(&memory->partitions, partition);
    unlock(memory);
    if (last)
        sr_partition_free(partition);
    return n;
}

bool sr_memory_use(struct sr_memory *memory, const struct sr_cache_record *record)
{
    lock(memory);
    struct sr_entry *entry = sr_entries_by_exact(&memory->entries, &record->f.exact);
    bool there = entry && entry->record == record;
    if (there)
        sr_entries_use(&memory->entries, entry);
    unlock(memory);
    return there;
}

void sr_memory_stats(struct sr_memory *memory, struct sr_cache_stats *out)
{
    lock(memory);
    out->entries = memory->entries.n;
    out->bytes = bytes_in_use(memory);
    out->partitions = memory->partitions.map.n;
    out->stored = memory->stored;
    out->expired = memory->expired;
    out->evicted = memory->evicted;
    out->removed = memory->removed;
    out->last_cleanup_ms = memory->last_cleanup_ms;
    unlock(memory);
}
