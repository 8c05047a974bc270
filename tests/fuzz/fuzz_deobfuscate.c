/* Any bytes: views lie inside of the text, are valid UTF-8 where the text is, take a bounded number of bytes,
 * map back into what they replace, and stand for no more than they say. */
#include "base/utf8.h"
#include "text/disguise/private.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct sr_undisguised *view, size_t size, bool valid)
{
    size_t from, to;
    if (view->start >= view->end || view->end > size || !view->disguise ||
        view->undone > view->end - view->start)
        abort();
    if (valid && !sr_utf8_valid(view->text))
        abort();
    for (size_t at = 0; at < view->text.n; at += 1 + view->text.n / 64) {
        sr_undisguised_locate(view, at, at + 1, &from, &to);
        if (from > to || from < view->start || to > view->end)
            abort();
    }
}

/* A pass that is not made of a short text would find nothing. */
static void check_passes(struct sr_bytes text)
{
    unsigned without = SR_PASS_ALL & ~sr_passes_for(text);
    struct sr_patches patches = {.n = 0};
    struct sr_run run;
    struct sr_turned_run turned;
    if (without & SR_PASS_ESCAPES)
        sr_patch_escapes(text, &patches);
    if (without & SR_PASS_HIDDEN)
        sr_patch_hidden(text, &patches);
    if (without & SR_PASS_WORDS)
        sr_patch_words(text, &patches);
    if (patches.n || (without & SR_PASS_RUNS && sr_find_run(text, 0, &run)) ||
        (without & SR_PASS_TURNED && (sr_find_turned(text, 0, SR_TURNED_ROT13, &turned) ||
                                      sr_find_turned(text, 0, SR_TURNED_BACKWARDS, &turned))))
        abort();
    sr_patches_dispose(&patches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_bytes text = sr_bytes_of(data, size);
    struct sr_undisguised_list views, none = {.n = 0};
    struct sr_arena arena;
    size_t total = 0;
    sr_arena_init(&arena, (size_t)256 << 20);
    if (sr_undisguise(text, size % 97, &arena, &views))
        abort();
    check_passes(text);
    bool valid = sr_utf8_valid(text);
    for (size_t i = 0; i < views.n; i++) {
        check(&views.items[i], size, valid);
        if (i && views.items[i].start < views.items[i - 1].start)
            abort();
        total += views.items[i].text.n;
    }
    if (total > size * SR_DISGUISE_GROWTH + ((size_t)64 << 10))
        abort();
    for (size_t i = 0; i < views.n_covers; i++)
        if (views.covers[i].start >= views.covers[i].end || views.covers[i].end > size ||
            (i && views.covers[i].start < views.covers[i - 1].end))
            abort();
    /* What stands for a text stands for nothing when it is gone. */
    if (sr_undisguised_stand_for(text, &none, 0, size))
        abort();
    sr_arena_dispose(&arena);
    return 0;
}
