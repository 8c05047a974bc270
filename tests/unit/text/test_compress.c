/*
 * The compressor against an independent reading of the formulas (tests/golden/compress_reference.py), the
 * paper's example, the published implementation's expectations, and its promises.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "tests/unit/compress_kit.h"

#include <jansson.h>
#include <math.h>

static struct sr_compress_settings settings_of(const char *profile, size_t budget)
{
    struct sr_compress_settings s;
    assert_true(sr_compress_profile(sr_bytes_str(profile), &s));
    s.budget = budget;
    return s;
}

static struct sr_buf run(sr_compressor *c, const struct sr_compress_settings *s, struct sr_bytes text,
                         struct sr_compress_result *r)
{
    struct sr_buf joined;
    sr_buf_init(&joined, text.n + ((size_t)1 << 20));
    assert_int_equal(sr_compress_text(c, s, text, r), SR_OK);
    assert_int_equal(sr_compress_write(c, &joined), SR_OK);
    const char *broken = kit_broken(r, text, s, sr_buf_view(&joined));
    if (broken)
        fail_msg("%s", broken);
    return joined;
}

static void check_reference(sr_compressor *c, json_t *want, struct sr_bytes text)
{
    struct sr_compress_settings s = settings_of(json_string_value(json_object_get(want, "profile")),
                                                (size_t)json_integer_value(json_object_get(want, "budget")));
    struct sr_compress_result r;
    s.compat = true;
    struct sr_buf joined = run(c, &s, text, &r);
    json_t *sentences = json_object_get(want, "sentences"), *sentence;
    size_t i;
    assert_int_equal(r.original_tokens, json_integer_value(json_object_get(want, "original_tokens")));
    assert_int_equal(r.compressed_tokens, json_integer_value(json_object_get(want, "compressed_tokens")));
    assert_int_equal(r.n_units, json_array_size(sentences));
    json_array_foreach(sentences, i, sentence)
    {
        const struct sr_compress_unit *unit = &r.units[i];
        const double got[] = {unit->scores.textrank, unit->scores.position, unit->scores.tfidf,
                              unit->scores.novelty, unit->score};
        assert_int_equal(unit->start, json_integer_value(json_array_get(sentence, 0)));
        assert_int_equal(unit->end, json_integer_value(json_array_get(sentence, 1)));
        assert_int_equal(unit->tokens, json_integer_value(json_array_get(sentence, 2)));
        for (size_t k = 0; k < 5; k++)
            assert_true(fabs(got[k] - json_number_value(json_array_get(sentence, 3 + k))) < 1e-6);
    }
    json_t *kept = json_object_get(want, "kept"), *index;
    assert_int_equal(r.n_kept, json_array_size(kept));
    json_array_foreach(kept, i, index)
        assert_int_equal(r.kept[i].start, r.units[json_integer_value(index)].start);
    assert_string_equal(joined.data, json_string_value(json_object_get(want, "text")));
    sr_buf_dispose(&joined);
}

/* Sentences, estimates, four scores, composite, what is kept; of several languages, and sampled at 500. */
static void test_reference(void **state)
{
    static const char *const names[] = {"letter", "mixed", "many"};
    for (size_t i = 0; i < 3; i++) {
        char path[128];
        size_t n = 0;
        snprintf(path, sizeof path, "tests/golden/compress/%s.txt", names[i]);
        char *text = kit_read(path, &n);
        assert_non_null(text);
        snprintf(path, sizeof path, SR_SOURCE_DIR "/tests/golden/compress/%s.json", names[i]);
        json_t *runs = json_load_file(path, 0, NULL), *want;
        size_t k;
        assert_non_null(runs);
        json_array_foreach(runs, k, want) check_reference(*state, want, sr_bytes_of(text, n));
        json_decref(runs);
        free(text);
    }
}

/* The 190-sentence prompt of the paper's appendix A. */
static void test_paper_example(void **state)
{
    static const char *const first[] = {
        "You are a helpful financial assistant.",
        "Answer questions using only the provided context.",
        "If the answer is not in the context, say \"I don't know.\"",
        "Context: The company reported Q3 revenue of $4.2B, and revenue growth is above the outlook.",
        "Operating expenses increased 12% year-over-year.",
        "The board approved a $500M share buyback program after the company reported revenue and margins.",
        "Employee headcount remained stable at 12,400.",
        "Regional sales in APAC grew 8%.",
        "The CFO noted that \"margins are expected to improve in Q4 with the company's revenue outlook.\"",
    };
    static const char *const parts[] = {"revenue", "sales", "expenses", "margins", "the company", "orders"};
    static const char question[] = "Question: What is the company's revenue outlook?";
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(sr_buf_printf(&text, "%s ", first[i]), SR_OK);
    for (size_t i = 0; i < 180; i++)
        assert_int_equal(sr_buf_printf(&text, "In week %zu the company reported %s and %s in the %s. ", i % 9,
                                       parts[i % 6], parts[(i / 6) % 6], i % 2 ? "north" : "south"),
                         SR_OK);
    assert_int_equal(sr_buf_printf(&text, "%s", question), SR_OK);
    for (int compat = 0; compat < 2; compat++) {
        struct sr_compress_settings s = settings_of("default", 480);
        struct sr_compress_result r;
        s.compat = compat;
        struct sr_buf joined = run(*state, &s, sr_buf_view(&text), &r);
        assert_int_equal(r.n_units, 190);
        static const size_t want[] = {0, 1, 2, 3, 5, 8};
        for (size_t i = 0; i < sizeof want / sizeof want[0];
             i++) { /* the published way parts a closing quote */
            char head[128];
            snprintf(head, sizeof head, "%.*s", (int)strlen(first[want[i]]) - 1, first[want[i]]);
            assert_non_null(strstr(joined.data, head));
        }
        assert_non_null(strstr(joined.data, question));
        assert_true(r.original_tokens > 4 * r.compressed_tokens);
        sr_buf_dispose(&joined);
    }
    sr_buf_dispose(&text);
}

/* The published implementation's own expectations. */
static void test_published_expectations(void **state)
{
    struct sr_compress_settings s = settings_of("default", 512);
    struct sr_compress_result r;
    s.compat = true;
    struct sr_buf joined = run(*state, &s, SR_LIT("Short text. Two sentences."), &r);
    assert_string_equal(joined.data, "Short text. Two sentences.");
    assert_true(r.whole && r.original_tokens == r.compressed_tokens);
    sr_buf_dispose(&joined);
    size_t five = sr_estimate_published(sr_estimate_of(SR_LIT("one two three four five")));
    assert_true(five >= 5 && five <= 10);
    assert_int_equal(sr_estimate_published(sr_estimate_of(SR_LIT(""))), 0);
    assert_int_equal(sr_estimate_published(sr_estimate_of(SR_LIT("。"))), 1);
    /* One sentence above the budget comes back as it is: only with `compat`. */
    s.budget = 3;
    joined = run(*state, &s, SR_LIT("there is no mark in this long line of words"), &r);
    assert_int_equal(joined.len, 43);
    sr_buf_dispose(&joined);
    s.compat = false;
    joined = run(*state, &s, SR_LIT("there is no mark in this long line of words"), &r);
    assert_string_equal(joined.data, "there is no");
    sr_buf_dispose(&joined);
}

static void make_prose(struct sr_buf *text, size_t sentences)
{
    static const char *const topics[] = {
        "Gradient descent lowers the loss of a neural network step by step",
        "The genome of the plant was sequenced in a small laboratory",
        "Monetary policy moves the interest rate and so the price of money",
        "A quantum computer keeps its qubits colder than the sky",
        "The CAP theorem forbids three properties of a distributed database at once",
    };
    for (size_t i = 0; i < sentences; i++)
        assert_int_equal(sr_buf_printf(text, "%s, case %zu of %zu. ", topics[i % 5], i, i * 7 % 13), SR_OK);
}

static void test_budgets(void **state)
{
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    make_prose(&text, 400);
    static const size_t budgets[] = {1, 2, 7, 20, 128, 256, 512, 2000};
    for (size_t i = 0; i < sizeof budgets / sizeof budgets[0]; i++)
        for (int exact = 0; exact < 2; exact++) {
            struct sr_compress_settings s = settings_of("default", budgets[i]);
            struct sr_compress_result r;
            s.counter = exact ? &kit_counter : NULL;
            struct sr_buf joined = run(*state, &s, sr_buf_view(&text), &r);
            assert_true(r.n_kept > 0 && !r.whole);
            assert_int_equal(r.compressed_exact, exact);
            assert_false(r.original_exact);
            assert_true(budgets[i] < 100 || r.compressed_tokens > budgets[i] * 9 / 10);
            sr_buf_dispose(&joined);
        }
    sr_buf_dispose(&text);
}

/* The pieces in which a text arrives, the compressor's past and the seed of its table do not matter. */
static void test_pieces(void **state)
{
    (void)state;
    size_t n = 0;
    char *mixed = kit_read("tests/golden/compress/mixed.txt", &n);
    assert_non_null(mixed);
    for (int compat = 0; compat < 2; compat++) {
        struct sr_compress_settings s = settings_of("coding", 80);
        struct sr_compress_result whole, pieces;
        s.compat = compat;
        sr_compressor *a, *b;
        assert_int_equal(sr_compressor_new(&a, 1 << 20), SR_OK);
        assert_int_equal(sr_compressor_new(&b, 1 << 20), SR_OK);
        assert_int_equal(sr_compress_text(a, &s, SR_LIT("Another text. It leaves no trace."), &whole), SR_OK);
        assert_int_equal(sr_compress_text(a, &s, sr_bytes_of(mixed, n), &whole), SR_OK);
        for (size_t step = 1; step < 40; step += 3) {
            assert_int_equal(sr_compress_begin(b, &s), SR_OK);
            for (size_t at = 0; at < n; at += step)
                assert_int_equal(sr_compress_feed(b, sr_bytes_of(mixed + at, n - at < step ? n - at : step)),
                                 SR_OK);
            assert_int_equal(sr_compress_end(b, &pieces), SR_OK);
            assert_int_equal(pieces.n_units, whole.n_units);
            assert_int_equal(pieces.original_tokens, whole.original_tokens);
            for (size_t i = 0; i < whole.n_units; i++) {
                assert_int_equal(pieces.units[i].start, whole.units[i].start);
                assert_int_equal(pieces.units[i].end, whole.units[i].end);
                assert_int_equal(pieces.units[i].kept, whole.units[i].kept);
                assert_memory_equal(&pieces.units[i].score, &whole.units[i].score, sizeof(double));
            }
        }
        sr_compressor_free(a);
        sr_compressor_free(b);
    }
    free(mixed);
}

/* Equal sentences: the earlier one is kept. */
static void test_ties(void **state)
{
    struct sr_compress_settings s = settings_of("default", 24);
    s.position = 0;
    s.first = s.last = 0;
    struct sr_compress_result r;
    struct sr_bytes text =
        SR_LIT("Red green blue one. Red green blue one. Red green blue one. Red green blue one. "
               "Red green blue one. Red green blue one. Red green blue one. Red green blue one.");
    struct sr_buf joined = run(*state, &s, text, &r);
    assert_int_equal(r.n_kept, 4);
    assert_int_equal(r.kept[0].start, 0);
    assert_int_equal(r.kept[3].start, 60);
    sr_buf_dispose(&joined);
}

static void test_profiles(void **state)
{
    (void)state;
    struct sr_compress_settings s, other;
    assert_true(sr_compress_profile(SR_LIT(" Multi-Turn "), &s));
    assert_int_equal(s.last, 5);
    assert_true(sr_compress_profile(SR_LIT(""), &other));
    assert_int_equal(other.first, 3);
    assert_false(sr_compress_profile(SR_LIT("legal"), &other));
    assert_int_equal(other.first, 3);
    assert_true(sr_compress_profile(SR_LIT("default"), &other));
    sr_compressor *c = NULL;
    assert_int_equal(sr_compressor_new(&c, 8), SR_OK);
    s.budget = 0;
    assert_int_equal(sr_compress_begin(c, &s), SR_EINVAL);
    s.budget = 1;
    s.depth = NAN;
    assert_int_equal(sr_compress_begin(c, &s), SR_EINVAL);
    s.depth = 0.5;
    assert_int_equal(sr_compress_begin(c, &s), SR_OK);
    assert_int_equal(sr_compress_feed(c, SR_LIT("nine byte")), SR_ELIMIT);
    sr_compressor_free(c);
}

static void fill(char *text, size_t n, const char *with)
{
    for (size_t i = 0, k = strlen(with); i < n; i++)
        text[i] = with[i % k];
}

/* Ten megabytes in one line, broken bytes, nothing but one-word sentences: an answer within the limits. */
static void test_extremes(void **state)
{
    static const char *const fillings[] = {"x",     "a. ",          "word ",
                                           "\xFF",  "\xE4\xB8\xAD", "\n",
                                           "{};",   "\xE3\x80\x82", "No. Yes! ",
                                           "- \n",  "\xF0\x9F\x98", " ",
                                           "a\n\n", "```\n",        "lorem ipsum dolor, "};
    size_t n = (size_t)1 << 20;
    char *text = malloc(n * 10);
    struct sr_compress_settings s = settings_of("default", 512);
    struct sr_compress_result r;
    for (size_t i = 0; i < sizeof fillings / sizeof fillings[0]; i++)
        for (int way = 0; way < 3; way++) {
            fill(text, n, fillings[i]);
            s.counter = way == 1 ? &kit_counter : NULL;
            s.compat = way == 2;
            struct sr_buf joined = run(*state, &s, sr_bytes_of(text, n), &r);
            sr_buf_dispose(&joined);
        }
    s.compat = false;
    fill(text, n * 10, "one line without an end ");
    struct sr_buf joined = run(*state, &s, sr_bytes_of(text, n * 10), &r);
    assert_true(r.compressed_tokens > 400);
    assert_true(sr_compressor_memory(*state) < n * 10 * 20);
    sr_buf_dispose(&joined);
    fill(text, 600000, "Word. ");
    joined = run(*state, &s, sr_bytes_of(text, 600000), &r);
    assert_int_equal(r.n_units, 100000);
    sr_buf_dispose(&joined);
    joined = run(*state, &s, SR_LIT(""), &r);
    assert_true(r.n_kept == 0 && r.original_tokens == 0);
    sr_buf_dispose(&joined);
    free(text);
}

/* Ranking needs memory in proportion to the text, not to the square of its sentences. */
static void test_memory(void **state)
{
    (void)state;
    struct sr_compress_settings s = settings_of("default", 512);
    struct sr_compress_result r;
    size_t used[2];
    for (size_t i = 0; i < 2; i++) {
        sr_compressor *c;
        struct sr_buf text;
        sr_buf_init(&text, 1 << 22);
        make_prose(&text, i ? 8000 : 2000);
        assert_int_equal(sr_compressor_new(&c, 1 << 22), SR_OK);
        assert_int_equal(sr_compress_text(c, &s, sr_buf_view(&text), &r), SR_OK);
        used[i] = sr_compressor_memory(c);
        sr_compressor_free(c);
        sr_buf_dispose(&text);
    }
    assert_true(used[1] < used[0] * 6);
}

static void test_failing_memory(void **state)
{
    (void)state;
    struct sr_buf text;
    sr_buf_init(&text, 1 << 20);
    make_prose(&text, 1200);
    struct sr_compress_settings s = settings_of("default", 100);
    bool done = false;
    for (size_t nth = 1; !done; nth++) {
        sr_compressor *c = NULL;
        struct sr_compress_result r;
        struct sr_buf out;
        sr_buf_init(&out, 1 << 20);
        s.counter = nth % 2 ? &kit_counter : NULL;
        sr_mem_fail_at(nth);
        int rc = sr_compressor_new(&c, 1 << 20);
        if (rc == SR_OK)
            rc = sr_compress_text(c, &s, sr_buf_view(&text), &r);
        if (rc == SR_OK)
            rc = sr_compress_write(c, &out);
        sr_mem_fail_at(0);
        assert_true(rc == SR_OK || rc == SR_ENOMEM);
        done = rc == SR_OK;
        sr_compressor_free(c);
        sr_buf_dispose(&out);
    }
    sr_buf_dispose(&text);
}

static int setup(void **state)
{
    sr_compressor *c = NULL;
    int rc = sr_compressor_new(&c, (size_t)16 << 20);
    *state = c;
    return rc;
}

static int teardown(void **state)
{
    sr_compressor_free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_paper_example),
        cmocka_unit_test(test_published_expectations),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_profiles),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_failing_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
