/*
 * Which part of a text its views cover. Creates no views.
 *
 * Views overlap, at most one of each pass. They become a row of stretches without overlaps, so that a window
 * looks only at what is in it.
 */
#include "text/disguise/private.h"

#define OVERLAP_MAX 8

/* Views that are open at an offset, in a sweep from the beginning to the end. */
struct sweep {
    const struct sr_undisguised *open[OVERLAP_MAX];
    size_t n;
    size_t at;
    struct sr_cover *out;
    size_t n_out;
};

/* The stretch up to `to`, where a view begins or ends. */
static void advance(struct sweep *sweep, size_t to)
{
    float share = 0;
    if (to <= sweep->at)
        return;
    for (size_t i = 0; i < sweep->n; i++)
        share += (float)sweep->open[i]->undone / (float)(sweep->open[i]->end - sweep->open[i]->start);
    if (sweep->n)
        sweep->out[sweep->n_out++] = (struct sr_cover){(uint32_t)sweep->at, (uint32_t)to, share};
    sweep->at = to;
}

/* Closes the views that end at or before `until`, one after the other. */
static void close_until(struct sweep *sweep, size_t until)
{
    while (sweep->n) {
        size_t first = 0;
        for (size_t i = 1; i < sweep->n; i++)
            first = sweep->open[i]->end < sweep->open[first]->end ? i : first;
        if (sweep->open[first]->end > until)
            return;
        advance(sweep, sweep->open[first]->end);
        sweep->open[first] = sweep->open[--sweep->n];
    }
}

int sr_cover_views(struct sr_undisguised_list *list, struct sr_arena *arena)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        n += list->items[i].undone > 0;
    struct sweep sweep = {.out = sr_arena_calloc(arena, 2 * n + 1, sizeof *sweep.out)};
    if (!sweep.out)
        return SR_ENOMEM;
    for (size_t i = 0; i < list->n; i++) {
        const struct sr_undisguised *view = &list->items[i];
        if (!view->undone)
            continue;
        close_until(&sweep, view->start);
        advance(&sweep, view->start);
        if (sweep.n < OVERLAP_MAX)
            sweep.open[sweep.n++] = view;
    }
    close_until(&sweep, SIZE_MAX);
    list->covers = sweep.out;
    list->n_covers = sweep.n_out;
    return SR_OK;
}

static size_t visible_bytes(struct sr_bytes text, size_t start, size_t end)
{
    size_t n = 0;
    for (size_t i = start; i < end; i++)
        n += (unsigned char)text.p[i] > ' ';
    return n;
}

bool sr_undisguised_stand_for(struct sr_bytes text, const struct sr_undisguised_list *views, size_t start,
                              size_t end)
{
    size_t left = 0, at = start;
    double undone = 0;
    if (start >= end)
        return false;
    size_t first =
        views->n_covers ? sr_count_to(&views->covers->end, views->n_covers, sizeof *views->covers, start) : 0;
    for (size_t i = first; i < views->n_covers && views->covers[i].start < end; i++) {
        const struct sr_cover *cover = &views->covers[i];
        size_t from = cover->start > at ? cover->start : at, to = cover->end < end ? cover->end : end;
        left += visible_bytes(text, at, from);
        undone += (double)cover->share * (double)(to - from);
        at = to;
    }
    left += visible_bytes(text, at, end);
    return undone * 2 >= (double)(end - start) && left < SR_DISGUISE_LEFT_MAX;
}
