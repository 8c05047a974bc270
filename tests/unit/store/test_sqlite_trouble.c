/*
 * What goes wrong with a file of records: kills, full and read-only disks, damage, another process, clocks
 * that jump, no memory. The store always answers, says why it is away, and comes back by itself.
 */
#define CACHE_KIT_CLOCK
#include "tests/unit/sqlite_kit.h"

#include "base/mem.h"
#include "store/sqlite/queue.h"
#include "store/sqlite/sqlite.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define KEY "first-key-0123456789abcdefghijklmnopqrstuvwxyz"

static struct store_folder folder;
static struct store_seen seen;
static bool with_key; /* the same tests with an encrypted file */

static int make_folder(void **state)
{
    (void)state;
    store_folder_make(&folder);
    store_write_file(folder.key_file, KEY);
    with_key = false;
    return 0;
}

static int drop_folder(void **state)
{
    (void)state;
    store_folder_drop(&folder);
    return 0;
}

static struct sr_cache_backend *begin(void)
{
    struct sr_sqlite_options options = {
        .path = folder.path, .key_file = with_key ? folder.key_file : NULL, .eviction = SR_CACHE_LRU};
    struct sr_cache_backend *backend;
    store_forget(&seen);
    assert_int_equal(sr_sqlite_backend(&backend, &options, &store_events, &seen, NULL), SR_OK);
    return backend;
}

static struct sr_cache_backend *begin_ready(void)
{
    struct sr_cache_backend *backend = begin();
    store_await(backend, SR_CACHE_BACKEND_READY);
    return backend;
}

static void fill(uint32_t n)
{
    struct sr_cache_backend *backend = begin_ready();
    for (uint32_t i = 0; i < n; i++)
        store_put(backend, (struct kit_record){.question = i, .answer = 300 + i % 3 * 3000});
    store_await_written(backend, n);
    backend->ops->close(backend);
}

/* ---- kills ---- */

/* Puts records from `first` on and writes to the pipe how many the store has acknowledged, until it is
 * killed. */
static void put_until_killed(int out, uint32_t first)
{
    struct sr_cache_backend *backend = begin();
    uint64_t told = 0;
    for (uint32_t i = first;; i++) {
        struct sr_cache_record *record =
            kit_record((struct kit_record){.question = i, .answer = i % 5 * 2000});
        while (backend->ops->put(backend, record) == SR_EBUSY)
            usleep(100);
        sr_cache_record_unref(record);
        if (i % 7 == 3) { /* and removes some that it never counts on */
            struct sr_cache_selector selector = {.exact = kit_key(KIT_EXACT, kit_exact(1, i))};
            backend->ops->remove(backend, &selector);
        }
        uint64_t written = store_health(backend).written;
        if (written > told && write(out, &written, sizeof written) == sizeof written)
            told = written;
    }
}

/* Kills a writer at some moment; returns how many records it had acknowledged. */
static uint32_t kill_a_writer(uint32_t first, uint64_t *random)
{
    int ends[2];
    uint64_t written = 0, wanted = 50 + kit_random(random) % 300;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        put_until_killed(ends[1], first);
    close(ends[1]);
    while (written < wanted && read(ends[0], &written, sizeof written) == sizeof written)
        ;
    usleep((useconds_t)(kit_random(random) % 3000));
    kill(child, SIGKILL);
    while (read(ends[0], &written, sizeof written) == sizeof written)
        ;
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (uint32_t)written;
}

static void check_kills(void)
{
    uint64_t random = 22;
    uint32_t first = 0;
    for (int i = 0; i < 6; i++) {
        uint32_t written = kill_a_writer(first, &random);
        struct sr_cache_backend *backend = begin_ready();
        assert_string_equal(store_health(backend).message, "");
        assert_true(written > 0);
        for (uint32_t q = first; q < first + written; q++)
            if (!store_has(&seen, q))
                fail_msg("question %u of %u acknowledged ones is lost", q - first, written);
        backend->ops->close(backend);
        first += 2000;
    }
}

static void a_kill_loses_nothing_that_was_acknowledged(void **state)
{
    (void)state;
    check_kills();
}

static void a_kill_loses_nothing_of_an_encrypted_file(void **state)
{
    (void)state;
    with_key = true;
    check_kills();
}

/* ---- disks ---- */

/* Puts until the store is away; returns how many were put. */
static uint32_t put_until_away(struct sr_cache_backend *backend)
{
    uint32_t n = 0;
    while (store_health(backend).state == SR_CACHE_BACKEND_READY && n < 5000) {
        store_put(backend, (struct kit_record){.question = n++, .answer = 10000});
        usleep(200);
    }
    assert_int_equal(store_health(backend).state, SR_CACHE_BACKEND_AWAY);
    assert_true(store_health(backend).errors > 0);
    return n;
}

static void check_full_disk(struct sr_cache_backend *backend, bool (*enlarge)(void))
{
    uint32_t n = put_until_away(backend);
    struct sr_cache_backend_health health = store_health(backend);
    assert_true(health.message[0] && health.queued > 0);
    print_message("%s\n", health.message);
    assert_true(enlarge());
    store_await(backend, SR_CACHE_BACKEND_READY);
    store_await_written(backend, n);
    assert_string_equal(store_health(backend).message, "");
    backend->ops->close(backend);
    backend = begin_ready();
    assert_int_equal(seen.n, n);
    backend->ops->close(backend);
}

static bool enlarge_limit(void)
{
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    return setrlimit(RLIMIT_FSIZE, &none) == 0;
}

static void a_file_that_may_not_grow_is_written_later(void **state)
{
    struct rlimit small = {300000, RLIM_INFINITY};
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct sr_cache_backend *backend = begin_ready();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    check_full_disk(backend, enlarge_limit);
    signal(SIGXFSZ, SIG_DFL);
}

static bool enlarge_disk(void)
{
    return mount("none", folder.folder, NULL, MS_REMOUNT, "size=64m") == 0;
}

/* Where a test may mount nothing, the limit above has shown the same. */
static void a_full_disk_is_written_later(void **state)
{
    (void)state;
    if (mount("none", folder.folder, "tmpfs", 0, "size=400k") != 0) {
        print_message("no mount here\n");
        return;
    }
    check_full_disk(begin_ready(), enlarge_disk);
    assert_int_equal(umount(folder.folder), 0);
}

static void a_folder_that_cannot_be_written_is_no_end(void **state)
{
    (void)state;
    fill(20);
    bool root = geteuid() == 0;
    assert_int_equal(chmod(folder.folder, 0555), 0);
    assert_int_equal(chmod(folder.path, 0444), 0);
    if (root)
        assert_int_equal(seteuid(65534), 0);
    struct sr_cache_backend *backend = begin();
    store_await(backend, SR_CACHE_BACKEND_AWAY);
    store_assert_says(backend, "Permission denied");
    store_put(backend, (struct kit_record){.question = 100});
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(folder.folder, 0777), 0);
    assert_int_equal(chmod(folder.path, 0666), 0);
    store_await(backend, SR_CACHE_BACKEND_READY);
    store_await_written(backend, 1);
    assert_int_equal(seen.n, 20);
    backend->ops->close(backend);
}

static void a_folder_that_is_not_there_is_no_end(void **state)
{
    char path[96];
    (void)state;
    memcpy(path, folder.path, sizeof path);
    snprintf(folder.path, sizeof folder.path, "%s/later/cache.db", folder.folder);
    struct sr_cache_backend *backend = begin();
    store_await(backend, SR_CACHE_BACKEND_AWAY);
    store_assert_says(backend, "No such file");
    snprintf(path, sizeof path, "%s/later", folder.folder);
    assert_int_equal(mkdir(path, 0700), 0);
    store_await(backend, SR_CACHE_BACKEND_READY);
    backend->ops->close(backend);
}

/* ---- damage ---- */

static void overwrite(long at, size_t n)
{
    int fd = open(folder.path, O_WRONLY);
    uint64_t random = 5;
    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i += 8) {
        uint64_t bytes = kit_random(&random);
        assert_int_equal(pwrite(fd, &bytes, 8, at + (long)i), 8);
    }
    close(fd);
}

/* After damage: it says so, works, and the next start is clean. */
static void check_damage(void)
{
    char moved[128];
    snprintf(moved, sizeof moved, "%s.damaged", folder.path);
    unlink(moved);
    struct sr_cache_backend *backend = begin_ready();
    store_put(backend, (struct kit_record){.question = 5000});
    store_await_written(backend, 1);
    store_assert_says(backend, "damaged");
    store_assert_says(backend, "renamed to *.damaged");
    assert_int_equal(access(moved, F_OK), 0);
    backend->ops->close(backend);
    backend = begin_ready();
    assert_string_equal(store_health(backend).message, "");
    assert_true(store_has(&seen, 5000));
    assert_int_equal(seen.n, 1);
    backend->ops->close(backend);
}

static void a_damaged_file_is_moved_aside(void **state)
{
    (void)state;
    fill(200);
    overwrite(0, 4096); /* no database any more */
    check_damage();
    fill(200);
    overwrite(16, 80); /* its head */
    check_damage();
    fill(200);
    overwrite(4096, 40 * 4096); /* its pages */
    check_damage();
    fill(200);
    assert_int_equal(truncate(folder.path, 9000), 0);
    check_damage();
    store_write_file(folder.path, "this is a text, and no database at all");
    check_damage();
}

static void damage_of_an_encrypted_file_is_found(void **state)
{
    (void)state;
    with_key = true;
    fill(200);
    overwrite(3 * 4096, 40 * 4096);
    check_damage();
}

static void a_record_whose_bytes_are_damaged_is_left_out(void **state)
{
    (void)state;
    fill(100);
    struct stat st;
    assert_int_equal(stat(folder.path, &st), 0);
    overwrite(st.st_size - 2048, 1024); /* of an answer: SQLite does not see it */
    struct sr_cache_backend *backend = begin_ready();
    assert_true(seen.n >= 97 && seen.n < 100);
    assert_true(store_health(backend).errors > 0);
    backend->ops->close(backend);
    size_t n = seen.n;
    backend = begin_ready();
    assert_int_equal(seen.n, n);
    assert_int_equal(store_health(backend).errors, 0);
    backend->ops->close(backend);
}

static void a_file_of_another_layout_is_moved_aside(void **state)
{
    int fd;
    (void)state;
    fill(10);
    fd = open(folder.path, O_WRONLY);
    assert_int_equal(pwrite(fd, "\0\0\x7f\0", 4, 60), 4); /* user_version */
    close(fd);
    struct sr_cache_backend *backend = begin_ready();
    store_assert_says(backend, "another layout");
    assert_int_equal(seen.n, 0);
    backend->ops->close(backend);
}

/* ---- others ---- */

static void one_process_has_a_file_at_a_time(void **state)
{
    int ends[2];
    char byte;
    (void)state;
    fill(30);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct sr_cache_backend *own = begin_ready();
        assert_int_equal(write(ends[1], "r", 1), 1);
        for (;;)
            store_health(own), pause();
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    struct sr_cache_backend *backend = begin();
    store_await(backend, SR_CACHE_BACKEND_AWAY);
    store_assert_says(backend, "another process");
    store_put(backend, (struct kit_record){.question = 100});
    assert_int_equal(seen.n, 0);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    store_await(backend, SR_CACHE_BACKEND_READY);
    assert_int_equal(seen.n, 30);
    store_await_written(backend, 1);
    backend->ops->close(backend);
    close(ends[0]);
    close(ends[1]);
}

static void clocks_may_jump(void **state)
{
    struct sr_cache_backend *backend = begin_ready();
    int64_t now = kit_now_ms(), day = 86400000;
    (void)state;
    store_put(backend, (struct kit_record){.question = 1, .expires_ms = now + day});
    store_put(backend, (struct kit_record){.question = 2, .expires_ms = now + 100 * day});
    store_put(backend, (struct kit_record){.question = 3});
    kit_wall_ms -= 1000 * day; /* now they were made in the future */
    store_put(backend, (struct kit_record){.question = 4, .expires_ms = now + day - 1000 * day});
    store_await_written(backend, 4);
    backend->ops->close(backend);
    backend = begin_ready();
    assert_int_equal(seen.n, 4);
    kit_wall_ms += 1002 * day;
    backend->ops->close(backend);
    backend = begin_ready();
    assert_int_equal(seen.n, 2);
    assert_true(store_has(&seen, 2) && store_has(&seen, 3));
    backend->ops->close(backend);
    kit_wall_ms = 0;
}

static void a_queue_has_an_end_and_removals_have_room(void **state)
{
    struct sr_cache_selector selector = {.tenant = kit_key(KIT_TENANT, 1)};
    struct sr_cache_record *record = kit_record((struct kit_record){.question = 1});
    (void)state;
    snprintf(folder.path, sizeof folder.path, "%s/later/cache.db", folder.folder);
    struct sr_cache_backend *backend = begin();
    for (uint32_t i = 0; i < SR_SQLITE_QUEUE; i++)
        assert_int_equal(backend->ops->put(backend, record), SR_OK);
    assert_int_equal(backend->ops->put(backend, record), SR_EBUSY);
    for (uint32_t i = 0; i < SR_SQLITE_REMOVALS; i++)
        assert_int_equal(backend->ops->remove(backend, &selector), SR_OK);
    assert_int_equal(backend->ops->remove(backend, &selector), SR_EBUSY);
    struct sr_cache_backend_health health = store_health(backend);
    assert_int_equal(health.queued, SR_SQLITE_QUEUE);
    assert_int_equal(health.dropped, 2);
    sr_cache_record_unref(record);
    backend->ops->close(backend); /* it does not wait for a file that is not there */
}

/* Each allocation fails once, on whichever thread it is; what the store took it writes. */
static void no_memory_is_no_end(void **state)
{
    (void)state;
    for (size_t nth = 1; nth < 60; nth++) {
        struct sr_cache_backend *backend = NULL;
        struct sr_sqlite_options options = {.path = folder.path, .eviction = SR_CACHE_LRU};
        struct sr_cache_record *record = kit_record((struct kit_record){.question = (uint32_t)nth});
        struct sr_cache_selector selector = {.exact = kit_key(KIT_EXACT, 77), .model = SR_LIT("model")};
        store_forget(&seen);
        sr_mem_fail_at(nth);
        int rc = sr_sqlite_backend(&backend, &options, &store_events, &seen, NULL);
        if (rc == SR_OK) {
            int put = backend->ops->put(backend, record), removed = backend->ops->remove(backend, &selector);
            assert_true(put == SR_OK || put == SR_ENOMEM);
            assert_true(removed == SR_OK || removed == SR_ENOMEM);
            usleep(2000);
            sr_mem_fail_at(0);
            store_await(backend, SR_CACHE_BACKEND_READY);
            store_await_written(backend, put == SR_OK);
            backend->ops->close(backend);
        } else {
            assert_int_equal(rc, SR_ENOMEM);
            assert_null(backend);
        }
        sr_mem_fail_at(0);
        sr_cache_record_unref(record);
    }
}

static void a_store_needs_a_path(void **state)
{
    struct sr_cache_backend *backend;
    struct sr_sqlite_options options = {.path = ""};
    struct sr_err err = {0};
    (void)state;
    assert_int_equal(sr_sqlite_backend(&backend, &options, &store_events, &seen, &err), SR_EINVAL);
    assert_null(backend);
    assert_true(err.message[0]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)
    const struct CMUnitTest tests[] = {
        TEST(a_kill_loses_nothing_that_was_acknowledged),
        TEST(a_kill_loses_nothing_of_an_encrypted_file),
        TEST(a_file_that_may_not_grow_is_written_later),
        TEST(a_full_disk_is_written_later),
        TEST(a_folder_that_cannot_be_written_is_no_end),
        TEST(a_folder_that_is_not_there_is_no_end),
        TEST(a_damaged_file_is_moved_aside),
        TEST(damage_of_an_encrypted_file_is_found),
        TEST(a_record_whose_bytes_are_damaged_is_left_out),
        TEST(a_file_of_another_layout_is_moved_aside),
        TEST(one_process_has_a_file_at_a_time),
        TEST(clocks_may_jump),
        TEST(a_queue_has_an_end_and_removals_have_room),
        TEST(no_memory_is_no_end),
        TEST(a_store_needs_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
