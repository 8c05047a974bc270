/*
 * The neural classifier over a small real encoder with a bundle of heads: its results against the encoder
 * itself, whole texts in windows, the memo, joining and cancelling.
 */
#include "tests/unit/asker.h"

#include "infer/classifier/neural.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER SR_SOURCE_DIR "/tests/golden/encoder/small/bert-bundle"

struct site {
    struct sr_encoder *encoder;
    struct sr_infer *infer;
    struct sr_memo *memo;
    struct sr_neural *neural;
};

static int ask(struct sr_neural *neural, struct sr_bytes text, uint64_t salt,
               struct sr_neural_result **result)
{
    return sr_neural_read_wait(neural, text, salt, SR_INFER_BULK, result);
}

static struct site open_site(size_t memo_bytes, size_t window)
{
    static const char *const heads[] = {FOLDER "/bundle"};
    struct sr_encoder_options options = {.heads = heads, .n_heads = 1};
    struct sr_infer_options engine = sr_infer_defaults();
    struct sr_neural_options wanted = sr_neural_defaults();
    struct sr_err err = {0};
    struct site site;
    engine.threads = 2;
    assert_int_equal(sr_memo_new(&site.memo, memo_bytes), SR_OK);
    wanted.memo = site.memo;
    wanted.windows.max_tokens = window;
    wanted.windows.overlap = 8;
    if (sr_encoder_open(&site.encoder, FOLDER, &options, &err) != SR_OK)
        fail_msg("%s", err.message);
    assert_int_equal(sr_infer_new(&site.infer, &engine, &err), SR_OK);
    assert_int_equal(sr_neural_new(&site.neural, site.encoder, site.infer, &wanted, &err), SR_OK);
    return site;
}

static void close_site(struct site *site)
{
    sr_neural_unref(site->neural);
    sr_memo_unref(site->memo);
    sr_infer_free(site->infer);
    sr_encoder_unref(site->encoder);
}

#define SHORT "a few words of a text"

/* The only window's probabilities are softmax(logits / temperature) of the encoder. */
static void says_what_the_encoder_says(void **state)
{
    struct site site = open_site(1 << 20, 64);
    struct sr_neural_result *result;
    const struct sr_encoder_info *info = sr_encoder_info(site.encoder);
    int32_t ids[256];
    struct sr_tokens tokens = {.ids = ids, .cap = 256};
    float logits[64], sum = 0;
    size_t sequence = 0;
    (void)state;
    while (sequence < info->n_heads && info->heads[sequence].kind != SR_HEAD_SEQUENCE)
        sequence++;
    assert_true(sequence < info->n_heads);
    const struct sr_head_info *head = &info->heads[sequence];
    assert_int_equal(sr_tokenizer_encode(sr_encoder_tokenizer(site.encoder), SR_LIT(SHORT),
                                         SR_TOKENIZER_SPECIAL | SR_TOKENIZER_NO_OFFSETS, &tokens),
                     SR_OK);
    struct sr_infer_job job = {.encoder = site.encoder,
                               .item = {.ids = ids, .n_ids = tokens.n, .heads = 1u << sequence}};
    job.item.out[sequence] = logits;
    assert_int_equal(sr_infer_run(site.infer, &job, 1), SR_OK);
    assert_int_equal(ask(site.neural, SR_LIT(SHORT), 0, &result), SR_OK);
    const float *p = sr_neural_text(result, sr_neural_head(site.neural, head->name));
    for (size_t i = 0; i < head->n_labels; i++)
        sum += expf(logits[i] / head->temperature);
    for (size_t i = 0; i < head->n_labels; i++)
        assert_float_equal(p[i], expf(logits[i] / head->temperature) / sum, 1e-5);
    assert_int_equal(sr_neural_scope(result).windows, 1);
    assert_int_equal(sr_neural_scope(result).read_bytes, sizeof SHORT - 1);
    sr_neural_result_unref(result);
    close_site(&site);
}

/* What is trained with our windows is read with them; a published model of its own reads what it can. */
static void windows_of_ours_and_of_others(void **state)
{
    struct sr_windows_options ours = sr_neural_defaults().windows, own = sr_neural_own_defaults().windows;
    (void)state;
    assert_int_equal(ours.max_tokens, 256);
    assert_int_equal(ours.overlap, 32);
    assert_int_equal(own.max_tokens, 512);
    assert_int_equal(own.overlap, 64);
    assert_int_equal(own.max_windows, ours.max_windows);
}

static struct sr_bytes long_text(char *room, size_t n)
{
    static const char *const words[] = {"one", "text", "of", "many", "words", "that", "go", "on"};
    size_t at = 0;
    for (size_t i = 0; at + 8 < n; i++)
        at += (size_t)snprintf(room + at, n - at, "%s ", words[(i * 7 + i / 5) % 8]);
    return sr_bytes_of(room, at);
}

static void reads_long_texts_whole(void **state)
{
    struct site site = open_site(1 << 20, 32);
    static char room[6000];
    struct sr_bytes text = long_text(room, sizeof room);
    struct sr_neural_result *result;
    uint32_t last = 0, start, end;
    (void)state;
    assert_int_equal(ask(site.neural, text, 0, &result), SR_OK);
    struct sr_neural_scope scope = sr_neural_scope(result);
    assert_true(scope.windows > 20);
    assert_int_equal(scope.read_bytes, text.n);
    const struct sr_encoder_info *info = sr_encoder_info(site.encoder);
    for (size_t h = 0; h < info->n_heads; h++) {
        const struct sr_head_info *head = sr_neural_head(site.neural, info->heads[h].name);
        if (!head || head->kind != SR_HEAD_SEQUENCE)
            continue;
        float sum = 0;
        for (size_t i = 0; i < scope.windows; i++) {
            const float *p = sr_neural_window(result, head, i, &start, &end);
            assert_true(p[0] >= 0 && p[0] <= 1);
            assert_true(start <= last && end > last); /* no gap */
            last = end;
        }
        last = 0;
        for (size_t i = 0; i < head->n_labels; i++)
            sum += sr_neural_text(result, head)[i];
        assert_float_equal(sum, 1, 1e-4);
    }
    size_t n;
    const struct sr_bio_span *spans = sr_neural_spans(result, &n);
    for (size_t i = 0; i < n; i++)
        assert_true(spans[i].start < spans[i].end && spans[i].end <= text.n &&
                    (i == 0 || spans[i - 1].end <= spans[i].start));
    sr_neural_result_unref(result);
    close_site(&site);
}

static void remembers_by_text_and_salt(void **state)
{
    struct site site = open_site(1 << 20, 64);
    struct sr_neural_result *first, *again, *other;
    (void)state;
    assert_int_equal(ask(site.neural, SR_LIT(SHORT), 1, &first), SR_OK);
    assert_int_equal(ask(site.neural, SR_LIT(SHORT), 1, &again), SR_OK);
    assert_int_equal(ask(site.neural, SR_LIT(SHORT), 2, &other), SR_OK);
    assert_ptr_equal(first, again);
    assert_ptr_not_equal(first, other);
    struct sr_neural_stats stats = sr_neural_stats(site.neural);
    assert_int_equal(stats.read, 2);
    assert_int_equal(stats.remembered, 1);
    sr_neural_result_unref(first);
    sr_neural_result_unref(again);
    sr_neural_result_unref(other);
    close_site(&site);
}

static void forgets_the_oldest(void **state)
{
    struct site site = open_site(4096, 64);
    char text[32];
    (void)state;
    for (int i = 0; i < 64; i++) {
        struct sr_neural_result *result;
        int n = snprintf(text, sizeof text, "text %d", i);
        assert_int_equal(ask(site.neural, sr_bytes_of(text, (size_t)n), 0, &result), SR_OK);
        sr_neural_result_unref(result);
    }
    struct sr_memo_stats stats;
    sr_memo_stats(site.memo, &stats);
    assert_true(stats.bytes <= 4096 && stats.entries > 0);
    assert_true(stats.dropped > 40);
    close_site(&site);
}

/* Two classifiers over one memo do not meet; what one left there goes when there is no room. */
static void shares_the_memo(void **state)
{
    struct site site = open_site(1 << 20, 64);
    struct sr_neural_options wanted = sr_neural_defaults();
    struct sr_neural_result *first, *second;
    struct sr_neural *other;
    struct sr_memo_stats stats;
    struct sr_err err = {0};
    (void)state;
    wanted.memo = site.memo;
    wanted.windows.max_tokens = 64;
    wanted.windows.overlap = 8;
    assert_int_equal(sr_neural_new(&other, site.encoder, site.infer, &wanted, &err), SR_OK);
    assert_int_equal(ask(other, SR_LIT(SHORT), 1, &first), SR_OK);
    assert_int_equal(ask(site.neural, SR_LIT(SHORT), 1, &second), SR_OK);
    assert_ptr_not_equal(first, second);
    assert_int_equal(sr_neural_stats(site.neural).remembered, 0);
    assert_int_equal(sr_neural_stats(site.neural).windows_known, 0);
    sr_neural_result_unref(first);
    sr_neural_result_unref(second);
    sr_neural_unref(other);
    sr_memo_stats(site.memo, &stats);
    assert_int_equal(stats.entries, 2);
    sr_memo_resize(site.memo, stats.bytes - 1);
    assert_int_equal(ask(site.neural, SR_LIT(SHORT), 1, &second), SR_OK);
    assert_int_equal(sr_neural_stats(site.neural).remembered, 1);
    sr_neural_result_unref(second);
    close_site(&site);
}

static void empty_and_too_long(void **state)
{
    struct site site = open_site(1 << 20, 64);
    struct sr_neural_result *result;
    char *big = malloc(SR_TOKENIZER_TEXT_MAX + 1);
    (void)state;
    assert_non_null(big);
    memset(big, 'a', SR_TOKENIZER_TEXT_MAX + 1);
    assert_int_equal(ask(site.neural, SR_LIT(""), 0, &result), SR_OK);
    sr_neural_result_unref(result);
    assert_int_equal(ask(site.neural, sr_bytes_of(big, SR_TOKENIZER_TEXT_MAX + 1), 0, &result), SR_ELIMIT);
    assert_null(result);
    free(big);
    close_site(&site);
}

/* Both say the same of a text. */
static void same_answers(const struct site *site, const struct sr_neural_result *a,
                         const struct site *other_site, const struct sr_neural_result *b)
{
    const struct sr_encoder_info *info = sr_encoder_info(site->encoder);
    struct sr_neural_scope scope = sr_neural_scope(a), other = sr_neural_scope(b);
    size_t n, n_other;
    const struct sr_bio_span *spans = sr_neural_spans(a, &n), *spans_other = sr_neural_spans(b, &n_other);
    assert_int_equal(scope.windows, other.windows);
    assert_int_equal(scope.read_bytes, other.read_bytes);
    assert_int_equal(scope.tokens, other.tokens);
    assert_int_equal(n, n_other);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(spans[i].start, spans_other[i].start);
        assert_int_equal(spans[i].end, spans_other[i].end);
        assert_int_equal(spans[i].type, spans_other[i].type);
    }
    for (size_t h = 0; h < info->n_heads; h++) {
        const struct sr_head_info *head = sr_neural_head(site->neural, info->heads[h].name),
                                  *twin = sr_neural_head(other_site->neural, info->heads[h].name);
        for (size_t i = 0; head && head->kind == SR_HEAD_SEQUENCE && i <= scope.windows; i++) {
            uint32_t start, end, start_other, end_other;
            const float *p = sr_neural_text(a, head), *q = sr_neural_text(b, twin);
            if (i < scope.windows) {
                p = sr_neural_window(a, head, i, &start, &end);
                q = sr_neural_window(b, twin, i, &start_other, &end_other);
                assert_true(start == start_other && end == end_other);
            }
            for (size_t k = 0; k < head->n_labels; k++)
                assert_float_equal(p[k], q[k], 1e-5);
        }
    }
}

static struct sr_bytes new_text(char *room, size_t n, unsigned seed)
{
    size_t at = 0;
    for (unsigned i = 0; at + 16 < n; i++) {
        unsigned k = (i * 7919 + seed * 31 + i * i * 13) % 17576; /* three letters */
        at += (size_t)snprintf(room + at, n - at, "%c%c%c%s ", (char)('a' + k % 26),
                               (char)('a' + k / 26 % 26), (char)('a' + k / 676), i % 9 ? "" : ".");
    }
    return sr_bytes_of(room, at);
}

/* A text that has grown costs its last window and what is new. */
static void knows_what_has_not_changed(void **state)
{
    struct site site = open_site(1 << 20, 32), fresh = open_site(0, 32);
    static char room[4000];
    struct sr_bytes text = new_text(room, sizeof room, 1);
    struct sr_neural_result *before, *grown, *anew;
    (void)state;
    assert_int_equal(ask(site.neural, sr_bytes_of(text.p, 2000), 0, &before), SR_OK);
    struct sr_neural_stats stats = sr_neural_stats(site.neural);
    size_t windows = sr_neural_scope(before).windows;
    assert_int_equal(stats.windows_read, windows);
    assert_int_equal(ask(site.neural, text, 0, &grown), SR_OK);
    stats = sr_neural_stats(site.neural);
    assert_int_equal(stats.windows_known, windows - 1);
    assert_int_equal(stats.windows_read, 1 + sr_neural_scope(grown).windows);
    assert_int_equal(ask(fresh.neural, text, 0, &anew), SR_OK);
    same_answers(&site, grown, &fresh, anew);
    sr_neural_result_unref(anew);
    assert_int_equal(ask(site.neural, text, 7, &anew), SR_OK); /* another tenant's is read anew */
    assert_int_equal(sr_neural_stats(site.neural).windows_known, windows - 1);
    sr_neural_result_unref(before);
    sr_neural_result_unref(grown);
    sr_neural_result_unref(anew);
    close_site(&fresh);
    close_site(&site);
}

static size_t prefetch(struct sr_neural_growing *growing)
{
    size_t n = 0;
    for (;; n++) {
        struct asker asker;
        asker_init(&asker);
        int rc = sr_neural_growing_read(growing, &asker.ask);
        int status = asker_wait(&asker, rc);
        asker_end(&asker);
        if (rc == SR_ENOENT)
            return n;
        assert_int_equal(status, SR_OK);
    }
}

/* However a text arrives, its windows are those of the whole text, and so is the answer. */
static void reads_while_it_arrives(void **state)
{
    static const size_t pieces[] = {1, 7, 100, 999, 4096, 20000};
    struct site fresh = open_site(0, 64);
    static char room[20000];
    (void)state;
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++) {
        struct site site = open_site(1 << 20, 64);
        struct sr_bytes text = new_text(room, sizeof room - 2000 * k, (unsigned)k);
        struct sr_neural_growing *growing;
        struct sr_neural_result *whole, *anew;
        size_t prefetched = 0;
        assert_int_equal(sr_neural_growing_new(&growing, site.neural, 3), SR_OK);
        for (int begun = 0; begun < 2; begun++) { /* the second time everything is known */
            sr_neural_growing_begin(growing);
            prefetched = 0;
            for (size_t at = 0, n; at < text.n; at += n) {
                n = text.n - at < pieces[k] ? text.n - at : pieces[k];
                assert_int_equal(sr_neural_growing_feed(growing, sr_bytes_of(text.p + at, n)), SR_OK);
                prefetched += prefetch(growing);
            }
        }
        struct sr_neural_stats stats = sr_neural_stats(site.neural);
        assert_int_equal(stats.windows_read, prefetched);
        assert_int_equal(ask(site.neural, text, 3, &whole), SR_OK);
        size_t windows = sr_neural_scope(whole).windows;
        assert_true(prefetched < windows && prefetched + 20 > windows); /* two KiB may change yet */
        assert_int_equal(sr_neural_stats(site.neural).windows_read, windows);
        assert_int_equal(ask(fresh.neural, text, 3, &anew), SR_OK);
        same_answers(&site, whole, &fresh, anew);
        sr_neural_result_unref(whole);
        sr_neural_result_unref(anew);
        sr_neural_growing_free(growing);
        close_site(&site);
    }
    close_site(&fresh);
}

static void drops_what_cannot_grow(void **state)
{
    struct site site = open_site(1 << 20, 64);
    static char blank[40000];
    struct sr_neural_growing *growing;
    (void)state;
    memset(blank, 'a', sizeof blank);
    assert_int_equal(sr_neural_growing_new(&growing, site.neural, 0), SR_OK);
    sr_neural_growing_begin(growing);
    assert_int_equal(sr_neural_growing_feed(growing, sr_bytes_of(blank, sizeof blank)), SR_EUNSUPPORTED);
    assert_int_equal(prefetch(growing), 0);
    sr_neural_growing_begin(growing); /* nobody reads what is complete */
    struct sr_bytes text = new_text(blank, sizeof blank, 5);
    int rc = SR_OK;
    for (int i = 0; rc == SR_OK && i < 100; i++)
        rc = sr_neural_growing_feed(growing, text);
    assert_int_equal(rc, SR_EBUSY);
    sr_neural_growing_begin(growing);
    assert_int_equal(sr_neural_growing_feed(growing, SR_LIT("short")), SR_OK);
    assert_int_equal(prefetch(growing), 0);
    sr_neural_growing_free(growing);
    close_site(&site);
}

/* Many ask for few texts, some cancel and some expire: everyone is answered exactly once. */
#define THREADS 4
#define ASKS    200

static void *ask_and_cancel(void *arg)
{
    struct site *site = arg;
    static const char shared[] =
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "one text of many words that go on and on and has several windows, number ";
    struct asker *askers = calloc(ASKS, sizeof *askers);
    char text[sizeof shared + 32];
    for (int i = 0; i < ASKS; i++) {
        struct asker *a = &askers[i];
        int n = snprintf(text, sizeof text, "%s%d of a few", shared, i / 4);
        asker_init(a);
        struct sr_bytes asked = sr_bytes_of(text, (size_t)n); /* its first windows are those of all */
        enum sr_infer_priority priority = i % 5 ? SR_INFER_INTERACTIVE : SR_INFER_PREFETCH;
        int rc = sr_neural_read(site->neural, asked, 0, priority, &a->ask);
        if (rc == SR_AGAIN && i % 3 == 0)
            sr_task_cancel(&a->ask.task);
        else if (rc == SR_AGAIN && i % 3 == 1)
            sr_task_expire(&a->ask.task);
        else if (rc != SR_AGAIN)
            asker_done(&a->ask.task, rc);
    }
    for (int i = 0; i < ASKS; i++) {
        while (atomic_load(&askers[i].answers) == 0)
            usleep(100);
        assert_true(askers[i].status == SR_OK || askers[i].status == SR_ECANCELED ||
                    askers[i].status == SR_ETIMEOUT);
        assert_true(askers[i].status != SR_OK || askers[i].ask.result);
        asker_end(&askers[i]);
    }
    for (int i = 0; i < ASKS; i++)
        assert_int_equal(atomic_load(&askers[i].answers), 1);
    free(askers);
    return NULL;
}

static void many_ask_and_cancel(void **state)
{
    struct site site = open_site(1 << 14, 24);
    pthread_t threads[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_cancel, &site), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    close_site(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_encoder_says), cmocka_unit_test(windows_of_ours_and_of_others),
        cmocka_unit_test(reads_long_texts_whole),     cmocka_unit_test(remembers_by_text_and_salt),
        cmocka_unit_test(forgets_the_oldest),         cmocka_unit_test(shares_the_memo),
        cmocka_unit_test(empty_and_too_long),         cmocka_unit_test(knows_what_has_not_changed),
        cmocka_unit_test(reads_while_it_arrives),     cmocka_unit_test(drops_what_cannot_grow),
        cmocka_unit_test(many_ask_and_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
