/*
 * The cache's records in a file: SQLite with a write-ahead log, encrypted when a key file is given.
 *
 * Records that were acknowledged (counted as written) survive a kill; at the start all that have not expired
 * go through `loaded`, the weakest first. A file that cannot be used is no end: `health` says why, the log
 * says it once, and the thread tries again; a damaged file is moved aside and a new one begun. One process
 * has a file at a time.
 */
#ifndef SR_STORE_SQLITE_SQLITE_H
#define SR_STORE_SQLITE_SQLITE_H

#include "cache/cache.h"

struct sr_sqlite_options {
    const char *path;     /* of the file; its directory exists */
    const char *key_file; /* NULL: not encrypted. The first line is the key, at least 32 bytes of it; the
                             second line, if there is one, the key before, which is replaced */
    size_t max_entries;   /* 0: no limit */
    size_t max_bytes;     /* of the file, without its log; 0: no limit */
    enum sr_cache_eviction eviction;
};

/* Copies the options and starts the thread; the file is opened on it. SR_EINVAL: no path; SR_ENOMEM; SR_EIO:
 * no thread. */
int sr_sqlite_backend(struct sr_cache_backend **out, const struct sr_sqlite_options *options,
                      const struct sr_cache_backend_events *events, void *ctx,
                      struct sr_err *err) SR_WARN_UNUSED;

#endif
