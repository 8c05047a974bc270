/*
 * Verdicts that are replies. Each function leaves the exchange SETTLED, with its verdict and the verdict's
 * facts in the record.
 */
#ifndef SR_ROUTER_EXCHANGE_REPLY_H
#define SR_ROUTER_EXCHANGE_REPLY_H

#include "router/exchange/exchange.h"
#include "router/reply/reply.h"

/* Fills the door's struct sr_verdict from the record: the exchange is SETTLED. */
void sr_exchange_publish(sr_exchange *x);

/* Replies with the error of a refusal; of one for want of memory; of one for want of time, which its client
 * is told. */
void sr_exchange_refuse(sr_exchange *x, const struct sr_refusal *refusal);
void sr_exchange_refuse_memory(sr_exchange *x);
void sr_exchange_refuse_busy(sr_exchange *x);

/* Begins a reply whose body goes into `x->reply`, and makes the verdict of it; `rc` is what the body's writer
 * returned: when out of memory the reply is a constant. */
void sr_exchange_begin_reply(sr_exchange *x, enum sr_outcome outcome, int status, const char *path);
void sr_exchange_finish_reply(sr_exchange *x, const char *content_type, int rc);

/* Finishes a reply that reads like a model's answer. */
void sr_exchange_reply_message(sr_exchange *x, struct sr_reply_message message);

/* Replies with a list of models or one model, by what sr_admit returned. */
void sr_exchange_reply_models(sr_exchange *x);
void sr_exchange_reply_model(sr_exchange *x, struct sr_bytes escaped_id);

/* Replies with the methods of an endpoint, and no body. */
void sr_exchange_reply_options(sr_exchange *x, struct sr_bytes methods);

#endif
