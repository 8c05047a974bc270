/*
 * One request in the gateway: the state and functions that the files of this folder share.
 *
 * Calls go one way: gateway.c (life) uses request.c (the client's half) and take_back.c (looks at calls that
 * wait), which use upstream.c (from the verdict to the upstream's events), which uses retry.c (the next try)
 * and reply.c (towards the client); all use call.c and waiting.c; wait.c queues a call for a worker. A call
 * lives in its request's arena and ends with the server's `done`. It goes through the stages in order; any of
 * them may go directly to SR_CALL_FINISHED.
 */
#ifndef SR_SERVE_GATEWAY_CALL_H
#define SR_SERVE_GATEWAY_CALL_H

#include "net/client/client.h"
#include "observe/metrics.h"
#include "pool/ticket.h"
#include "serve/gateway/gateway.h"
#include "serve/gateway/health.h"
#include "serve/gateway/scrape.h"
#include "serve/gateway/tokenize.h"

/* Bytes that may wait for the client, or for the upstream, before the other side is paused. */
#define SR_CALL_HIGH_WATER ((size_t)256 * 1024)

/* Interval in ms at which calls that wait for a first byte are looked at, and how many of them at once: all
 * of them in turn, in bounded time. */
#define SR_GATEWAY_LOOKS_MS 25
#define SR_GATEWAY_LOOKS    256

/* Interval in ms at which the gauges of connections are updated. */
#define SR_GATEWAY_GAUGES_MS 1000

/* Bytes of an answer up to which small pieces of one iteration of the loop are sent in one write. */
#define SR_CALL_COALESCE ((size_t)16 * 1024)

enum sr_call_stage {
    SR_CALL_RECEIVING, /* the exchange needs more of the body */
    SR_CALL_WAITING,   /* the exchange waits for another thread */
    SR_CALL_SENDING,   /* the upstream has not answered yet */
    SR_CALL_ANSWERING, /* the upstream's head has arrived */
    SR_CALL_FINISHED,  /* all of the answer was given to the server, or the client has disconnected */
};

struct sr_gateway_listener {
    struct sr_gateway *gateway;
    struct sr_http_server *server;
    uint64_t timeout_ms;
    bool drained;
};

struct sr_call {
    struct sr_gateway *gateway;
    struct sr_call *next, **pprev; /* all calls of the gateway */
    struct sr_http_request *request;
    sr_exchange *exchange;
    enum sr_call_stage stage;
    struct sr_call *later,
        **earlier;         /* calls that wait for a first byte; `earlier` NULL: this one does not */
    struct sr_timer timer; /* timeout of the whole exchange, or of SR_CALL_WAITING */
    uint64_t deadline_ns;  /* deadline of the whole exchange; 0 = none */

    /* towards the upstream */
    const struct sr_verdict *verdict;
    struct sr_fetch *upstream; /* NULL when there is none, or it has ended */
    const struct sr_target *target;
    int tries, tries_before;                      /* at the verdict's model, and at the one before */
    struct sr_timer retry;                        /* the next try begins, or the wait for a worker is over */
    bool waits;                                   /* in the queue of its pool, for a worker with room */
    void (*placed)(struct sr_call *call, int at); /* see sr_wait_begin */
    bool connects;                                /* on a new connection, not a pooled one */
    bool body_done;                               /* the client's body is complete */
    bool body_passed;                             /* bytes came after the verdict's: no retry */
    bool body_whole;                              /* the upstream has been given the whole body */
    bool client_paused;
    size_t body_at;  /* slices of the verdict's body that were given to the upstream */
    size_t slice_at; /* bytes of the next slice that were given too */

    const struct sr_http_head *held_head; /* of the upstream, until the first byte of its body; NULL: none */

    /* towards the client */
    struct sr_http_response answer;   /* the head, until it is written */
    struct sr_header *answer_headers; /* its headers, with room for a few more */
    bool answer_pending;              /* `answer` is filled, not yet written */
    bool answer_held;                 /* not to be written yet: a stage reads the whole answer first */
    bool answer_given;                /* the exchange has all of it */
    bool answer_begun;                /* the head was written */
    bool answer_sse;
    bool upstream_paused;
    bool lost;               /* the upstream connection was lost inside its answer */
    int64_t upstream_length; /* content-length of the upstream's answer; -1 = none */
    uint64_t upstream_got;
    char tail[2]; /* the last bytes given to the client, to end an SSE event properly */
    struct sr_deferred flush;
    struct sr_buf out; /* small pieces until the end of this iteration */
};

struct sr_gateway {
    struct sr_gateway_options options;
    const struct sr_config *config;
    struct sr_client *client;
    struct sr_metrics *metrics;
    struct sr_gateway_listener listeners[SR_GATEWAY_LISTENERS_MAX];
    size_t n_listeners;
    struct sr_call *calls;
    size_t active;
    bool draining;
    struct sr_call *waiting,
        **waiting_end; /* calls that wait for a first byte, in the order of their turns */
    size_t n_waiting;
    struct sr_timer looks; /* at those */
    struct sr_timer gauges;
    struct sr_health *health;       /* NULL: another loop checks */
    struct sr_scraper *scraper;     /* NULL: another loop asks the workers for their load */
    struct sr_tokenizer *tokenizer; /* NULL: another loop asks them for tokens */
    size_t shown_active, shown_idle, shown_pooled;
    struct sr_http_server_counts shown_counts;
};

/* ---- call.c ---- */

/* Sets the timer for what is due first. */
void sr_call_arm(struct sr_call *call);

/* Counts a failure of the call's target: a value of SR_METRIC_UPSTREAM_FAILURES. */
void sr_call_count_failure(const struct sr_call *call, const char *reason);

/* The name of the call's target in metrics; discovered ones, which come and go, share that of their model. */
struct sr_bytes sr_call_backend(const struct sr_call *call);

/* The workers of the verdict's model come and go. */
bool sr_call_is_discovered(const struct sr_call *call);

/* Reads no more of the client's body, unless it is complete. No effect when it is so already. */
void sr_call_pause_client(struct sr_call *call);

/* Cancels the upstream, if there is one, and a wait for it. */
void sr_call_cancel(struct sr_call *call);

/* ---- waiting.c: calls that wait for the first byte of their upstream's answer ---- */

/* The call is one of them from now on, or not any more. No effect when it is so already. */
void sr_waiting_add(struct sr_call *call);
void sr_waiting_remove(struct sr_call *call);

/* The next one, of at least one, which gets its next turn after all others. */
struct sr_call *sr_waiting_turn(struct sr_gateway *gateway);

/* ---- take_back.c: away from workers that are slow or gone ---- */

/* The timer of a gateway's looks; `ctx` is the gateway. */
void sr_take_back_look(void *ctx);

/* ---- request.c: the client's half ---- */

/* The handler of a listener: `ctx` is its struct sr_gateway_listener. */
extern const struct sr_http_handler sr_gateway_handler;

/* ---- upstream.c: from the verdict to the upstream's events ---- */

/* Handles the verdict: replies, or sends the request upstream. */
void sr_call_verdict(struct sr_call *call);

/* The wait before the next try is over; `ctx` is the call. */
void sr_call_retry(void *ctx);

/* The call waits for its first byte at a worker that is `why` (sr_ticket_left_behind): it goes to another
 * one, where it may and one is well. */
void sr_call_take_back(struct sr_call *call, const char *why);

/* Forwards bytes of the client's body after a streaming verdict. */
void sr_call_pass(struct sr_call *call, struct sr_bytes slice, bool last);

/* ---- wait.c: the queue of a pool ---- */

/* After a choice of no target: waits for a worker of the verdict's model, and calls `placed` once, unless the
 * call is cancelled: with the index of a target that has a place for the request; with SR_AGAIN when there
 * may be others now; with another code when there is none in time. False: it cannot wait. */
bool sr_wait_begin(struct sr_call *call, void (*placed)(struct sr_call *call, int at));

/* The wait took too long: `placed` is called. */
void sr_wait_timeout(struct sr_call *call);

/* ---- retry.c: the next try ---- */

/* What failed, as bits of enum sr_retry_on: an answer with this status (0: it is one for the client), or a
 * fetch without a head. */
uint32_t sr_retry_of_status(int status);
uint32_t sr_retry_of_error(const struct sr_client_error *error);

/* The same as a value of SR_METRIC_UPSTREAM_FAILURES, of a fetch without a head. */
const char *sr_retry_failure_name(const struct sr_client_error *error);

/* What the head asks to wait, in milliseconds; 0: nothing. */
uint64_t sr_retry_after_ms(const struct sr_http_head *head);

/* The first try: chooses a target of the verdict's model, or of the next ones of the decision, and begins
 * there. False: none has a worker with room; the verdict may be that of one that is only tried out. */
bool sr_retry_place(struct sr_call *call);

/* The first byte of an answer decides where the request is answered: there are other workers, and it may be
 * sent again. */
bool sr_retry_may_move(const struct sr_call *call);

/* Begins at another worker that is well, where the request may be sent again, which is a place in the budget.
 * False: it stays. */
bool sr_retry_leave(struct sr_call *call);

/* The request is what the target of the call gets. A target into whose API it cannot be translated gives way
 * to another one of the model. The errors of sr_exchange_aim, of the last one: the call has no target. */
int sr_retry_aim(struct sr_call *call, struct sr_err *err) SR_WARN_UNUSED;

/* After a failure that was reported: may the request be tried again at all? It has a place in the budget
 * then, where it needs one. */
bool sr_retry_may(const struct sr_call *call, uint32_t failure) SR_WARN_UNUSED;

/* Begins at another worker of the model, or at one of the next models, whose verdict is the call's then.
 * False: none has one with room; the verdict may be that of one that is only tried out (sr_retry_go_back). */
bool sr_retry_next(struct sr_call *call);

/* May it wait for a worker of the verdict's model, all of which are full? */
bool sr_retry_may_wait(const struct sr_call *call);

/* No worker was found at a model that is tried out: the call is at the model before again. False: no model is
 * tried out. */
bool sr_retry_go_back(struct sr_call *call);

/* Begins at the same workers once more, to be started after so many milliseconds. False: the failure is
 * final. */
bool sr_retry_same(struct sr_call *call, uint32_t failure, uint64_t retry_after_ms, uint64_t *wait_ms);

/* ---- reply.c: towards the client ---- */

/* Answers with a verdict whose action is SR_ACTION_REPLY; aborts when an answer has begun. */
void sr_call_reply(struct sr_call *call, const struct sr_verdict *verdict);

/* Turns the exchange into an error and answers it. */
void sr_call_fail(struct sr_call *call, int status, const char *type, const char *message);

/* Handle the upstream's head and body. */
void sr_call_answer_head(struct sr_call *call, const struct sr_http_head *head);
void sr_call_answer_body(struct sr_call *call, struct sr_bytes slice, bool last);

/* The exchange has classified the bytes that it held. */
void sr_call_answer_ready(struct sr_call *call);

/* No more of the upstream's answer comes after its head: ends an SSE stream with an error event, replaces an
 * answer of which the client has nothing, and aborts any other one. `why` is for people, `reason` a value of
 * SR_METRIC_UPSTREAM_FAILURES. */
void sr_call_answer_lost(struct sr_call *call, const char *why, const char *reason);

/* The client's connection can send again. */
void sr_call_writable(struct sr_call *call);

/* Frees what the call owns outside the arena. */
void sr_call_answer_dispose(struct sr_call *call);

#endif
