/*
 * Headers that the router adds: to the client's request, to the upstream's answer, and to a reply.
 *
 * Each function turns a record into a list in `arena`. Connection, framing and host headers belong to the
 * doors; a configuration that touches them is refused.
 */
#ifndef SR_ROUTER_REPLY_HEADERS_H
#define SR_ROUTER_REPLY_HEADERS_H

#include "router/record.h"
#include "router/request/head.h"
#include "router/router.h"

/* The headers of a request to the record's model. SR_ENOMEM. */
int sr_headers_upstream(const struct sr_record *r, const struct sr_head *head, const struct sr_router *router,
                        struct sr_arena *arena, struct sr_header_edits *out) SR_WARN_UNUSED;

/* The head of an upstream's answer; its status is in the record. */
struct sr_answer_headers {
    const struct sr_header *items;
    size_t n;
    bool changes; /* a stage may change the body: its length is not known before */
    bool json;    /* the body becomes JSON, whatever it was */
    bool decoded; /* the coding of the body is undone */
};

/* The header edits of the client's answer; `edits` is empty when out of memory. */
void sr_headers_answer(const struct sr_record *r, const struct sr_router *router,
                       const struct sr_answer_headers *answer, struct sr_arena *arena,
                       struct sr_header_edits *edits);

/* The headers for a finding of the answer guard; none when out of memory. */
void sr_headers_answer_guard(const struct sr_record *r, struct sr_arena *arena,
                             const struct sr_header **headers, size_t *n_headers);

/* The headers of a reply: its content type (NULL: it has no body) and the router's own. SR_ENOMEM. */
int sr_headers_reply(const struct sr_record *r, const struct sr_config *config, const char *content_type,
                     struct sr_arena *arena, const struct sr_header **headers,
                     size_t *n_headers) SR_WARN_UNUSED;

#endif
