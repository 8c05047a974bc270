/*
 * A bounded list of entries, oldest first, for the whole process: what requests did lately.
 *
 * Bounded by entries, by bytes and by age; the oldest give way. Every entry has a number, one higher than the
 * one before, by which a reader goes on. Adding holds a lock for the swap of a pointer; nothing is copied or
 * freed meanwhile. Thread-safe. Knows no disk: a keeper is told of every entry.
 */
#ifndef SR_HISTORY_HISTORY_H
#define SR_HISTORY_HISTORY_H

#include "history/entry.h"

struct sr_history;

#define SR_HISTORY_ENTRIES_MAX 1000000u

struct sr_history_limits {
    size_t max_entries; /* 0: nothing is kept */
    size_t max_bytes;
    int64_t ttl_ms; /* 0: any age */
};

/* Who keeps entries elsewhere, too: `added` is called on any thread, one call at a time, and must not block.
 */
struct sr_history_keeper {
    void (*added)(void *ctx, struct sr_history_entry *entry);
    /* The same of an entry that took the place of one with the same id and times. */
    void (*changed)(void *ctx, struct sr_history_entry *entry);
    void *ctx;
};

struct sr_history_stats {
    size_t entries, bytes;
    uint64_t added, evicted; /* since the start; `evicted` for lack of room */
};

/* Keeps nothing until it has limits. SR_ENOMEM. */
int sr_history_new(struct sr_history **out) SR_WARN_UNUSED;
void sr_history_free(struct sr_history *history); /* NULL is allowed; no thread uses it any more */

/* New limits; what is over them goes. SR_ENOMEM: the limits stay as they were. */
int sr_history_set(struct sr_history *history, const struct sr_history_limits *limits) SR_WARN_UNUSED;

/* NULL: none. After the return the one before is not called any more. */
void sr_history_set_keeper(struct sr_history *history, const struct sr_history_keeper *keeper);

/* Adds an entry, with a reference of its own, as the newest. */
void sr_history_add(struct sr_history *history, struct sr_history_entry *entry);

/* Puts an entry, with a reference of its own, where `old` is. False: that is not there any more. Compares
 * pointers under the lock, newest first: not for a loop. */
bool sr_history_replace(struct sr_history *history, const struct sr_history_entry *old,
                        struct sr_history_entry *entry) SR_WARN_UNUSED;

/* Removes all entries. */
void sr_history_clear(struct sr_history *history);

/* The number of the next entry. */
uint64_t sr_history_next(struct sr_history *history);

/* References of at most `max` entries from number *from on, oldest first; *from becomes the number after the
 * last one looked at. */
size_t sr_history_take(struct sr_history *history, uint64_t *from, struct sr_history_entry **out, size_t max);

void sr_history_stats(struct sr_history *history, struct sr_history_stats *out);

#endif
