/*
 * Lists of patches, and the way back from a view to the given text. Decides nothing about disguises.
 */
#include "base/mem.h"
#include "text/disguise/private.h"

void sr_patches_dispose(struct sr_patches *list)
{
    sr_mem_free(list->items);
    sr_mem_free(list->bytes);
    *list = (struct sr_patches){.items = NULL};
}

/* Room for `more` elements in an array that doubles. */
static bool grow(struct sr_patches *list, void **array, size_t *cap, size_t n, size_t more, size_t size)
{
    size_t wanted = *cap ? *cap : 64;
    if (list->rc)
        return false;
    if (n + more <= *cap)
        return true;
    while (wanted < n + more)
        wanted *= 2;
    void *grown = wanted <= UINT32_MAX ? sr_mem_realloc(*array, wanted * size) : NULL;
    if (!grown) {
        list->rc = SR_ENOMEM;
        return false;
    }
    *array = grown;
    *cap = wanted;
    return true;
}

void sr_patches_put(struct sr_patches *list, const char *p, size_t n)
{
    void *bytes = list->bytes;
    if (n == 0 || !grow(list, &bytes, &list->cap_bytes, list->n_bytes, n, 1))
        return;
    list->bytes = bytes;
    memcpy(list->bytes + list->n_bytes, p, n);
    list->n_bytes += n;
}

/* Where the replacement of the next patch begins. */
static size_t bytes_at(const struct sr_patches *list, size_t n)
{
    return n ? list->items[n - 1].at + (size_t)list->items[n - 1].n : 0;
}

void sr_patches_add(struct sr_patches *list, size_t start, size_t end, uint32_t disguise, bool sure)
{
    void *items = list->items;
    if (!grow(list, &items, &list->cap, list->n, 1, sizeof *list->items))
        return;
    list->items = items;
    size_t at = bytes_at(list, list->n);
    size_t from = list->n && list->items[list->n - 1].end + 1 >= start ? list->items[list->n - 1].end : start;
    struct sr_patch *patch = &list->items[list->n++];
    *patch = (struct sr_patch){.start = (uint32_t)start,
                               .end = (uint32_t)end,
                               .at = (uint32_t)at,
                               .n = (uint32_t)(list->n_bytes - at),
                               .disguise = disguise};
    *(sure ? &patch->undone : &patch->likely) = (uint32_t)(end - from);
}

void sr_patches_cut(struct sr_patches *list, size_t n)
{
    list->n = n < list->n ? n : list->n;
    list->n_bytes = bytes_at(list, list->n);
}

size_t sr_count_to(const uint32_t *first, size_t n, size_t step, size_t at)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (*(const uint32_t *)(const void *)((const char *)first + middle * step) <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The number of pieces that begin at or before `at`. */
static size_t pieces_to(const struct sr_layer *layer, size_t at)
{
    return layer->n_pieces ? sr_count_to(&layer->pieces->start, layer->n_pieces, sizeof *layer->pieces, at)
                           : 0;
}

/* The offset in the text below: of a piece its beginning, or (`end`) its end. */
static size_t below(const struct sr_layer *layer, size_t at, bool end)
{
    size_t n = pieces_to(layer, at);
    if (n == 0)
        return layer->from + at;
    const struct sr_layer_piece *piece = &layer->pieces[n - 1];
    if (at >= piece->end && (end || at > piece->start))
        return piece->to + (at - piece->end);
    return end && at > piece->start ? piece->to : piece->from;
}

bool sr_layer_touches(const struct sr_layer *layer, size_t start, size_t end)
{
    size_t n = pieces_to(layer, start);
    return (n && layer->pieces[n - 1].end >= start) || (n < layer->n_pieces && layer->pieces[n].start <= end);
}

bool sr_layer_locate(const struct sr_layer *layer, size_t *start, size_t *end)
{
    bool changed = false;
    for (; layer; layer = layer->below) {
        changed |= sr_layer_touches(layer, *start, *end);
        *start = below(layer, *start, false);
        *end = below(layer, *end, true);
    }
    return changed;
}
