/*
 * The sum of what was counted in the last unit of time: a window that slides, in parts.
 *
 * A unit is cut into SR_WINDOW_PARTS parts; counts are kept for the parts that a whole unit before any moment
 * touches, one more than it has. So the sum is never less than what was counted in the last unit, and more
 * only by what lies within one part before it. A plain counter, which ends at a moment, has one part. Pure:
 * the caller gives the time, in milliseconds of any clock.
 */
#ifndef SR_LIMIT_WINDOW_H
#define SR_LIMIT_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define SR_WINDOW_PARTS 32

struct sr_window {
    uint64_t part;                       /* number of the newest part; of a plain counter: 0 */
    uint64_t ends_ms;                    /* of a plain counter; 0: the window slides */
    int64_t counts[SR_WINDOW_PARTS + 1]; /* by number of the part; of a plain counter the first */
};

/* How long one part of a unit is, at least a millisecond. */
uint64_t sr_window_part_ms(uint64_t unit_ms);

/* Forgets what is older than a unit before now; a clock that goes back changes nothing. Returns the sum. */
int64_t sr_window_roll(struct sr_window *window, uint64_t unit_ms, uint64_t now_ms);

/* Adds to the newest part, after sr_window_roll. */
void sr_window_add(struct sr_window *window, int64_t count);

/* Takes back up to `count` of what was added at `then_ms`, if that is within the window, after
 * sr_window_roll. */
void sr_window_take_back(struct sr_window *window, uint64_t unit_ms, uint64_t then_ms, int64_t count);

/* Milliseconds from now until the sum is at most `most`, if nothing is added; after sr_window_roll.
 * UINT64_MAX: never. */
uint64_t sr_window_wait_ms(const struct sr_window *window, uint64_t unit_ms, uint64_t now_ms, int64_t most);

#endif
