/* Builds views from rewritten spans and decoded runs. */
#include "text/disguise/deobfuscate.h"

#include "base/utf8.h"
#include "text/ascii.h"
#include "text/disguise/private.h"

#define DEPTH_MAX 3 /* depth of nested encodings */

const char *sr_disguise_name(enum sr_disguise disguise)
{
    switch (disguise) {
    case SR_DISGUISE_INVISIBLE:
        return "invisible";
    case SR_DISGUISE_LOOKALIKE:
        return "lookalike";
    case SR_DISGUISE_SPACED:
        return "spaced";
    case SR_DISGUISE_LEET:
        return "leet";
    case SR_DISGUISE_BASE64:
        return "base64";
    case SR_DISGUISE_HEX:
        return "hex";
    case SR_DISGUISE_ROT13:
        return "rot13";
    }
    return "";
}

struct views {
    struct sr_undisguised *items;
    size_t n;
    size_t reach;
    struct sr_arena *arena;
    int rc;
};

static void add(struct views *views, struct sr_undisguised view)
{
    if (!view.text.p)
        views->rc = SR_ENOMEM;
    else if (views->n < SR_DISGUISE_VIEWS_MAX)
        views->items[views->n++] = view;
}

/* Bytes that may be part of a disguise: a text without them has no rewritten views. */
static bool may_be_rewritten(struct sr_bytes text)
{
    size_t singles = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c >= 0x80)
            return true;
        bool letter = (unsigned)((c | 0x20) - 'a') < 26;
        bool alone = letter && (i == 0 || !sr_ascii_is_word((unsigned char)text.p[i - 1])) &&
                     (i + 1 == text.n || !sr_ascii_is_word((unsigned char)text.p[i + 1]));
        singles += alone;
        bool code =
            strchr("013457@$!|+", c) && i + 1 < text.n && (unsigned)((text.p[i + 1] | 0x20) - 'a') < 26;
        if (code || singles >= 4 || c == '_')
            return true;
    }
    return false;
}

static bool is_inside(struct sr_bytes text, size_t at)
{
    return at < text.n && sr_utf8_is_tail(text.p[at]);
}

/* Marks closer than twice the reach share a view. */
static void view_rewritten(struct views *views, struct sr_bytes text, const struct sr_rewritten *all)
{
    struct sr_bytes out = sr_bytes_of(all->text, all->n);
    for (size_t i = 0; i < all->n_marks;) {
        size_t last = i, sure = all->marks[i].sure, likely = all->marks[i].likely;
        uint32_t disguise = all->marks[i].disguise;
        while (last + 1 < all->n_marks &&
               all->marks[last + 1].out_start - all->marks[last].out_end <= 2 * views->reach) {
            const struct sr_rewrite_mark *next = &all->marks[++last];
            disguise |= next->disguise;
            sure += next->sure;
            likely += next->likely;
        }
        const struct sr_rewrite_mark *a = &all->marks[i], *b = &all->marks[last];
        size_t start = a->out_start > views->reach ? a->out_start - views->reach : 0;
        size_t end = out.n - b->out_end > views->reach ? b->out_end + views->reach : out.n;
        size_t in_start = a->in_start > views->reach ? a->in_start - views->reach : 0;
        size_t in_end = text.n - b->in_end > views->reach ? b->in_end + views->reach : text.n;
        while (start > 0 && is_inside(out, start))
            start--;
        while (is_inside(out, end))
            end++;
        while (in_start > 0 && is_inside(text, in_start))
            in_start--;
        while (is_inside(text, in_end))
            in_end++;
        add(views, (struct sr_undisguised){.text = sr_bytes_of(out.p + start, end - start),
                                           .start = in_start,
                                           .end = in_end,
                                           .undone = likely < SR_DISGUISE_LEFT_MAX ? sure : 0,
                                           .disguise = disguise});
        i = last + 1;
    }
}

static void rewrite(struct views *views, struct sr_bytes text)
{
    if (!may_be_rewritten(text))
        return;
    struct sr_rewritten out = {.max_marks = text.n / 8 + 4};
    out.text = sr_arena_alloc(views->arena, text.n + 1);
    out.marks = sr_arena_calloc(views->arena, out.max_marks, sizeof *out.marks);
    if (!out.text || !out.marks) {
        views->rc = SR_ENOMEM;
        return;
    }
    sr_rewrite(text, &out);
    view_rewritten(views, text, &out);
}

static void decode(struct views *views, struct sr_bytes text, const struct sr_undisguised *outer, int depth);

/* The decoded bytes of [start, end) of a text, which may itself be a view. */
static struct sr_undisguised decoded_view(size_t start, size_t end, uint32_t disguise,
                                          const struct sr_undisguised *outer)
{
    struct sr_undisguised view = {.start = start, .end = end, .undone = end - start, .disguise = disguise};
    if (outer) {
        view = *outer;
        view.undone = 0;
        view.disguise |= disguise;
    }
    return view;
}

/* A decoded run is a view, and may hold further ones. */
static void take_decoded(struct views *views, struct sr_bytes decoded, struct sr_undisguised view, int depth)
{
    view.text = sr_arena_dup(views->arena, decoded);
    add(views, view);
    if (view.text.p && depth < DEPTH_MAX)
        decode(views, view.text, &view, depth + 1);
}

static void decode_rot13(struct views *views, struct sr_bytes text, const struct sr_undisguised *outer)
{
    struct sr_rot13_run run;
    for (size_t at = 0; !views->rc && views->n < SR_DISGUISE_VIEWS_MAX && sr_find_rot13(text, at, &run);
         at = run.end) {
        struct sr_undisguised view = decoded_view(run.start, run.end, SR_DISGUISE_ROT13, outer);
        char *plain = sr_arena_alloc(views->arena, run.end - run.start + 1);
        for (size_t i = run.start; plain && i < run.end; i++)
            plain[i - run.start] = sr_rot13(text.p[i]);
        view.text = sr_bytes_of(plain, run.end - run.start);
        view.undone = run.mixed ? 0 : view.undone;
        add(views, view);
    }
}

static bool begins_run(struct sr_bytes text, size_t at)
{
    return at == 0 || !sr_ascii_is_word((unsigned char)text.p[at - 1]);
}

/* Finds encoded runs in `text`: the given text, or the text of the view `outer` when that is not NULL. */
static void decode(struct views *views, struct sr_bytes text, const struct sr_undisguised *outer, int depth)
{
    size_t at = 0;
    char *out = NULL;
    while (at < text.n && !views->rc) {
        size_t n = 0, run = 0, stop = 0;
        uint32_t disguise = SR_DISGUISE_BASE64;
        while (at + run < text.n &&
               (sr_ascii_is_word((unsigned char)text.p[at + run]) || strchr("+/-", text.p[at + run])))
            run++;
        bool pairs =
            run <= 4 && run > 0 && begins_run(text, at) && at + 3 * SR_DISGUISE_HEX_MIN / 2 < text.n + 2;
        if ((run >= SR_DISGUISE_BASE64_MIN || pairs) && !out &&
            !(out = sr_arena_alloc(views->arena, text.n + 4)))
            views->rc = SR_ENOMEM;
        if (out && (run >= SR_DISGUISE_HEX_MIN || pairs) && (stop = sr_decode_hex(text, at, out, &n)))
            disguise = SR_DISGUISE_HEX;
        else if (out && run >= SR_DISGUISE_BASE64_MIN)
            stop = sr_decode_base64(text, at, out, &n);
        if (stop)
            take_decoded(views, sr_bytes_of(out, n), decoded_view(at, stop, disguise, outer), depth);
        at = stop > at ? stop : at + run + 1;
    }
    if (!outer || !(outer->disguise & SR_DISGUISE_ROT13))
        decode_rot13(views, text, outer);
}

int sr_undisguise(struct sr_bytes text, size_t reach, struct sr_arena *arena,
                  const struct sr_undisguised **views, size_t *n)
{
    struct views all = {.reach = reach, .arena = arena};
    *views = NULL;
    *n = 0;
    all.items = sr_arena_calloc(arena, SR_DISGUISE_VIEWS_MAX, sizeof *all.items);
    if (!all.items)
        return SR_ENOMEM;
    rewrite(&all, text);
    decode(&all, text, NULL, 1);
    *views = all.items;
    *n = all.n;
    return all.rc;
}
