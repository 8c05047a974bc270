/* How words are written, and tokens that are one word. */
#include "infer/classifier/word.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* The case of the token that begins with the first `word` of `text`. */
static int case_of(const char *text, const char *word, size_t n)
{
    uint32_t start = (uint32_t)(strstr(text, word) - text), end = start + (uint32_t)n;
    uint8_t out = SR_WORD_CASES;
    sr_word_cases(sr_bytes_str(text), &start, &end, 1, &out);
    return out;
}

static void a_word_by_its_letters(void **state)
{
    static const char TEXT[] =
        "The clerk saw Édouard at the FBI in Lyon. Nobody used the readLine of 3rd hands.";
    (void)state;
    assert_int_equal(case_of(TEXT, "clerk", 5), SR_WORD_SMALL);
    assert_int_equal(case_of(TEXT, "Édou", 5), SR_WORD_INSIDE);
    assert_int_equal(case_of(TEXT, "FBI", 3), SR_WORD_TALL);
    assert_int_equal(case_of(TEXT, "Nobody", 6), SR_WORD_FIRST);
    assert_int_equal(case_of(TEXT, "The", 3), SR_WORD_FIRST);
    assert_int_equal(case_of(TEXT, "readLine", 4), SR_WORD_PLAIN);
    assert_int_equal(case_of(TEXT, "3rd", 1), SR_WORD_PLAIN);
    assert_int_equal(case_of(TEXT, ".", 1), SR_WORD_PLAIN);
}

/* "ouard" of "Édouard" is of a word with a capital. */
static void a_later_token_is_of_its_word(void **state)
{
    (void)state;
    assert_int_equal(case_of("we met Édouard there", "ouard", 5), SR_WORD_INSIDE);
    assert_int_equal(case_of("we met McAdam there", "Adam", 4), SR_WORD_INSIDE);
}

static void a_text_without_the_difference_says_nothing(void **state)
{
    (void)state;
    assert_int_equal(case_of("we met anna there", "anna", 4), SR_WORD_PLAIN);
    assert_int_equal(case_of("WE MET ANNA THERE", "ANNA", 4), SR_WORD_PLAIN);
    assert_int_equal(case_of("Ten Ways To Meet Anna by boat", "Anna", 4), SR_WORD_PLAIN);
}

/* A word without end, and bytes that are no UTF-8, are read and give an answer. */
static void any_bytes(void **state)
{
    char text[4096];
    uint32_t start = 2000, end = 2004;
    uint8_t out = SR_WORD_CASES;
    (void)state;
    memset(text, 'x', sizeof text);
    memcpy(text, "A b ", 4);
    sr_word_cases(sr_bytes_of(text, sizeof text), &start, &end, 1, &out);
    assert_int_equal(out, SR_WORD_SMALL);
    memset(text + 1990, 0xff, 40);
    sr_word_cases(sr_bytes_of(text, sizeof text), &start, &end, 1, &out);
    assert_int_equal(out, SR_WORD_PLAIN);
    sr_word_cases(sr_bytes_of(text, 0), &start, &end, 0, &out);
}

static bool continues(const char *before, const char *token, bool spaced)
{
    return sr_word_continues(sr_bytes_str(before), sr_bytes_str(token), spaced);
}

static void tokens_of_one_word(void **state)
{
    (void)state;
    assert_true(continues("play", "##ing", false));
    assert_false(continues("play", "##", false));
    assert_false(continues("red", "car", false));
    assert_true(continues("▁Ива", "нова", true));
    assert_false(continues("▁Ива", "▁нова", true));
    assert_false(continues("▁Иван", ",", true));
    assert_false(continues("(", "а", true));
    assert_false(continues("▁王", "明", true));
    assert_false(continues("▁김민", "수는", true));
    assert_false(continues("", "а", true));
    assert_false(continues("▁a", "", true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_by_its_letters),
        cmocka_unit_test(a_later_token_is_of_its_word),
        cmocka_unit_test(a_text_without_the_difference_says_nothing),
        cmocka_unit_test(any_bytes),
        cmocka_unit_test(tokens_of_one_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
