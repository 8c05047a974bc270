/* Any bytes: views lie inside of the text, are valid UTF-8 where the text is, come in bounded number, and
 * stand for no more than they say. */
#include "base/utf8.h"
#include "text/disguise/deobfuscate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sr_bytes text = sr_bytes_of(data, size);
    const struct sr_undisguised *views;
    struct sr_arena arena;
    size_t n;
    sr_arena_init(&arena, (size_t)64 << 20);
    if (sr_undisguise(text, size % 97, &arena, &views, &n))
        abort();
    if (n > SR_DISGUISE_VIEWS_MAX)
        abort();
    bool valid = sr_utf8_valid(text);
    for (size_t i = 0; i < n; i++) {
        const struct sr_undisguised *v = &views[i];
        if (v->start >= v->end || v->end > size || !v->disguise || (valid && !sr_utf8_valid(v->text)))
            abort();
        if (v->undone > v->end - v->start)
            abort();
    }
    /* What stands for a text stands for nothing when it is gone. */
    if (sr_undisguised_stand_for(text, views, n, 0, size) &&
        (n == 0 || sr_undisguised_stand_for(text, views, 0, 0, size)))
        abort();
    sr_arena_dispose(&arena);
    return 0;
}
