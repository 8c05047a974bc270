/* Which part of a text its views cover. Creates no views. */
#include "text/disguise/private.h"

/* The end of the views that contain `at`; `at` where there is none. */
static size_t covered_to(const struct sr_undisguised *views, size_t n, size_t at)
{
    size_t to = at;
    for (size_t i = 0; i < n; i++)
        if (views[i].undone && views[i].start <= at && views[i].end > to)
            to = views[i].end;
    return to;
}

/* The start of the next view after `at`, at most `end`. */
static size_t next_view(const struct sr_undisguised *views, size_t n, size_t at, size_t end)
{
    for (size_t i = 0; i < n; i++)
        if (views[i].undone && views[i].start > at && views[i].start < end)
            end = views[i].start;
    return end;
}

static size_t visible_bytes(struct sr_bytes text, size_t start, size_t end)
{
    size_t n = 0;
    for (size_t i = start; i < end; i++)
        n += (unsigned char)text.p[i] > ' ';
    return n;
}

/* The disguised bytes of [start, end), if a view's disguised bytes were spread evenly over it. */
static double undone_within(const struct sr_undisguised *view, size_t start, size_t end)
{
    size_t from = view->start > start ? view->start : start, to = view->end < end ? view->end : end;
    return from < to ? (double)view->undone * (double)(to - from) / (double)(view->end - view->start) : 0;
}

bool sr_undisguised_stand_for(struct sr_bytes text, const struct sr_undisguised *views, size_t n,
                              size_t start, size_t end)
{
    size_t left = 0;
    double undone = 0;
    for (size_t i = 0; i < n; i++)
        undone += undone_within(&views[i], start, end);
    if (start >= end || undone * 2 < (double)(end - start))
        return false;
    for (size_t at = start; at < end;) {
        size_t to = covered_to(views, n, at);
        if (to == at) {
            to = next_view(views, n, at, end);
            left += visible_bytes(text, at, to);
        }
        at = to;
    }
    return left < SR_DISGUISE_LEFT_MAX;
}
