/* serve/reload: every way a configuration file is replaced is noticed, and other files are not. */
#include "serve/process/reload.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char folder[64];
    char path[96];
    sem_t calls;
    struct sr_reload *reload;
    const char *also[1];
    size_t n_also;
};

static void changed(void *ctx)
{
    struct fixture *f = ctx;
    sem_post(&f->calls);
}

static void write_file(const struct fixture *f, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int path_in(const struct fixture *f, const char *name, char path[128])
{
    return snprintf(path, 128, "%s/%s", f->folder, name);
}

static void wait_call(struct fixture *f)
{
    while (sem_wait(&f->calls) != 0)
        assert_int_equal(errno, EINTR);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    snprintf(f->folder, sizeof f->folder, "/tmp/sr-reload-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/semroute.yaml", f->folder);
    sem_init(&f->calls, 0, 0);
    *state = f;
    return 0;
}

static void start(struct fixture *f)
{
    struct sr_err err = {0};
    assert_int_equal(sr_reload_start(&f->reload, f->path, f->also, f->n_also, changed, f, &err), SR_OK);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {
        "semroute.yaml",     "other", "new", "..data", "..data_tmp", "one/semroute.yaml",
        "two/semroute.yaml", "one",   "two"};
    sr_reload_stop(f->reload);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        path_in(f, names[i], path);
        remove(path);
    }
    assert_int_equal(rmdir(f->folder), 0);
    sem_destroy(&f->calls);
    free(f);
    return 0;
}

static void test_write_in_place(void **state)
{
    struct fixture *f = *state;
    write_file(f, "semroute.yaml", "a");
    start(f);
    write_file(f, "semroute.yaml", "b");
    wait_call(f);
    write_file(f, "semroute.yaml", "c");
    wait_call(f);
}

/* A secret in another file, as Kubernetes or an editor replaces it. */
static void test_other_files(void **state)
{
    struct fixture *f = *state;
    char secret[128], from[128];
    path_in(f, "other", secret);
    write_file(f, "semroute.yaml", "a");
    write_file(f, "other", "a");
    f->also[0] = secret;
    f->n_also = 1;
    start(f);
    write_file(f, "other", "b");
    wait_call(f);
    write_file(f, "new", "c");
    path_in(f, "new", from);
    assert_int_equal(rename(from, secret), 0);
    wait_call(f);
    write_file(f, "other", "d");
    wait_call(f);
}

static void test_rename_over_and_remove(void **state)
{
    struct fixture *f = *state;
    char from[128];
    write_file(f, "semroute.yaml", "a");
    start(f);
    for (int i = 0; i < 2; i++) {
        write_file(f, "new", "b");
        path_in(f, "new", from);
        assert_int_equal(rename(from, f->path), 0);
        wait_call(f);
    }
    assert_int_equal(unlink(f->path), 0);
    wait_call(f);
    write_file(f, "semroute.yaml", "back");
    wait_call(f);
    assert_int_equal(chmod(f->path, 0600), 0);
    wait_call(f);
}

/* As a ConfigMap volume does it: the file is a link through `..data`, which is replaced. */
static void test_link_swap(void **state)
{
    struct fixture *f = *state;
    char path[128], other[128];
    path_in(f, "one", path);
    assert_int_equal(mkdir(path, 0700), 0);
    path_in(f, "two", path);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(f, "one/semroute.yaml", "a");
    write_file(f, "two/semroute.yaml", "b");
    path_in(f, "..data", path);
    assert_int_equal(symlink("one", path), 0);
    assert_int_equal(symlink("..data/semroute.yaml", f->path), 0);
    start(f);
    path_in(f, "..data_tmp", other);
    assert_int_equal(symlink("two", other), 0);
    assert_int_equal(rename(other, path), 0);
    wait_call(f);
    /* The file behind the new link is watched now. */
    write_file(f, "two/semroute.yaml", "c");
    wait_call(f);
}

/* The call that is waited for is the one that was asked for: the other file came first and caused none. */
static void test_other_files_do_not_count(void **state)
{
    struct fixture *f = *state;
    int left;
    write_file(f, "semroute.yaml", "a");
    start(f);
    for (int i = 0; i < 20; i++)
        write_file(f, "other", "x");
    sr_reload_now(f->reload);
    wait_call(f);
    sr_reload_stop(f->reload);
    f->reload = NULL;
    sem_getvalue(&f->calls, &left);
    assert_int_equal(left, 0);
}

static void test_without_a_file(void **state)
{
    struct fixture *f = *state;
    struct sr_err err = {0};
    assert_int_equal(sr_reload_start(&f->reload, NULL, NULL, 0, changed, f, &err), SR_OK);
    sr_reload_now(f->reload);
    wait_call(f);
}

static void test_missing_folder_still_reloads_when_asked(void **state)
{
    struct fixture *f = *state;
    struct sr_err err = {0};
    assert_int_equal(
        sr_reload_start(&f->reload, "/nonexistent/folder/semroute.yaml", NULL, 0, changed, f, &err), SR_OK);
    sr_reload_now(f->reload);
    wait_call(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_write_in_place),
        TEST(test_rename_over_and_remove),
        TEST(test_other_files),
        TEST(test_link_swap),
        TEST(test_other_files_do_not_count),
        TEST(test_without_a_file),
        TEST(test_missing_folder_still_reloads_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
