/* Code points, words, many literals at once, languages. */
#include "tests/unit/cmocka_all.h"

#include "base/unicode.h"
#include "text/language.h"
#include "text/terms/match.h"
#include "text/words.h"

#include <stdio.h>
#include <stdlib.h>

static void assert_words(const char *text, const char *expected)
{
    struct sr_words words = sr_words_of(sr_bytes_str(text), false);
    struct sr_word word;
    char joined[512] = "";
    size_t n = 0, count = 0;
    while (sr_words_next(&words, &word)) {
        n +=
            (size_t)snprintf(joined + n, sizeof joined - n, "%s%.*s", n ? "|" : "", (int)word.n, word.folded);
        count++;
    }
    assert_string_equal(joined, expected);
    assert_int_equal(sr_words_count(sr_bytes_str(text)), count);
}

static void test_words(void **state)
{
    (void)state;
    assert_words("", "");
    assert_words(" ,; ", "");
    assert_words("Don't stop, snake_case x2!", "don't|stop|snake_case|x2");
    assert_words("it’s 'quoted'", "it's|quoted");
    assert_words("Größe naïve", "grösse|naïve");
    assert_words("用Python写", "用|python|写");
    assert_words("파이썬을 써요", "파이썬을|써요");
    assert_words("привет, МИР", "привет|мир");
}

static void test_long_words_are_cut(void **state)
{
    (void)state;
    char text[1000];
    memset(text, 'x', sizeof text);
    struct sr_words words = sr_words_of(sr_bytes_of(text, sizeof text), false);
    struct sr_word word;
    assert_true(sr_words_next(&words, &word));
    assert_int_equal(word.n, SR_WORD_MAX);
    assert_int_equal(word.end, sizeof text);
    assert_false(sr_words_next(&words, &word));
}

static void assert_stem(const char *word, const char *expected)
{
    char buffer[64];
    snprintf(buffer, sizeof buffer, "%s", word);
    size_t n = sr_words_stem(buffer, strlen(buffer));
    buffer[n] = 0;
    assert_string_equal(buffer, expected);
}

static void test_stem(void **state)
{
    (void)state;
    assert_stem("queries", "query");
    assert_stem("models", "model");
    assert_stem("class", "class");
    assert_stem("virus", "virus");
    assert_stem("gas", "gas");
    assert_stem("king's", "king");
}

static uint32_t count_of(const char *literal, const char *text, bool case_sensitive)
{
    struct sr_bytes one = sr_bytes_str(literal);
    struct sr_matcher *matcher = NULL;
    uint32_t count = 0;
    assert_int_equal(sr_matcher_new(&matcher, &one, 1, case_sensitive, NULL), SR_OK);
    sr_matcher_count(matcher, sr_bytes_str(text), &count);
    sr_matcher_free(matcher);
    return count;
}

static void test_match_whole_words(void **state)
{
    (void)state;
    assert_int_equal(count_of("java", "Java, javascript; JAVA java_x", false), 2);
    assert_int_equal(count_of("java", "Java, javascript; JAVA java_x", true), 0);
    assert_int_equal(count_of("C++", "c++ and C++11", false), 2);
    assert_int_equal(count_of("c++", "xc++", false), 0);
    assert_int_equal(count_of("naïve", "NAÏVE naïves", false), 1);
    assert_int_equal(count_of("straße", "Auf der STRASSE", false), 1);
    assert_int_equal(count_of("мир", "Мир и мира", false), 1);
}

static void test_match_scripts_without_spaces(void **state)
{
    (void)state;
    assert_int_equal(count_of("人工智能", "请解释人工智能的历史,人工智能!", false), 2);
    assert_int_equal(count_of("python", "用Python写一个", false), 1);
    assert_int_equal(count_of("파이썬", "파이썬을 배우고", false), 1);
    assert_int_equal(count_of("이썬", "파이썬을 배우고", false), 0);
    assert_int_equal(count_of("プログラム", "このプログラムは", false), 1);
}

static void test_match_rejects(void **state)
{
    (void)state;
    char longest[SR_MATCH_LITERAL_MAX + 2];
    struct sr_matcher *matcher = NULL;
    struct sr_err err = {0};
    struct sr_bytes literals[1] = {SR_LIT("")};
    assert_int_equal(sr_matcher_new(&matcher, literals, 1, false, &err), SR_EINVAL);
    memset(longest, 'a', sizeof longest);
    literals[0] = sr_bytes_of(longest, SR_MATCH_LITERAL_MAX + 1);
    assert_int_equal(sr_matcher_new(&matcher, literals, 1, false, &err), SR_EINVAL);
    assert_non_null(strstr(err.message, "256"));
}

struct seen {
    size_t ids[64], ends[64], n;
};

static void note(void *ctx, size_t id, size_t start, size_t end)
{
    struct seen *seen = ctx;
    (void)start;
    seen->ids[seen->n] = id;
    seen->ends[seen->n++] = end;
}

static void test_match_order_and_overlaps(void **state)
{
    (void)state;
    struct sr_bytes literals[] = {SR_LIT("人工"), SR_LIT("工智"), SR_LIT("人工智能"), SR_LIT("智能"),
                                  SR_LIT("智能")};
    struct sr_matcher *matcher = NULL;
    struct seen seen = {.n = 0};
    assert_int_equal(sr_matcher_new(&matcher, literals, 5, true, NULL), SR_OK);
    sr_matcher_each(matcher, SR_LIT("人工智能"), note, &seen);
    assert_int_equal(seen.n, 5);
    for (size_t i = 1; i < seen.n; i++)
        assert_true(seen.ends[i] >= seen.ends[i - 1]);
    sr_matcher_free(matcher);
}

/* Random texts of a small alphabet against a search that tries every place; long enough for lanes and
 * windows. */
static void test_match_equals_naive(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a", "b", "ab", "A", " ", "-", "é", "É", "中", "文", "ß", "ba"};
    static const char *const keywords[] = {"a", "ab", "ba", "é", "中文", "ab ba", "-", "ss", "b-", "aé"};
    struct sr_bytes literals[10];
    struct sr_matcher *matcher = NULL;
    for (size_t i = 0; i < 10; i++)
        literals[i] = sr_bytes_str(keywords[i]);
    assert_int_equal(sr_matcher_new(&matcher, literals, 10, false, NULL), SR_OK);
    srand(7);
    for (int round = 0; round < 60; round++) {
        size_t limit = round < 40 ? 200 : 60000, n = 0;
        size_t kinds = round % 2 ? 12 : 6;
        char *text = malloc(limit + 8);
        while (n < limit) {
            const char *piece = pieces[(size_t)rand() % kinds];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        uint32_t counts[10] = {0}, expected[10] = {0};
        sr_matcher_count(matcher, sr_bytes_of(text, n), counts);
        char *folded = malloc(n * 3 + 16);
        size_t at = 0, m = sr_unicode_fold_into(sr_bytes_of(text, n), &at, folded, n * 3 + 16);
        for (size_t k = 0; k < 10; k++) {
            char key[64];
            size_t from = 0, length = sr_unicode_fold_into(literals[k], &from, key, sizeof key);
            int32_t cp;
            sr_utf8_decode(sr_bytes_of(key, length), 0, &cp);
            enum sr_unicode_class first = sr_unicode_class(cp);
            sr_utf8_decode_before(sr_bytes_of(key, length), length, &cp);
            enum sr_unicode_class last = sr_unicode_class(cp);
            for (size_t i = 0; i + length <= m; i++) {
                if (memcmp(folded + i, key, length) != 0)
                    continue;
                if (i > 0 && first == SR_UNICODE_WORD) {
                    sr_utf8_decode_before(sr_bytes_of(folded, m), i, &cp);
                    if (sr_unicode_class(cp) == SR_UNICODE_WORD)
                        continue;
                }
                if (i + length < m && last == SR_UNICODE_WORD) {
                    sr_utf8_decode(sr_bytes_of(folded, m), i + length, &cp);
                    if (sr_unicode_class(cp) == SR_UNICODE_WORD)
                        continue;
                }
                expected[k]++;
            }
        }
        assert_memory_equal(counts, expected, sizeof counts);
        free(folded);
        free(text);
    }
    sr_matcher_free(matcher);
}

static void assert_language(const char *text, const char *code)
{
    struct sr_languages found = sr_language_detect(sr_bytes_str(text));
    assert_true(found.count > 0);
    assert_string_equal(found.items[0].code, code);
    assert_true(found.items[0].confidence > 0.3f && found.items[0].confidence <= 1.0f);
}

static void test_language(void **state)
{
    (void)state;
    assert_language("Could you explain to me how a sorting algorithm works and why it is fast?", "en");
    assert_language("Hola, ¿me ayudas a resolver este sistema de ecuaciones? No sé qué significa.", "es");
    assert_language("Wie kann ich in Berlin eine Wohnung finden, ohne einen Makler zu bezahlen?", "de");
    assert_language("请解释一下人工智能的历史和发展。", "zh");
    assert_language("この問題を解く方法を教えてください。", "ja");
    assert_language("이 문제를 어떻게 풀어야 하는지 설명해 주세요.", "ko");
    assert_language("Объясните, пожалуйста, как работает этот алгоритм.", "ru");
    assert_int_equal(sr_language_detect(SR_LIT("")).count, 0);
    assert_int_equal(sr_language_detect(SR_LIT("12345 67890 !!!")).count, 0);
}

static void test_language_of_a_long_text(void **state)
{
    (void)state;
    const char *sentence = "Le chat est sur la table et il ne veut pas descendre. Ça dure depuis été. ";
    size_t n = 0, size = 200000;
    char *text = malloc(size + 200);
    while (n < size) {
        memcpy(text + n, sentence, strlen(sentence));
        n += strlen(sentence);
    }
    for (size_t cut = 0; cut < 8; cut++) {
        struct sr_languages found = sr_language_detect(sr_bytes_of(text + cut, n - cut));
        assert_true(found.count > 0);
        assert_string_equal(found.items[0].code, "fr");
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_long_words_are_cut),
        cmocka_unit_test(test_stem),
        cmocka_unit_test(test_match_whole_words),
        cmocka_unit_test(test_match_scripts_without_spaces),
        cmocka_unit_test(test_match_rejects),
        cmocka_unit_test(test_match_order_and_overlaps),
        cmocka_unit_test(test_match_equals_naive),
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_language_of_a_long_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
