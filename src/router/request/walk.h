/*
 * The walk over the texts of a request: which spans hold text, which message they belong to, and whose it is.
 *
 * For everyone who reads a request's texts: signals, guards, and the prefetch, which walks while the body
 * arrives. Which members hold text is said by the dialect's table.
 */
#ifndef SR_ROUTER_REQUEST_WALK_H
#define SR_ROUTER_REQUEST_WALK_H

#include "router/request/request.h"
#include "signal/signal.h"

enum sr_texts {
    SR_TEXTS_CONTENT, /* what is said: contents of messages, prompts */
    SR_TEXTS_JUDGED,  /* and what else a model reads: refusals, reasoning, arguments of calls */
};

bool sr_walk_is_text(const struct sr_span *span, enum sr_texts which);

/* The first span from `from` on that begins before byte `end` of the body and holds a text; n_spans when
 * there is none. */
size_t sr_walk_text(const struct sr_request *doc, size_t from, size_t end, enum sr_texts which);

/* The first message whose span is `from` or a later one; n_spans when there is none. */
size_t sr_walk_message(const struct sr_request *doc, size_t from);

/* The role that this span names: the value of a `role`, which is complete. */
enum sr_signal_role sr_walk_role_of(const struct sr_request *doc, const struct sr_span *role);

/* The role of a message, as far as it has arrived: SR_ROLE_OTHER before. */
enum sr_signal_role sr_walk_role(const struct sr_request *doc, size_t message);

/* The content of a message, SR_SPAN_NONE without one; the last one of several. */
uint32_t sr_walk_content(const struct sr_request *doc, size_t message);

#endif
