/* What tests of disguises share: an arena for views, and what a text reads as. */
#ifndef SR_TESTS_DISGUISE_KIT_H
#define SR_TESTS_DISGUISE_KIT_H

#include "tests/unit/cmocka_all.h"
#include "text/disguise/deobfuscate.h"

static struct sr_arena arena; /* of all views and findings of a test */

static inline int open_arena(void **state)
{
    (void)state;
    sr_arena_init(&arena, (size_t)256 << 20);
    return 0;
}

static inline int close_arena(void **state)
{
    (void)state;
    sr_arena_dispose(&arena);
    return 0;
}

static inline struct sr_undisguised_list views_of(struct sr_bytes text)
{
    struct sr_undisguised_list views;
    assert_int_equal(sr_undisguise(text, 64, &arena, &views), SR_OK);
    return views;
}

/* Some view with these disguises contains `expected`, and lies within the text. */
static inline void reads_as(const char *text, uint32_t disguise, const char *expected)
{
    struct sr_undisguised_list views = views_of(sr_bytes_str(text));
    for (size_t i = 0; i < views.n; i++) {
        const struct sr_undisguised *view = &views.items[i];
        assert_true(view->start < view->end && view->end <= strlen(text));
        if ((view->disguise & disguise) == disguise && sr_bytes_contains(view->text, sr_bytes_str(expected)))
            return;
    }
    for (size_t i = 0; i < views.n; i++)
        print_message("  %x: %.*s\n", views.items[i].disguise, (int)views.items[i].text.n,
                      views.items[i].text.p);
    fail_msg("`%s` does not read as `%s`", text, expected);
}

/* Nothing is undone in the text. */
static inline void plain(const char *text)
{
    struct sr_undisguised_list views = views_of(sr_bytes_str(text));
    if (views.n)
        fail_msg("`%s` reads as `%.*s` (%x)", text, (int)views.items[0].text.n, views.items[0].text.p,
                 views.items[0].disguise);
}

#endif
