/*
 * Opening the file: its key, its settings and its table.
 *
 * The lock is exclusive, so the log needs no shared memory and a second process gets an error. A commit is on
 * the disk when it returns. What is deleted is overwritten, and pages that are free can be given back.
 */
#include "base/hex.h"
#include "base/mem.h"
#include "store/sqlite/db.h"
#include "store/sqlite/handle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define LAYOUT 1 /* of the table; in user_version, with the policy of eviction */

/* Sets `err` to a code and the path with a message. */
static int fail(struct sr_err *err, int code, const char *path, const char *message)
{
    return sr_err_set(err, code, "%s: %s", path, message);
}

/* Makes an empty file that others cannot read; SQLite gives its log the same mode. */
static int make_file(const char *path, struct sr_err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600); /* NOLINT: a file that is there keeps its mode */
    if (fd < 0)
        return fail(err, SR_EIO, path, strerror(errno));
    close(fd);
    return SR_OK;
}

/* True when the file begins as one that is not encrypted. */
static bool is_plain(const char *path)
{
    char start[16] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, start, sizeof start);
    if (fd >= 0)
        close(fd);
    return n == sizeof start && memcmp(start, "SQLite format 3", sizeof start) == 0;
}

/* Runs `PRAGMA name = "x'key'"`. */
static int set_key(struct sr_sqlite_db *db, const char *name, const uint8_t key[32])
{
    char digits[2 * 32 + 1], sql[128];
    sr_hex_write(key, 32, digits);
    snprintf(sql, sizeof sql, "PRAGMA %s = \"x'%s'\"", name, digits);
    int rc = sr_sqlite_code(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
    explicit_bzero(sql, sizeof sql);
    explicit_bzero(digits, sizeof digits);
    return rc;
}

/* Opens the file and reads its first page. `key` NULL: it is not encrypted. */
static int try_open(struct sr_sqlite_db *db, const char *path, const uint8_t *key)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int rc = sr_sqlite_code(db, sqlite3_open_v2(path, &db->handle, flags, NULL));
    if (!rc)
        sqlite3_extended_result_codes(db->handle, 1);
    if (!rc && key)
        rc = set_key(db, "key", key);
    if (!rc && key)
        rc = sr_sqlite_exec(db, "PRAGMA cipher_page_size = 4096", NULL);
    if (!rc)
        rc = sr_sqlite_exec(db, "PRAGMA page_size = 4096", NULL);
    if (!rc)
        rc = sr_sqlite_exec(db, "PRAGMA auto_vacuum = INCREMENTAL", NULL);
    if (!rc)
        rc = sr_sqlite_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL);
    if (!rc)
        rc = sr_sqlite_exec(db, "SELECT count(*) FROM sqlite_master", NULL);
    return rc;
}

static void close_handle(struct sr_sqlite_db *db)
{
    for (int i = 0; i < SR_SQLITE_STATEMENTS; i++) {
        sqlite3_finalize(db->statements[i]);
        db->statements[i] = NULL;
    }
    sqlite3_close(db->handle);
    db->handle = NULL;
}

/* Replaces the key that the file has. The log is off meanwhile: all pages change in one transaction. */
static int rotate(struct sr_sqlite_db *db, const uint8_t key[32])
{
    int rc = sr_sqlite_exec(db, "PRAGMA journal_mode = DELETE", NULL);
    return rc ? rc : set_key(db, "rekey", key);
}

/* Opens the file with the key that it has; it has keys->key then. */
static int open_with_keys(struct sr_sqlite_db *db, const char *path, const struct sr_sqlite_keys *keys,
                          struct sr_err *err)
{
    int rc = try_open(db, path, keys->has_key ? keys->key : NULL);
    if (rc == SR_EPARSE && keys->has_key && is_plain(path))
        return fail(err, SR_EMISMATCH, path,
                    "a key file is configured, and the file is not encrypted; remove one of them");
    if (rc == SR_EPARSE && keys->has_before) {
        close_handle(db);
        rc = try_open(db, path, keys->before);
        if (!rc)
            rc = rotate(db, keys->key);
    }
    if (rc == SR_EPARSE && keys->has_key)
        return fail(err, SR_EMISMATCH, path, "the key is not the one of this file, or the file is damaged");
    return rc ? fail(err, rc, path, db->message) : SR_OK;
}

/* The settings of the connection, and the table. */
static int prepare(struct sr_sqlite_db *db)
{
    static const char *const steps[] = {
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "PRAGMA secure_delete = ON",
        "PRAGMA temp_store = MEMORY",
        "PRAGMA journal_size_limit = 16777216",
        "BEGIN IMMEDIATE",
        "CREATE TABLE IF NOT EXISTS record(id INTEGER PRIMARY KEY, exact BLOB NOT NULL UNIQUE, rank INTEGER "
        "NOT NULL,"
        " uses INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL, partition BLOB, tenant "
        "BLOB,"
        " user BLOB, model BLOB NOT NULL, bytes BLOB NOT NULL)",
        "CREATE INDEX IF NOT EXISTS by_rank ON record(rank)",
        "CREATE INDEX IF NOT EXISTS by_expiry ON record(expires) WHERE expires != 0",
    };
    int rc = SR_OK;
    for (size_t i = 0; !rc && i < sizeof steps / sizeof *steps; i++)
        rc = sr_sqlite_exec(db, steps[i], NULL);
    return rc;
}

/* Within the transaction of prepare: ranks in the order of this policy, and what the file has. */
static int take_stock(struct sr_sqlite_db *db)
{
    int64_t version = 0, wanted = LAYOUT << 8 | (int64_t)db->eviction;
    char sql[128];
    int rc = sr_sqlite_exec(db, "PRAGMA user_version", &version);
    if (!rc && version != 0 && version >> 8 != LAYOUT) {
        snprintf(db->message, sizeof db->message, "the file has another layout (%d)", (int)(version >> 8));
        return SR_EPARSE;
    }
    if (!rc && version != wanted) {
        rc = sr_sqlite_exec(db,
                            db->eviction == SR_CACHE_LFU
                                ? "UPDATE record SET rank = (uses << 40) | (rank & 1099511627775)"
                                : "UPDATE record SET rank = rank & 1099511627775",
                            NULL);
        snprintf(sql, sizeof sql, "PRAGMA user_version = %d", (int)wanted);
        if (!rc)
            rc = sr_sqlite_exec(db, sql, NULL);
    }
    if (!rc)
        rc = sr_sqlite_exec(db, "SELECT max(rank & 1099511627775) FROM record", &db->clock);
    if (!rc)
        rc = sr_sqlite_exec(db, "SELECT count(*) FROM record", &db->entries);
    return rc ? rc : sr_sqlite_exec(db, "COMMIT", NULL);
}

int sr_sqlite_db_open(struct sr_sqlite_db **out, const struct sr_sqlite_options *options,
                      const struct sr_sqlite_keys *keys, struct sr_err *err)
{
    struct sr_sqlite_db *db = sr_mem_calloc(1, sizeof *db);
    *out = NULL;
    if (!db)
        return SR_ENOMEM;
    db->max_entries = options->max_entries;
    db->max_bytes = options->max_bytes;
    db->eviction = options->eviction;
    int rc = make_file(options->path, err);
    if (!rc)
        rc = open_with_keys(db, options->path, keys, err);
    if (rc)
        goto failed;
    rc = prepare(db);
    if (!rc)
        rc = take_stock(db);
    if (rc) {
        fail(err, rc, options->path, db->message);
        goto failed;
    }
    *out = db;
    return SR_OK;

failed:
    sr_sqlite_db_close(db);
    return rc;
}

void sr_sqlite_db_close(struct sr_sqlite_db *db)
{
    if (!db)
        return;
    close_handle(db);
    sr_mem_free(db);
}
