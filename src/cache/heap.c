/* A binary heap in an array; numbers lie beside the pointers, so that comparing touches no owner. */
#include "cache/heap.h"

#include "base/grow.h"
#include "base/mem.h"

#include <stddef.h>

static void set(struct sr_heap *heap, size_t i, struct sr_heap_item item)
{
    heap->items[i] = item;
    item.place->at = (uint32_t)i + 1;
}

static void up(struct sr_heap *heap, size_t i, struct sr_heap_item item)
{
    for (; i && heap->items[(i - 1) / 2].number > item.number; i = (i - 1) / 2)
        set(heap, i, heap->items[(i - 1) / 2]);
    set(heap, i, item);
}

static void down(struct sr_heap *heap, size_t i, struct sr_heap_item item)
{
    for (size_t child; (child = 2 * i + 1) < heap->n; i = child) {
        if (child + 1 < heap->n && heap->items[child + 1].number < heap->items[child].number)
            child++;
        if (heap->items[child].number >= item.number)
            break;
        set(heap, i, heap->items[child]);
    }
    set(heap, i, item);
}

static void put(struct sr_heap *heap, size_t i, struct sr_heap_item item)
{
    if (i && heap->items[(i - 1) / 2].number > item.number)
        up(heap, i, item);
    else
        down(heap, i, item);
}

int sr_heap_reserve(struct sr_heap *heap, size_t need)
{
    return sr_grow(&heap->items, &heap->cap, need, sizeof *heap->items, UINT32_MAX);
}

void sr_heap_dispose(struct sr_heap *heap)
{
    sr_mem_free(heap->items);
    *heap = (struct sr_heap){0};
}

void sr_heap_set(struct sr_heap *heap, struct sr_heap_place *place, uint64_t number)
{
    size_t i = place->at ? place->at - 1 : heap->n++;
    put(heap, i, (struct sr_heap_item){number, place});
}

void sr_heap_remove(struct sr_heap *heap, struct sr_heap_place *place)
{
    if (!place->at)
        return;
    size_t i = place->at - 1;
    struct sr_heap_item last = heap->items[--heap->n];
    place->at = 0;
    if (i < heap->n)
        put(heap, i, last);
}

struct sr_heap_place *sr_heap_first(const struct sr_heap *heap, uint64_t *number)
{
    if (!heap->n)
        return NULL;
    *number = heap->items[0].number;
    return heap->items[0].place;
}
