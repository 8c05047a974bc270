/*
 * The cache's memory store: records within limits, found by key or by the vector of their question.
 *
 * One lock for the tables, held for short steps only, and one for the index of each partition. Whatever it
 * returns was valid when the lock was held last: not expired, not evicted, and of the partition that was
 * asked for. Knows no backend, no gate and no task. All functions are thread-safe.
 */
#ifndef SR_CACHE_MEMORY_H
#define SR_CACHE_MEMORY_H

#include "cache/entries.h"
#include "cache/partitions.h"

struct sr_memory {
    pthread_mutex_t lock; /* of everything below */
    struct sr_entries entries;
    struct sr_partitions partitions;
    struct sr_cache_limits limits;
    uint64_t stored, expired, evicted, removed;
    int64_t last_cleanup_ms;
};

/* SR_ENOMEM; nothing is left to be disposed then. */
int sr_memory_init(struct sr_memory *memory, const struct sr_cache_limits *limits) SR_WARN_UNUSED;
void sr_memory_dispose(struct sr_memory *memory);

/* New limits; what does not fit any more is evicted. With other dimensions no vector is found any more:
 * records stay for exact hits. */
void sr_memory_set(struct sr_memory *memory, const struct sr_cache_limits *limits);

/* Keeps a reference of the record, in place of one with the same exact key; with `loaded` only of one that is
 * older. A record that has expired is not kept. SR_EINVAL: it has no exact key, or a vector and no partition;
 * SR_ELIMIT: it is larger than the limits; SR_ENOMEM. */
int sr_memory_put(struct sr_memory *memory, struct sr_cache_record *record, bool loaded) SR_WARN_UNUSED;

enum sr_memory_key { SR_MEMORY_REQUEST, SR_MEMORY_EXACT };

/* A new reference of the record with this key, or NULL; counts as a use of it. */
struct sr_cache_record *sr_memory_get(struct sr_memory *memory, enum sr_memory_key kind,
                                      const struct sr_cache_key *key, int64_t max_age_ms);

#define SR_MEMORY_CANDIDATES 8u

/* New references of the nearest records of a partition, at most SR_MEMORY_CANDIDATES, the nearest first, none
 * below `threshold`. unit[dimensions]. */
size_t sr_memory_search(struct sr_memory *memory, const struct sr_cache_key *partition, const float *unit,
                        size_t dimensions, float threshold, int64_t max_age_ms,
                        struct sr_cache_candidate candidates[SR_MEMORY_CANDIDATES]);

/* A candidate is used: false when it is not there any more. */
bool sr_memory_use(struct sr_memory *memory, const struct sr_cache_record *record);

void sr_memory_alias(struct sr_memory *memory, const struct sr_cache_key *request,
                     const struct sr_cache_record *record);

/* Returns how many records the selector means; unless `dry` they are gone then. Goes through all records when
 * it names no exact key, with a rest after every few, so that others get the lock: for a thread that may take
 * seconds. */
size_t sr_memory_remove(struct sr_memory *memory, const struct sr_cache_selector *selector, bool dry);

/* The same in steps: what is put after the begin stays. The selector is the caller's meanwhile. */
struct sr_memory_walk {
    const struct sr_cache_selector *selector;
    bool dry;
    uint64_t until; /* entries that were added later are not meant */
    size_t bucket, found;
};
void sr_memory_walk_begin(struct sr_memory *memory, struct sr_memory_walk *walk,
                          const struct sr_cache_selector *selector, bool dry);
/* A few records, in much less than a millisecond. False: these were the last. */
bool sr_memory_walk_on(struct sr_memory *memory, struct sr_memory_walk *walk);

/* Removes what has expired, at most `max` records; returns how many. */
size_t sr_memory_sweep(struct sr_memory *memory, size_t max);

/* Fills the members that tell of memory. */
void sr_memory_stats(struct sr_memory *memory, struct sr_cache_stats *out);

#endif
