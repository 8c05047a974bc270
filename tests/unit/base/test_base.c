/* The base layer: bytes, buffers, arenas, hashes, messages between threads, workers. */
#include "tests/unit/cmocka_all.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mailbox.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static void bytes_compare_and_parse(void **state)
{
    (void)state;
    unsigned long long n = 0;
    assert_true(sr_bytes_eq_nocase(SR_LIT("Content-TYPE"), SR_LIT("content-type")));
    assert_false(sr_bytes_eq(SR_LIT("a"), SR_LIT("ab")));
    assert_true(sr_bytes_cmp(SR_LIT("ab"), SR_LIT("abc")) < 0);
    assert_true(sr_bytes_contains(SR_LIT("x-vsr-debug"), SR_LIT("vsr")));
    assert_true(sr_bytes_eq(sr_bytes_trim(SR_LIT(" \t a b\r\n")), SR_LIT("a b")));
    assert_true(sr_bytes_to_u64(SR_LIT("8801"), &n) && n == 8801);
    assert_false(sr_bytes_to_u64(SR_LIT("88x"), &n));
    assert_false(sr_bytes_to_u64(SR_LIT("99999999999999999999"), &n));
    assert_int_equal(sr_bytes_edit_distance(SR_LIT("treshold"), SR_LIT("threshold")), 1);
    assert_int_equal(sr_bytes_edit_distance(SR_LIT(""), SR_LIT("abc")), 3);
}

static void buf_keeps_its_maximum(void **state)
{
    (void)state;
    struct sr_buf buf;
    sr_buf_init(&buf, 10);
    assert_int_equal(sr_buf_append(&buf, "12345", 5), SR_OK);
    assert_int_equal(sr_buf_append(&buf, "123456", 6), SR_ELIMIT);
    assert_int_equal(buf.len, 5);
    assert_int_equal(sr_buf_printf(&buf, "%d", 67890), SR_OK);
    assert_string_equal(buf.data, "1234567890");
    assert_int_equal(sr_buf_printf(&buf, "x"), SR_ELIMIT);
    sr_buf_consume(&buf, 4);
    assert_string_equal(buf.data, "567890");
    sr_buf_dispose(&buf);
    assert_null(buf.data);
}

static void buf_escapes_json(void **state)
{
    (void)state;
    struct sr_buf buf;
    sr_buf_init(&buf, 1000);
    struct sr_bytes in = SR_LIT("a\"b\\\n\x01\x7F"
                                "\xC3\xA9"     /* e acute: valid */
                                "\xC3"         /* cut sequence */
                                "\xED\xA0\x80" /* a surrogate: three invalid bytes */
                                "\xF0\x9F\x98\x80");
    assert_int_equal(sr_buf_append_json(&buf, in), SR_OK);
    assert_string_equal(buf.data, "a\\\"b\\\\\\n\\u0001\\u007f\xC3\xA9\xEF\xBF\xBD"
                                  "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xF0\x9F\x98\x80");
    sr_buf_dispose(&buf);
}

static void arena_is_bounded_and_aligned(void **state)
{
    (void)state;
    struct sr_arena arena;
    sr_arena_init(&arena, 64 << 10);
    for (int i = 0; i < 100; i++) {
        char *p = sr_arena_alloc(&arena, (size_t)i * 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        memset(p, i, (size_t)i * 3);
    }
    assert_null(sr_arena_alloc(&arena, 64 << 10));
    assert_null(sr_arena_calloc(&arena, SIZE_MAX / 2, 16));
    struct sr_bytes copy = sr_arena_dup(&arena, SR_LIT("hello"));
    assert_string_equal(copy.p, "hello");
    assert_string_equal(sr_arena_printf(&arena, "%d-%s", 7, "x"), "7-x");
    sr_arena_dispose(&arena);
    assert_int_equal(arena.total, 0);
}

static void arena_gives_back_the_tail(void **state)
{
    (void)state;
    struct sr_arena arena;
    sr_arena_init(&arena, 1 << 20);
    char *a = sr_arena_alloc(&arena, 1000);
    sr_arena_trim(&arena, a, 1000, 10);
    char *b = sr_arena_alloc(&arena, 16);
    assert_ptr_equal(b, a + 16);
    sr_arena_dispose(&arena);
}

static void hashes_have_known_values(void **state)
{
    (void)state;
    char hex[SR_SHA256_HEX];
    assert_int_equal(sr_sha256_hex(SR_LIT("abc"), hex), SR_OK);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(sr_hash64(SR_LIT(""), 0) == UINT64_C(0x2D06800538D394C2));
    uint64_t a = 0, b = 0, n = 0;
    FILE *file = tmpfile(); /* longer than one read of it */
    for (int i = 0; i < 20000; i++)
        fputs("abc", file);
    rewind(file);
    assert_int_equal(sr_sha256_file(fileno(file), hex, &n), SR_OK);
    assert_int_equal(n, 60000);
    assert_string_equal(hex, "3d6ab72a9526babd989fae0859439ff5934bb194f416bdb102a9b1c03dbe6d70");
    fclose(file);
    assert_int_equal(sr_sha256_file(-1, hex, &n), SR_EIO);
    assert_int_equal(sr_random(&a, sizeof a), SR_OK);
    assert_int_equal(sr_random(&b, sizeof b), SR_OK);
    assert_true(a != b);
}

static void failing_allocations_can_be_asked_for(void **state)
{
    (void)state;
    sr_mem_fail_at(2);
    void *first = sr_mem_alloc(1);
    void *second = sr_mem_alloc(1);
    assert_int_equal(sr_mem_count(), 2);
    sr_mem_fail_at(0);
    assert_non_null(first);
    assert_null(second);
    sr_mem_free(first);
}

struct counter_message {
    struct sr_message message;
    int *runs, *closed;
};

static void count_message(struct sr_message *self, bool closed)
{
    struct counter_message *m = (struct counter_message *)self;
    ++*(closed ? m->closed : m->runs);
}

static void mailbox_delivers_and_closes(void **state)
{
    (void)state;
    int runs = 0, closed = 0;
    struct counter_message m[3];
    struct sr_mailbox box;
    sr_mailbox_init(&box, NULL, NULL);
    for (int i = 0; i < 3; i++)
        m[i] = (struct counter_message){{NULL, count_message}, &runs, &closed};
    assert_int_equal(sr_mailbox_send(&box, &m[0].message), SR_OK);
    assert_int_equal(sr_mailbox_send(&box, &m[1].message), SR_OK);
    sr_mailbox_run(&box);
    assert_int_equal(runs, 2);
    assert_int_equal(sr_mailbox_send(&box, &m[2].message), SR_OK);
    sr_mailbox_dispose(&box);
    assert_int_equal(closed, 1);
}

struct slow_job {
    struct sr_job job;
    atomic_int *done;
};

static void run_slow(struct sr_job *self)
{
    usleep(2000);
    atomic_fetch_add(((struct slow_job *)self)->done, 1);
}

static void workers_bound_their_queue_and_finish(void **state)
{
    (void)state;
    struct sr_workers *workers = NULL;
    atomic_int done = 0;
    struct slow_job jobs[64];
    int accepted = 0, refused = 0;
    assert_int_equal(sr_workers_new(&workers, 2, 8), SR_OK);
    for (int i = 0; i < 64; i++) {
        jobs[i] = (struct slow_job){{NULL, run_slow}, &done};
        int rc = sr_workers_submit(workers, &jobs[i].job, i % 2 ? SR_JOB_BULK : SR_JOB_INTERACTIVE);
        assert_true(rc == SR_OK || rc == SR_EBUSY);
        rc == SR_OK ? accepted++ : refused++;
    }
    assert_true(accepted >= 8);
    assert_true(refused > 0);
    sr_workers_free(workers);
    assert_int_equal(atomic_load(&done), accepted);
}

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int inside, n;
    size_t order[8]; /* bytes of the jobs that ran */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void run_gated(struct sr_job *self)
{
    pthread_mutex_lock(&gate.lock);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (!gate.open)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.order[gate.n++] = self->bytes;
    pthread_mutex_unlock(&gate.lock);
}

static void run_free(struct sr_job *self)
{
    pthread_mutex_lock(&gate.lock);
    gate.order[gate.n++] = self->bytes;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_close(void)
{
    gate.open = false;
    gate.inside = gate.n = 0;
}

static void gate_await(const int *count, int n)
{
    pthread_mutex_lock(&gate.lock);
    while (*count < n)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void gate_open(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = true;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void short_jobs_are_first(void **state)
{
    static const size_t bytes[] = {1, 500, 100, 300, 100, 0};
    static const size_t order[] = {1, 0, 100, 100, 300, 500};
    struct sr_job jobs[6] = {{0}};
    struct sr_workers *workers = NULL;
    (void)state;
    gate_close();
    assert_int_equal(sr_workers_new(&workers, 1, 8), SR_OK);
    for (int i = 0; i < 6; i++) {
        jobs[i] = (struct sr_job){.run = run_gated, .bytes = bytes[i]};
        assert_int_equal(sr_workers_submit(workers, &jobs[i], SR_JOB_INTERACTIVE), SR_OK);
        gate_await(&gate.inside, 1);
    }
    gate_open();
    sr_workers_free(workers);
    for (int i = 0; i < 6; i++)
        assert_int_equal(gate.order[i], order[i]);
}

/* However many long jobs there are, a short one finds a thread. */
static void long_jobs_leave_a_thread(void **state)
{
    struct sr_job jobs[4] = {{0}};
    struct sr_workers *workers = NULL;
    (void)state;
    gate_close();
    assert_int_equal(sr_workers_new(&workers, 2, 8), SR_OK);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct sr_job){.run = run_gated, .bytes = 2 * SR_JOB_LONG};
        assert_int_equal(sr_workers_submit(workers, &jobs[i], SR_JOB_INTERACTIVE), SR_OK);
    }
    gate_await(&gate.inside, 1);
    jobs[3] = (struct sr_job){.run = run_free, .bytes = 10};
    assert_int_equal(sr_workers_submit(workers, &jobs[3], SR_JOB_BULK), SR_OK);
    gate_await(&gate.n, 1);
    assert_int_equal(gate.order[0], 10);
    assert_int_equal(gate.inside, 1);
    gate_open();
    sr_workers_free(workers);
    assert_int_equal(gate.n, 4);
}

static void take_line(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)level;
    snprintf(ctx, 4096, "%.*s", (int)line.n, line.p);
}

static void log_lines_are_json(void **state)
{
    (void)state;
    char line[4096] = "";
    sr_log_set_sink(take_line, line);
    sr_log(SR_LOG_DEBUG, "quiet", "below the level");
    assert_string_equal(line, "");
    sr_log(SR_LOG_WARN, "config_refused", "line %d: \"%s\"", 3, "x");
    sr_log_set_sink(NULL, NULL);
    assert_non_null(
        strstr(line, "\"level\":\"warn\",\"event\":\"config_refused\",\"msg\":\"line 3: \\\"x\\\"\"}"));
}

static void cpu_budget_is_positive(void **state)
{
    (void)state;
    int loops = 0, workers = 0;
    sr_cpu_split(0, 0, &loops, &workers);
    assert_int_equal(loops, sr_cpu_cores());
    assert_true(workers >= 1);
    sr_cpu_split(1000, 3, &loops, &workers);
    assert_int_equal(loops, 256);
    assert_int_equal(workers, 3);
    assert_true(strlen(sr_cpu_name()) > 0);
}

/* A message that does not fit ends between two words, or at least two characters, with a mark. */
static void long_errors_are_cut_between_words(void **state)
{
    struct sr_err err = {0};
    char words[SR_ERR_MESSAGE_MAX + 64] = "", letters[SR_ERR_MESSAGE_MAX + 64];
    (void)state;
    for (int i = 0; i < 70; i++)
        strcat(words, "wo\xc3\xb6rd, ");
    (void)sr_err_set(&err, SR_EPARSE, "%s", words);
    size_t n = strlen(err.message);
    assert_true(n < SR_ERR_MESSAGE_MAX && n > SR_ERR_MESSAGE_MAX - 20);
    assert_string_equal(err.message + n - 10, "wo\xc3\xb6rd ...");
    memset(letters, 'x', sizeof letters - 1);
    letters[sizeof letters - 1] = '\0';
    for (size_t at = SR_ERR_MESSAGE_MAX - 10; at < SR_ERR_MESSAGE_MAX; at++) {
        memcpy(letters + at, "\xe2\x82\xac", 3);
        (void)sr_err_set(&err, SR_EPARSE, "%s", letters);
        n = strlen(err.message);
        assert_true(n < SR_ERR_MESSAGE_MAX && n > SR_ERR_MESSAGE_MAX - 12);
        assert_string_equal(err.message + n - 4, " ...");
        assert_true(err.message[n - 5] == 'x' || (unsigned char)err.message[n - 5] == 0xac);
        memset(letters + at, 'x', 3);
    }
    (void)sr_err_set(&err, SR_EPARSE, "%.*s", SR_ERR_MESSAGE_MAX - 1, letters);
    assert_int_equal(strlen(err.message), SR_ERR_MESSAGE_MAX - 1);
    assert_int_equal(err.message[SR_ERR_MESSAGE_MAX - 2], 'x');
}

static void errors_say_what_and_where(void **state)
{
    (void)state;
    struct sr_err err = {0};
    assert_int_equal(sr_err_set_at(&err, SR_EPARSE, 17, "expected %s", "a comma"), SR_EPARSE);
    assert_int_equal(err.offset, 17);
    assert_string_equal(err.message, "expected a comma");
    assert_string_equal(sr_strerror(SR_ELIMIT), "a limit was reached");
    assert_string_equal(sr_strerror(-9999), "unknown error");
    assert_int_equal(sr_err_set(NULL, SR_EIO, "nobody reads this"), SR_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_compare_and_parse),
        cmocka_unit_test(buf_keeps_its_maximum),
        cmocka_unit_test(buf_escapes_json),
        cmocka_unit_test(arena_is_bounded_and_aligned),
        cmocka_unit_test(arena_gives_back_the_tail),
        cmocka_unit_test(hashes_have_known_values),
        cmocka_unit_test(failing_allocations_can_be_asked_for),
        cmocka_unit_test(mailbox_delivers_and_closes),
        cmocka_unit_test(workers_bound_their_queue_and_finish),
        cmocka_unit_test(short_jobs_are_first),
        cmocka_unit_test(long_jobs_leave_a_thread),
        cmocka_unit_test(log_lines_are_json),
        cmocka_unit_test(cpu_budget_is_positive),
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(long_errors_are_cut_between_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
