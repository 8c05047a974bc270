/* The line sink and the process log where nobody reads: full pipes, lost readers, lines that repeat. */
#include "tests/unit/cmocka_all.h"

#include "base/log.h"
#include "observe/lines.h"
#include "observe/process_log.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

/* A pipe of one page; `path` names its writing end. */
static void pipe_open(int ends[2], char path[64])
{
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETPIPE_SZ, PAGE), PAGE);
    snprintf(path, 64, "/dev/fd/%d", ends[1]);
}

/* What sr_log said, from any thread. */
static struct {
    pthread_mutex_t lock;
    char text[1 << 20];
    size_t n, lines;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hear(void *ctx, enum sr_log_level level, struct sr_bytes line)
{
    (void)ctx, (void)level;
    pthread_mutex_lock(&said.lock);
    if (said.n + line.n + 2 < sizeof said.text) {
        memcpy(said.text + said.n, line.p, line.n);
        said.n += line.n;
        said.text[said.n++] = '\n';
        said.text[said.n] = '\0';
        said.lines++;
    }
    pthread_mutex_unlock(&said.lock);
}

static bool heard(const char *what)
{
    pthread_mutex_lock(&said.lock);
    bool there = strstr(said.text, what) != NULL;
    pthread_mutex_unlock(&said.lock);
    return there;
}

static int listen_to_the_log(void **state)
{
    (void)state;
    said.n = said.lines = 0;
    said.text[0] = '\0';
    sr_log_set_sink(hear, NULL);
    signal(SIGPIPE, SIG_IGN);
    return 0;
}

static int stop_listening(void **state)
{
    (void)state;
    sr_log_set_sink(NULL, NULL);
    return 0;
}

static void a_reader_that_comes_back_learns_what_is_lost(void **state)
{
    (void)state;
    struct sr_lines *lines = NULL;
    int ends[2];
    char path[64], line[100], read_text[512];
    pipe_open(ends, path);
    assert_int_equal(sr_lines_open(&lines, "access", path, 4 * PAGE, NULL), SR_OK);
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 1000; i++)
        sr_lines_write(lines, sr_bytes_of(line, sizeof line));
    uint64_t dropped = sr_lines_dropped(lines);
    assert_true(dropped > 500 && dropped < 1000);
    /* All that is left comes as whole lines; then the process log tells of the rest. */
    size_t at = 0;
    for (size_t kept = 0; kept < 1000 - dropped;) {
        ssize_t n = read(ends[0], read_text, sizeof read_text);
        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++, at++) {
            assert_int_equal(read_text[i], at % 101 == 100 ? '\n' : 'x');
            kept += read_text[i] == '\n';
        }
    }
    while (!heard("log_dropped"))
        usleep(1000);
    char what[64];
    snprintf(what, sizeof what, "%llu lines of the access log", (unsigned long long)dropped);
    assert_true(heard(what));
    assert_int_equal(sr_lines_dropped(lines), dropped);
    sr_lines_flush(lines, 10000);
    assert_true(sr_lines_close(lines, 10000));
    close(ends[0]);
    close(ends[1]);
}

static void the_end_does_not_wait_for_a_reader(void **state)
{
    (void)state;
    struct sr_lines *lines = NULL;
    int ends[2];
    char path[64], line[1000];
    pipe_open(ends, path);
    assert_int_equal(sr_lines_open(&lines, "audit", path, 16 * PAGE, NULL), SR_OK);
    memset(line, 'x', sizeof line);
    for (int i = 0; i < 20; i++)
        sr_lines_write(lines, sr_bytes_of(line, sizeof line));
    sr_lines_flush(lines, 10); /* returns, although not all can be written */
    assert_false(sr_lines_close(lines, 50));
    close(ends[0]);
    close(ends[1]);
}

static void a_fifo_without_a_reader_is_refused(void **state)
{
    (void)state;
    char dir[] = "/tmp/sr-fifo-XXXXXX", path[64];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/log", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    struct sr_lines *lines = NULL;
    struct sr_err err = {0};
    assert_int_equal(sr_lines_open(&lines, "access", path, PAGE, &err), SR_EIO);
    assert_non_null(strstr(err.message, "without a reader"));
    unlink(path);
    rmdir(dir);
}

static void *log_much(void *ctx)
{
    (void)ctx;
    for (int i = 0; i < 2000; i++)
        sr_log(SR_LOG_INFO, "test", "line %d of a thread that may not wait for standard error", i);
    return NULL;
}

/* Standard error is a full pipe: every thread that logs goes on, and the end is not delayed for long. */
static void a_full_standard_error_stops_nobody(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDERR_FILENO);
    char path[64];
    pipe_open(ends, path);
    assert_true(dup2(ends[1], STDERR_FILENO) >= 0);
    assert_int_equal(sr_process_log_open(NULL), SR_OK);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_much, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    sr_process_log_tick();
    sr_process_log_flush(10);
    sr_process_log_close();
    sr_log(SR_LOG_ERROR, "test", "after the end: discarded, not written to the full pipe");
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    close(saved);
    close(ends[0]);
    close(ends[1]);
}

static void what_repeats_is_counted(void **state)
{
    (void)state;
    uint64_t before = sr_log_left_out();
    for (int i = 0; i < 1000; i++)
        sr_log(SR_LOG_WARN, "test_fault", "the same again: %d", i);
    sr_log(SR_LOG_WARN, "test_other", "one of another event");
    assert_int_equal(said.lines, SR_LOG_BURST + 1);
    assert_int_equal(sr_log_left_out() - before, 1000 - SR_LOG_BURST);
    sr_log_summarise(false);
    assert_false(heard("repeated"));
    sr_log_summarise(true);
    char what[64];
    snprintf(what, sizeof what, "test_fault: %d more within", 1000 - SR_LOG_BURST);
    assert_true(heard("\"event\":\"repeated\"") && heard(what));
    for (int i = 0; i < 200; i++)
        sr_log(SR_LOG_INFO, "test_news", "%d", i);
    assert_true(heard("\"msg\":\"199\""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_reader_that_comes_back_learns_what_is_lost, listen_to_the_log,
                                        stop_listening),
        cmocka_unit_test_setup_teardown(the_end_does_not_wait_for_a_reader, listen_to_the_log,
                                        stop_listening),
        cmocka_unit_test(a_fifo_without_a_reader_is_refused),
        cmocka_unit_test_setup_teardown(what_repeats_is_counted, listen_to_the_log, stop_listening),
        cmocka_unit_test(a_full_standard_error_stops_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
