/*
 * Headers: what the upstream gets beside the client's own, what the client gets beside the upstream's, and
 * what a reply made here carries.
 *
 * Each function turns a record into a list in `arena`. Connection, framing and host headers belong to the
 * doors; a configuration that touches them is refused.
 */
#ifndef SR_ROUTER_REPLY_HEADERS_H
#define SR_ROUTER_REPLY_HEADERS_H

#include "router/record.h"
#include "router/request/head.h"
#include "router/router.h"

/* For a request that goes to the record's model. SR_ENOMEM. */
int sr_headers_upstream(const struct sr_record *r, const struct sr_head *head, const struct sr_router *router,
                        struct sr_arena *arena, struct sr_header_edits *out) SR_WARN_UNUSED;

/* The head of an upstream's answer; its status is in the record. */
struct sr_answer_headers {
    const struct sr_header *items;
    size_t n;
    bool changes; /* a stage may change the body: its length is not known before */
};

/* For the client's answer; leaves `edits` empty when it is out of memory. */
void sr_headers_answer(const struct sr_record *r, const struct sr_router *router,
                       const struct sr_answer_headers *answer, struct sr_arena *arena,
                       struct sr_header_edits *edits);

/* What the guard of answers found; nothing when it is out of memory. */
void sr_headers_answer_guard(const struct sr_record *r, struct sr_arena *arena,
                             const struct sr_header **headers, size_t *n_headers);

/* Of a reply made here: its content type and the router's own. SR_ENOMEM. */
int sr_headers_reply(const struct sr_record *r, const struct sr_config *config, const char *content_type,
                     struct sr_arena *arena, const struct sr_header **headers,
                     size_t *n_headers) SR_WARN_UNUSED;

#endif
