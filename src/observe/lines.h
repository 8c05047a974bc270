/*
 * A sink for lines (the access log): standard output or a file, written by its own thread.
 *
 * The caller copies its line into a bounded queue and never waits for the disk: when the queue is full the
 * line is dropped and counted. Does not interpret the lines.
 */
#ifndef SR_OBSERVE_LINES_H
#define SR_OBSERVE_LINES_H

#include "base/bytes.h"
#include "base/err.h"
#include "observe/metrics.h"

struct sr_lines;

#define SR_LINES_QUEUE_BYTES ((size_t)4 << 20)

/* `target` is "stdout", "off" (then *out is NULL, which every function accepts) or a file, which is created
 * with mode 0640 when missing and appended to. At most `queue_bytes` wait to be written. `metrics` (optional,
 * must outlive the sink) counts lines written and dropped. SR_EIO, SR_ENOMEM with a message. */
int sr_lines_open(struct sr_lines **out, const char *target, size_t queue_bytes, struct sr_metrics *metrics,
                  struct sr_err *err) SR_WARN_UNUSED;

/* Writes the queued lines, for at most two seconds when a pipe has no reader, and frees. */
void sr_lines_close(struct sr_lines *lines);

/* Queues `line`, which has no newline. Any thread; never blocks on I/O. Lines reach the file within about 20
 * ms, whole, in the order of each thread. */
void sr_lines_write(struct sr_lines *lines, struct sr_bytes line);

/* Asks the writer thread to reopen the file by its name before the next write (log rotation). Safe in a
 * signal handler. When that fails the old file stays in use and a warning is logged. */
void sr_lines_reopen(struct sr_lines *lines);

/* Lines that were dropped since the start. */
uint64_t sr_lines_dropped(const struct sr_lines *lines);

#endif
