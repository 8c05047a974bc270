/*
 * The body of a request as it arrives: counted, scanned, kept, and searched for the model that it names.
 *
 * Enforces the limits and refuses invalid requests. It decides nothing about valid ones: after each chunk
 * the caller sees what is known so far.
 */
#ifndef SR_ROUTER_REQUEST_BODY_H
#define SR_ROUTER_REQUEST_BODY_H

#include "base/buf.h"
#include "router/refusal.h"
#include "router/request/head.h"
#include "router/request/request.h"
#include "router/request/upload.h"
#include "router/router.h"

struct sr_body {
    const struct sr_router *router;
    const struct sr_head *head;
    struct sr_arena *arena;
    struct sr_request doc; /* the body read so far; its dialect is set from the start */
    struct sr_scan *scan;
    struct sr_buf bytes;     /* kept bytes */
    struct sr_upload upload; /* of a form, whose document `bytes` are; else its boundary is empty */
    uint64_t arrived;        /* bytes of all chunks */
    bool whole;              /* a complete document: only white space can follow */
    bool passing;            /* the rest is only checked, not kept */
    bool is_stream;          /* the client asked for a stream */
    bool automatic;          /* the client asked for an automatic model */
    bool builtin;            /* it asked for embeddings that are computed here */
    int recipe;              /* that it asked for with it, as an index; -1 = the top-level routing block */
    int model;               /* configured model that the client named, as an index; -1 = none so far */
    size_t next_span;        /* first span not yet searched for `model` */
    uint64_t complete_ns;    /* time of the last byte; 0 = not yet */
    uint64_t scan_ns;        /* time spent scanning */
};

enum sr_body_step {
    SR_BODY_MORE,     /* more chunks follow; `automatic` and `model` may be known */
    SR_BODY_COMPLETE, /* the body is complete: a request with a model */
    SR_BODY_REFUSED,  /* `refusal` is filled */
};

/* Allocates nothing. `max`: most bytes that are kept. */
void sr_body_init(struct sr_body *body, size_t max);
void sr_body_dispose(struct sr_body *body);

/* Prepares the body for the first chunk. All three must outlive it. SR_ENOMEM. */
int sr_body_begin(struct sr_body *body, const struct sr_router *router, const struct sr_head *head,
                  struct sr_arena *arena) SR_WARN_UNUSED;

/* Reads the next chunk (n may be 0). */
enum sr_body_step sr_body_feed(struct sr_body *body, const void *p, size_t n, bool last,
                               struct sr_refusal *refusal);

/* True for a form: what is sent is made of its document by sr_upload_write. */
static inline bool sr_body_is_upload(const struct sr_body *body)
{
    return body->upload.boundary.n != 0;
}

/* Checks what signals require of a complete body. False: `refusal` is filled. */
bool sr_body_check(struct sr_body *body, struct sr_refusal *refusal);

/* From now on chunks pass through: sr_body_feed keeps nothing, and only checks that the rest does not
 * contradict the beginning. Call it once a model is named. */
void sr_body_pass(struct sr_body *body);

/* True when the client named a configured model. */
static inline bool sr_body_is_named(const struct sr_body *body)
{
    return body->model >= 0 && !body->automatic;
}

#endif
