/*
 * Windows of long texts: what they cover, how long they are, and the vector of the whole text.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "infer/windows.h"

#include <math.h>
#include <stdio.h>

#define FOLDER SR_SOURCE_DIR "/tests/golden/tokenizers/"

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

/* Words that differ, so that a token in a wrong place is seen. */
static struct sr_bytes make_text(char *p, size_t size, unsigned words)
{
    size_t n = 0;
    for (unsigned i = 0; i < words && n + 16 < size; i++)
        n += (size_t)snprintf(p + n, size - n, "%s%c%u", i ? " " : "", 'a' + (int)(i % 26), i * 7919 % 1000);
    return sr_bytes_of(p, n);
}

static void check_cut(struct sr_tokenizer *t, struct sr_bytes text, const struct sr_windows_options *o)
{
    struct sr_arena arena;
    struct sr_windows w;
    struct sr_tokens whole;
    struct sr_token_template around = sr_tokenizer_template(t);
    size_t own = sr_tokenizer_template_size(t), ids = 0;
    sr_arena_init(&arena, (size_t)64 << 20);
    assert_int_equal(sr_windows_cut(&w, t, text, o, &arena), SR_OK);
    assert_int_equal(sr_tokenizer_encode_arena(t, text, 0, &arena, &whole), SR_OK);
    assert_int_equal(w.tokens, whole.n);
    assert_true(w.n >= 1 && w.n <= o->max_windows && w.read <= w.tokens);
    size_t overlap = o->overlap < (o->max_tokens - own) / 4 ? o->overlap : (o->max_tokens - own) / 4;
    uint32_t shortest = UINT32_MAX, longest = 0;
    for (size_t i = 0; i < w.n; i++) {
        const struct sr_window *v = &w.items[i];
        assert_int_equal(v->n_ids, v->count + own);
        assert_true(v->n_ids <= o->max_tokens);
        assert_memory_equal(v->ids, around.before, around.n_before * sizeof *v->ids);
        assert_memory_equal(v->ids + around.n_before, whole.ids + v->first, v->count * sizeof *v->ids);
        assert_memory_equal(v->ids + around.n_before + v->count, around.after,
                            around.n_after * sizeof *v->ids);
        if (v->count) {
            assert_int_equal(v->start, whole.starts[v->first]);
            assert_int_equal(v->end, whole.ends[v->first + v->count - 1]);
        }
        if (i)
            assert_int_equal(v->first + overlap, w.items[i - 1].first + w.items[i - 1].count);
        shortest = v->count < shortest ? v->count : shortest;
        longest = v->count > longest ? v->count : longest;
        ids += v->n_ids;
    }
    assert_true(longest - shortest <= 1);
    assert_int_equal(ids, w.total_ids);
    assert_int_equal(w.items[0].first, 0);
    assert_int_equal(w.items[w.n - 1].first + w.items[w.n - 1].count, w.read);
    assert_int_equal(w.read_bytes == text.n, w.read == w.tokens);
    sr_arena_dispose(&arena);
}

static void test_covers(void **state)
{
    static const char *const names[] = {"bert-uncased", "roberta", "mmbert", "qwen"};
    static char room[200000];
    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct sr_tokenizer *t = open_named(names[k]);
        for (unsigned words = 0; words < 400; words = words < 40 ? words + 1 : words * 2 - 3) {
            struct sr_bytes text = make_text(room, sizeof room, words);
            for (size_t max = sr_tokenizer_template_size(t) + 1; max < 200; max += max < 20 ? 1 : 37)
                for (size_t overlap = 0; overlap < 70; overlap += 23) {
                    check_cut(t, text, &(struct sr_windows_options){max, overlap, 100000});
                    check_cut(t, text, &(struct sr_windows_options){max, overlap, 3});
                }
        }
        sr_tokenizer_unref(t);
    }
}

static void test_fewest(void **state)
{
    static char room[20000];
    struct sr_tokenizer *t = open_named("bert-uncased");
    struct sr_arena arena;
    struct sr_windows w;
    (void)state;
    sr_arena_init(&arena, (size_t)64 << 20);
    struct sr_bytes text = make_text(room, sizeof room, 600);
    struct sr_tokens all;
    assert_int_equal(sr_tokenizer_encode_arena(t, text, 0, &arena, &all), SR_OK);
    size_t exact = all.n + sr_tokenizer_template_size(t);
    struct sr_windows_options o = sr_windows_defaults(exact);
    assert_int_equal(sr_windows_cut(&w, t, text, &o, &arena), SR_OK);
    assert_int_equal(w.n, 1);
    o.max_tokens = exact - 1;
    assert_int_equal(sr_windows_cut(&w, t, text, &o, &arena), SR_OK);
    assert_int_equal(w.n, 2);
    assert_int_equal(w.read, w.tokens);
    sr_arena_dispose(&arena);
    sr_tokenizer_unref(t);
}

/* Full windows: a text that grows keeps all of them but the last. */
static void test_full(void **state)
{
    static char room[20000];
    struct sr_tokenizer *t = open_named("bert-uncased");
    struct sr_windows_options o = {.max_tokens = 34, .overlap = 8, .max_windows = 1000, .full = true};
    struct sr_arena arena;
    struct sr_windows w, more;
    (void)state;
    sr_arena_init(&arena, (size_t)64 << 20);
    for (unsigned words = 0; words < 300; words += 1 + words / 8) {
        size_t part_bytes = make_text(room, sizeof room, words).n;
        struct sr_bytes text = make_text(room, sizeof room, words + 40); /* begins with the other */
        struct sr_bytes part = sr_bytes_of(text.p, part_bytes);
        assert_int_equal(sr_windows_cut(&w, t, part, &o, &arena), SR_OK);
        assert_int_equal(sr_windows_cut(&more, t, text, &o, &arena), SR_OK);
        assert_int_equal(w.read, w.tokens);
        assert_int_equal(w.read_bytes, part.n);
        assert_int_equal(w.items[w.n - 1].first + w.items[w.n - 1].count, w.tokens);
        size_t ids = 0;
        for (size_t i = 0; i < w.n; i++) {
            ids += w.items[i].n_ids;
            assert_true(w.n == 1 || w.items[i].n_ids == o.max_tokens);
            if (i)
                assert_true(w.items[i].first + 8 <= w.items[i - 1].first + w.items[i - 1].count);
            if (i + 1 < w.n) {
                assert_int_equal(w.items[i].n_ids, more.items[i].n_ids);
                assert_memory_equal(w.items[i].ids, more.items[i].ids,
                                    w.items[i].n_ids * sizeof *w.items[i].ids);
            }
        }
        assert_int_equal(ids, w.total_ids);
        struct sr_windows_options even = o;
        even.full = false;
        assert_int_equal(sr_windows_cut(&more, t, part, &even, &arena), SR_OK);
        assert_int_equal(more.n, w.n); /* no more of them */
        o.max_windows = 3;
        assert_int_equal(sr_windows_cut(&w, t, part, &o, &arena), SR_OK);
        assert_true(w.n <= 3 && w.items[w.n - 1].first + w.items[w.n - 1].count == w.read);
        o.max_windows = 1000;
    }
    sr_arena_dispose(&arena);
    sr_tokenizer_unref(t);
}

static void test_refuses(void **state)
{
    struct sr_tokenizer *t = open_named("bert-uncased");
    struct sr_arena arena;
    struct sr_windows w;
    (void)state;
    sr_arena_init(&arena, (size_t)1 << 20);
    struct sr_windows_options o = sr_windows_defaults(sr_tokenizer_template_size(t));
    assert_int_equal(sr_windows_cut(&w, t, SR_LIT("a"), &o, &arena), SR_EINVAL);
    o = (struct sr_windows_options){512, 64, 0};
    assert_int_equal(sr_windows_cut(&w, t, SR_LIT("a"), &o, &arena), SR_EINVAL);
    o = sr_windows_defaults(512);
    static char large[SR_TOKENIZER_TEXT_MAX + 1];
    assert_int_equal(sr_windows_cut(&w, t, sr_bytes_of(large, sizeof large), &o, &arena), SR_ELIMIT);
    sr_arena_dispose(&arena);
    sr_tokenizer_unref(t);
}

static void test_join(void **state)
{
    struct sr_window items[] = {{.count = 30}, {.count = 10}};
    struct sr_windows two = {.items = items, .n = 2, .total_ids = 44}, one = {.items = items, .n = 1};
    float vectors[] = {1, 0, 0, 0, 1, 0}, out[3];
    (void)state;
    sr_windows_join(&two, vectors, 3, out);
    assert_true(fabsf(out[0] - 3 / sqrtf(10)) < 1e-6F && fabsf(out[1] - 1 / sqrtf(10)) < 1e-6F &&
                out[2] == 0);
    float flat[] = {0, 3, 4}, none[] = {0, 0, 0};
    sr_windows_join(&one, flat, 3, out);
    assert_true(out[0] == 0 && fabsf(out[1] - 0.6F) < 1e-6F && fabsf(out[2] - 0.8F) < 1e-6F);
    sr_windows_join(&one, none, 3, out);
    assert_true(out[0] == 0 && out[1] == 0 && out[2] == 0);
}

static void test_memory_out(void **state)
{
    struct sr_tokenizer *t = open_named("bert-uncased");
    struct sr_windows_options o = sr_windows_defaults(16);
    (void)state;
    for (size_t nth = 1;; nth++) {
        struct sr_arena arena;
        struct sr_windows w;
        sr_arena_init(&arena, (size_t)1 << 20);
        sr_mem_fail_at(nth);
        int rc = sr_windows_cut(&w, t, SR_LIT("one two three four five six seven eight nine ten eleven"), &o,
                                &arena);
        bool reached = sr_mem_count() >= nth;
        sr_mem_fail_at(0);
        sr_arena_dispose(&arena);
        if (!reached) {
            assert_int_equal(rc, SR_OK);
            break;
        }
        assert_int_equal(rc, SR_ENOMEM);
    }
    sr_tokenizer_unref(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_covers),  cmocka_unit_test(test_fewest), cmocka_unit_test(test_full),
        cmocka_unit_test(test_refuses), cmocka_unit_test(test_join),   cmocka_unit_test(test_memory_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
