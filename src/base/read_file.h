/*
 * Reads a whole file with a deadline.
 *
 * Opening and reading happen on a thread of their own: a mount that does not answer, or a FIFO without
 * a writer, keeps that thread and not the caller. Not for event loops: the caller waits.
 */
#ifndef SR_BASE_READ_FILE_H
#define SR_BASE_READ_FILE_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the file to `out`, which is empty and bounds its size. A FIFO or a socket is read to its end,
 * within `limit_ms`. SR_ENOENT, SR_ELIMIT (larger than out->max), SR_ETIMEOUT (the thread is left behind
 * until the file answers), SR_EIO (also for a directory), SR_ENOMEM; the message does not name the file. */
int sr_read_file(struct sr_buf *out, const char *path, uint64_t limit_ms, struct sr_err *err) SR_WARN_UNUSED;

#endif
