/*
 * The process log of a server: standard error behind a bounded queue and a thread of its own, so that a pipe
 * without a reader stops no thread that logs.
 *
 * One for the process, because sr_log is. A crash (assert, a sanitizer) still writes directly. Programs that
 * only print do not use it.
 */
#ifndef SR_OBSERVE_PROCESS_LOG_H
#define SR_OBSERVE_PROCESS_LOG_H

#include "base/err.h"
#include "observe/metrics.h"

/* Lines of sr_log go through the queue from now on. Main thread. SR_ENOMEM. */
int sr_process_log_open(struct sr_err *err) SR_WARN_UNUSED;

/* Counts its lines in `metrics`; NULL stops. The same threads as sr_process_log_tick. */
void sr_process_log_count_in(struct sr_metrics *metrics);

/* Writes the summaries of events that repeated. Call it every few seconds, on one thread. */
void sr_process_log_tick(void);

/* Waits until what was logged is written, at most `wait_ms`. Any thread. */
void sr_process_log_flush(unsigned wait_ms);

/* Writes the rest within two seconds. Afterwards sr_log writes directly again, or, when standard error takes
 * nothing, not at all. Main thread; harmless when it is not open. */
void sr_process_log_close(void);

#endif
