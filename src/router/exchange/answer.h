/*
 * The answer's side of an exchange: the public functions for answers, and the function that exchange.c
 * calls.
 */
#ifndef SR_ROUTER_EXCHANGE_ANSWER_H
#define SR_ROUTER_EXCHANGE_ANSWER_H

#include "router/exchange/exchange.h"

/* The deadline of the answer guard has passed. */
void sr_exchange_answer_timeout(sr_exchange *x);

/* Appends the event that ends a stream with this error, as the dialect of the request has it. SR_ENOMEM,
 * SR_ELIMIT.
 */
int sr_exchange_error_event(const sr_exchange *x, const struct sr_dialect_error *error,
                            struct sr_buf *out) SR_WARN_UNUSED;

/* After the head of an answer that must be read and cannot, as the head itself shows: makes an error the
 * verdict and returns true, so that a door whose client has no head yet can answer with it at once. Else the
 * body's step says so. */
bool sr_exchange_answer_refused(sr_exchange *x);

/* Keeps a complete answer in the cache, if the request's policy says so. Before the end is reported. */
void sr_exchange_keep(sr_exchange *x, enum sr_end how);

#endif
