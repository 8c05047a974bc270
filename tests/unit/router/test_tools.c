/* Words, ranks, the database and its kept vectors. */
#include "tests/unit/cmocka_all.h"

#include "router/toolbox/database.h"
#include "router/toolbox/history.h"
#include "router/toolbox/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define D 4u

static struct sr_arena arena;

static struct sr_tool_words words(const char *text)
{
    struct sr_tool_words out;
    struct sr_bytes bytes = sr_bytes_str(text);
    assert_int_equal(sr_tool_words(&bytes, 1, &arena, &out), SR_OK);
    return out;
}

static void same(const char *a, const char *b)
{
    struct sr_tool_words x = words(a), y = words(b);
    assert_int_equal(x.n, y.n);
    for (size_t i = 0; i < x.n; i++)
        assert_int_equal(x.hashes[i], y.hashes[i]);
}

static void test_words(void **state)
{
    (void)state;
    same("getWeather", "get_weather");
    same("getWeather", "Get the weather!");
    same("ordering meals", "order meal");
    same("\xE5\xA4\xA9\xE6\xB0\x94", "\xE5\xA4\xA9 \xE6\xB0\x94"); /* two characters are two words */
    assert_int_equal(words("").n, 0);
    assert_int_equal(words("to the of").n, 0);
    size_t distinct;
    struct sr_tool_words a = words("rain rain sun"), b = words("sun wind");
    assert_int_equal(sr_tool_words_shared(&a, &b, &distinct), 1);
    assert_int_equal(distinct, 2);
}

static const float vectors[] = {1, 0, 0, 0, 0, 1, 0, 0, 0.6f, 0.8f, 0, 0};

static struct sr_tool_set three(struct sr_tool tools[3])
{
    static const char *const names[] = {"rain", "sun", "wind"};
    for (size_t i = 0; i < 3; i++)
        tools[i] = (struct sr_tool){
            .name = sr_bytes_str(names[i]), .words = words(names[i]), .name_words = words(names[i])};
    return (struct sr_tool_set){tools, 3, vectors, D};
}

static void test_rank(void **state)
{
    (void)state;
    struct sr_tool tools[3];
    struct sr_tool_set set = three(tools);
    struct sr_tool_rank *ranks;
    size_t n;
    const float asked[] = {0.8f, 0.6f, 0, 0};
    struct sr_tool_question question = {.vector = asked, .words = words("nothing")};
    struct sr_config_tools settings = {.top_k = 3};
    assert_int_equal(sr_tools_rank(&set, &question, &settings, &arena, &ranks, &n), SR_OK);
    assert_int_equal(n, 3);
    assert_int_equal(ranks[0].at, 2);
    assert_int_equal(ranks[1].at, 0);
    assert_true(ranks[0].similarity > 0.959f && ranks[0].similarity < 0.961f);
    question.words = words("sun"); /* weighs a little: less than the vectors' distance */
    assert_int_equal(sr_tools_rank(&set, &question, &settings, &arena, &ranks, &n), SR_OK);
    assert_int_equal(ranks[0].at, 2);
    settings.advanced.enabled = true;
    settings.advanced.name = 1;
    settings.advanced.min_score = 0.5;
    assert_int_equal(sr_tools_rank(&set, &question, &settings, &arena, &ranks, &n), SR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(ranks[0].at, 1);
}

static void test_kept(void **state)
{
    (void)state;
    char path[] = "/tmp/sr-kept-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    static const char *const texts[] = {"rain", "sun", "wind"}, *const asked[] = {"wind", "hail", "rain"};
    struct sr_kept_of of = {SR_LIT("encoder"), D}, other = {SR_LIT("another"), D};
    float out[3 * D] = {0};
    bool has[3] = {false, false, false};
    assert_int_equal(sr_kept_save(path, &of, texts, 3, vectors, NULL), SR_OK);
    assert_int_equal(sr_kept_load(path, &of, asked, 3, out, has), 2);
    assert_true(has[0] && !has[1] && has[2]);
    assert_memory_equal(out, vectors + 2 * D, D * sizeof(float));
    assert_memory_equal(out + 2 * D, vectors, D * sizeof(float));
    assert_int_equal(sr_kept_load(path, &other, asked, 3, out, has), 0);
    of.dimensions = 3;
    assert_int_equal(sr_kept_load(path, &of, asked, 3, out, has), 0);
    of.dimensions = D;
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(sr_kept_load(path, &of, asked, 3, out, has), 0);
    unlink(path);
    assert_int_equal(sr_kept_load(path, &of, asked, 3, out, has), 0);
    struct sr_err err = {0};
    assert_int_equal(sr_kept_save("/nowhere/x", &of, texts, 3, vectors, &err), SR_EIO);
    assert_non_null(strstr(err.message, "/nowhere/x"));
}

static void refused(const char *text, const char *why)
{
    struct sr_tool_set set;
    struct sr_err err = {0};
    assert_int_equal(sr_tool_database_read(sr_bytes_str(text), &arena, &set, &err), SR_EPARSE);
    if (!strstr(err.message, why))
        fail_msg("`%s` does not say `%s`", err.message, why);
}

static void test_database(void **state)
{
    (void)state;
    struct sr_tool_set set;
    const char *good =
        "[{\"tool\": {\"function\": { \"name\" :\"a\"}}, \"description\": \"b c\", \"tags\": [\"t\"]}]";
    assert_int_equal(sr_tool_database_read(sr_bytes_str(good), &arena, &set, NULL), SR_OK);
    assert_int_equal(set.n, 1);
    assert_true(sr_bytes_eq(set.tools[0].json, SR_LIT("{\"function\": { \"name\" :\"a\"}}")));
    assert_int_equal(set.tools[0].tag_words.n, 1);
    refused("{}", "no JSON list");
    refused("[\n\n{\"tool\": 1}]", "line 3: tool 1 has no object `tool`");
    refused("[{\"tool\":{\"function\":{}}}]", "`tool.function.name`");
    refused("[{\"tool\":{\"function\":{\"name\":\"a\"}}}]", "`description`");
    refused("[", "");
}

/* A tool of test_history: how it fits, and its category. */
struct ranked {
    const char *name;
    float score;
    const char *category;
};

/* The name of the tool that is first of these two, after these calls, "" and all of them oldest first. */
static const char *first_of(const struct sr_config_tool_history *settings, const struct ranked *of,
                            const char *const *names, size_t n)
{
    struct sr_tool tools[2];
    struct sr_tool_rank ranks[2];
    struct sr_tool_calls calls = {.n = n};
    struct sr_tool_question question = {.category = SR_LIT("Math"), .category_confidence = 0.9};
    struct sr_tool_set set = {tools, 2, vectors, D};
    for (size_t i = 0; i < 2; i++) {
        tools[i] =
            (struct sr_tool){.name = sr_bytes_str(of[i].name), .category = sr_bytes_str(of[i].category)};
        ranks[i] = (struct sr_tool_rank){(uint32_t)i, of[i].score, of[i].score};
    }
    for (size_t i = 0; i < n; i++)
        calls.names[n - 1 - i] = sr_bytes_str(names[i]);
    sr_tools_rank_history(&set, &question, &calls, settings, ranks, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(ranks[i].similarity >= of[ranks[i].at].score && /* stays */
                    ranks[i].similarity <= of[ranks[i].at].score);
    assert_int_not_equal(ranks[0].at, ranks[1].at);
    return of[ranks[0].at].name;
}

#define FIRST(settings, of, ...)                                                                             \
    first_of(settings, of, (const char *const[]){__VA_ARGS__},                                               \
             sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void test_history(void **state)
{
    (void)state;
    const struct sr_config_tool_history defaults = {
        .on = true, .window = 8, .semantic = 1, .history = 1, .falls_back = true};
    struct sr_config_tool_history s = defaults;
    const struct ranked even[] = {{"c", 0.5f, ""}, {"b", 0.5f, ""}},
                        plan[] = {{"best", 0.96f, ""}, {"next", 0.38f, ""}};
    const struct ranked loop[] = {{"spam", 0.99f, ""}, {"other", 0.4f, ""}};
    const struct ranked near[] = {{"best", 0.5f, "law"}, {"sums", 0.4f, "math"}};

    /* What followed the newest tool before is likely. */
    assert_string_equal(FIRST(&s, even, "a", "b", "b"), "b");
    assert_string_equal(FIRST(&s, even, "a", "c", "b", "a"), "c");
    assert_string_equal(FIRST(&s, plan, "open", "next", "next"), "next");
    assert_string_equal(FIRST(&s, plan, "open", "next", "open"), "next");
    s.window = 2; /* nothing followed `next` inside of it */
    assert_string_equal(FIRST(&s, plan, "next", "next", "open"), "best");
    s = defaults;

    /* Nothing is known: an immediate repetition is not likely. */
    assert_string_equal(FIRST(&s, even, "c"), "b");
    assert_string_equal(FIRST(&s, even, "b"), "c");
    assert_string_equal(FIRST(&s, plan, "stranger"), "best");

    /* Three of eight calls are a confidence of .375; four of one tool count .35 each. */
    s.min_confidence = 0.375;
    assert_string_equal(FIRST(&s, plan, "open", "next", "next"), "next");
    s.min_confidence = 0.38;
    assert_string_equal(FIRST(&s, plan, "open", "next", "next"), "best");
    s.falls_back = false;
    assert_string_equal(FIRST(&s, plan, "open", "next", "next"), "next");
    s = defaults;
    s.min_confidence = 0.2;
    assert_string_equal(FIRST(&s, plan, "next", "next", "next"), "next");
    assert_string_equal(FIRST(&s, plan, "next", "next", "next", "next"), "best");

    /* A tool that was called again and again is not offered first, the first call is free. */
    s = defaults;
    assert_string_equal(FIRST(&s, loop, "spam", "spam", "spam", "pivot"), "spam");
    s.repetition = 0.5;
    assert_string_equal(FIRST(&s, loop, "spam", "spam", "spam", "pivot"), "other");
    assert_string_equal(FIRST(&s, loop, "spam", "pivot"), "spam");

    /* The question's domain; without calls it counts where nothing falls back. */
    s = defaults;
    assert_string_equal(FIRST(&s, near, "x"), "best");
    s.prior = 1;
    assert_string_equal(FIRST(&s, near, "x"), "sums");
    assert_string_equal(first_of(&s, near, NULL, 0), "best");
    s.falls_back = false;
    assert_string_equal(first_of(&s, near, NULL, 0), "sums");

    /* Without weights the similarity decides. */
    s.semantic = s.history = s.prior = 0;
    assert_string_equal(FIRST(&s, plan, "open", "next", "next"), "best");
}

/* More calls than a window has room for are cut, and a window above its calls is not read past them. */
static void test_history_is_bounded(void **state)
{
    (void)state;
    const struct sr_config_tool_history s = {
        .on = true, .window = (int)SR_TOOL_CALLS_MAX, .semantic = 1, .history = 1, .falls_back = true};
    const struct ranked plan[] = {{"best", 0.96f, ""}, {"next", 0.38f, ""}};
    const char *names[SR_TOOL_CALLS_MAX];
    for (size_t i = 0; i < SR_TOOL_CALLS_MAX; i++)
        names[i] = i % 2 ? "open" : "next";
    assert_string_equal(first_of(&s, plan, names, SR_TOOL_CALLS_MAX), "next");
}

static int setup(void **state)
{
    (void)state;
    sr_arena_init(&arena, (size_t)8 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sr_arena_dispose(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),   cmocka_unit_test(test_rank),
        cmocka_unit_test(test_history), cmocka_unit_test(test_history_is_bounded),
        cmocka_unit_test(test_kept),    cmocka_unit_test(test_database),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
