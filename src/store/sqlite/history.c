/* A table of entries in the order in which they came, and the thread that writes it and keeps its limits. */
#include "store/sqlite/history.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "store/sqlite/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define WRITE_MS 1000
#define GROUP    256 /* entries of one transaction, and rows that leave at once */

enum statement { PUT, FIND, CHANGE, SIZE_OF_OLDEST, DROP_OLDEST, STATEMENTS };

#define NEWEST                                                                                               \
    "SELECT bytes FROM history WHERE number > (SELECT max(number) FROM history) - ?1 AND ended > ?2 ORDER "  \
    "BY number"
#define CREATE                                                                                               \
    "CREATE TABLE IF NOT EXISTS history(number INTEGER PRIMARY KEY, ended INTEGER NOT NULL, bytes BLOB NOT " \
    "NULL)"

static const char oldest_rows[] =
    "SELECT count(*), sum(length(bytes)), max(number), max(ended) FROM (SELECT number, ended, bytes FROM "
    "history ORDER BY number LIMIT ?1)";

static const char *const SQL[STATEMENTS] = {
    [PUT] = "INSERT INTO history(ended, bytes) VALUES (?1, ?2)",
    [FIND] = "SELECT number, length(bytes) FROM history WHERE ended = ?1 AND instr(bytes, ?2) > 0",
    [CHANGE] = "UPDATE history SET bytes = ?2 WHERE number = ?1",
    [SIZE_OF_OLDEST] = oldest_rows,
    [DROP_OLDEST] = "DELETE FROM history WHERE number <= ?1",
};

/* What waits to be written. */
struct waiting {
    struct sr_history_entry *entry;
    bool again; /* it takes the place of the row with its id */
};

struct sr_history_file {
    struct sr_sqlite_db db; /* only its handle and message are used */
    sqlite3_stmt *statements[STATEMENTS];
    char *path;
    struct sr_history *history;
    struct sr_metrics *metrics; /* NULL: none */
    int64_t rows, bytes;        /* of the file; the thread's */
    pthread_t thread;
    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t wake;
    struct sr_history_limits limits;
    struct waiting *queue; /* [SR_HISTORY_QUEUE], a ring */
    size_t first, n, queue_bytes;
    struct sr_history_file_stats stats;
    bool stopping, failed;
};

/* What ended before is too old. */
static int64_t too_old_us(const struct sr_history_limits *limits)
{
    return limits->ttl_ms ? (int64_t)(sr_clock_wall_ns() / SR_NS_PER_US) - limits->ttl_ms * 1000 : INT64_MIN;
}

/* ---- opening ---- */

static int prepare(struct sr_history_file *file)
{
    static const char *const steps[] = {"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA locking_mode = EXCLUSIVE",
                                        "PRAGMA journal_mode = WAL", "PRAGMA secure_delete = ON"};
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < sizeof steps / sizeof steps[0]; i++)
        rc = sr_sqlite_exec(&file->db, steps[i], NULL);
    if (!rc)
        rc = sr_sqlite_exec(&file->db, CREATE, NULL);
    for (int i = 0; !rc && i < STATEMENTS; i++)
        rc = sr_sqlite_code(&file->db,
                            sqlite3_prepare_v2(file->db.handle, SQL[i], -1, &file->statements[i], NULL));
    if (!rc)
        rc = sr_sqlite_exec(&file->db, "SELECT count(*) FROM history", &file->rows);
    if (!rc)
        rc = sr_sqlite_exec(&file->db, "SELECT ifnull(sum(length(bytes)), 0) FROM history", &file->bytes);
    return rc;
}

/* Puts the newest rows into the history, oldest first; rows that are no entry are passed over. */
static int load(struct sr_history_file *file)
{
    sqlite3_stmt *select = NULL;
    int step = SQLITE_DONE;
    int rc = sr_sqlite_code(&file->db, sqlite3_prepare_v2(file->db.handle, NEWEST, -1, &select, NULL));
    if (!rc) {
        sqlite3_bind_int64(select, 1, (int64_t)file->limits.max_entries);
        sqlite3_bind_int64(select, 2, too_old_us(&file->limits));
    }
    while (!rc && (step = sqlite3_step(select)) == SQLITE_ROW) {
        struct sr_history_entry *entry;
        const void *bytes = sqlite3_column_blob(select, 0);
        size_t n = (size_t)sqlite3_column_bytes(select, 0);
        if (bytes && sr_history_entry_read(&entry, sr_bytes_of(bytes, n)) == SR_OK) {
            sr_history_add(file->history, entry);
            sr_history_entry_unref(entry);
        }
    }
    if (!rc)
        rc = sr_sqlite_code(&file->db, step);
    sqlite3_finalize(select);
    return rc;
}

/* ---- the queue ---- */

static void enqueue(struct sr_history_file *file, struct sr_history_entry *entry, bool again)
{
    pthread_mutex_lock(&file->lock);
    bool fits = file->n < SR_HISTORY_QUEUE && file->queue_bytes + entry->bytes <= SR_HISTORY_QUEUE_BYTES;
    if (fits) {
        file->queue[(file->first + file->n++) % SR_HISTORY_QUEUE] =
            (struct waiting){sr_history_entry_ref(entry), again};
        file->queue_bytes += entry->bytes;
    } else {
        file->stats.dropped++;
        if (file->metrics)
            sr_metrics_add(file->metrics, SR_METRIC_REPLAY_DROPPED, 1, NULL);
    }
    if (file->n == GROUP)
        pthread_cond_signal(&file->wake);
    pthread_mutex_unlock(&file->lock);
}

static void added(void *ctx, struct sr_history_entry *entry)
{
    enqueue(ctx, entry, false);
}

static void changed(void *ctx, struct sr_history_entry *entry)
{
    enqueue(ctx, entry, true);
}

/* References of the first entries, which stay in the queue until they are written. */
static size_t peek(struct sr_history_file *file, struct waiting *out)
{
    pthread_mutex_lock(&file->lock);
    size_t n = file->n < GROUP ? file->n : GROUP;
    for (size_t i = 0; i < n; i++) {
        out[i] = file->queue[(file->first + i) % SR_HISTORY_QUEUE];
        sr_history_entry_ref(out[i].entry);
    }
    pthread_mutex_unlock(&file->lock);
    return n;
}

/* They are written. */
static void drop(struct sr_history_file *file, size_t n)
{
    pthread_mutex_lock(&file->lock);
    for (size_t i = 0; i < n; i++) {
        struct sr_history_entry *entry = file->queue[file->first].entry;
        file->first = (file->first + 1) % SR_HISTORY_QUEUE;
        file->n--;
        file->queue_bytes -= entry->bytes;
        sr_history_entry_unref(entry);
    }
    file->stats.written += n;
    pthread_mutex_unlock(&file->lock);
}

/* ---- writing ---- */

static int run(struct sr_history_file *file, enum statement which)
{
    sqlite3_stmt *statement = file->statements[which];
    int rc = sr_sqlite_code(&file->db, sqlite3_step(statement));
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement); /* they point to memory of the caller */
    return rc;
}

/* The row of an entry's id, and its size; 0: it is not there any more. */
static int find(struct sr_history_file *file, const struct sr_history_entry *entry, int64_t *number,
                int64_t *bytes)
{
    sqlite3_stmt *statement = file->statements[FIND];
    struct sr_bytes id = entry->f.texts[SR_HISTORY_ID];
    *number = *bytes = 0;
    sqlite3_bind_int64(statement, 1, entry->f.ended_us);
    sqlite3_bind_blob64(statement, 2, id.p, id.n, SQLITE_STATIC);
    int step = sqlite3_step(statement), rc = sr_sqlite_code(&file->db, step);
    if (step == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
        *bytes = sqlite3_column_int64(statement, 1);
    }
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement);
    return rc;
}

/* Writes an entry: as a new row, whose first value is when it ended, or over row `number`. */
static int put(struct sr_history_file *file, const struct sr_history_entry *entry, enum statement how,
               int64_t first, int64_t *bytes)
{
    size_t n = sr_history_entry_size(entry);
    uint8_t *out = sr_mem_alloc(n);
    if (!out)
        return SR_ENOMEM;
    sr_history_entry_write(entry, out);
    sqlite3_bind_int64(file->statements[how], 1, first);
    sqlite3_bind_blob64(file->statements[how], 2, out, n, SQLITE_STATIC);
    int rc = run(file, how);
    sr_mem_free(out);
    *bytes += (int64_t)n;
    return rc;
}

static int put_one(struct sr_history_file *file, const struct waiting *one, int64_t *rows, int64_t *bytes)
{
    int64_t number, before;
    if (!one->again) {
        ++*rows;
        return put(file, one->entry, PUT, one->entry->f.ended_us, bytes);
    }
    int rc = find(file, one->entry, &number, &before);
    if (rc || !number)
        return rc;
    *bytes -= before;
    return put(file, one->entry, CHANGE, number, bytes);
}

static int put_group(struct sr_history_file *file, const struct waiting *all, size_t n)
{
    int64_t bytes = 0, rows = 0;
    int rc = sr_sqlite_exec(&file->db, "BEGIN IMMEDIATE", NULL);
    for (size_t i = 0; i < n && !rc; i++)
        rc = put_one(file, &all[i], &rows, &bytes);
    if (!rc)
        rc = sr_sqlite_exec(&file->db, "COMMIT", NULL);
    if (rc) {
        sqlite3_exec(file->db.handle, "ROLLBACK", NULL, NULL, NULL);
        return rc;
    }
    file->rows += rows;
    file->bytes += bytes;
    return SR_OK;
}

/* The oldest `n` rows: how many there are, their bytes, the last of them and when it ended. */
struct oldest {
    int64_t n, bytes, last, ended;
};

static int find_oldest(struct sr_history_file *file, int64_t n, struct oldest *out)
{
    sqlite3_stmt *statement = file->statements[SIZE_OF_OLDEST];
    sqlite3_bind_int64(statement, 1, n);
    int step = sqlite3_step(statement), rc = sr_sqlite_code(&file->db, step);
    *out = (struct oldest){0};
    if (step == SQLITE_ROW)
        *out = (struct oldest){sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1),
                               sqlite3_column_int64(statement, 2), sqlite3_column_int64(statement, 3)};
    sqlite3_reset(statement);
    return rc;
}

/* How many of the oldest rows go now, at most GROUP; 0: none. */
static int64_t over(const struct sr_history_file *file, const struct sr_history_limits *limits)
{
    int64_t rows = file->rows - (int64_t)limits->max_entries;
    if (rows > 0)
        return rows < GROUP ? rows : GROUP;
    return file->rows && file->bytes > (int64_t)limits->max_bytes ? 1 : 0;
}

static int drop_oldest(struct sr_history_file *file, const struct oldest *oldest)
{
    sqlite3_bind_int64(file->statements[DROP_OLDEST], 1, oldest->last);
    int rc = run(file, DROP_OLDEST);
    if (!rc) {
        file->rows -= oldest->n;
        file->bytes -= oldest->bytes;
    }
    return rc;
}

/* Deletes the oldest rows that are over the limits or too old. */
static int trim(struct sr_history_file *file)
{
    struct sr_history_limits limits;
    struct oldest oldest;
    int64_t n;
    int rc = SR_OK;
    pthread_mutex_lock(&file->lock);
    limits = file->limits;
    pthread_mutex_unlock(&file->lock);
    while (!rc && (n = over(file, &limits)) != 0 && !(rc = find_oldest(file, n, &oldest)) && oldest.n)
        rc = drop_oldest(file, &oldest);
    while (!rc && limits.ttl_ms && file->rows && !(rc = find_oldest(file, 1, &oldest)) && oldest.n &&
           oldest.ended <= too_old_us(&limits))
        rc = drop_oldest(file, &oldest);
    return rc;
}

static void report(struct sr_history_file *file, int rc)
{
    if (rc && !file->failed)
        sr_log(SR_LOG_ERROR, "replay_file", "%s: %s", file->path, file->db.message);
    file->failed = rc != SR_OK;
}

/* Writes what is queued; what could not be written is tried again. */
static void write_queue(struct sr_history_file *file)
{
    struct waiting all[GROUP];
    int64_t before = file->rows;
    size_t n;
    int rc = SR_OK;
    while (!rc && (n = peek(file, all)) != 0) {
        rc = put_group(file, all, n);
        for (size_t i = 0; i < n; i++)
            sr_history_entry_unref(all[i].entry);
        if (!rc) {
            drop(file, n);
            rc = trim(file);
        }
    }
    if (!rc)
        rc = trim(file);
    if (!rc && file->rows < before)
        rc = sr_sqlite_exec(&file->db, "PRAGMA incremental_vacuum", NULL);
    report(file, rc);
}

static void *write_always(void *arg)
{
    struct sr_history_file *file = arg;
    struct timespec until;
    bool stopping = false;
    sr_thread_name("sr-replay");
    while (!stopping) {
        pthread_mutex_lock(&file->lock);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += WRITE_MS / 1000;
        int rc = 0;
        while (!file->stopping && file->n < GROUP && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&file->wake, &file->lock, &until);
        while (!file->stopping && file->failed && rc != ETIMEDOUT)
            rc = pthread_cond_timedwait(&file->wake, &file->lock, &until);
        stopping = file->stopping;
        pthread_mutex_unlock(&file->lock);
        write_queue(file);
    }
    return NULL;
}

/* ---- life ---- */

static void dispose(struct sr_history_file *file)
{
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(file->statements[i]);
    sqlite3_close(file->db.handle);
    drop(file, file->n);
    pthread_mutex_destroy(&file->lock);
    pthread_cond_destroy(&file->wake);
    sr_mem_free(file->queue);
    sr_mem_free(file->path);
    sr_mem_free(file);
}

/* The process's signals are for its main thread. */
static int start(struct sr_history_file *file)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&file->thread, NULL, write_always, file) ? SR_EIO : SR_OK;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Opens the file, which others cannot read when it is new; SQLite gives its log the same mode. */
static int open_file(struct sr_history_file *file, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* NOLINT: a file that is there keeps its mode */
    if (fd < 0)
        return sr_sqlite_code(&file->db, SQLITE_CANTOPEN);
    close(fd);
    return sr_sqlite_code(&file->db, sqlite3_open_v2(path, &file->db.handle, flags, NULL));
}

int sr_history_file_open(struct sr_history_file **out, const char *path, struct sr_history *history,
                         const struct sr_history_limits *limits, struct sr_metrics *metrics,
                         struct sr_err *err)
{
    struct sr_history_file *file = sr_mem_calloc(1, sizeof *file);
    *out = NULL;
    if (!file)
        return sr_err_set(err, SR_ENOMEM, "%s: out of memory", path);
    pthread_mutex_init(&file->lock, NULL);
    pthread_cond_init(&file->wake, NULL);
    file->history = history;
    file->metrics = metrics;
    file->limits = *limits;
    file->queue = sr_mem_calloc(SR_HISTORY_QUEUE, sizeof *file->queue);
    file->path = sr_mem_dup(path, strlen(path));
    sr_history_clear(history);
    int rc = file->path && file->queue ? open_file(file, path) : SR_ENOMEM;
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
    sr_history_set_keeper(history, &(struct sr_history_keeper){added, changed, file});
    *out = file;
    return SR_OK;
}

void sr_history_file_set(struct sr_history_file *file, const struct sr_history_limits *limits)
{
    pthread_mutex_lock(&file->lock);
    file->limits = *limits;
    pthread_mutex_unlock(&file->lock);
}

void sr_history_file_stats(struct sr_history_file *file, struct sr_history_file_stats *out)
{
    pthread_mutex_lock(&file->lock);
    *out = file->stats;
    out->queued = file->n;
    pthread_mutex_unlock(&file->lock);
}

void sr_history_file_close(struct sr_history_file *file)
{
    if (!file)
        return;
    sr_history_set_keeper(file->history, NULL);
    pthread_mutex_lock(&file->lock);
    file->stopping = true;
    pthread_cond_signal(&file->wake);
    pthread_mutex_unlock(&file->lock);
    pthread_join(file->thread, NULL);
    dispose(file);
}
