/*
 * Growing arrays: the one way a list gets room for more elements.
 *
 * Room doubles, so that adding is cheap, and has a maximum, so that no peer grows it without end. The list
 * itself is the caller's: an array from base/mem.h, how many elements it has room for, how many it has.
 */
#ifndef SR_BASE_GROW_H
#define SR_BASE_GROW_H

#include "base/err.h"

#define SR_GROW_NO_MAX SIZE_MAX /* for what has its limit elsewhere */

/* The slow half of sr_grow. */
int sr_grow_more(void *array, size_t *cap, size_t need, size_t size, size_t max) SR_WARN_UNUSED;

/* Makes room for `need` elements of `size` bytes. `array` is the address of the pointer to the first one,
 * NULL with `*cap` 0 at the beginning; both may change. SR_ELIMIT beyond `max` elements or SIZE_MAX bytes,
 * SR_ENOMEM; then nothing has changed. */
SR_WARN_UNUSED static inline int sr_grow(void *array, size_t *cap, size_t need, size_t size, size_t max)
{
    return need <= *cap ? SR_OK : sr_grow_more(array, cap, need, size, max);
}

#endif
