/*
 * Tokenizers against the reference library's ids and offsets (tests/golden/tokenizers), and what the
 * reference does not have: cutting to a budget, limits, invalid files, out of memory, many threads.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "model/tokenizer/tokenizer.h"
#include "json/doc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FOLDER     SR_SOURCE_DIR "/tests/golden/tokenizers/"
#define TOKENS_MAX 4096

static const char *const names[] = {"bert-uncased", "bert-cased",    "roberta",    "modernbert",
                                    "qwen",         "llama3",        "mmbert",     "gemma",
                                    "gemma-whole",  "llama2",        "mixture",    "unigram-xlmr",
                                    "unigram-t5",   "unigram-whole", "deberta-v3", "deberta-tight"};
#define NAMES (sizeof names / sizeof *names)

static struct sr_tokenizer *open_named(const char *name)
{
    struct sr_tokenizer *t;
    struct sr_err err = {0};
    char path[512];
    snprintf(path, sizeof path, FOLDER "%s.json", name);
    if (sr_tokenizer_open_file(&t, path, &err))
        fail_msg("%s: %s", path, err.message);
    return t;
}

/* ---- golden ---- */

struct golden {
    char text[4096];
    size_t n_text;
    int32_t ids[TOKENS_MAX];
    uint32_t starts[TOKENS_MAX], ends[TOKENS_MAX];
    size_t n;
};

static void read_golden(const char *line, struct golden *g)
{
    struct sr_doc *doc;
    struct sr_err err = {0};
    int64_t number;
    unsigned byte;
    assert_int_equal(sr_doc_parse(&doc, sr_bytes_str(line), 1 << 20, &err), SR_OK);
    const sr_doc_value *root = sr_doc_root(doc), *ids = sr_doc_get(root, "ids");
    struct sr_bytes hex = sr_doc_string(sr_doc_get(root, "text"));
    g->n_text = hex.n / 2;
    g->n = sr_doc_size(ids);
    assert_true(g->n_text <= sizeof g->text && g->n <= TOKENS_MAX);
    for (size_t i = 0; i < g->n_text; i++) {
        assert_int_equal(sscanf(hex.p + 2 * i, "%2x", &byte), 1);
        g->text[i] = (char)byte;
    }
    for (size_t i = 0; i < g->n; i++) {
        assert_true(sr_doc_int(sr_doc_at(ids, i), &number));
        g->ids[i] = (int32_t)number;
        assert_true(sr_doc_int(sr_doc_at(sr_doc_get(root, "starts"), i), &number));
        g->starts[i] = (uint32_t)number;
        assert_true(sr_doc_int(sr_doc_at(sr_doc_get(root, "ends"), i), &number));
        g->ends[i] = (uint32_t)number;
    }
    sr_doc_free(doc);
}

static void check_golden(struct sr_tokenizer *t, const struct golden *g, const char *where, size_t line)
{
    static int32_t ids[TOKENS_MAX];
    static uint32_t starts[TOKENS_MAX], ends[TOKENS_MAX];
    struct sr_tokens out = {ids, starts, ends, 0, TOKENS_MAX};
    struct sr_arena arena;
    size_t count;
    struct sr_bytes text = {malloc(g->n_text ? g->n_text : 1), g->n_text}; /* of its exact size */
    memcpy((char *)text.p, g->text, g->n_text);
    assert_int_equal(sr_tokenizer_encode(t, text, SR_TOKENIZER_SPECIAL, &out), SR_OK);
    for (size_t i = 0; i < g->n && i < out.n; i++)
        if (ids[i] != g->ids[i] || starts[i] != g->starts[i] || ends[i] != g->ends[i])
            fail_msg("%s line %zu token %zu: %d [%u, %u), expected %d [%u, %u)", where, line, i, ids[i],
                     starts[i], ends[i], g->ids[i], g->starts[i], g->ends[i]);
    if (out.n != g->n)
        fail_msg("%s line %zu: %zu tokens, expected %zu", where, line, out.n, g->n);
    assert_int_equal(sr_tokenizer_count(t, text, SR_TOKENIZER_SPECIAL, &count), SR_OK);
    assert_int_equal(count, g->n);
    sr_arena_init(&arena, 1 << 20);
    assert_int_equal(sr_tokenizer_encode_arena(t, text, SR_TOKENIZER_NO_OFFSETS, &arena, &out), SR_OK);
    assert_int_equal(out.n + sr_tokenizer_template_size(t), g->n);
    assert_null(out.starts);
    sr_arena_dispose(&arena);
    free((char *)text.p);
}

static void agrees_with_the_reference(void **state)
{
    static char line[1 << 17];
    static struct golden g;
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        struct sr_tokenizer *t = open_named(names[i]);
        char path[512];
        size_t n = 0;
        snprintf(path, sizeof path, FOLDER "%s.golden.jsonl", names[i]);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file)) {
            line[strcspn(line, "\n")] = '\0';
            read_golden(line, &g);
            check_golden(t, &g, names[i], ++n);
        }
        assert_true(n > 100);
        fclose(file);
        sr_tokenizer_unref(t);
    }
}

/* ---- budget ---- */

/* Words, accents, CJK, emoji, code, broken UTF-8. */
static const char prose[] =
    "Compression keeps what matters: naïve cuts (at 512 tokens!) lose it. 日本語のテスト、übermäßig lange "
    "Wörter und 😀👨‍👩‍👧 emoji.\n\nif (x <= 0) { return y; } don't "
    "tokenization-unaffable\xff\xf0\x9f "
    "zzzzzzzz";

static struct sr_bytes whole(void)
{
    return sr_bytes_str(prose);
}

static void fits_a_budget(void **state)
{
    (void)state;
    for (size_t i = 0; i < NAMES; i++) {
        struct sr_tokenizer *t = open_named(names[i]);
        size_t total, length, n, before = 0;
        assert_int_equal(sr_tokenizer_count(t, whole(), SR_TOKENIZER_SPECIAL, &total), SR_OK);
        for (size_t max = 0; max <= total + 1; max++) {
            assert_int_equal(sr_tokenizer_fit(t, whole(), SR_TOKENIZER_SPECIAL, max, &length), SR_OK);
            assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(prose, length), SR_TOKENIZER_SPECIAL, &n),
                             SR_OK);
            assert_true(n <= max || length == 0);
            assert_true(length <= sizeof prose - 1);
            assert_true(length == 0 ||
                        length + 64 > before); /* a little back is possible, falling apart is not */
            assert_true(((unsigned char)prose[length] & 0xC0) != 0x80);
            before = length;
        }
        assert_int_equal(length, sizeof prose - 1);
        sr_tokenizer_unref(t);
    }
}

static void cuts_at_a_token(void **state)
{
    (void)state;
    struct sr_tokenizer *t = open_named("bert-uncased");
    size_t length;
    assert_int_equal(sr_tokenizer_fit(t, SR_LIT("the, the, the"), 0, 3, &length), SR_OK);
    assert_int_equal(length, 8); /* "the, the" */
    assert_int_equal(sr_tokenizer_fit(t, SR_LIT("the, the   "), 0, 3, &length), SR_OK);
    assert_int_equal(length, 11); /* all fits: the spaces stay */
    assert_int_equal(sr_tokenizer_fit(t, SR_LIT("the"), SR_TOKENIZER_SPECIAL, 2, &length), SR_OK);
    assert_int_equal(length, 0);
    sr_tokenizer_unref(t);
}

/* ---- the vocabulary and the limits ---- */

static void knows_its_vocabulary(void **state)
{
    (void)state;
    struct sr_tokenizer *t = open_named("roberta");
    int32_t id = sr_tokenizer_id(t, SR_LIT("\xC4\xA0the"));
    assert_true(id > 0 && (size_t)id < sr_tokenizer_size(t));
    assert_true(sr_bytes_eq(sr_tokenizer_token(t, id), SR_LIT("\xC4\xA0the")));
    assert_int_equal(sr_tokenizer_id(t, SR_LIT("no such token")), -1);
    assert_null(sr_tokenizer_token(t, -1).p);
    assert_null(sr_tokenizer_token(t, (int32_t)sr_tokenizer_size(t)).p);
    assert_int_equal(sr_tokenizer_template_size(t), 2);
    sr_tokenizer_unref(sr_tokenizer_ref(t));
    sr_tokenizer_unref(t);
    sr_tokenizer_unref(NULL);
}

static void keeps_its_limits_as(const char *name)
{
    struct sr_tokenizer *t = open_named(name);
    int32_t ids[4] = {-7, -7, -7, -7};
    struct sr_tokens out = {.ids = ids, .cap = 2};
    size_t n = SR_TOKENIZER_TEXT_MAX;
    assert_int_equal(sr_tokenizer_encode(t, SR_LIT("a b c d e"), SR_TOKENIZER_NO_OFFSETS, &out), SR_ELIMIT);
    assert_true(out.n > 2 && ids[1] != -7 && ids[2] == -7);
    char *text = malloc(n + 1);
    memset(text, 'z', n + 1);
    assert_int_equal(sr_tokenizer_encode(t, sr_bytes_of(text, n + 1), SR_TOKENIZER_NO_OFFSETS, &out),
                     SR_ELIMIT);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, n + 1), 0, &n), SR_ELIMIT);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, 300000), 0, &n), SR_OK); /* one word */
    assert_true(n > 1000 && n <= 300000);
    free(text);
    sr_tokenizer_unref(t);
}

static void keeps_its_limits(void **state)
{
    (void)state;
    keeps_its_limits_as("gemma-whole");
    keeps_its_limits_as("unigram-whole");
}

static void opens_only_what_it_understands(void **state)
{
    static const struct {
        const char *json;
        int rc;
        const char *says;
    } bad[] = {
        {"", SR_EPARSE, "line 1"},
        {"[]", SR_EPARSE, "object"},
        {"{}", SR_EPARSE, "`model`"},
        {"{\"a\":\n 01}", SR_EPARSE, "line 2"},
        {"{\"a\":\"\xff\"}", SR_EPARSE, "UTF-8"},
        {"{\"a\":\"\\ud800\"}", SR_EPARSE, "\\u"},
        {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{}}}", SR_EUNSUPPORTED, "WordLevel"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}", SR_EPARSE, "array"},
        {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", SR_EPARSE, "unk_id"},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":1,\"vocab\":[[\"a\",-1]]}}", SR_EPARSE, "unk_id"},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",\"b\"]]}}", SR_EPARSE, "entry 0"},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",1e999]]}}", SR_EPARSE, "entry 0"},
        {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"a\",0],[\"a\",0]]}}", SR_EUNSUPPORTED,
         "equal"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":0},\"merges\":[]}}", SR_EPARSE, "two tokens"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", SR_EPARSE, "integer"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":99999999},\"merges\":[]}}", SR_ELIMIT, "99999999"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}}", SR_EPARSE, "merge 0"},
        {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"aa\"]}}", SR_EPARSE, "merge 0"},
        {"{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}", SR_EUNSUPPORTED,
         "dropout"},
        {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"u\",\"vocab\":{\"a\":0}}}", SR_EPARSE,
         "unk_token"},
        {"{\"normalizer\":{\"type\":\"Precompiled\"},\"model\":{}}", SR_EPARSE, "Precompiled"},
        {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"!\"},\"model\":{}}", SR_EPARSE,
         "damaged"},
        {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/wAAAAAAAAAA\"},\"model\":{}}",
         SR_EPARSE, "damaged"},
        {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a|b)\"},\"content\":\"\"},"
         "\"model\":{}}",
         SR_EUNSUPPORTED, "(a|b)"},
        {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[^a]+\"},\"content\":\"\"},"
         "\"model\":{}}",
         SR_EUNSUPPORTED, "[^a]+"},
        {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a{2,3}\"},\"content\":\"\"},"
         "\"model\":{}}",
         SR_EUNSUPPORTED, "a{2,3}"},
        {"{\"normalizer\":{\"type\":\"Nmt\"},\"model\":{}}", SR_EUNSUPPORTED, "Nmt"},
        {"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a+\"},\"behavior\":\"Isolated\"},"
         "\"model\":{}}",
         SR_EUNSUPPORTED, "a+"},
        {"{\"post_processor\":{\"type\":\"Odd\"},\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":["
         "]}}",
         SR_EUNSUPPORTED, "Odd"},
        {"{\"added_tokens\":[{\"id\":0,\"content\":\"x\"}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},"
         "\"merges\":[]}}",
         SR_EPARSE, "taken"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct sr_tokenizer *t = (struct sr_tokenizer *)&t;
        struct sr_err err = {0};
        int rc = sr_tokenizer_open_memory(&t, bad[i].json, strlen(bad[i].json), &err);
        if (rc != bad[i].rc || !strstr(err.message, bad[i].says) || t)
            fail_msg("%s: %d `%s`", bad[i].json, rc, err.message);
    }
    struct sr_tokenizer *t;
    struct sr_err err = {0};
    assert_int_equal(sr_tokenizer_open_file(&t, FOLDER "no-such-file.json", &err), SR_ENOENT);
    assert_non_null(strstr(err.message, "no-such-file.json"));
}

#define A_IS_TEN  "{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaaaa\"}"
#define A_IS_1000 A_IS_TEN "," A_IS_TEN "," A_IS_TEN
#define GROWING(steps, added)                                                                                \
    "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[" steps "]},\"added_tokens\":[" added "],"      \
    "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"c\":2},\"merges\":[]}}"
#define ADDED "{\"id\":3,\"content\":\"ba\",\"normalized\":true}"

static int open_text(struct sr_tokenizer **t, const char *json, const char *says)
{
    struct sr_err err = {0};
    int rc = sr_tokenizer_open_memory(t, json, strlen(json), &err);
    if (rc && !strstr(err.message, says))
        fail_msg("%s", err.message);
    return rc;
}

/* Normalizers multiply: a small file may not ask for all memory. */
static void grows_to_a_limit(void **state)
{
    (void)state;
    struct sr_tokenizer *t;
    char text[256], *json = malloc(3 * SR_TOKENIZER_TOKEN_MAX);
    int32_t ids[4];
    struct sr_tokens out = {.ids = ids, .cap = 4};
    size_t n;
    memset(text, 'a', sizeof text);
    assert_int_equal(
        open_text(&t, GROWING(A_IS_1000 "," A_IS_1000 "," A_IS_1000 "," A_IS_1000, ADDED), "grows"),
        SR_ELIMIT);
    assert_int_equal(open_text(&t, GROWING(A_IS_1000 "," A_IS_TEN, ADDED), "more than 4096 bytes"),
                     SR_ELIMIT);
    assert_int_equal(open_text(&t, GROWING(A_IS_1000, ADDED), ""), SR_OK);
    assert_int_equal(sr_tokenizer_count(t, SR_LIT("c"), 0, &n), SR_OK);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, 60), 0, &n), SR_OK);
    assert_int_equal(n, 60000);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, sizeof text), 0, &n), SR_ELIMIT);
    assert_int_equal(sr_tokenizer_encode(t, sr_bytes_of(text, sizeof text), SR_TOKENIZER_NO_OFFSETS, &out),
                     SR_ELIMIT);
    assert_int_equal(out.n, 0);
    assert_int_equal(sr_tokenizer_fit(t, sr_bytes_of(text, sizeof text), 0, 8, &n), SR_ELIMIT);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, 1), 0, &n), SR_OK); /* it goes on */
    sr_tokenizer_unref(t);
    /* The strings themselves. */
    static const char *const forms[] = {
        GROWING("{\"type\":\"Prepend\",\"prepend\":\"%s\"}", ""),
        GROWING("{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"%s\"}", ""),
        GROWING("", "{\"id\":3,\"content\":\"%s\"}"),
    };
    char string[SR_TOKENIZER_TOKEN_MAX + 2];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (size_t more = 0; more < 2; more++) {
            memset(string, 'c', sizeof string);
            string[SR_TOKENIZER_TOKEN_MAX + more] = 0;
            snprintf(json, 3 * (size_t)SR_TOKENIZER_TOKEN_MAX, forms[i], string);
            assert_int_equal(open_text(&t, json, "more than 4096 bytes"), more ? SR_ELIMIT : SR_OK);
            sr_tokenizer_unref(t);
        }
    free(json);
}

/* Each step that inserts once for a gap between added tokens is bounded for the whole text. */
static void gaps_grow_to_a_limit(void **state)
{
    (void)state;
    static const char form[] = GROWING("{\"type\":\"Prepend\",\"prepend\":\"%s\"}",
                                       "{\"id\":3,\"content\":\"b\",\"normalized\":false}");
    struct sr_tokenizer *t;
    char json[1024], hundred[101] = "", text[4096];
    size_t n;
    memset(hundred, 'c', 100);
    memset(text, 'b', sizeof text);
    for (size_t i = 0; i < sizeof text; i += 2)
        text[i] = 'a';
    snprintf(json, sizeof json, form, hundred);
    assert_int_equal(open_text(&t, json, ""), SR_OK);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, 200), 0, &n), SR_OK);
    assert_int_equal(n, 100 * 102);
    assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, sizeof text), 0, &n), SR_ELIMIT);
    sr_tokenizer_unref(t);
}

/* Of 300 nested arrays only so many are read. */
static void refuses_depth(void **state)
{
    (void)state;
    char json[601];
    struct sr_tokenizer *t;
    struct sr_err err = {0};
    memset(json, '[', 300);
    memset(json + 300, ']', 300);
    assert_int_equal(sr_tokenizer_open_memory(&t, json, 600, &err), SR_EPARSE);
    assert_non_null(strstr(err.message, "deep"));
}

/* ---- memory and threads ---- */

static void survives_without_memory_as(const char *path)
{
    static char json[1 << 17];
    FILE *file = fopen(path, "rb");
    size_t n = fread(json, 1, sizeof json, file), count, length;
    fclose(file);
    for (size_t nth = 1;; nth++) {
        struct sr_tokenizer *t;
        struct sr_err err = {0};
        sr_mem_fail_at(nth);
        int rc = sr_tokenizer_open_memory(&t, json, n, &err);
        if (rc == SR_OK)
            rc = sr_tokenizer_count(t, whole(), 0, &count);
        if (rc == SR_OK)
            rc = sr_tokenizer_fit(t, whole(), 0, 20, &length);
        sr_mem_fail_at(0);
        assert_true(rc == SR_OK || rc == SR_ENOMEM);
        if (t) /* it still works afterwards */
            assert_int_equal(sr_tokenizer_count(t, whole(), 0, &count), SR_OK);
        sr_tokenizer_unref(t);
        if (rc == SR_OK)
            break;
    }
}

static void survives_without_memory(void **state)
{
    (void)state;
    survives_without_memory_as(FOLDER "modernbert.json");
    survives_without_memory_as(FOLDER "unigram-whole.json");
}

static void *count_often(void *arg)
{
    struct sr_tokenizer *t = arg;
    size_t first = 0, n;
    for (int i = 0; i < 200; i++) {
        if (sr_tokenizer_count(t, whole(), 0, &n) || (first && n != first))
            return NULL;
        first = n;
    }
    sr_tokenizer_unref(t);
    return arg;
}

static void serves_many_threads(void **state)
{
    (void)state;
    struct sr_tokenizer *t = open_named("mmbert");
    pthread_t threads[4];
    void *result;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_often, sr_tokenizer_ref(t)), 0);
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &result);
        assert_non_null(result);
    }
    sr_tokenizer_unref(t);
}

/* Words that the second cache holds, and some that it does not: the same when they come back. */
static void remembers_long_words(void **state)
{
    static int32_t ids[2][40000];
    static uint32_t starts[2][40000], ends[2][40000];
    static char text[40000];
    (void)state;
    for (size_t k = 0; k < NAMES; k++) {
        struct sr_tokenizer *t = open_named(names[k]);
        size_t n = 0;
        for (unsigned length = 1; length < 260; length++) {
            for (unsigned i = 0; i < length; i++)
                text[n++] = (char)('a' + (i * 7 + length * i) % 26);
            text[n++] = ' ';
        }
        for (size_t pass = 0; pass < 3; pass++) {
            struct sr_tokens out = {ids[pass > 0], starts[pass > 0], ends[pass > 0], 0, 40000};
            size_t other;
            assert_int_equal(sr_tokenizer_encode(t, sr_bytes_of(text, n), 0, &out), SR_OK);
            assert_int_equal(sr_tokenizer_count(t, sr_bytes_of(text, n), 0, &other), SR_OK);
            assert_int_equal(other, out.n);
            assert_memory_equal(ids[0], ids[pass > 0], out.n * sizeof ids[0][0]);
            assert_memory_equal(starts[0], starts[pass > 0], out.n * sizeof starts[0][0]);
            assert_memory_equal(ends[0], ends[pass > 0], out.n * sizeof ends[0][0]);
            for (size_t i = 1; i < out.n; i++)
                assert_true(out.starts[i] >= out.starts[i - 1] && out.ends[i] <= n);
        }
        sr_tokenizer_unref(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_reference),
        cmocka_unit_test(fits_a_budget),
        cmocka_unit_test(cuts_at_a_token),
        cmocka_unit_test(knows_its_vocabulary),
        cmocka_unit_test(keeps_its_limits),
        cmocka_unit_test(opens_only_what_it_understands),
        cmocka_unit_test(grows_to_a_limit),
        cmocka_unit_test(gaps_grow_to_a_limit),
        cmocka_unit_test(refuses_depth),
        cmocka_unit_test(survives_without_memory),
        cmocka_unit_test(serves_many_threads),
        cmocka_unit_test(remembers_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
