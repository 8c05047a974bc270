/*
 * The operating system's metrics of this process, with the standard names of Prometheus clients: process_*.
 *
 * For the program's /metrics; a host of the library exports its own. Reads /proc, which does not block.
 */
#ifndef SR_OBSERVE_PROCESS_H
#define SR_OBSERVE_PROCESS_H

#include "base/buf.h"

/* Appends CPU time, memory, file descriptors and start time in text format; values that cannot be read are
 * left out. SR_ENOMEM, SR_ELIMIT. Any thread. */
int sr_process_metrics(struct sr_buf *out) SR_WARN_UNUSED;

#endif
