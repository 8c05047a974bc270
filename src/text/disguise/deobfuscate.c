/*
 * Builds views: the passes over a text, the same passes over its views, the order of all views.
 *
 * A pass over a view keeps what touches the view's own changes: the rest was found in the text below it.
 */
#include "text/disguise/deobfuscate.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "text/disguise/private.h"

#include <stdlib.h>

#define GROWTH_LEAST ((size_t)64 << 10) /* bytes of views that any text may have */

const char *sr_disguise_name(enum sr_disguise disguise)
{
    static const char *const names[] = {"invisible", "lookalike", "spaced", "leet",    "base64",
                                        "hex",       "rot13",     "base32", "percent", "entity",
                                        "escape",    "reversed",  "bidi",   "codes"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((uint32_t)disguise == 1u << i)
            return names[i];
    return "";
}

/* A view in the making, and the text that passes read. */
struct source {
    struct sr_undisguised view;
    struct source *next;
    int depth;
    unsigned passes; /* that are still to be made */
};

struct views {
    struct source *first, **last;
    size_t n;
    size_t room; /* bytes of text that further views may have */
    size_t reach;
    struct sr_arena *arena;
    bool cut;
    int rc;
};

/* Adds a view of `size` bytes and returns where its text goes; NULL without room. */
static char *add(struct views *views, const struct source *of, struct sr_undisguised view, size_t size,
                 unsigned passes)
{
    if (views->rc)
        return NULL;
    if (size > views->room || of->depth >= SR_DISGUISE_DEPTH_MAX) {
        views->cut = true;
        return NULL;
    }
    struct source *source = sr_arena_calloc(views->arena, 1, sizeof *source);
    char *text = sr_arena_alloc(views->arena, size + 1);
    if (!source || !text) {
        views->rc = SR_ENOMEM;
        return NULL;
    }
    view.text = sr_bytes_of(text, size);
    view.disguise |= of->view.disguise;
    view.undone = of->depth ? 0 : view.undone;
    sr_layer_locate(of->view.layer, &view.start, &view.end);
    *source = (struct source){.view = view, .depth = of->depth + 1, .passes = passes};
    *views->last = source;
    views->last = &source->next;
    views->room -= size;
    views->n++;
    return text;
}

/* A layer above that of `of`, with room for pieces; NULL when out of memory. */
static struct sr_layer *add_layer(struct views *views, const struct source *of, size_t n_pieces,
                                  struct sr_layer_piece **pieces)
{
    struct sr_layer *layer = sr_arena_calloc(views->arena, 1, sizeof *layer);
    *pieces = sr_arena_calloc(views->arena, n_pieces, sizeof **pieces);
    if (!layer || !*pieces) {
        views->rc = SR_ENOMEM;
        return NULL;
    }
    layer->below = of->view.layer;
    layer->pieces = *pieces;
    layer->n_pieces = (uint32_t)n_pieces;
    return layer;
}

static bool is_inside(struct sr_bytes text, size_t at)
{
    return at < text.n && sr_utf8_is_tail(text.p[at]);
}

/* True when a change at [start, end) was not found in the text below already. */
static bool is_news(const struct source *of, size_t start, size_t end)
{
    return !of->view.layer || sr_layer_touches(of->view.layer, start, end);
}

/* ---- patches: words and escapes among their neighbours ---- */

/* The view of patches [a, b] and their neighbours. */
static void view_patches(struct views *views, const struct source *of, const struct sr_patches *all, size_t a,
                         size_t b, unsigned passes)
{
    struct sr_bytes text = of->view.text;
    size_t start = all->items[a].start, end = all->items[b].end, undone = 0, likely = 0, size, at;
    struct sr_undisguised view = {.disguise = 0};
    struct sr_layer_piece *pieces;
    start = start > views->reach ? start - views->reach : 0;
    end = text.n - end > views->reach ? end + views->reach : text.n;
    while (start > 0 && is_inside(text, start))
        start--;
    while (is_inside(text, end))
        end++;
    size = end - start;
    for (size_t i = a; i <= b; i++) {
        const struct sr_patch *patch = &all->items[i];
        size = size + patch->n - (patch->end - patch->start);
        view.disguise |= patch->disguise;
        undone += patch->undone;
        likely += patch->likely;
    }
    if (view.disguise == SR_DISGUISE_LEET) /* a guess: of encoded words it makes others */
        passes = 0;
    struct sr_layer *layer = add_layer(views, of, b - a + 1, &pieces);
    view.start = start;
    view.end = end;
    undone = undone < end - start ? undone : end - start; /* without a reach, a space before it is outside */
    view.undone = likely < SR_DISGUISE_LEFT_MAX ? undone : 0;
    view.layer = layer;
    char *out = layer ? add(views, of, view, size, passes) : NULL;
    if (!out)
        return;
    layer->from = (uint32_t)start;
    at = 0;
    for (size_t i = a; i <= b; i++) {
        const struct sr_patch *patch = &all->items[i];
        memcpy(out + at, text.p + start, patch->start - start);
        at += patch->start - start;
        memcpy(out + at, all->bytes + patch->at, patch->n);
        *pieces++ = (struct sr_layer_piece){(uint32_t)at, (uint32_t)at + patch->n, patch->start, patch->end};
        at += patch->n;
        start = patch->end;
    }
    memcpy(out + at, text.p + start, end - start);
}

/* Patches closer than twice the reach share a view. Those that tell nothing new give none. */
static void view_all_patches(struct views *views, const struct source *of, struct sr_patches *all,
                             unsigned passes)
{
    for (size_t i = 0, next; i < all->n && !views->rc; i = next) {
        bool news = is_news(of, all->items[i].start, all->items[i].end);
        for (next = i + 1;
             next < all->n && all->items[next].start - all->items[next - 1].end <= 2 * views->reach; next++)
            news |= is_news(of, all->items[next].start, all->items[next].end);
        if (news)
            view_patches(views, of, all, i, next - 1, passes);
    }
    views->rc = views->rc ? views->rc : all->rc;
    sr_patches_dispose(all);
}

/* ---- runs ---- */

/* A view of bytes [start, end) alone, all of which read differently. */
static char *view_run(struct views *views, const struct source *of, size_t start, size_t end, size_t size,
                      struct sr_undisguised view, unsigned passes)
{
    struct sr_layer_piece *pieces;
    struct sr_layer *layer = add_layer(views, of, 1, &pieces);
    if (!layer)
        return NULL;
    pieces[0] = (struct sr_layer_piece){0, (uint32_t)size, (uint32_t)start, (uint32_t)end};
    view.start = start;
    view.end = end;
    view.layer = layer;
    return add(views, of, view, size, passes);
}

static void view_decoded(struct views *views, const struct source *of, const struct sr_run *run)
{
    struct sr_undisguised view = {.undone = run->end - run->start, .disguise = run->disguise};
    char *out = view_run(views, of, run->start, run->end, run->n, view, SR_PASS_ALL);
    if (out)
        sr_run_decode(of->view.text, run, out);
}

/* Decodes runs; short ones also where they stand. */
static void decode(struct views *views, const struct source *of)
{
    struct sr_bytes text = of->view.text;
    struct sr_patches in_place = {.n = 0};
    struct sr_run run;
    for (size_t at = 0; !views->rc && sr_find_run(text, at, &run); at = run.end) {
        if (!is_news(of, run.start, run.end))
            continue;
        if (run.alone)
            view_decoded(views, of, &run);
        if (run.alone && run.words) {
            struct sr_run words = sr_run_words(text, &run);
            view_decoded(views, of, &words);
        }
        if (!run.in_place)
            continue;
        char said[64];
        sr_run_decode(text, &run, said);
        sr_patches_put(&in_place, said, run.n);
        sr_patches_add(&in_place, run.start, run.end, run.disguise, !run.alone);
    }
    view_all_patches(views, of, &in_place, 0);
}

/* ---- turned words ---- */

static bool is_letter(char c)
{
    return (unsigned)((c | 0x20) - 'a') < 26;
}

/* Writes the characters from the last to the first. */
static void put_backwards(struct sr_bytes s, char *out)
{
    for (size_t at = s.n; at > 0;) {
        int32_t cp;
        size_t n = sr_utf8_decode_before(s, at, &cp);
        at -= n;
        memcpy(out, s.p + at, n);
        out += n;
    }
}

/* The same word by word. */
static void put_words_backwards(struct sr_bytes s, char *out)
{
    for (size_t at = 0, n; at < s.n; at += n) {
        for (n = 0; at + n < s.n && is_letter(s.p[at + n]);)
            n++;
        for (size_t i = 0; i < n; i++)
            out[at + i] = s.p[at + n - 1 - i];
        if (n == 0)
            out[at] = s.p[at], n = 1;
    }
}

static void turn(struct views *views, const struct source *of, enum sr_turned how)
{
    struct sr_bytes text = of->view.text;
    struct sr_turned_run run;
    bool rot13 = how == SR_TURNED_ROT13;
    struct sr_undisguised view = {.disguise = rot13 ? SR_DISGUISE_ROT13 : SR_DISGUISE_REVERSED};
    for (size_t at = 0; !views->rc && sr_find_turned(text, at, how, &run); at = run.end) {
        struct sr_bytes inside = sr_bytes_of(text.p + run.start, run.end - run.start);
        if (!is_news(of, run.start, run.end))
            continue;
        view.undone = run.mixed ? 0 : inside.n;
        char *out = view_run(views, of, run.start, run.end, inside.n, view, 0);
        for (size_t i = 0; out && rot13 && i < inside.n; i++)
            out[i] = sr_rot13(inside.p[i]);
        if (!out || rot13)
            continue;
        put_backwards(inside, out);
        out = view_run(views, of, run.start, run.end, inside.n, view, 0);
        if (out)
            put_words_backwards(inside, out);
    }
}

/* ---- all of it ---- */

static void read_source(struct views *views, const struct source *of)
{
    struct sr_patches escapes = {.n = 0}, hidden = {.n = 0}, words = {.n = 0};
    unsigned passes = of->passes & sr_passes_for(of->view.text);
    if (passes & SR_PASS_ESCAPES) {
        sr_patch_escapes(of->view.text, &escapes);
        view_all_patches(views, of, &escapes, SR_PASS_ALL);
    }
    if (passes & SR_PASS_HIDDEN) {
        sr_patch_hidden(of->view.text, &hidden);
        view_all_patches(views, of, &hidden, SR_PASS_ALL);
    }
    if (passes & SR_PASS_WORDS) {
        sr_patch_words(of->view.text, &words);
        view_all_patches(views, of, &words, SR_PASS_ESCAPES | SR_PASS_RUNS | SR_PASS_TURNED);
    }
    if (passes & SR_PASS_RUNS)
        decode(views, of);
    if (passes & SR_PASS_TURNED) {
        turn(views, of, SR_TURNED_ROT13);
        turn(views, of, SR_TURNED_BACKWARDS);
    }
}

static int by_start(const void *a, const void *b)
{
    const struct sr_undisguised *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end != y->end ? (x->end > y->end ? -1 : 1) : 0;
}

/* All views in one array, in order. */
static int gather(struct views *views, struct sr_undisguised_list *out)
{
    *out = (struct sr_undisguised_list){.cut = views->cut};
    if (views->n == 0)
        return SR_OK;
    struct sr_undisguised *items = sr_arena_calloc(views->arena, views->n, sizeof *items);
    size_t n = 0;
    if (!items)
        return SR_ENOMEM;
    for (const struct source *source = views->first; source; source = source->next)
        items[n++] = source->view;
    qsort(items, n, sizeof *items, by_start);
    *out = (struct sr_undisguised_list){.items = items, .n = n, .cut = views->cut};
    return sr_cover_views(out, views->arena);
}

int sr_undisguise(struct sr_bytes text, size_t reach, struct sr_arena *arena, struct sr_undisguised_list *out)
{
    struct source given = {.view = {.text = text, .end = text.n}, .passes = SR_PASS_ALL};
    struct views views = {.reach = reach, .arena = arena};
    *out = (struct sr_undisguised_list){.n = 0};
    if (text.n > UINT32_MAX / 2)
        return SR_ELIMIT;
    views.last = &views.first;
    views.room = text.n * SR_DISGUISE_GROWTH + GROWTH_LEAST;
    read_source(&views, &given);
    for (const struct source *source = views.first; source && !views.rc; source = source->next)
        if (source->passes)
            read_source(&views, source);
    return views.rc ? views.rc : gather(&views, out);
}

bool sr_undisguised_locate(const struct sr_undisguised *view, size_t start, size_t end, size_t *from,
                           size_t *to)
{
    *from = start;
    *to = end;
    return sr_layer_locate(view->layer, from, to);
}
