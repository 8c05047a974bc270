/*
 * The signals of a server, read by a thread of their own, so that no hanging file, model or log can keep the
 * process alive.
 *
 * The first SIGTERM or SIGINT asks for an orderly end, the second ends the process at once, and so does the
 * first before the server is ready. One for the process; it stays until the process ends.
 */
#ifndef SR_SERVE_PROCESS_SIGNALS_H
#define SR_SERVE_PROCESS_SIGNALS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct sr_signals_asked {
    bool reload; /* SIGHUP since the last call */
    int end;     /* SIGTERM or SIGINT; 0: not asked */
};

/* Blocks SIGTERM, SIGINT and SIGHUP in this thread and those that it starts, ignores SIGPIPE and SIGXFSZ, and
 * starts the thread. Main thread, before any other thread, once. SR_EIO. */
int sr_signals_start(struct sr_err *err) SR_WARN_UNUSED;

/* From now on a signal to end is reported instead of obeyed. */
void sr_signals_ready(void);

/* Readable when there is something to take. */
int sr_signals_fd(void);
struct sr_signals_asked sr_signals_take(void);

/* The process has `ms` from now to end by itself; then the thread ends it, with `exit_code` and a line in the
 * log. For an end whose requests are answered, but whose threads do not return. */
void sr_signals_limit_end(uint64_t ms, int exit_code);

#endif
