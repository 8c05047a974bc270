/* What tests of the cache's file share: what a backend has loaded, a folder of its own, waiting for its
 * health. */
#ifndef TESTS_UNIT_SQLITE_KIT_H
#define TESTS_UNIT_SQLITE_KIT_H

#include "tests/unit/cache_kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_LOADED_MAX 20000u
#define STORE_WAIT_MS    120000

/* The questions of the records that were loaded, in their order, and how many removals were told. */
struct store_seen {
    pthread_mutex_t lock;
    uint32_t questions[STORE_LOADED_MAX];
    size_t n, removals;
};

static inline uint32_t store_question(const struct sr_cache_record *record)
{
    char text[64] = "";
    unsigned partition, question;
    size_t n = record->f.answer.n < sizeof text - 1 ? record->f.answer.n : sizeof text - 1;
    memcpy(text, record->f.answer.p, n);
    assert_int_equal(sscanf(text, "%u/%u;", &partition, &question), 2);
    assert_memory_equal(record->f.exact.bytes, kit_key(KIT_EXACT, kit_exact(partition, question)).bytes,
                        SR_CACHE_KEY);
    return question;
}

static inline void store_on_loaded(void *ctx, struct sr_cache_record *record)
{
    struct store_seen *seen = ctx;
    pthread_mutex_lock(&seen->lock);
    if (seen->n == STORE_LOADED_MAX)
        abort();
    seen->questions[seen->n++] = store_question(record);
    pthread_mutex_unlock(&seen->lock);
}

static inline void store_on_removed(void *ctx, const struct sr_cache_selector *selector)
{
    struct store_seen *seen = ctx;
    (void)selector;
    pthread_mutex_lock(&seen->lock);
    seen->removals++;
    pthread_mutex_unlock(&seen->lock);
}

static const struct sr_cache_backend_events store_events = {store_on_loaded, store_on_removed};

static inline void store_forget(struct store_seen *seen)
{
    *seen = (struct store_seen){.lock = PTHREAD_MUTEX_INITIALIZER};
}

static inline bool store_has(const struct store_seen *seen, uint32_t question)
{
    for (size_t i = 0; i < seen->n; i++)
        if (seen->questions[i] == question)
            return true;
    return false;
}

static inline struct sr_cache_backend_health store_health(struct sr_cache_backend *backend)
{
    struct sr_cache_backend_health health;
    backend->ops->health(backend, &health);
    return health;
}

static inline void store_await(struct sr_cache_backend *backend, enum sr_cache_backend_state state)
{
    for (int i = 0; i < STORE_WAIT_MS && store_health(backend).state != state; i++)
        usleep(1000);
    struct sr_cache_backend_health health = store_health(backend);
    if (health.state != state)
        fail_msg("state %d, not %d: %s", (int)health.state, (int)state, health.message);
}

/* Until so many records are written. */
static inline void store_await_written(struct sr_cache_backend *backend, uint64_t n)
{
    for (int i = 0; i < STORE_WAIT_MS && store_health(backend).written < n; i++)
        usleep(1000);
    assert_int_equal(store_health(backend).written, n);
}

static inline void store_put(struct sr_cache_backend *backend, struct kit_record r)
{
    struct sr_cache_record *record = kit_record(r);
    assert_int_equal(backend->ops->put(backend, record), SR_OK);
    sr_cache_record_unref(record);
}

static inline void store_assert_says(struct sr_cache_backend *backend, const char *part)
{
    struct sr_cache_backend_health health = store_health(backend);
    if (!strstr(health.message, part))
        fail_msg("\"%s\" does not say \"%s\"", health.message, part);
}

/* A folder of this test, and the path of a file in it. */
struct store_folder {
    char folder[64], path[96], key_file[96];
};

static inline void store_folder_make(struct store_folder *f)
{
    snprintf(f->folder, sizeof f->folder, "/tmp/semroute-store-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof f->path, "%s/cache.db", f->folder);
    snprintf(f->key_file, sizeof f->key_file, "%s/key", f->folder);
}

static inline void store_folder_drop(const struct store_folder *f)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->folder);
    assert_int_equal(system(command), 0);
}

static inline void store_write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* True when the file, or the one with this ending, contains the text. */
static inline bool store_file_contains(const char *path, const char *ending, const char *text)
{
    char name[128];
    snprintf(name, sizeof name, "%s%s", path, ending);
    FILE *file = fopen(name, "r");
    if (!file)
        return false;
    static char bytes[64 << 20];
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

#endif
