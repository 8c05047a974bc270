/*
 * The body of a request as it arrives: counted, scanned, kept, and searched for the model that it names.
 *
 * Keeps the limits and refuses what is no request. What becomes of a good one is not decided here: after each
 * chunk the caller sees what is known so far.
 */
#ifndef SR_ROUTER_REQUEST_BODY_H
#define SR_ROUTER_REQUEST_BODY_H

#include "base/buf.h"
#include "router/refusal.h"
#include "router/request/head.h"
#include "router/request/request.h"
#include "router/router.h"

struct sr_body {
    const struct sr_router *router;
    const struct sr_head *head;
    struct sr_arena *arena;
    struct sr_request doc; /* as far as it has been read; its dialect is there from the start */
    struct sr_scan *scan;
    struct sr_buf bytes;  /* what is kept */
    uint64_t arrived;     /* bytes of all chunks */
    bool whole;           /* a complete document: only white space can follow */
    bool passing;         /* nothing is kept any more: the rest is only checked */
    bool is_stream;       /* the client asked for a stream */
    bool automatic;       /* the client asked for an automatic model */
    int model;            /* of ours that the client named, index of the configuration; -1 = none so far */
    size_t next_span;     /* the first that was not looked at for `model` */
    uint64_t complete_ns; /* when the last byte came; 0 = not yet */
    uint64_t scan_ns;     /* time it took to scan */
};

enum sr_body_step {
    SR_BODY_MORE,     /* more has to come; `automatic` and `model` may be known */
    SR_BODY_COMPLETE, /* the last byte is there: it is a request with a model */
    SR_BODY_REFUSED,  /* `refusal` is filled */
};

/* Allocates nothing. `max`: bytes that are kept at most. */
void sr_body_init(struct sr_body *body, size_t max);
void sr_body_dispose(struct sr_body *body);

/* Readies it for the first chunk. All three must outlive it. SR_ENOMEM. */
int sr_body_begin(struct sr_body *body, const struct sr_router *router, const struct sr_head *head,
                  struct sr_arena *arena) SR_WARN_UNUSED;

/* The next chunk (n may be 0). */
enum sr_body_step sr_body_feed(struct sr_body *body, const void *p, size_t n, bool last,
                               struct sr_refusal *refusal);

/* A complete body that signals will read: checks what they rely on besides. False: `refusal` is filled. */
bool sr_body_check(struct sr_body *body, struct sr_refusal *refusal);

/* From now on chunks pass: sr_body_feed keeps nothing, and finds only what takes back what the beginning
 * said. Once a model is named. */
void sr_body_pass(struct sr_body *body);

/* The client named a model of ours. */
static inline bool sr_body_is_named(const struct sr_body *body)
{
    return body->model >= 0 && !body->automatic;
}

#endif
