/*
 * The one file that knows SQLite (as SQLCipher, which is SQLite with an optional cipher): the table of
 * records.
 *
 * A handle belongs to one thread. After any error the handle's message says what happened, for people. Knows
 * no queue and no thread.
 */
#ifndef SR_STORE_SQLITE_DB_H
#define SR_STORE_SQLITE_DB_H

#include "store/sqlite/sqlite.h"

struct sr_sqlite_db;

/* A key of 32 bytes, and the one before. */
struct sr_sqlite_keys {
    uint8_t key[32], before[32];
    bool has_key, has_before;
};

/* Opens or makes the file, for this process alone. Replaces the key by keys->key where the file has
 * keys->before. SR_EBUSY: another process has it; SR_EMISMATCH: a wrong key, none, or one for a file that is
 * not encrypted; SR_EPARSE: damaged; SR_ELIMIT: the disk is full; SR_EIO; SR_ENOMEM. */
int sr_sqlite_db_open(struct sr_sqlite_db **out, const struct sr_sqlite_options *options,
                      const struct sr_sqlite_keys *keys, struct sr_err *err) SR_WARN_UNUSED;
void sr_sqlite_db_close(struct sr_sqlite_db *db); /* NULL is allowed */

/* The errors of what follows: SR_EPARSE: the file is damaged; SR_ELIMIT: the disk is full; SR_EIO; SR_ENOMEM.
 */

int sr_sqlite_db_begin(struct sr_sqlite_db *db) SR_WARN_UNUSED;
int sr_sqlite_db_commit(struct sr_sqlite_db *db) SR_WARN_UNUSED;
void sr_sqlite_db_rollback(struct sr_sqlite_db *db);

/* In place of one with the same exact key, the strongest in the order of eviction. */
int sr_sqlite_db_put(struct sr_sqlite_db *db, const struct sr_cache_record *record) SR_WARN_UNUSED;
int sr_sqlite_db_use(struct sr_sqlite_db *db, const struct sr_cache_key *exact) SR_WARN_UNUSED;
int sr_sqlite_db_remove(struct sr_sqlite_db *db, const struct sr_cache_selector *selector) SR_WARN_UNUSED;
int sr_sqlite_db_expire(struct sr_sqlite_db *db, int64_t now_ms) SR_WARN_UNUSED;
/* Evicts until the file is within its limits. */
int sr_sqlite_db_evict(struct sr_sqlite_db *db) SR_WARN_UNUSED;

/* Outside of begin and commit: what was removed is gone from the file and from its log, and pages that are
 * not used are given back to the disk. */
int sr_sqlite_db_compact(struct sr_sqlite_db *db) SR_WARN_UNUSED;

/* Calls `each` for at most `max` records that rank above *rank and not above `last`, in their order, and
 * moves *rank on; *n is how many. Rows that are no record are counted in *bad. */
int sr_sqlite_db_load(struct sr_sqlite_db *db, int64_t *rank, int64_t last, size_t max,
                      void (*each)(void *ctx, struct sr_cache_record *record), void *ctx, size_t *n,
                      size_t *bad) SR_WARN_UNUSED;
/* The rank of the strongest record. */
int sr_sqlite_db_last_rank(struct sr_sqlite_db *db, int64_t *rank) SR_WARN_UNUSED;

const char *sr_sqlite_db_message(const struct sr_sqlite_db *db);

#endif
