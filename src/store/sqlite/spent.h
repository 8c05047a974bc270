/*
 * A SQLite file that keeps what is spent of budgets over a restart.
 *
 * Opening it puts what it has into the table of counters; after that a thread of its own writes what has
 * changed each second, and once more at the end. So a process that is killed forgets a second at most. One
 * process has the file.
 */
#ifndef SR_STORE_SQLITE_SPENT_H
#define SR_STORE_SQLITE_SPENT_H

#include "limit/table.h"

struct sr_spent_file;

#define SR_SPENT_ROWS_MAX 1000000 /* that are read */

/* `table` outlives it. SR_EBUSY: another process has the file; SR_EPARSE: damaged, and left as it is;
 * SR_EIO; SR_ENOMEM; the message names the file. */
int sr_spent_file_open(struct sr_spent_file **out, const char *path, struct sr_limit_table *table,
                       struct sr_err *err) SR_WARN_UNUSED;

/* Writes what has changed. NULL is allowed. */
void sr_spent_file_close(struct sr_spent_file *file);

#endif
