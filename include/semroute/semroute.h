/**
 * @file
 * semroute: reads what an LLM request means and decides which model answers it, and how.
 *
 * This is the whole public interface, and the program's own doors (the gateway, the Envoy filter) use it
 * too. Three handles: a runtime (process-wide, thread-safe), an exchange (one request and its answer, used
 * by one thread at a time), and a verdict (borrowed from its exchange). Bytes go in as they arrive; edited
 * bytes come out as slices, and most slices point into the caller's input.
 *
 *   sr_runtime *rt = sr_runtime_open("semroute.yaml", NULL, error, sizeof error);
 *   sr_exchange *x = sr_exchange_new(rt, &head, NULL);
 *   while (sr_exchange_body(x, chunk, n, last) == SR_STEP_MORE) ...
 *   const struct sr_verdict *v = sr_exchange_verdict(x);      // forward v->body to v->model, or reply
 *   int at = sr_ticket_choose(v->ticket);                     // to sr_verdict_target(v, at)
 *   sr_ticket_begin(v->ticket, at);
 *   sr_ticket_report(v->ticket, at, SR_TICKET_ANSWERED, 200); // or SR_TICKET_UNREACHABLE, and choose again
 *   sr_exchange_answer_head(x, 200, headers, n, &edits);
 *   sr_exchange_answer_body(x, bytes, n, last, &slices, &n_slices);
 *   sr_exchange_end(x, SR_END_COMPLETE);
 *
 * A struct with `struct_size` grows at its end in later versions: the side that fills it sets the member
 * to the struct's size. docs/abi.md has the rules.
 *
 * Strings in configuration and messages are UTF-8. No function throws, exits or writes to standard output.
 */
#ifndef SEMROUTE_SEMROUTE_H
#define SEMROUTE_SEMROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Marks what the library exports. */
#define SR_API __attribute__((visibility("default")))

#ifndef SR_BYTES_DEFINED
/** Another header of semroute may define the struct. */
#define SR_BYTES_DEFINED
/** A borrowed run of bytes. */
struct sr_bytes {
    const char *p; /**< first byte */
    size_t n;      /**< number of bytes */
};
#endif

#ifndef SR_HEADER_DEFINED
/** Another header of semroute may define the struct. */
#define SR_HEADER_DEFINED
/** A header field. */
struct sr_header {
    struct sr_bytes name;  /**< lower-case */
    struct sr_bytes value; /**< as it was sent */
};
#endif

/* ---- runtime ------------------------------------------------------------------------------------- */

/** Process-wide state: the current configuration snapshot, models, worker threads, metrics, access log. */
typedef struct sr_runtime sr_runtime;

/** Options of a runtime; zero in a member is its default. */
struct sr_runtime_options {
    size_t struct_size; /**< sizeof(struct sr_runtime_options), set by the caller */
    bool lenient;       /**< unknown configuration keys are warnings */
    int workers;        /**< threads for long texts; 0 = from the configuration, -1 = none */
    bool encoder;       /**< open the encoder even when no rule needs it, for the embeddings API */
    /** Receives each access-log line (JSON, no newline), on any thread; NULL = from the configuration. */
    void (*log_line)(void *ctx, const char *line, size_t n);
    void *log_ctx; /**< first argument of `log_line` */
};

/** Opens a configuration file; NULL opens the built-in default. On failure returns NULL and writes a
 * message (with file:line:column if known) to `error`, which may be NULL. Free with sr_runtime_close. */
SR_API sr_runtime *sr_runtime_open(const char *path, const struct sr_runtime_options *options, char *error,
                                   size_t error_size);

/** Loads the file again and swaps the snapshot; exchanges in progress keep the old one. On an error returns
 * false, keeps the old snapshot and writes the reason to `error`. Any thread; one call at a time. */
SR_API bool sr_runtime_reload(sr_runtime *runtime, char *error, size_t error_size);

/** Frees the runtime. All exchanges must have ended. */
SR_API void sr_runtime_close(sr_runtime *runtime);

/** Writes the metrics in Prometheus text format to `out` of `size` bytes. Returns the length of the whole
 * text; if it is more than fits, call again with a larger buffer. */
SR_API size_t sr_runtime_metrics(sr_runtime *runtime, char *out, size_t size);

/* ---- request ------------------------------------------------------------------------------------- */

/** One request and its answer; used by one thread at a time. */
typedef struct sr_exchange sr_exchange;

/** The entry through which a request arrived. */
enum sr_door { SR_DOOR_LIBRARY, SR_DOOR_GATEWAY, SR_DOOR_EXTPROC };

/** What is known when the request's head has arrived. Borrowed for the call; the exchange copies it. */
struct sr_request_head {
    size_t struct_size;              /**< sizeof(struct sr_request_head), set by the caller */
    enum sr_door door;               /**< for metrics and the access log */
    struct sr_bytes method;          /**< "POST" */
    struct sr_bytes target;          /**< path with query, as on the request line; only its normal form is
                                        forwarded (sr_verdict.target) */
    const struct sr_header *headers; /**< all headers of the client */
    size_t n_headers;                /**< items in `headers` */
    struct sr_bytes peer;            /**< the client's address, for the access log; may be empty */
    bool has_body;                   /**< false: the request has no body */
    bool answer_unseen;   /**< the exchange will not see the answer's body: add no request parameter whose
                             effect it would have to remove from the answer */
    uint64_t passing_max; /**< limit in bytes of a body that passes through (SR_STEP_PASS); such a body is not
                             kept, so its limit may be higher. UINT64_MAX = none; 0 = the configuration's
                             max_body_bytes */
    bool client_known;    /**< the caller knows the client and lets it use the keys of backends; false: a
                             client without a trusted header is anonymous (global.semroute.allow_anonymous) */
    struct sr_bytes protocol; /**< that the client spoke ("HTTP/2"), for the access log; may be empty */
};

/** How an exchange on an event loop learns of a verdict computed on another thread. `post` runs `task(arg)`
 * soon on the thread that owns the exchange; it may be called on any thread, and never runs the task
 * before it returns. Every task must be run, also after sr_exchange_end. Without an env (NULL) long texts
 * are classified inside sr_exchange_body, which then never returns SR_STEP_WAIT. */
struct sr_exchange_env {
    size_t struct_size; /**< sizeof(struct sr_exchange_env), set by the caller */
    /** Any thread: runs `task(arg)` soon on the owner's thread. */
    void (*post)(void *ctx, void (*task)(void *arg), void *arg);
    /** Owner's thread: the verdict is ready. Never called after sr_exchange_end. */
    void (*ready)(void *ctx, sr_exchange *exchange);
    void *ctx; /**< first argument of the functions */
    /** Owner's thread: sr_exchange_answer_next has a step. Never called after sr_exchange_end. NULL: stages
     * that read answers run inside sr_exchange_answer_body, which then never returns SR_ANSWER_WAIT. */
    void (*answer_ready)(void *ctx, sr_exchange *exchange);
};

/** Begins an exchange. Returns NULL when out of memory or when a struct_size is wrong. With has_body false
 * the verdict is ready at once. With a body it may be ready too, if the head is enough (a wrong method, an
 * unknown path): then the body need not be read. */
SR_API sr_exchange *sr_exchange_new(sr_runtime *runtime, const struct sr_request_head *head,
                                    const struct sr_exchange_env *env);

/** What to do after a chunk of the request's body. */
enum sr_step {
    SR_STEP_MORE,    /**< give the next chunk; nothing may be forwarded yet */
    SR_STEP_WAIT,    /**< the body is complete; `ready` will be called */
    SR_STEP_VERDICT, /**< the verdict is ready */
    SR_STEP_PASS,    /**< after a streaming verdict: forward this chunk as it is */
    SR_STEP_ABORT,   /**< after a streaming verdict: the rest of the body is invalid; close the upstream
                        connection and send the client sr_exchange_verdict()'s reply */
};

/** Gives the next bytes of the request body; `last` says that no more follow (n may be 0). The exchange
 * copies the bytes that the verdict needs later. */
SR_API enum sr_step sr_exchange_body(sr_exchange *exchange, const void *p, size_t n, bool last);

/** True when the bytes so far are a complete JSON document, after which only white space is valid. A door
 * that does not know where the body ends may then give `last` without more bytes. */
SR_API bool sr_exchange_body_whole(const sr_exchange *exchange);

/** The deadline after SR_STEP_WAIT, and while a stage reads the answer, in nanoseconds of CLOCK_MONOTONIC;
 * 0 = no deadline. It may change with each call of an answer function. */
SR_API uint64_t sr_exchange_deadline_ns(const sr_exchange *exchange);

/** Tells the exchange that the deadline has passed: what it waits for is given up, signals without a result
 * included. Then sr_exchange_verdict says whether the verdict is ready. If it is not, the exchange waits for
 * something else (a store of limits, for one), with a deadline of its own: ask sr_exchange_deadline_ns again,
 * and expect `ready`. Once the verdict is ready, `ready` is not called any more. For an answer,
 * sr_exchange_answer_next continues without the results that are missing. Does nothing unless the exchange
 * waits. */
SR_API void sr_exchange_timeout(sr_exchange *exchange);

/* ---- verdict ------------------------------------------------------------------------------------- */

/** What to do with the request. */
enum sr_action {
    SR_ACTION_FORWARD, /**< send the request on to `model` */
    SR_ACTION_REPLY,   /**< answer with `status`, `headers`, `reply` */
};

/** What happened to a request: the label that metrics and the access log carry. */
enum sr_outcome {
    SR_OUTCOME_ROUTED,   /**< a decision chose the model */
    SR_OUTCOME_DEFAULT,  /**< no decision matched: the default model */
    SR_OUTCOME_PASSED,   /**< the client named the model */
    SR_OUTCOME_DEGRADED, /**< chosen although a signal failed */
    SR_OUTCOME_FAST,     /**< answered by a fast_response plugin */
    SR_OUTCOME_LOCAL,    /**< answered here: model list */
    SR_OUTCOME_REFUSED,  /**< the request was wrong: 4xx */
    SR_OUTCOME_SHED,     /**< refused for lack of room: 503 */
    SR_OUTCOME_FAILED,   /**< the upstream could not be reached or was lost */
    SR_OUTCOME_BLOCKED,  /**< stopped by a guard */
    SR_OUTCOME_CACHED,   /**< answered from the response cache */
};

/** A backend to send a request to. */
struct sr_target {
    size_t struct_size;              /**< size that the library knows */
    const char *name;                /**< as in the configuration; where it has none, `host:port` */
    const char *scheme;              /**< "http" or "https" */
    const char *host;                /**< host name or IP address */
    int port;                        /**< TCP port */
    const char *base_path;           /**< prefix of the request path */
    const char *tls_ca_file;         /**< "" = the system's */
    bool tls_verify;                 /**< check the certificate */
    double weight;                   /**< share of requests among the targets */
    const struct sr_header *headers; /**< set on the request: credentials, extra headers */
    size_t n_headers;                /**< items in `headers` */
    bool unversioned;                /**< the request path goes without the `/v1` at its front */
    const char *query;               /**< added to the request's query; NULL or "": nothing */
    const char *api; /**< the API that it speaks: "chat", "responses", "messages"; NULL: the request's */
};

/* ---- ticket: the choice of a target and its result -------------------------------------------- */

/** A request's claim on the runtime's pool of workers. The pool knows for the whole process which workers
 * were unreachable in the last seconds, which is next and how many requests each has. The caller asks the
 * ticket for a target, begins there, and reports the result. The ticket belongs to its exchange: same
 * lifetime, same thread. A caller that chooses a target itself begins with its own choice, or does not use
 * the ticket. */
typedef struct sr_ticket sr_ticket;

/** Returns the index of the next of the verdict's `targets` to try, by the model's policy. Targets that
 * were unreachable in the last seconds come last. -1: all were tried. */
SR_API int sr_ticket_choose(sr_ticket *ticket);

/** The request goes to `targets[target]` now: it counts there as in flight until sr_ticket_end, the
 * exchange's end or the next begin, and the access log names it. */
SR_API void sr_ticket_begin(sr_ticket *ticket, size_t target);

/** The result of a request at a target. */
enum sr_ticket_event {
    SR_TICKET_UNREACHABLE, /**< the connection failed: the target is chosen last for some seconds */
    SR_TICKET_ANSWERED, /**< the head of its answer has arrived, with any status: the target is reachable */
    SR_TICKET_LOST,     /**< its answer is not complete */
};

/** Reports the result of the request at `targets[target]`. `status`: HTTP status of the answer; 0 = not
 * known. */
SR_API void sr_ticket_report(sr_ticket *ticket, size_t target, enum sr_ticket_event event, int status);

/** Ends the request at its target. The exchange continues and may begin at another target. */
SR_API void sr_ticket_end(sr_ticket *ticket);

/** What to do with a request. Borrowed from its exchange. */
struct sr_verdict {
    size_t struct_size;      /**< size that the library knows */
    enum sr_action action;   /**< what to do */
    enum sr_outcome outcome; /**< why */
    uint64_t overhead_ns; /**< time from the request's head to the verdict, without the time spent waiting for
                             bytes */
    const char *decision; /**< name, "" = none */
    const char *category; /**< "" = none */
    double confidence;    /**< of the decision, 0 to 1 */
    bool reasoning;       /**< the model is asked to reason */
    const char *effort;   /**< of the reasoning, "" = not given */

    /* SR_ACTION_FORWARD */
    const char *model;                   /**< its name in the configuration */
    const struct sr_target *targets;     /**< read each with sr_verdict_target: the struct's size may grow */
    size_t n_targets;                    /**< items in `targets` */
    sr_ticket *ticket;                   /**< chooses among `targets` */
    struct sr_bytes target;              /**< request target for the upstream, without the base path */
    const struct sr_header *set_headers; /**< set (replace or add) on the upstream request */
    size_t n_set_headers;                /**< items in `set_headers` */
    const struct sr_bytes *remove_headers; /**< names to strip from the client's headers */
    size_t n_remove_headers;               /**< items in `remove_headers` */
    const struct sr_bytes *body;           /**< the bytes to send now, in order */
    size_t n_body;                         /**< items in `body` */
    size_t body_size;                      /**< their sum */
    bool edited;    /**< the body differs from the input: content-length must be body_size */
    bool streaming; /**< more chunks follow, each answered SR_STEP_PASS (the body is not edited) */

    /* SR_ACTION_REPLY */
    int status;                      /**< HTTP status */
    const struct sr_header *headers; /**< content-type included, content-length not */
    size_t n_headers;                /**< items in `headers` */
    struct sr_bytes reply;           /**< the body of the reply */
};

/** The verdict's target `i`; NULL when `i` is out of range. Lives as long as the verdict. */
SR_API const struct sr_target *sr_verdict_target(const struct sr_verdict *verdict, size_t i);

/** Makes the verdict that for `targets[target]`, which the caller has chosen: where the targets of a model
 * speak different APIs, its body, its request target and its headers are in that one's. Call it after each
 * choice of a target, before the request is sent, with the same verdict; where all speak one API, nothing
 * changes. Returns the verdict, which is a reply when the request cannot be said in that API. NULL: there is
 * no verdict to forward, or no such target. */
SR_API const struct sr_verdict *sr_exchange_verdict_for(sr_exchange *exchange, size_t target);

/** The verdict for the best other model of the decision, because the one that was chosen failed before any
 * byte of its answer was used: its own name, reasoning and targets, and a new ticket. It takes from the
 * limits of that model; one whose limits have no room, or would have to be waited for, is left out. NULL:
 * there is none, the client named its model, or the body was passed on as it arrived. The verdict is
 * unchanged then, or where the request did not begin at the model of the last call, that of the model before
 * it. */
SR_API const struct sr_verdict *sr_exchange_next_model(sr_exchange *exchange);

/** The verdict; NULL before it is ready. Valid until sr_exchange_end; a later SR_STEP_ABORT,
 * sr_exchange_next_model or sr_exchange_fail changes it. */
SR_API const struct sr_verdict *sr_exchange_verdict(const sr_exchange *exchange);

/** The signals and the rule that won, as one JSON document; `terminal`: as text for a terminal of `width`
 * columns. Borrowed from the exchange until the next call. For `explain`. */
SR_API struct sr_bytes sr_exchange_explain(sr_exchange *exchange, bool terminal, int width, bool colour);

/** Turns the exchange into an error reply in OpenAI shape, because the caller cannot continue: upstream
 * unreachable (502), too slow (504), no room (503), body too large (413), too slow (408). */
SR_API const struct sr_verdict *sr_exchange_fail(sr_exchange *exchange, int status, const char *type,
                                                 const char *message);

/* ---- answer -------------------------------------------------------------------------------------- */

/** Changes to the answer's headers: removals first, then sets. Borrowed from the exchange. */
struct sr_header_edits {
    size_t struct_size;            /**< set by the caller; no member beyond it is written */
    const struct sr_header *set;   /**< to set, after the removals */
    size_t n_set;                  /**< items in `set` */
    const struct sr_bytes *remove; /**< names to remove */
    size_t n_remove;               /**< items in `remove` */
};

/** The upstream's answer begins. Do not call it for 1xx statuses. */
SR_API void sr_exchange_answer_head(sr_exchange *exchange, int status, const struct sr_header *headers,
                                    size_t n_headers, struct sr_header_edits *edits);

/** After sr_exchange_answer_head: true when a stage reads the whole answer before the client may get any of
 * it. Hold the head too while the step is SR_ANSWER_HOLD or SR_ANSWER_WAIT: another head may replace it. */
SR_API bool sr_exchange_answer_held(const sr_exchange *exchange);

/** What to do with the slices, and with the answer. */
enum sr_answer_step {
    SR_ANSWER_GO,      /**< send the slices to the client, after the head if that was held */
    SR_ANSWER_HOLD,    /**< no slices yet; give the next bytes */
    SR_ANSWER_WAIT,    /**< no slices yet, and all bytes were given: `answer_ready` will be called */
    SR_ANSWER_END,     /**< the slices are the end of the answer: discard what the upstream still sends */
    SR_ANSWER_REPLACE, /**< the reply of sr_exchange_verdict replaces the answer; one that was not held is
                          aborted, if the client has a part of it */
};

/** Gives the next bytes of the answer; `slices` are what the client gets, in order, valid until the next
 * call. They are the input itself unless a stage holds back or changes bytes. After the last bytes the
 * answer is complete, unless the step is SR_ANSWER_WAIT. */
SR_API enum sr_answer_step sr_exchange_answer_body(sr_exchange *exchange, const void *p, size_t n, bool last,
                                                   const struct sr_bytes **slices, size_t *n_slices);

/** The same without new bytes: returns the slices released since the last call. Call it after
 * `answer_ready` or sr_exchange_timeout. Before the last bytes a door may instead call
 * sr_exchange_answer_body with the next ones. */
SR_API enum sr_answer_step sr_exchange_answer_next(sr_exchange *exchange, const struct sr_bytes **slices,
                                                   size_t *n_slices);

/** Headers to set on a held head when it is sent, in addition to those of sr_exchange_answer_head. Borrowed
 * from the exchange. */
SR_API void sr_exchange_answer_headers(sr_exchange *exchange, const struct sr_header **headers,
                                       size_t *n_headers);

/** How an exchange ended. */
enum sr_end {
    SR_END_COMPLETE,      /**< the client has the whole answer */
    SR_END_CLIENT_GONE,   /**< the client disconnected */
    SR_END_UPSTREAM_LOST, /**< the upstream connection was lost after its head */
};

/** Writes the access log and the metrics, cancels pending work, frees the exchange. Always the last call. */
SR_API void sr_exchange_end(sr_exchange *exchange, enum sr_end how);

/** The version of the library, "0.1.0". */
SR_API const char *sr_version(void);

#ifdef __cplusplus
}
#endif

#endif
