/* Statements, which are prepared once, and what SQLite's results mean. */
#include "store/sqlite/handle.h"

#include <errno.h>
#include <stdio.h>

#define SELECTED                                                                                             \
    "(?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR user = ?2) AND (?3 IS NULL OR partition = ?3) AND "      \
    "(?4 IS NULL OR model = ?4) AND (?5 IS NULL OR created < ?5)"

static const char *const SQL[SR_SQLITE_STATEMENTS] = {
    [SR_SQLITE_BEGIN] = "BEGIN IMMEDIATE",
    [SR_SQLITE_COMMIT] = "COMMIT",
    [SR_SQLITE_ROLLBACK] = "ROLLBACK",
    [SR_SQLITE_INSERT] =
        "INSERT INTO record(exact, rank, uses, created, expires, partition, tenant, user, model, bytes)"
        " VALUES (?1, ?2, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    [SR_SQLITE_DELETE] = "DELETE FROM record WHERE exact = ?1",
    [SR_SQLITE_TOUCH] =
        "UPDATE record SET uses = min(uses + 1, 4194303),"
        " rank = CASE ?2 WHEN 0 THEN rank WHEN 1 THEN ?3 ELSE (min(uses + 1, 4194303) << 40) | ?3 END"
        " WHERE exact = ?1",
    [SR_SQLITE_SELECT] = "DELETE FROM record WHERE " SELECTED,
    [SR_SQLITE_SELECT_EXACT] = "DELETE FROM record WHERE exact = ?6 AND " SELECTED,
    [SR_SQLITE_EXPIRE] = "DELETE FROM record WHERE expires != 0 AND expires <= ?1",
    [SR_SQLITE_WEAKEST] = "DELETE FROM record WHERE rank = (SELECT min(rank) FROM record)",
    [SR_SQLITE_LOAD] = "SELECT rank, bytes FROM record WHERE rank > ?1 AND rank <= ?2 ORDER BY rank LIMIT ?3",
    [SR_SQLITE_DROP] = "DELETE FROM record WHERE rank = ?1",
    [SR_SQLITE_PAGES] = "PRAGMA page_count",
    [SR_SQLITE_UNUSED] = "PRAGMA freelist_count",
};

int sr_sqlite_code(struct sr_sqlite_db *db, int result)
{
    int system = db->handle ? sqlite3_system_errno(db->handle) : errno;
    const char *text = db->handle ? sqlite3_errmsg(db->handle) : sqlite3_errstr(result);
    switch (result & 0xff) {
    case SQLITE_OK:
    case SQLITE_DONE:
    case SQLITE_ROW:
        return SR_OK;
    case SQLITE_NOMEM:
        snprintf(db->message, sizeof db->message, "out of memory");
        return SR_ENOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        snprintf(db->message, sizeof db->message, "another process has the file open");
        return SR_EBUSY;
    case SQLITE_FULL:
        snprintf(db->message, sizeof db->message, "the disk is full");
        return SR_ELIMIT;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* of SQL that is right: another layout, or pages that cannot be decrypted */
    case SQLITE_MISMATCH:
        snprintf(db->message, sizeof db->message, "the file is damaged: %s", text);
        return SR_EPARSE;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        snprintf(db->message, sizeof db->message, "the file or its directory cannot be written (%s)",
                 system ? strerror(system) : text);
        return SR_EIO;
    default:
        snprintf(db->message, sizeof db->message, "%s%s%s", text, system ? ": " : "",
                 system ? strerror(system) : "");
        return SR_EIO;
    }
}

int sr_sqlite_statement(struct sr_sqlite_db *db, enum sr_sqlite_statement which, sqlite3_stmt **out)
{
    *out = NULL;
    if (!db->statements[which]) {
        int rc =
            sr_sqlite_code(db, sqlite3_prepare_v2(db->handle, SQL[which], -1, &db->statements[which], NULL));
        if (rc)
            return rc;
    }
    *out = db->statements[which];
    sqlite3_clear_bindings(*out);
    return SR_OK;
}

int sr_sqlite_run(struct sr_sqlite_db *db, sqlite3_stmt *statement)
{
    int result = sqlite3_step(statement);
    int rc = sr_sqlite_code(db, result);
    sqlite3_reset(statement);
    sqlite3_clear_bindings(statement); /* they point to memory of the caller */
    return rc;
}

int sr_sqlite_exec(struct sr_sqlite_db *db, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement = NULL;
    int rc = sr_sqlite_code(db, sqlite3_prepare_v2(db->handle, sql, -1, &statement, NULL));
    if (rc)
        return rc;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW && number)
        *number = sqlite3_column_int64(statement, 0);
    while (result == SQLITE_ROW)
        result = sqlite3_step(statement);
    rc = sr_sqlite_code(db, result);
    sqlite3_finalize(statement);
    return rc;
}
