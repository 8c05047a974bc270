/*
 * Where sentences end, by both sets of rules, and that the pieces of a text do not matter.
 */
#include "tests/unit/cmocka_all.h"

#include "text/segment/segment.h"

#include <stdio.h>

typedef bool next_fn(struct sr_segmenter *, struct sr_bytes, bool, struct sr_segment *);

/* The units of `text` joined by '|'. */
static const char *cut(next_fn *next, const char *text)
{
    static char out[8192];
    size_t n = 0;
    struct sr_segmenter s = {0};
    struct sr_segment unit;
    struct sr_bytes all = sr_bytes_str(text);
    while (next(&s, all, true, &unit)) {
        assert_true(unit.start < unit.end && unit.end <= all.n);
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%.*s", n ? "|" : "", (int)(unit.end - unit.start),
                              text + unit.start);
    }
    out[n] = 0;
    return out;
}

#define ORDINARY(text, want)  assert_string_equal(cut(sr_segment_next, text), want)
#define PUBLISHED(text, want) assert_string_equal(cut(sr_segment_next_published, text), want)

static size_t count(next_fn *next, const char *text)
{
    struct sr_segmenter s = {0};
    struct sr_segment unit;
    size_t n = 0;
    while (next(&s, sr_bytes_str(text), true, &unit))
        n++;
    return n;
}

static void test_published(void **state)
{
    (void)state;
    next_fn *next = sr_segment_next_published;
    assert_int_equal(count(next, ""), 0);
    assert_int_equal(count(next, " \n\t "), 0);
    PUBLISHED("Wait... What?", "Wait...|What?");
    assert_int_equal(count(next, "The value is 3.14 approximately."), 1);
    assert_int_equal(count(next, "今天天气很好。我们去公园吧！你觉得怎么样？"), 3);
    assert_int_equal(count(next, "今日は天気がいいです。公園に行きましょう！どう思いますか？"), 3);
    assert_int_equal(count(next, "오늘 날씨가 좋습니다. 공원에 갑시다!"), 2);
    assert_int_equal(count(next, "الطقس جميل اليوم. هل نذهب إلى الحديقة؟ نعم!"), 3);
    assert_int_equal(count(next, "आज मौसम अच्छा है। चलो पार्क चलते हैं।"), 2);
    assert_int_equal(count(next, "This is English。这是中文。This is English again."), 3);
    PUBLISHED("By J. Smith and A. B. Jones. See a.b for x.", "By J. Smith and A. B. Jones.|See a.|b for x.");
    PUBLISHED("J. Smith. X. Ann", "J. Smith.|X. Ann");
    PUBLISHED("He is tall. And thin", "He is tall.|And thin");
    PUBLISHED("  one\n two ?! \xC2\xA0three  ", "one\n two ?!|three");
    PUBLISHED("...", "...");
    PUBLISHED("a.b\xFF.c", "a.|b\xFF.|c");
    /* Its step back by the initial's own width, kept as it is: the byte before "É" is not looked at. */
    PUBLISHED("x É. Bo", "x É.|Bo");
}

static void test_words_and_marks(void **state)
{
    (void)state;
    ORDINARY("Wait... What?", "Wait...|What?");
    ORDINARY("The value is 3.14 approximately.", "The value is 3.14 approximately.");
    ORDINARY("Dr. Smith met J. R. R. Tolkien at 3 p.m. in the U.S. Senate. He paid.",
             "Dr. Smith met J. R. R. Tolkien at 3 p.m. in the U.S. Senate.|He paid.");
    ORDINARY("Take fruit, e.g. apples, pears, etc. and go. See fig. 3 or Vol. II. It ends.",
             "Take fruit, e.g. apples, pears, etc. and go.|See fig. 3 or Vol. II.|It ends.");
    ORDINARY("See https://a.b/c?d=1.2&e. Then foo.bar() runs. Done now.",
             "See https://a.b/c?d=1.2&e.|Then foo.bar() runs.|Done now.");
    ORDINARY("She said \"Stop!\" Then (they left.) He asked \"why?\" twice.",
             "She said \"Stop!\"|Then (they left.)|He asked \"why?\" twice.");
    ORDINARY("今天天气很好。我们去公园吧！“你觉得呢？”他问。",
             "今天天气很好。|我们去公园吧！|“你觉得呢？”|他问。");
    ORDINARY("الطقس جميل اليوم. هل نذهب؟ نعم نذهب!", "الطقس جميل اليوم.|هل نذهب؟|نعم نذهب!");
    ORDINARY("आज मौसम अच्छा है। चलो पार्क चलते हैं॥", "आज मौसम अच्छा है।|चलो पार्क चलते हैं॥");
    ORDINARY("Кот спит. Он сыт! А ты?", "Кот спит.|Он сыт!|А ты?");
    ORDINARY("This is English。这是中文。This is English again.",
             "This is English。|这是中文。|This is English again.");
    assert_true(count(sr_segment_next, "ภาษาไทยไม่มีเครื่องหมายจบประโยค ภาษาไทยไม่มีเครื่องหมายจบประโยค "
                                       "ภาษาไทยไม่มีเครื่องหมายจบประโยค ภาษาไทยไม่มีเครื่องหมายจบประโยค") >= 2);
}

static void test_lines(void **state)
{
    (void)state;
    ORDINARY("# A heading\nText under the heading.\n\nNext", "# A heading|Text under the heading.|Next");
    ORDINARY("A sentence that was broken by the width of its line\nand goes on here. Next.",
             "A sentence that was broken by the width of its line\nand goes on here.|Next.");
    ORDINARY("- first item\n- second item\n2. third item\n   goes on\n",
             "- first item|- second item|2. third item\n   goes on");
    ORDINARY("Intro.\n```c\nint x = 1. + y.z;\n```\nAfter it.",
             "Intro.|```c\nint x = 1. + y.z;\n```|After it.");
    ORDINARY("| a | b |\n|---|---|\n| one | two |\n\nAfter.", "| a | b |\n|---|---|\n| one | two ||After.");
    ORDINARY("User: hello there\nBot: good day\nUser: bye", "User: hello there|Bot: good day|User: bye");
}

/* No text is without a cut, and no unit is longer than the limit. */
static void test_limits(void **state)
{
    (void)state;
    static char text[64 << 10];
    static const char *const fillings[] = {"x",       "word ",         "a;b,",         "{\n", "\xE4\xB8\xAD",
                                           "\x80",    "-\n",           "\xF0\x9F\x98", "1.2", "lower\n",
                                           "```\nx;", "\xE0\xB8\x81 ", "foo(bar);\n"};
    for (size_t i = 0; i < sizeof fillings / sizeof fillings[0]; i++) {
        struct sr_segmenter s = {0};
        struct sr_segment unit;
        size_t units = 0, before = 0;
        for (size_t k = 0, n = strlen(fillings[i]); k < sizeof text; k++)
            text[k] = fillings[i][k % n];
        while (sr_segment_next(&s, sr_bytes_of(text, sizeof text), true, &unit)) {
            assert_true(unit.start >= before && unit.end > unit.start);
            assert_true(unit.end - unit.start <= SR_SEGMENT_MAX);
            before = unit.end;
            units++;
        }
        assert_true(units >= sizeof text / SR_SEGMENT_MAX / 4);
    }
}

static void test_pieces(void **state)
{
    (void)state;
    static const char text[] = "# Über uns\nDr. Ä. Öz wrote e.g. this... And that?! “Yes.” 今天。好！ "
                               "Wait\n\n- a) b.\n- c\n```\nx = y.z;\n"
                               "for (;;) { break; }\n```\nआज। ภาษาไทย ไม่มี The end of a line that is long "
                               "enough to be wrapped\nhere. \xFF\xC3 x. ";
    struct sr_bytes all = {text, sizeof text - 1};
    next_fn *const ways[] = {sr_segment_next, sr_segment_next_published};
    for (size_t way = 0; way < 2; way++)
        for (size_t step = 1; step < 60; step++) {
            struct sr_segmenter whole = {0}, parts = {0};
            struct sr_segment want, got;
            size_t arrived = 0;
            while (ways[way](&whole, all, true, &want)) {
                while (!ways[way](&parts, sr_bytes_of(text, arrived), arrived == all.n, &got)) {
                    assert_true(arrived < all.n);
                    arrived = arrived + step < all.n ? arrived + step : all.n;
                }
                assert_int_equal(got.start, want.start);
                assert_int_equal(got.end, want.end);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published), cmocka_unit_test(test_words_and_marks),
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_limits),
        cmocka_unit_test(test_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
