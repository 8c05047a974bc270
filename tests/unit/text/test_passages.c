/* Where a text is cut into passages, and that the cuts lose nothing of it. */
#include "text/passages.h"

#include "base/utf8.h"
#include "tests/unit/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#define LINE "The quick brown fox jumps over the lazy dog and runs away from all of them before noon."

/* The passages of `text` are `want`, in order; NULL ends the list. */
static void check(const char *text, const char *const *want)
{
    struct sr_bytes all = sr_bytes_str(text);
    struct sr_passage passage;
    size_t at = 0;
    for (; *want; want++) {
        assert_true(sr_passage_next(all, &at, &passage));
        assert_int_equal(passage.end - passage.start, strlen(*want));
        assert_memory_equal(text + passage.start, *want, strlen(*want));
    }
    assert_false(sr_passage_next(all, &at, &passage));
}

static void paragraphs(void **state)
{
    (void)state;
    check("", (const char *[]){NULL});
    check(" \n\t\r\n", (const char *[]){NULL});
    check("one", (const char *[]){"one", NULL});
    check("  What is the capital of France?\n\nHow do I bake rye bread at home?\n \r\nx",
          (const char *[]){"What is the capital of France?\n\n", "How do I bake rye bread at home?\n \r\n",
                           "x", NULL});
    /* A short paragraph takes the next one in. */
    check("Rules\n\nNever say what was said before.\n\nThe other paragraph is of its own.",
          (const char *[]){"Rules\n\nNever say what was said before.\n\n",
                           "The other paragraph is of its own.", NULL});
}

static void lines_of_a_long_paragraph(void **state)
{
    char text[16 * sizeof LINE] = "";
    struct sr_passage passage;
    size_t at = 0, n = 0;
    (void)state;
    for (int i = 0; i < 12; i++)
        strcat(text, LINE "\n");
    while (sr_passage_next(sr_bytes_str(text), &at, &passage)) {
        assert_int_equal(passage.start, n * sizeof LINE);
        if (strlen(text) - passage.start <= SR_PASSAGE_MAX) { /* the rest is a paragraph that fits */
            assert_int_equal(passage.end, strlen(text));
            break;
        }
        assert_int_equal(passage.end, ++n * sizeof LINE);
    }
    assert_true(n > 0);
}

static void sentences_of_a_long_line(void **state)
{
    char text[32 * sizeof LINE] = "";
    struct sr_passage passage;
    size_t at = 0;
    (void)state;
    for (int i = 0; i < 24; i++)
        strcat(text, LINE " ");
    assert_true(sr_passage_next(sr_bytes_str(text), &at, &passage));
    assert_int_equal(passage.end, 2 * sizeof LINE - 1);
    /* Full stops of Chinese and Japanese. */
    *text = 0;
    for (int i = 0; i < 40; i++)
        strcat(text, "\u4eca\u5929\u5929\u6c14\u5f88\u597d\u3002");
    at = 0;
    assert_true(sr_passage_next(sr_bytes_str(text), &at, &passage));
    assert_int_equal(passage.end % 21, 0);
    assert_true(passage.end >= SR_PASSAGE_SENTENCE && passage.end < SR_PASSAGE_MAX);
}

/* Random texts: passages are in order, not too long, cut between characters, with white space between. */
static void nothing_is_lost(void **state)
{
    static const char *const pieces[] = {"a",  "bc", " ",      "\n",     "\n\n",
                                         ". ", "!",  "\u3002", "\u00e9", "\U0001f600"};
    unsigned seed = 7;
    (void)state;
    for (int round = 0; round < 3000; round++) {
        char text[4000] = "";
        size_t n = 0, at = 0, last = 0;
        unsigned spread = 1 + (unsigned)rand_r(&seed) % 10;
        for (int more = rand_r(&seed) % 900; more > 0; more--)
            n += (size_t)sprintf(text + n, "%s",
                                 pieces[rand_r(&seed) % 3 ? 0 : (unsigned)rand_r(&seed) % spread]);
        struct sr_passage passage;
        while (sr_passage_next(sr_bytes_of(text, n), &at, &passage)) {
            assert_true(passage.start >= last && passage.end > passage.start && passage.end <= n);
            assert_true(passage.end - passage.start <= SR_PASSAGE_MAX && at == passage.end);
            for (size_t i = last; i < passage.start; i++)
                assert_non_null(strchr(" \n", text[i]));
            assert_true(passage.end == n || !sr_utf8_is_tail(text[passage.end]));
            last = passage.end;
        }
        for (size_t i = last; i < n; i++)
            assert_non_null(strchr(" \n", text[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs),
        cmocka_unit_test(lines_of_a_long_paragraph),
        cmocka_unit_test(sentences_of_a_long_line),
        cmocka_unit_test(nothing_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
