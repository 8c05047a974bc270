/* The table of the file, and the thread that writes it. Rows of periods that have ended are deleted. */
#include "store/sqlite/spent.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/sqlite/handle.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#define WRITE_MS 1000
#define GROUP    256 /* counters of one transaction */

struct sr_spent_file {
    struct sr_sqlite_db db; /* only its handle and message are used */
    sqlite3_stmt *put, *expire;
    char *path;
    struct sr_limit_table *table;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stopping, failed;
};

static uint64_t wall_ms(void)
{
    return sr_clock_wall_ns() / SR_NS_PER_MS;
}

/* ---- reading ---- */

#define CREATE                                                                                               \
    "CREATE TABLE IF NOT EXISTS spent(key BLOB PRIMARY KEY, ends INTEGER NOT NULL, count INTEGER NOT NULL) " \
    "WITHOUT ROWID"

static int prepare(struct sr_spent_file *file)
{
    static const char *const steps[] = {
        "PRAGMA locking_mode = EXCLUSIVE",
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        CREATE,
    };
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < sizeof steps / sizeof steps[0]; i++)
        rc = sr_sqlite_exec(&file->db, steps[i], NULL);
    if (!rc)
        rc = sr_sqlite_code(&file->db, sqlite3_prepare_v2(file->db.handle,
                                                          "INSERT OR REPLACE INTO spent VALUES (?1, ?2, ?3)",
                                                          -1, &file->put, NULL));
    if (!rc)
        rc = sr_sqlite_code(&file->db,
                            sqlite3_prepare_v2(file->db.handle, "DELETE FROM spent WHERE ends <= ?1", -1,
                                               &file->expire, NULL));
    return rc;
}

/* Rows that are none are passed over. */
static int load(struct sr_spent_file *file)
{
    sqlite3_stmt *select = NULL;
    int step = SQLITE_DONE;
    uint64_t now = wall_ms();
    int rc = sr_sqlite_code(&file->db,
                            sqlite3_prepare_v2(file->db.handle, "SELECT key, ends, count FROM spent LIMIT ?1",
                                               -1, &select, NULL));
    if (!rc)
        rc = sr_sqlite_code(&file->db, sqlite3_bind_int64(select, 1, SR_SPENT_ROWS_MAX));
    while (!rc && (step = sqlite3_step(select)) == SQLITE_ROW) {
        struct sr_limit_spent spent = {.ends_ms = (uint64_t)sqlite3_column_int64(select, 1),
                                       .count = sqlite3_column_int64(select, 2)};
        const void *key = sqlite3_column_blob(select, 0);
        if (!key || sqlite3_column_bytes(select, 0) != (int)sizeof spent.key || spent.count <= 0 ||
            sqlite3_column_int64(select, 1) <= (int64_t)now)
            continue;
        memcpy(&spent.key, key, sizeof spent.key);
        sr_limit_table_restore(file->table, &spent, now);
    }
    if (!rc)
        rc = sr_sqlite_code(&file->db, step);
    sqlite3_finalize(select);
    return rc;
}

/* ---- writing ---- */

static int run(struct sr_spent_file *file, sqlite3_stmt *statement)
{
    int rc = sr_sqlite_code(&file->db, sqlite3_step(statement));
    sqlite3_reset(statement);
    return rc;
}

static int put_group(struct sr_spent_file *file, const struct sr_limit_spent *items, size_t n)
{
    int rc = sr_sqlite_exec(&file->db, "BEGIN IMMEDIATE", NULL);
    for (size_t i = 0; i < n && !rc; i++) {
        sqlite3_bind_blob(file->put, 1, &items[i].key, sizeof items[i].key, SQLITE_STATIC);
        sqlite3_bind_int64(file->put, 2, (int64_t)items[i].ends_ms);
        sqlite3_bind_int64(file->put, 3, items[i].count);
        rc = run(file, file->put);
    }
    sqlite3_bind_int64(file->expire, 1, (int64_t)wall_ms());
    if (!rc)
        rc = run(file, file->expire);
    return rc ? rc : sr_sqlite_exec(&file->db, "COMMIT", NULL);
}

/* Writes what has changed; what could not be written is tried again. */
static void write_changes(struct sr_spent_file *file)
{
    struct sr_limit_spent items[GROUP];
    size_t at = 0, n;
    while ((n = sr_limit_table_changed(file->table, &at, items, GROUP)) != 0) {
        if (put_group(file, items, n) == SR_OK) {
            file->failed = false;
            continue;
        }
        if (!file->failed)
            sr_log(SR_LOG_ERROR, "budgets", "%s: %s", file->path, file->db.message);
        file->failed = true;
        sqlite3_exec(file->db.handle, "ROLLBACK", NULL, NULL, NULL);
        sr_limit_table_unwritten(file->table, items, n);
        return;
    }
}

static void *write_always(void *arg)
{
    struct sr_spent_file *file = arg;
    struct timespec until;
    bool stopping = false;
    sr_thread_name("sr-budgets");
    while (!stopping) {
        pthread_mutex_lock(&file->lock);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += WRITE_MS / 1000;
        int rc = 0;
        while (!file->stopping && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&file->wake, &file->lock, &until);
        stopping = file->stopping;
        pthread_mutex_unlock(&file->lock);
        write_changes(file);
    }
    return NULL;
}

/* ---- life ---- */

static void dispose(struct sr_spent_file *file)
{
    sqlite3_finalize(file->put);
    sqlite3_finalize(file->expire);
    sqlite3_close(file->db.handle);
    pthread_mutex_destroy(&file->lock);
    pthread_cond_destroy(&file->wake);
    sr_mem_free(file->path);
    sr_mem_free(file);
}

/* The process's signals are for its main thread. */
static int start(struct sr_spent_file *file)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&file->thread, NULL, write_always, file) ? SR_EIO : SR_OK;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int sr_spent_file_open(struct sr_spent_file **out, const char *path, struct sr_limit_table *table,
                       struct sr_err *err)
{
    struct sr_spent_file *file = sr_mem_calloc(1, sizeof *file);
    *out = NULL;
    if (!file)
        return sr_err_set(err, SR_ENOMEM, "%s: out of memory", path);
    pthread_mutex_init(&file->lock, NULL);
    pthread_cond_init(&file->wake, NULL);
    file->table = table;
    file->path = sr_mem_dup(path, strlen(path));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc = file->path ? sr_sqlite_code(&file->db, sqlite3_open_v2(path, &file->db.handle, flags, NULL))
                        : SR_ENOMEM;
    if (!rc)
        rc = prepare(file);
    if (!rc)
        rc = load(file);
    if (!rc)
        rc = start(file);
    if (rc) {
        rc = sr_err_set(err, rc, "%s: %s", path, file->db.message[0] ? file->db.message : sr_strerror(rc));
        dispose(file);
        return rc;
    }
    *out = file;
    return SR_OK;
}

void sr_spent_file_close(struct sr_spent_file *file)
{
    if (!file)
        return;
    pthread_mutex_lock(&file->lock);
    file->stopping = true;
    pthread_cond_signal(&file->wake);
    pthread_mutex_unlock(&file->lock);
    pthread_join(file->thread, NULL);
    dispose(file);
}
