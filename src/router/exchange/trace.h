/*
 * An exchange in a trace: where its span begins, a span of each request to an upstream, and the spans at the
 * end. docs/traces.md describes them.
 *
 * While the request is on its way only the record is filled.
 */
#ifndef SR_ROUTER_EXCHANGE_TRACE_H
#define SR_ROUTER_EXCHANGE_TRACE_H

#include "base/span_ref.h"
#include "router/exchange/exchange.h"

/* Reads the headers of the client; after sr_exchange_note_head. Does nothing when tracing is off. */
void sr_exchange_begin_trace(sr_exchange *x);

/* The request's own span, for what is done on its behalf. */
struct sr_span_ref sr_exchange_origin(const sr_exchange *x);

/* A request to this target begins (NULL: the door does not know which). The value of its `traceparent`, in
 * the exchange's arena; empty: tracing is off, or there is no memory. */
struct sr_bytes sr_exchange_try(sr_exchange *x, const struct sr_target *target);

/* How many have begun. */
size_t sr_exchange_tries(const sr_exchange *x);

/* The request of this number, from 1, came to nothing: with an answer of `status` (0: none), which the client
 * does not get. `why` is a constant. */
void sr_exchange_try_failed(sr_exchange *x, size_t number, int status, const char *why);

/* The last one is answered, for the client. */
void sr_exchange_try_answered(sr_exchange *x, int status);

/* The exchange has ended: gives its spans to who takes them, if they are kept. */
void sr_exchange_end_trace(sr_exchange *x);

#endif
