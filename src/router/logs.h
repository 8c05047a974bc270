/*
 * The access log and the audit log of a runtime: where the configuration wants them, or with the
 * caller that opened the runtime.
 *
 * All functions are thread-safe, except that only one thread applies or disposes.
 */
#ifndef SR_ROUTER_LOGS_H
#define SR_ROUTER_LOGS_H

#include "base/log.h"
#include "config/config.h"
#include "observe/lines.h"
#include "observe/metrics.h"
#include "semroute/semroute.h"

#include <pthread.h>
#include <stdatomic.h>

enum sr_log_kind { SR_LOG_ACCESS, SR_LOG_AUDIT, SR_LOG_KINDS };

struct sr_logs {
    pthread_mutex_t lock; /* protects the pointers to lines */
    struct sr_logs_sink {
        struct sr_lines *lines; /* NULL: off */
        char *target;           /* where they are written */
    } sinks[SR_LOG_KINDS];
    const struct sr_runtime_options *options; /* borrowed; `log_line`: it gets every line instead */
    atomic_int form;                          /* enum sr_log_form of the access log */
    struct sr_metrics *metrics;               /* lines that are lost count here; set before the first apply */
};

void sr_logs_init(struct sr_logs *logs, const struct sr_runtime_options *options);

/* Opens what the configuration names, and reopens files that were moved away; sets the form of the access
 * log, and the level and form of the program's own log. On an error nothing changes. SR_ENOMEM and errors of
 * files.
 */
int sr_logs_apply(struct sr_logs *logs, const struct sr_config *config, struct sr_err *err) SR_WARN_UNUSED;

/* How lines of the access log look. */
enum sr_log_form sr_logs_form(struct sr_logs *logs);

/* False: no line needs to be made. */
bool sr_logs_want(struct sr_logs *logs, enum sr_log_kind kind);

/* Writes a line (without newline). */
void sr_logs_write(struct sr_logs *logs, enum sr_log_kind kind, struct sr_bytes line);

/* Waits a moment until all is written. */
void sr_logs_dispose(struct sr_logs *logs);

#endif
