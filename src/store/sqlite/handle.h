/* A database handle; for open.c and db.c. */
#ifndef SR_STORE_SQLITE_HANDLE_H
#define SR_STORE_SQLITE_HANDLE_H

#include "store/sqlite/db.h"

#include <sqlcipher/sqlite3.h>

enum sr_sqlite_statement {
    SR_SQLITE_BEGIN,
    SR_SQLITE_COMMIT,
    SR_SQLITE_ROLLBACK,
    SR_SQLITE_INSERT,
    SR_SQLITE_DELETE, /* by exact key */
    SR_SQLITE_TOUCH,
    SR_SQLITE_SELECT, /* by selector */
    SR_SQLITE_SELECT_EXACT,
    SR_SQLITE_EXPIRE,
    SR_SQLITE_WEAKEST,
    SR_SQLITE_LOAD,
    SR_SQLITE_DROP, /* by rank */
    SR_SQLITE_PAGES,
    SR_SQLITE_UNUSED,
    SR_SQLITE_STATEMENTS,
};

struct sr_sqlite_db {
    sqlite3 *handle;
    sqlite3_stmt *statements[SR_SQLITE_STATEMENTS];
    size_t max_entries, max_bytes;
    enum sr_cache_eviction eviction;
    int64_t clock; /* the highest number of a change; the lower 40 bits of a rank */
    int64_t entries, entries_before, clock_before; /* before: at the transaction's begin */
    char message[160];
};

#define SR_SQLITE_PAGE 4096

/* The code of a SQLite result; sets the message unless it is a success. */
int sr_sqlite_code(struct sr_sqlite_db *db, int result);

/* A prepared statement, with its bindings cleared. Errors as in db.h; *out is NULL then. */
int sr_sqlite_statement(struct sr_sqlite_db *db, enum sr_sqlite_statement which,
                        sqlite3_stmt **out) SR_WARN_UNUSED;
/* Runs it to its end, for the statements that give no rows, and resets it. */
int sr_sqlite_run(struct sr_sqlite_db *db, sqlite3_stmt *statement) SR_WARN_UNUSED;

/* Runs SQL text; a number that its first row gives, when `number` is not NULL. */
int sr_sqlite_exec(struct sr_sqlite_db *db, const char *sql, int64_t *number) SR_WARN_UNUSED;

#endif
