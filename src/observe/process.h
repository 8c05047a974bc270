/*
 * The operating system's figures of this process, under the names that every Prometheus client uses:
 * process_*.
 *
 * For the program's own metrics page; a library's user has these already. Reads /proc, which does not block.
 */
#ifndef SR_OBSERVE_PROCESS_H
#define SR_OBSERVE_PROCESS_H

#include "base/buf.h"

/* Appends CPU time, memory, file descriptors and start time in text format; what cannot be read is left out.
 * SR_ENOMEM, SR_ELIMIT. Any thread. */
int sr_process_metrics(struct sr_buf *out) SR_WARN_UNUSED;

#endif
