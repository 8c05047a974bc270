/*
 * Deadlines of the neural classifier: with the heads that are shipped, windows that are done count, the
 * others leave the queue, and the next ask reuses what is done. The engine is held, so that how much
 * is read is the test's choice.
 */
#include "tests/unit/asker.h"
#include "tests/unit/held_engine.h"

#include "infer/classifier/neural.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define MODEL  SR_SOURCE_DIR "/models/all-MiniLM-L6-v2"
#define NEURAL SR_SOURCE_DIR "/models/neural"

static struct sr_encoder *encoder;
static struct sr_infer *infer;
static struct sr_memo *memo;
static struct sr_neural *neural;

static int open_neural(void **state)
{
    static const char *const heads[] = {NEURAL};
    struct sr_encoder_options options = {.precision = SR_PRECISION_INT8, .heads = heads, .n_heads = 1};
    struct sr_infer_options engine = sr_infer_defaults();
    struct sr_neural_options wanted = sr_neural_defaults();
    struct sr_err err = {0};
    (void)state;
    if (sr_encoder_open(&encoder, MODEL, &options, &err) != SR_OK)
        fail_msg("%s", err.message);
    assert_int_equal(sr_infer_new(&infer, &engine, &err), SR_OK);
    assert_int_equal(sr_memo_new(&memo, (size_t)16 << 20), SR_OK);
    wanted.memo = memo;
    assert_int_equal(sr_neural_new(&neural, encoder, infer, &wanted, &err), SR_OK);
    return 0;
}

static int close_neural(void **state)
{
    (void)state;
    sr_neural_unref(neural);
    sr_memo_unref(memo);
    sr_infer_free(infer);
    sr_encoder_unref(encoder);
    return 0;
}

static int begin(struct asker *asker, struct sr_bytes text, uint64_t salt)
{
    asker_init(asker);
    return sr_neural_read(neural, text, salt, SR_INFER_INTERACTIVE, &asker->ask);
}

static void await(struct asker *asker)
{
    assert_int_equal(asker_wait(asker, SR_AGAIN), SR_OK);
}

/* Prose with people in it, its sentences ending at known places. */
static struct sr_bytes story(char *room, size_t n, int seed)
{
    static const char *const people[] = {"Margaret Thompson", "Johannes Brandstetter", "Aiko Tanaka"};
    size_t at = 0;
    for (int i = 0; at + 120 < n; i++)
        at += (size_t)snprintf(room + at, n - at, "On day %d%d %s went to see the harbour of Rotterdam. ",
                               seed, i, people[(i + seed) % 3]);
    return sr_bytes_of(room, at);
}

static struct sr_bytes first_sentences(struct sr_bytes text, size_t most)
{
    while (most && text.p[most - 1] != '.')
        most--;
    return sr_bytes_of(text.p, most);
}

/* Windows of the partial result are the first of the whole. */
static void is_beginning(const struct sr_neural_result *part, const struct sr_neural_result *whole)
{
    size_t n_part, n_whole, next = 0, windows = sr_neural_scope(part).windows;
    uint32_t start, end, edge = 0;
    for (size_t i = 0; i < windows; i++) {
        const struct sr_head_info *head = sr_neural_head(neural, "jailbreak");
        const float *p = sr_neural_window(part, head, i, &start, &end);
        uint32_t start_whole, end_whole;
        const float *q = sr_neural_window(whole, head, i, &start_whole, &end_whole);
        assert_true(start == start_whole && end == end_whole);
        for (size_t k = 0; k < head->n_labels; k++)
            assert_float_equal(p[k], q[k], 1e-5);
        edge = i + 1 == windows ? start : edge;
    }
    assert_int_equal(sr_neural_scope(part).read_bytes, end);
    const struct sr_bio_span *a = sr_neural_spans(part, &n_part), *b = sr_neural_spans(whole, &n_whole);
    for (; next < n_part && a[next].end < edge; next++)
        assert_true(next < n_whole && a[next].start == b[next].start && a[next].type == b[next].type);
    assert_true(next > 0);
}

static void test_what_is_read_counts(void **state)
{
    static char room[5500];
    struct sr_bytes text = story(room, sizeof room, 1), head = first_sentences(text, text.n * 2 / 3);
    struct asker a, b, c;
    struct held held;
    (void)state;
    if (begin(&a, head, 0) == SR_AGAIN)
        await(&a);
    size_t known = sr_neural_scope(a.ask.result).windows - 1; /* the last ends with its text */
    assert_true(known >= 2);
    hold(&held, infer, encoder);
    assert_int_equal(begin(&b, text, 0), SR_AGAIN);
    assert_true(sr_infer_stats(infer).jobs > 0);
    sr_task_expire(&b.ask.task);
    assert_int_equal(atomic_load(&b.answers), 1);
    assert_int_equal(b.status, SR_OK);
    struct sr_neural_scope scope = sr_neural_scope(b.ask.result);
    assert_true(scope.partial);
    assert_int_equal(scope.windows, known);
    assert_int_equal(scope.bytes, text.n);
    assert_int_equal(sr_infer_stats(infer).jobs, 0);
    sr_task_expire(&b.ask.task); /* once more, and too late to cancel: nothing happens */
    sr_task_cancel(&b.ask.task);
    assert_int_equal(atomic_load(&b.answers), 1);
    let_go(&held);
    uint64_t begun = sr_neural_stats(neural).windows_read;
    if (begin(&c, text, 0) == SR_AGAIN)
        await(&c);
    scope = sr_neural_scope(c.ask.result);
    assert_false(scope.partial);
    assert_int_equal(scope.read_bytes, text.n);
    assert_int_equal(sr_neural_stats(neural).windows_read - begun, scope.windows - known);
    is_beginning(b.ask.result, c.ask.result);
    asker_end(&a);
    asker_end(&b);
    asker_end(&c);
}

/* Nothing is done: no result, and nothing is left behind. Another who waits for the same text gets all of
 * it. */
static void test_nothing_is_read(void **state)
{
    static char room[2000];
    struct sr_bytes text = story(room, sizeof room, 2);
    uint64_t expired = sr_neural_stats(neural).expired;
    struct asker a, b;
    struct held held;
    (void)state;
    hold(&held, infer, encoder);
    assert_int_equal(begin(&a, text, 0), SR_AGAIN);
    sr_task_expire(&a.ask.task);
    assert_int_equal(atomic_load(&a.answers), 1);
    assert_int_equal(a.status, SR_ETIMEOUT);
    assert_null(a.ask.result);
    assert_int_equal(sr_infer_stats(infer).jobs, 0);
    asker_end(&a);
    assert_int_equal(begin(&a, text, 0), SR_AGAIN);
    assert_int_equal(begin(&b, text, 0), SR_AGAIN);
    size_t waiting = sr_infer_stats(infer).jobs;
    sr_task_expire(&a.ask.task);
    assert_int_equal(a.status, SR_ETIMEOUT);
    assert_int_equal(sr_infer_stats(infer).jobs, waiting);
    let_go(&held);
    await(&b);
    assert_false(sr_neural_scope(b.ask.result).partial);
    assert_int_equal(atomic_load(&a.answers), 1);
    assert_int_equal(sr_neural_stats(neural).expired - expired, 2);
    asker_end(&a);
    asker_end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_read_counts),
                                       cmocka_unit_test(test_nothing_is_read)};
    return cmocka_run_group_tests(tests, open_neural, close_neural);
}
