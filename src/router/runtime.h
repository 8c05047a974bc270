/*
 * The process-wide state behind sr_runtime: the current router, worker threads, metrics, the access log.
 *
 * It also gives the program's own doors what the public interface does not: the configuration's limits and
 * the metrics table. All functions are thread-safe.
 */
#ifndef SR_ROUTER_RUNTIME_H
#define SR_ROUTER_RUNTIME_H

#include "base/log.h"
#include "cache/cache.h"
#include "config/problems.h"
#include "history/followers.h"
#include "history/history.h"
#include "infer/engine/engine.h"
#include "observe/metrics.h"
#include "router/router.h"
#include "router/tokens.h"
#include "semroute/semroute.h"

/* A new reference to the current configuration: release it with sr_config_unref. */
const struct sr_config *sr_runtime_config(sr_runtime *runtime);

/* How the configuration came to be the current one. Times are microseconds since 1970. */
struct sr_reload_state {
    int64_t loaded_us;                /* of the current one */
    int64_t tried_us;                 /* the last reload; 0: there was none */
    bool failed;                      /* it left the configuration as it was */
    char message[SR_ERR_MESSAGE_MAX]; /* of a failure: its first mistake */
};
void sr_runtime_reload_state(sr_runtime *runtime, struct sr_reload_state *out);

/* A router of the current file with another `routing` (config/draft.h), to explain requests by and not to
 * serve any. Its workers are in `pool`, which must outlive it and is not the one in use, so that nothing of
 * it has an effect. Slow, so not on an event loop. SR_EINVAL, SR_EPARSE with errors in `problems`, or in
 * `err`; SR_EBUSY: the file is no more the one that was loaded. */
int sr_runtime_draft(sr_runtime *runtime, struct sr_bytes routing, struct sr_pool *pool,
                     struct sr_router **out, struct sr_problems *problems, struct sr_err *err) SR_WARN_UNUSED;

/* Appends the text of the current configuration's file. SR_EBUSY: `out` has another text than the one that
 * was loaded; SR_ENOENT, SR_EIO, ... */
int sr_runtime_config_text(sr_runtime *runtime, struct sr_buf *out, struct sr_err *err) SR_WARN_UNUSED;

/* The pool of workers, which lives as long as the runtime. */
struct sr_pool *sr_runtime_pool(sr_runtime *runtime);

/* What is known of the tokens of prompts; lives as long as the runtime. */
struct sr_tokens *sr_runtime_tokens(sr_runtime *runtime);

/* Who answers questions of signals to models; lives as long as the runtime. */
struct sr_consults *sr_runtime_consults(sr_runtime *runtime);

/* The response cache, which lives as long as the runtime. */
struct sr_cache *sr_runtime_cache(sr_runtime *runtime);

/* Conversations of Responses (router/state), kept as records of a cache of their own; as long as the runtime.
 */
struct sr_cache *sr_runtime_responses(sr_runtime *runtime);

/* The counters of limits; as long as the runtime. */
struct sr_limiter *sr_runtime_limiter(sr_runtime *runtime);

/* What algorithms have learned, which lives as long as the runtime. */
struct sr_select_arms *sr_runtime_arms(sr_runtime *runtime);

/* Requests that have ended, as long as the runtime: those that are recorded for replay, and the latest of all
 * while a client follows them. */
struct sr_history *sr_runtime_kept(sr_runtime *runtime);
struct sr_history *sr_runtime_live(sr_runtime *runtime);
/* Who follows. */
struct sr_followers *sr_runtime_followers(sr_runtime *runtime);
/* As sr_followers_join and sr_followers_leave: `live` has room as long as one follows. Any thread. */
int sr_runtime_follow(sr_runtime *runtime, const struct sr_history_filter *filter,
                      unsigned *number) SR_WARN_UNUSED;
void sr_runtime_unfollow(sr_runtime *runtime, unsigned number);

/* A new reference to the current router: release it with sr_router_unref. */
struct sr_router *sr_runtime_router(sr_runtime *runtime);

/* Opens in the background what requests may need later: for a process that serves, after sr_runtime_open and
 * after a reload. */
void sr_runtime_open_ahead(sr_runtime *runtime);

/* With the option `encoder`: a new reference to the configuration's encoder, and the engine that runs it,
 * borrowed until the runtime is closed. NULL when there is none. The first call opens it, unless a signal
 * uses it: may take long, so not on an event loop. A reload keeps it open, or opens that of the new
 * configuration. */
struct sr_encoder *sr_runtime_encoder(sr_runtime *runtime, struct sr_infer **infer);

/* Bytes of bodies that exchanges keep. `hold` adds `n`, of an exchange that keeps `own` with them, or adds
 * nothing and returns false: beyond `limit`, where as much as `own` is left free for others, unless the
 * exchange is the only one. */
bool sr_runtime_hold(sr_runtime *runtime, size_t n, size_t own, size_t limit) SR_WARN_UNUSED;
void sr_runtime_release(sr_runtime *runtime, size_t n);

/* What the runtime has to do now. */
struct sr_runtime_work {
    size_t queued; /* jobs that wait for a worker thread */
    size_t held;   /* bytes of bodies that exchanges keep */
};
struct sr_runtime_work sr_runtime_work(sr_runtime *runtime);

/* How long worker threads and the inference engine take for what waits there, as measured lately. */
uint64_t sr_runtime_rest_ns(sr_runtime *runtime);

/* A client was told to come back at this time (sr_clock_ns); and when that was, 0: it was not told. Clients
 * share a table of fixed size, so one may have another's time. Any thread. */
void sr_runtime_tell(sr_runtime *runtime, uint64_t client, uint64_t until_ns);
uint64_t sr_runtime_told(const sr_runtime *runtime, uint64_t client);

/* The table that sr_runtime_metrics renders; lives as long as the runtime. If the configuration switches
 * metrics off, it has no series of the router itself. */
struct sr_metrics *sr_runtime_metrics_table(sr_runtime *runtime);

/* Between the two one thread brings the table up to date and reads it; others wait. */
void sr_runtime_begin_scrape(sr_runtime *runtime);
void sr_runtime_end_scrape(sr_runtime *runtime);

/* The worker threads, started at the first call; NULL when none are configured or they cannot be started. */
struct sr_workers *sr_runtime_workers(sr_runtime *runtime);

/* Writes an access-log line (without newline) to its sink. */
void sr_runtime_log_line(sr_runtime *runtime, struct sr_bytes line);

/* Writes the access-log line of a request that never became an exchange: its head could not be read, or
 * there was no room. `reason` is the door's own text and contains nothing of the client's. */
void sr_runtime_log_refused(sr_runtime *runtime, enum sr_door door, struct sr_bytes peer, int status,
                            const char *reason);

/* How a line of the access log looks. */
enum sr_log_form sr_runtime_log_form(sr_runtime *runtime);

/* False when there is no access log and no line needs to be built. */
bool sr_runtime_wants_log(sr_runtime *runtime);

/* The same for the audit log, which says what guards did. */
void sr_runtime_audit_line(sr_runtime *runtime, struct sr_bytes line);
bool sr_runtime_wants_audit(sr_runtime *runtime);

/* Takes spans of opentelemetry.proto.trace.v1 (trace/span.h), `n` of them. On the thread of the exchange;
 * may not block. */
typedef void sr_spans_sink(void *ctx, struct sr_bytes spans, size_t n);

/* What takes spans; NULL: none are made. Only while no exchange lives. */
void sr_runtime_set_spans(sr_runtime *runtime, sr_spans_sink *sink, void *ctx);
bool sr_runtime_wants_spans(const sr_runtime *runtime);
void sr_runtime_spans(sr_runtime *runtime, struct sr_bytes spans, size_t n);

/* Sixteen bytes that are unique in the process and not guessable across restarts. */
void sr_runtime_unique(sr_runtime *runtime, uint8_t out[16]);

#define SR_REQUEST_ID_SIZE 33

/* A new request id: 32 hex digits and a NUL, unique in the process and not guessable across restarts. */
void sr_runtime_request_id(sr_runtime *runtime, char out[SR_REQUEST_ID_SIZE]);

#endif
