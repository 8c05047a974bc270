/*
 * An exchange from the inside: the stages' states side by side, and what the files that sequence them share.
 *
 * Only exchange*.c include this. Data goes one way: exchange.c (the body) and exchange_answer.c (the answer)
 * call exchange_verdict.c, which calls exchange_record.c; all four call stages, and no stage calls back but
 * through a function that it was given. The states and who may do what in which: docs/internals/request.md.
 */
#ifndef SR_ROUTER_EXCHANGE_H
#define SR_ROUTER_EXCHANGE_H

#include "pool/ticket.h"
#include "router/edit/edit.h"
#include "router/identity/identity.h"
#include "router/record.h"
#include "router/request/body.h"
#include "router/request/prefetch.h"
#include "router/response/answer.h"
#include "router/route/route.h"

enum sr_exchange_state {
    SR_EXCHANGE_READING,   /* the body arrives; nothing is decided */
    SR_EXCHANGE_WAITING,   /* the body is complete; signals are in progress */
    SR_EXCHANGE_STREAMING, /* the verdict was to pass; the rest of the body is only checked */
    SR_EXCHANGE_SETTLED,   /* the verdict is final */
};

/* Owned by one thread; everything that it points to lives in its arena, its buffers or its router. */
struct sr_exchange {
    sr_runtime *runtime;
    struct sr_router *router;
    struct sr_metrics *metrics; /* NULL: switched off */
    struct sr_exchange_env env; /* post NULL: none */
    struct sr_arena arena;
    enum sr_exchange_state state;
    uint64_t waiting_since; /* when signals were started elsewhere */
    struct sr_record record;
    char request_id[SR_REQUEST_ID_SIZE]; /* made here when the client sent none */

    /* stages of the request */
    struct sr_head head;
    struct sr_identity identity;
    struct sr_body body;
    struct sr_prefetch prefetch;
    struct sr_mailbox *mailbox; /* by which late results come; NULL: none */
    struct sr_routing routing;
    struct sr_edited edited;

    /* for the door */
    struct sr_verdict verdict;
    struct sr_ticket ticket; /* of a verdict that forwards */
    struct sr_buf reply;
    struct sr_buf explain;

    struct sr_answer answer;
    bool answer_found; /* what the guard of answers found was reported */
};

/* ---- exchange_answer.c: the public functions of the answer's side ---- */

/* What the guard of answers waits for has taken too long. */
void sr_exchange_answer_timeout(sr_exchange *x);

/* ---- exchange_verdict.c: from what stages returned to a verdict ---- */

/* The reply of a refusal. */
void sr_exchange_refuse(sr_exchange *x, const struct sr_refusal *refusal);

/* The lists of models, by what sr_admit returned. */
void sr_exchange_reply_models(sr_exchange *x);
void sr_exchange_reply_model(sr_exchange *x, struct sr_bytes escaped_id);

/* Forwards the bytes as they came, as far as they came. */
void sr_exchange_forward(sr_exchange *x);
/* Forwards a request that named its model, with the name that its upstream knows. */
void sr_exchange_forward_named(sr_exchange *x);

/* The routing has ended with this code, or was skipped: its reply, or edits and a verdict to forward. */
void sr_exchange_decided(sr_exchange *x, int rc);

/* ---- exchange_record.c: facts go into the record, and the record to its readers ---- */

/* What the stage has found so far. */
void sr_exchange_note_head(sr_exchange *x);
void sr_exchange_note_body(sr_exchange *x);
void sr_exchange_note_routing(sr_exchange *x);
void sr_exchange_note_edits(sr_exchange *x);
void sr_exchange_note_answer(sr_exchange *x);

/* The verdict is there for the first time: metrics, audit log. */
void sr_exchange_report_verdict(sr_exchange *x);
/* The guard of answers has found an attack: the same, at once. */
void sr_exchange_report_finding(sr_exchange *x);
/* The exchange ends: metrics, access log. */
void sr_exchange_report_end(sr_exchange *x, enum sr_end how);

#endif
