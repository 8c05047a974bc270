/* Searches cuts backwards from the maximum size of a window. */
#include "text/slices.h"

#include "base/utf8.h"

#include <assert.h>

struct sr_slices sr_slices_of(struct sr_bytes text, size_t size, size_t overlap)
{
    assert(size >= 64 && overlap <= size / 2);
    return (struct sr_slices){.text = text, .size = size, .overlap = overlap};
}

static bool is_inside(struct sr_bytes text, size_t at)
{
    return at < text.n && sr_utf8_is_tail(text.p[at]);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The best offset for a cut in (least, most]. */
static size_t cut_before(struct sr_bytes text, size_t least, size_t most)
{
    for (size_t at = most; at > least; at--)
        if (is_space(text.p[at - 1]))
            return at;
    size_t at = most;
    while (at > least + 1 && is_inside(text, at) && most - at < 4)
        at--;
    return is_inside(text, at) ? most : at;
}

bool sr_slices_next(struct sr_slices *windows, struct sr_slice *out)
{
    struct sr_bytes text = windows->text;
    if (windows->done)
        return false;
    size_t start = windows->at, left = text.n - start;
    if (left <= windows->size) {
        *out = (struct sr_slice){start, text.n};
        windows->done = true;
        return true;
    }
    size_t end = cut_before(text, start + windows->size - windows->size / 8, start + windows->size);
    *out = (struct sr_slice){start, end};
    windows->at = cut_before(text, end - windows->overlap - windows->size / 8, end - windows->overlap);
    return true;
}
