/*
 * A sink for lines (access log, audit log, process log): a standard stream or a file, written by its own
 * thread.
 *
 * The caller copies its line into a bounded queue and never waits for the disk or for the reader of a pipe:
 * when the queue is full the line is dropped and counted, and the process log says how many when lines are
 * written again. Does not interpret the lines.
 */
#ifndef SR_OBSERVE_LINES_H
#define SR_OBSERVE_LINES_H

#include "base/bytes.h"
#include "base/err.h"
#include "observe/metrics.h"

#include <stdbool.h>

struct sr_lines;

#define SR_LINES_QUEUE_BYTES ((size_t)4 << 20)

/* `target` is "stdout", "stderr", "off" (then *out is NULL, which every function accepts) or a file, which is
 * created with mode 0640 when missing and appended to; a FIFO needs a reader. At most `queue_bytes` wait to
 * be written. `log` is the constant name of this log in metrics and messages. SR_EIO, SR_ENOMEM with a
 * message. */
int sr_lines_open(struct sr_lines **out, const char *log, const char *target, size_t queue_bytes,
                  struct sr_err *err) SR_WARN_UNUSED;

/* Counts lines written and dropped in `metrics` from now on; NULL stops. After the return the old table is
 * not used any more. Any thread. */
void sr_lines_count_in(struct sr_lines *lines, struct sr_metrics *metrics);

/* Writes the queued lines, waits for at most `wait_ms`, and frees. False: lines are lost, because a pipe has
 * no reader or a disk does not answer; a writer thread that cannot be stopped is left behind with its memory.
 */
bool sr_lines_close(struct sr_lines *lines, unsigned wait_ms);

/* Queues `line`, which has no newline. Any thread; never blocks on I/O. Lines reach the file within about 20
 * ms, whole, in the order of each thread. */
void sr_lines_write(struct sr_lines *lines, struct sr_bytes line);

/* Waits until all queued lines are written, at most `wait_ms`. */
void sr_lines_flush(struct sr_lines *lines, unsigned wait_ms);

/* Asks the writer thread to reopen the file by its name before the next write (log rotation). Safe in a
 * signal handler. When that fails the old file stays in use and a warning is logged. */
void sr_lines_reopen(struct sr_lines *lines);

/* Lines that were dropped since the start. */
uint64_t sr_lines_dropped(const struct sr_lines *lines);

#endif
