/*
 * Growing arrays: every list gets room for more elements through this function.
 *
 * The capacity doubles, so that appending is cheap, and has a maximum, so that a peer cannot grow it without
 * limit. The caller owns the list: an array from base/mem.h, its capacity and its length.
 */
#ifndef SR_BASE_GROW_H
#define SR_BASE_GROW_H

#include "base/err.h"

#define SR_GROW_NO_MAX SIZE_MAX /* for lists whose length is limited elsewhere */

/* The part of sr_grow that allocates. */
int sr_grow_more(void *array, size_t *cap, size_t need, size_t size, size_t max) SR_WARN_UNUSED;

/* Makes room for `need` elements of `size` bytes. `array` is the address of the pointer to the first element;
 * an empty list has NULL and `*cap` 0. Both may change. SR_ELIMIT beyond `max` elements or SIZE_MAX bytes,
 * SR_ENOMEM; after an error nothing has changed. */
SR_WARN_UNUSED static inline int sr_grow(void *array, size_t *cap, size_t need, size_t size, size_t max)
{
    return need <= *cap ? SR_OK : sr_grow_more(array, cap, need, size, max);
}

#endif
