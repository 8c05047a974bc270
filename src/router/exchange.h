/*
 * An exchange from the inside: what the files of this folder share about one request and its answer.
 *
 * Owned by the thread that owns the exchange; everything it points to lives in its arena, its buffers or its
 * engine. The states and who may do what in which: docs/internals/request.md.
 */
#ifndef SR_ROUTER_EXCHANGE_H
#define SR_ROUTER_EXCHANGE_H

#include "base/buf.h"
#include "pool/ticket.h"
#include "router/identity/identity.h"
#include "router/record.h"
#include "router/request/head.h"
#include "router/request/prefetch.h"
#include "router/request/request.h"
#include "router/response/answer.h"
#include "router/route/guard.h"
#include "router/router.h"
#include "router/runtime.h"
#include "json/splice.h"

enum sr_exchange_state {
    SR_EXCHANGE_READING,   /* the body arrives; nothing is decided */
    SR_EXCHANGE_WAITING,   /* the body is complete; signals are under way */
    SR_EXCHANGE_STREAMING, /* the verdict was to pass; the rest of the body is only checked */
    SR_EXCHANGE_SETTLED,   /* the verdict is final */
};

/* What is being decided, in this order. */
enum sr_route_phase {
    SR_PHASE_GUARD,  /* which guard matches */
    SR_PHASE_ROUTE,  /* which decision, and so which model */
    SR_PHASE_POLICY, /* may that model see what is in the request */
    SR_PHASE_DONE,
};

struct sr_bridge;

struct sr_exchange {
    sr_runtime *runtime;
    struct sr_router *router;
    struct sr_metrics *metrics; /* NULL: switched off */
    struct sr_exchange_env env; /* post NULL: none */
    struct sr_arena arena;
    enum sr_exchange_state state;
    struct sr_record record; /* what happened so far */
    uint64_t waiting_since;  /* when signals went under way elsewhere */
    struct sr_head head;
    struct sr_identity identity;
    char request_id[SR_REQUEST_ID_SIZE]; /* made here when the client sent none */

    /* the body */
    struct sr_request doc;
    struct sr_scan *scan;
    struct sr_buf body;
    uint64_t body_bytes; /* all that arrived */
    bool body_whole;     /* a complete document: only white space can follow */
    size_t next_span;    /* the first that was not looked at for `model` */
    struct sr_early early;

    /* the way to the verdict */
    int model;        /* index; -1 = none */
    int client_model; /* the model that the client named, when it is one of ours; -1 */
    bool automatic;   /* the client left the choice to the router */
    bool is_stream;   /* the client wants a stream */
    struct sr_bridge *bridge;
    struct sr_signal_input *input;
    struct sr_signal_run *run;
    const struct sr_signal_result *results[SR_SIGNAL_TYPES]; /* of types that were asked for */
    uint32_t begun, wanted; /* types that were started, and those of them that were asked for: bits */
    uint64_t deadline_ns;
    enum sr_route_phase phase;
    const struct sr_plan *plan; /* that `decision` is of */
    struct sr_guard guard;
    struct sr_decision decision;
    struct sr_choice choice;
    bool injected_prompt;
    bool hidden_usage; /* include_usage was set on the client's behalf */

    struct sr_verdict verdict;
    bool has_verdict;
    const char *error_code;    /* of a refusal, for the access log */
    const char *error_reason;  /* for llm_request_errors_total; NULL = not counted */
    const char *response_path; /* x-vsr-response-path of a reply; NULL = none */
    struct sr_ticket ticket;   /* of a verdict that forwards */
    struct sr_bytes allow;     /* the method that a 405 names */
    struct sr_buf reply;
    struct sr_buf explain;
    struct sr_header_edits answer_edits;
    struct sr_answer answer;
    bool answer_found; /* what the guard of answers found was reported */
};

/* The decision that won, or NULL. */
const struct sr_config_decision *sr_exchange_decision(const sr_exchange *x);

/* The configuration of the chosen model, or NULL. */
const struct sr_config_model *sr_exchange_model(const sr_exchange *x);

/* The client's request id, else the one made here. */
struct sr_bytes sr_exchange_id(const sr_exchange *x);

/* ---- route.c: from the texts to a decision ---- */

/* Starts the signals. Sets the state to WAITING or calls sr_exchange_routed. */
void sr_route_start(sr_exchange *x);
/* Gives up on what is still under way, with this status, and decides. */
void sr_route_give_up(sr_exchange *x, int status);
/* Drops the runs; late results find nobody. */
void sr_route_dispose(sr_exchange *x);

/* ---- exchange.c ---- */

/* The verdict came while the exchange was waiting: books the time. */
void sr_exchange_woken(sr_exchange *x);

/* The guard of answers has found an attack: counted and written to the audit log at once. */
void sr_exchange_answer_finding(sr_exchange *x);

/* ---- exchange_answer.c ---- */

/* What the guard of answers waits for has taken too long. */
void sr_exchange_answer_timeout(sr_exchange *x);

/* ---- intake.c ---- */

/* What the head alone settles. */
void sr_intake_head(sr_exchange *x);
/* The next bytes while nothing is decided. */
void sr_intake_chunk(sr_exchange *x, const void *p, size_t n, bool last);
/* The next bytes after a streaming verdict: SR_STEP_PASS or SR_STEP_ABORT. */
enum sr_step sr_intake_stream(sr_exchange *x, const void *p, size_t n, bool last);

/* ---- verdict.c ---- */

/* The decision is made: its reply, or edits and a verdict. */
void sr_exchange_routed(sr_exchange *x);
/* Forwards the bytes as they came, as far as they came. */
void sr_exchange_forward(sr_exchange *x);
/* A request that named its model has passed the guards: their reply, or edits and a verdict. */
void sr_exchange_guarded(sr_exchange *x);
/* Edits the body and forwards it. */
void sr_exchange_edit(sr_exchange *x, int (*edit)(sr_exchange *x));
void sr_exchange_refuse_memory(sr_exchange *x);

/* ---- headers.c ---- */

/* Fills the verdict's header lists for the upstream. SR_ENOMEM. */
int sr_headers_upstream(sr_exchange *x) SR_WARN_UNUSED;
/* Fills `edits` for the client's answer; leaves them empty when memory is out. */
void sr_headers_answer(sr_exchange *x, int status, const struct sr_header *headers, size_t n_headers,
                       struct sr_header_edits *edits);
/* The headers of a reply made here: its content type and the router's own. */
int sr_headers_reply(sr_exchange *x, const char *content_type) SR_WARN_UNUSED;

#endif
