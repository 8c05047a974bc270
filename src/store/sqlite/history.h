/*
 * A SQLite file that keeps the history over a restart.
 *
 * Opening it puts what it has into the history; after that every entry that is added goes into a bounded
 * queue, and a thread of its own writes it within a second. When the queue is full, entries are left out of
 * the file and counted. One process has the file; only its owner may read it.
 */
#ifndef SR_STORE_SQLITE_HISTORY_H
#define SR_STORE_SQLITE_HISTORY_H

#include "history/history.h"
#include "observe/metrics.h"

struct sr_history_file;

#define SR_HISTORY_QUEUE       4096u
#define SR_HISTORY_QUEUE_BYTES ((size_t)32 << 20)

struct sr_history_file_stats {
    uint64_t written, dropped; /* since it was opened; dropped: for lack of room in the queue */
    size_t queued;
};

/* `history` outlives it, and is emptied first. The limits are the history's. `metrics` (NULL: none) counts
 * what is dropped. SR_EBUSY: another process has the file; SR_EPARSE: damaged, and left as it is; SR_EIO;
 * SR_ENOMEM; the message names the file. */
int sr_history_file_open(struct sr_history_file **out, const char *path, struct sr_history *history,
                         const struct sr_history_limits *limits, struct sr_metrics *metrics,
                         struct sr_err *err) SR_WARN_UNUSED;

/* New limits, from the next entry on. */
void sr_history_file_set(struct sr_history_file *file, const struct sr_history_limits *limits);

void sr_history_file_stats(struct sr_history_file *file, struct sr_history_file_stats *out);

/* Writes what is queued; the history goes on without the file. NULL is allowed. */
void sr_history_file_close(struct sr_history_file *file);

#endif
