/*
 * An exchange from the inside: the stages' states side by side, and what the files that sequence them share.
 *
 * For exchange*.c alone. Data goes one way: exchange.c (the body) calls exchange_answer.c (the answer), both
 * call exchange_verdict.c, and all of them exchange_record.c; all four call stages, and no stage calls back
 * but through a function that it was given. The states and who may do what in which:
 * docs/internals/request.md.
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

#endif
