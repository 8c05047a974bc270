/*
 * A heap of numbers with their owners: the smallest first, O(log n) to add, change and remove.
 *
 * A place is embedded in its owner's object and says where in the heap it is. Not thread-safe; owns no place.
 */
#ifndef SR_CACHE_HEAP_H
#define SR_CACHE_HEAP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sr_heap_place {
    uint32_t at; /* 1 and up; 0: in no heap */
};

struct sr_heap {
    struct sr_heap_item {
        uint64_t number;
        struct sr_heap_place *place;
    } * items; /* items[i]'s children: 2i + 1 and 2i + 2 */
    size_t n, cap;
};

/* Makes room for `need` items. SR_ENOMEM, SR_ELIMIT. An empty heap is all zeros. */
int sr_heap_reserve(struct sr_heap *heap, size_t need) SR_WARN_UNUSED;
void sr_heap_dispose(struct sr_heap *heap);

/* Adds a place, or changes the number of one that is in the heap. There is room. */
void sr_heap_set(struct sr_heap *heap, struct sr_heap_place *place, uint64_t number);
/* Nothing happens when it is in no heap. */
void sr_heap_remove(struct sr_heap *heap, struct sr_heap_place *place);

/* The place with the smallest number, and the number; NULL: the heap is empty. */
struct sr_heap_place *sr_heap_first(const struct sr_heap *heap, uint64_t *number);

#endif
