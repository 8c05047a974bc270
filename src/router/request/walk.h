/*
 * The walk over the texts of a request: which spans hold text, which message they belong to, and its role.
 *
 * Used by signals, guards, and the prefetch, which walks while the body arrives. The dialect's table
 * defines which members hold text.
 */
#ifndef SR_ROUTER_REQUEST_WALK_H
#define SR_ROUTER_REQUEST_WALK_H

#include "router/request/request.h"
#include "signal/signal.h"

enum sr_texts {
    SR_TEXTS_CONTENT, /* contents of messages, and prompts */
    SR_TEXTS_JUDGED,  /* these and other text that a model reads: refusals, reasoning, arguments of calls */
};

bool sr_walk_is_text(const struct sr_span *span, enum sr_texts which);

/* The first span from `from` on that begins before byte `end` of the body and holds a text; n_spans when
 * there is none. */
size_t sr_walk_text(const struct sr_request *doc, size_t from, size_t end, enum sr_texts which);

/* The first message whose span is `from` or a later one; n_spans when there is none. */
size_t sr_walk_message(const struct sr_request *doc, size_t from);

/* The role in this span, the complete value of a `role` member. */
enum sr_signal_role sr_walk_role_of(const struct sr_request *doc, const struct sr_span *role);

/* The role of a message; SR_ROLE_OTHER before it has arrived. */
enum sr_signal_role sr_walk_role(const struct sr_request *doc, size_t message);

/* The last content of a message; SR_SPAN_NONE without one. */
uint32_t sr_walk_content(const struct sr_request *doc, size_t message);

#endif
