/*
 * The table of records. A rank orders them for eviction as in memory: by when they came, were used last, or
 * how often; its lower bits are a counter, so that no two are the same.
 */
#include "store/sqlite/db.h"

#include "base/mem.h"
#include "store/sqlite/handle.h"

#define LOAD_MAX 64u /* rows of one call */

int sr_sqlite_db_begin(struct sr_sqlite_db *db)
{
    sqlite3_stmt *statement;
    int rc = sr_sqlite_statement(db, SR_SQLITE_BEGIN, &statement);
    db->entries_before = db->entries;
    db->clock_before = db->clock;
    return rc ? rc : sr_sqlite_run(db, statement);
}

int sr_sqlite_db_commit(struct sr_sqlite_db *db)
{
    sqlite3_stmt *statement;
    int rc = sr_sqlite_statement(db, SR_SQLITE_COMMIT, &statement);
    return rc ? rc : sr_sqlite_run(db, statement);
}

void sr_sqlite_db_rollback(struct sr_sqlite_db *db)
{
    char message[sizeof db->message];
    sqlite3_stmt *statement;
    memcpy(message, db->message, sizeof message);
    if (!sqlite3_get_autocommit(db->handle) &&
        sr_sqlite_statement(db, SR_SQLITE_ROLLBACK, &statement) == SR_OK &&
        sr_sqlite_run(db, statement) != SR_OK)
        memcpy(message, db->message, sizeof message);
    memcpy(db->message, message, sizeof message); /* what went wrong first */
    db->entries = db->entries_before;
    db->clock = db->clock_before;
}

/* Runs a statement that deletes rows, and counts them. */
static int run_delete(struct sr_sqlite_db *db, sqlite3_stmt *statement, int64_t *n)
{
    int rc = sr_sqlite_run(db, statement);
    *n = rc ? 0 : sqlite3_changes(db->handle);
    db->entries -= *n;
    return rc;
}

static int read_number(struct sr_sqlite_db *db, enum sr_sqlite_statement which, int64_t *out)
{
    sqlite3_stmt *statement;
    int rc = sr_sqlite_statement(db, which, &statement);
    *out = 0;
    if (rc)
        return rc;
    rc = sr_sqlite_code(db, sqlite3_step(statement));
    if (!rc)
        *out = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return rc;
}

/* Evicts until so many more entries and bytes fit. */
static int make_room(struct sr_sqlite_db *db, int64_t entries, int64_t bytes)
{
    int64_t pages, unused, n;
    sqlite3_stmt *statement;
    while (db->entries > 0) {
        int rc = read_number(db, SR_SQLITE_PAGES, &pages);
        if (!rc)
            rc = read_number(db, SR_SQLITE_UNUSED, &unused);
        if (rc)
            return rc;
        bool few = !db->max_entries || db->entries + entries <= (int64_t)db->max_entries;
        bool small = !db->max_bytes || (pages - unused) * SR_SQLITE_PAGE + bytes <= (int64_t)db->max_bytes;
        if (few && small)
            return SR_OK;
        rc = sr_sqlite_statement(db, SR_SQLITE_WEAKEST, &statement);
        if (!rc)
            rc = run_delete(db, statement, &n);
        if (rc || !n)
            return rc;
    }
    return SR_OK;
}

int sr_sqlite_db_evict(struct sr_sqlite_db *db)
{
    return make_room(db, 0, 0);
}

static void bind_key(sqlite3_stmt *statement, int at, const struct sr_cache_key *key)
{
    if (sr_cache_key_is_set(key))
        sqlite3_bind_blob(statement, at, key->bytes, SR_CACHE_KEY, SQLITE_STATIC);
}

static int delete_exact(struct sr_sqlite_db *db, const struct sr_cache_key *exact)
{
    sqlite3_stmt *statement;
    int64_t n;
    int rc = sr_sqlite_statement(db, SR_SQLITE_DELETE, &statement);
    if (rc)
        return rc;
    bind_key(statement, 1, exact);
    return run_delete(db, statement, &n);
}

static int insert(struct sr_sqlite_db *db, const struct sr_cache_record *record, const uint8_t *bytes,
                  size_t size)
{
    const struct sr_cache_fields *f = &record->f;
    sqlite3_stmt *statement;
    int rc = sr_sqlite_statement(db, SR_SQLITE_INSERT, &statement);
    if (rc)
        return rc;
    bind_key(statement, 1, &f->exact);
    sqlite3_bind_int64(statement, 2, ++db->clock);
    sqlite3_bind_int64(statement, 3, f->created_ms);
    sqlite3_bind_int64(statement, 4, f->expires_ms);
    bind_key(statement, 5, &f->partition);
    bind_key(statement, 6, &f->tenant);
    bind_key(statement, 7, &f->user);
    sqlite3_bind_blob(statement, 8, f->model.n ? f->model.p : "", (int)f->model.n, SQLITE_STATIC);
    sqlite3_bind_blob(statement, 9, bytes, (int)size, SQLITE_STATIC);
    rc = sr_sqlite_run(db, statement);
    db->entries += !rc;
    return rc;
}

int sr_sqlite_db_put(struct sr_sqlite_db *db, const struct sr_cache_record *record)
{
    size_t size = sr_cache_record_size(record), more = size + SR_SQLITE_PAGE;
    if (db->max_bytes && more > db->max_bytes)
        return delete_exact(db, &record->f.exact); /* never fits; the one before is not the answer any more */
    uint8_t *bytes = sr_mem_alloc(size);
    if (!bytes)
        return SR_ENOMEM;
    sr_cache_record_write(record, bytes);
    int rc = delete_exact(db, &record->f.exact);
    if (!rc)
        rc = make_room(db, 1, (int64_t)more);
    if (!rc)
        rc = insert(db, record, bytes, size);
    sr_mem_free(bytes);
    return rc;
}

int sr_sqlite_db_use(struct sr_sqlite_db *db, const struct sr_cache_key *exact)
{
    sqlite3_stmt *statement;
    int rc = sr_sqlite_statement(db, SR_SQLITE_TOUCH, &statement);
    if (rc)
        return rc;
    bind_key(statement, 1, exact);
    sqlite3_bind_int(statement, 2, (int)db->eviction);
    sqlite3_bind_int64(statement, 3, ++db->clock);
    return sr_sqlite_run(db, statement);
}

int sr_sqlite_db_remove(struct sr_sqlite_db *db, const struct sr_cache_selector *selector)
{
    bool one = sr_cache_key_is_set(&selector->exact);
    sqlite3_stmt *statement;
    int64_t n;
    int rc = sr_sqlite_statement(db, one ? SR_SQLITE_SELECT_EXACT : SR_SQLITE_SELECT, &statement);
    if (rc)
        return rc;
    bind_key(statement, 1, &selector->tenant);
    bind_key(statement, 2, &selector->user);
    bind_key(statement, 3, &selector->partition);
    if (selector->model.n)
        sqlite3_bind_blob(statement, 4, selector->model.p, (int)selector->model.n, SQLITE_STATIC);
    if (selector->created_before_ms)
        sqlite3_bind_int64(statement, 5, selector->created_before_ms);
    if (one)
        bind_key(statement, 6, &selector->exact);
    return run_delete(db, statement, &n);
}

int sr_sqlite_db_expire(struct sr_sqlite_db *db, int64_t now_ms)
{
    sqlite3_stmt *statement;
    int64_t n;
    int rc = sr_sqlite_statement(db, SR_SQLITE_EXPIRE, &statement);
    if (rc)
        return rc;
    sqlite3_bind_int64(statement, 1, now_ms);
    return run_delete(db, statement, &n);
}

int sr_sqlite_db_compact(struct sr_sqlite_db *db)
{
    int64_t busy = 0;
    int rc = sr_sqlite_exec(db, "PRAGMA incremental_vacuum", NULL);
    if (!rc)
        rc = sr_sqlite_exec(db, "PRAGMA wal_checkpoint(TRUNCATE)", &busy);
    return rc;
}

/* Deletes rows that are no record. */
static int drop_rows(struct sr_sqlite_db *db, const int64_t *ranks, size_t n)
{
    int64_t deleted;
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *statement;
        int rc = sr_sqlite_statement(db, SR_SQLITE_DROP, &statement);
        if (rc)
            return rc;
        sqlite3_bind_int64(statement, 1, ranks[i]);
        rc = run_delete(db, statement, &deleted);
        if (rc)
            return rc;
    }
    return SR_OK;
}

int sr_sqlite_db_load(struct sr_sqlite_db *db, int64_t *rank, int64_t last, size_t max,
                      void (*each)(void *ctx, struct sr_cache_record *record), void *ctx, size_t *n,
                      size_t *bad)
{
    int64_t wrong[LOAD_MAX];
    size_t n_wrong = 0;
    sqlite3_stmt *statement;
    int result, rc = sr_sqlite_statement(db, SR_SQLITE_LOAD, &statement);
    *n = 0;
    if (rc)
        return rc;
    sqlite3_bind_int64(statement, 1, *rank);
    sqlite3_bind_int64(statement, 2, last);
    sqlite3_bind_int64(statement, 3, (int64_t)(max < LOAD_MAX ? max : LOAD_MAX));
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
        struct sr_cache_record *record;
        struct sr_bytes bytes =
            sr_bytes_of(sqlite3_column_blob(statement, 1), (size_t)sqlite3_column_bytes(statement, 1));
        *rank = sqlite3_column_int64(statement, 0);
        ++*n;
        int read = sr_cache_record_read(&record, bytes);
        if (read == SR_OK)
            each(ctx, record);
        else if (read != SR_ENOMEM)
            wrong[n_wrong++] = *rank;
        sr_cache_record_unref(record);
    }
    rc = sr_sqlite_code(db, result);
    sqlite3_reset(statement);
    *bad += n_wrong;
    return rc ? rc : drop_rows(db, wrong, n_wrong);
}

int sr_sqlite_db_last_rank(struct sr_sqlite_db *db, int64_t *rank)
{
    *rank = 0;
    return sr_sqlite_exec(db, "SELECT max(rank) FROM record", rank);
}

const char *sr_sqlite_db_message(const struct sr_sqlite_db *db)
{
    return db->message;
}
