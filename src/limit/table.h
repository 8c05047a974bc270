/*
 * Counters by key, in bounded memory, from any thread.
 *
 * The table is made whole and does not grow: a key has its place in one of a fixed number of sets, and a new
 * key takes the place of one that counts nothing any more, else of the one in its set that was used least
 * recently, of those that slide if there are any. Shards have locks of their own; what one request takes from
 * several counters is taken at once or not at all.
 */
#ifndef SR_LIMIT_TABLE_H
#define SR_LIMIT_TABLE_H

#include "base/err.h"
#include "limit/window.h"

#include <stddef.h>

#define SR_LIMIT_MAX 32 /* counters of one request */

struct sr_limit_key {
    uint8_t bytes[16];
};

/* One counter that a request takes from. */
struct sr_limit {
    struct sr_limit_key key;
    int64_t max;      /* in a unit */
    int64_t cost;     /* of this request */
    uint64_t unit_ms; /* length of the window that slides; not used by a plain counter */
    uint64_t ends_ms; /* a plain counter ends then; 0: the window slides */
};

/* What became of a request. */
struct sr_limit_result {
    bool allowed;
    size_t which;      /* that has the least room, or that is exhausted longest; 0 when there are none */
    int64_t remaining; /* of it, after this request; never negative */
    uint64_t retry_ms; /* refused: when it may be allowed; UINT64_MAX: never, its cost is above the maximum */
    uint64_t reset_ms; /* until all of it is free again */
    uint64_t now_ms;   /* by the clock that counted */
};

/* What a request has cost in truth: `more` is added now, and up to `less` of what it took at `then_ms` goes
 * back. */
struct sr_limit_change {
    struct sr_limit_key key;
    uint64_t unit_ms, ends_ms, then_ms;
    int64_t more, less;
};

struct sr_limit_table;

/* Room for at least `counters`. SR_ENOMEM. */
int sr_limit_table_new(struct sr_limit_table **out, size_t counters) SR_WARN_UNUSED;
void sr_limit_table_free(struct sr_limit_table *table); /* NULL is allowed */

/* Takes from n (at most SR_LIMIT_MAX, different) counters at once; refused: from none. */
void sr_limit_take(struct sr_limit_table *table, const struct sr_limit *limits, size_t n, uint64_t now_ms,
                   struct sr_limit_result *result);

/* A key that is not there any more is left alone, unless `more` is above 0. */
void sr_limit_change(struct sr_limit_table *table, const struct sr_limit_change *changes, size_t n,
                     uint64_t now_ms);

/* A plain counter, for what keeps it. */
struct sr_limit_spent {
    struct sr_limit_key key;
    uint64_t ends_ms;
    int64_t count;
};

/* Adds what was kept to a plain counter. */
void sr_limit_table_restore(struct sr_limit_table *table, const struct sr_limit_spent *spent,
                            uint64_t now_ms);

/* Up to `most` plain counters that have changed since they were given out or restored, from place *at on,
 * which begins at 0. Returns how many; 0: there are no more. */
size_t sr_limit_table_changed(struct sr_limit_table *table, size_t *at, struct sr_limit_spent *out,
                              size_t most);

/* They were not written: they are given out again. */
void sr_limit_table_unwritten(struct sr_limit_table *table, const struct sr_limit_spent *items, size_t n);

/* Counters that are used. */
size_t sr_limit_table_used(struct sr_limit_table *table);

#endif
