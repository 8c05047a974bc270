/*
 * The process-wide state behind sr_runtime: the current router, worker threads, metrics, the access log.
 *
 * What the program's own doors need besides the public interface is here: the configuration's limits and the
 * metrics table. Thread-safe throughout.
 */
#ifndef SR_ROUTER_RUNTIME_H
#define SR_ROUTER_RUNTIME_H

#include "infer/engine/engine.h"
#include "observe/metrics.h"
#include "router/router.h"
#include "semroute/semroute.h"

/* The configuration in force, with a reference of its own: sr_config_unref it. */
const struct sr_config *sr_runtime_config(sr_runtime *runtime);

/* The snapshot in force, with a reference of its own: sr_router_unref it. */
struct sr_router *sr_runtime_router(sr_runtime *runtime);

/* With the option `encoder`: the configuration's encoder, with a reference of its own, and the engine that
 * runs it, borrowed until the runtime is closed. NULL when there is none. */
struct sr_encoder *sr_runtime_encoder(sr_runtime *runtime, struct sr_infer **infer);

/* The table that sr_runtime_metrics renders; lives as long as the runtime. Where the configuration switches
 * metrics off it stays empty of the router's own series. */
struct sr_metrics *sr_runtime_metrics_table(sr_runtime *runtime);

/* The worker threads, started at the first call; NULL when there are to be none or they cannot be started. */
struct sr_workers *sr_runtime_workers(sr_runtime *runtime);

/* Hands a finished access-log line (no newline) to its sink. */
void sr_runtime_log_line(sr_runtime *runtime, struct sr_bytes line);

/* Writes the access-log line of a request that never became an exchange: its head could not be read, or there
 * was no room. `reason` is the door's own text, nothing of the client's. */
void sr_runtime_log_refused(sr_runtime *runtime, enum sr_door door, struct sr_bytes peer, int status,
                            const char *reason);

/* False when there is no access log: do not build lines. */
bool sr_runtime_wants_log(sr_runtime *runtime);

/* The same for the audit log, which says what guards did. */
void sr_runtime_audit_line(sr_runtime *runtime, struct sr_bytes line);
bool sr_runtime_wants_audit(sr_runtime *runtime);

#define SR_REQUEST_ID_SIZE 33

/* A new request id: 32 hex digits and a NUL, unique in the process and not guessable across restarts. */
void sr_runtime_request_id(sr_runtime *runtime, char out[SR_REQUEST_ID_SIZE]);

#endif
