/* Keeps the response of an exchange that is complete, for requests that continue it by its id. */
#ifndef SR_ROUTER_EXCHANGE_STORE_H
#define SR_ROUTER_EXCHANGE_STORE_H

#include "router/exchange/exchange.h"

/* True when the dialect of the request has responses that are continued by id, and semroute keeps them: not
 * for a request that names a model whose upstream does. */
bool sr_exchange_keeps_state(const sr_exchange *x);

/* Notes who owns the client's responses, by the headers of its request: its tenant; without a tenant its key;
 * without a key the credentials that it sends for its upstream. SR_ENOMEM. */
int sr_exchange_own_state(sr_exchange *x, const struct sr_header *headers, size_t n) SR_WARN_UNUSED;

/* Most bytes of the response that is to be kept; 0: none is. */
size_t sr_exchange_store_max(const sr_exchange *x);

/* The upstream's answer, as far as it has passed: keeps it, once, when it is complete and nothing holds it
 * back. Before the client gets its last byte, so that the next request finds it. */
void sr_exchange_store_answer(sr_exchange *x);

/* The same for a reply that reads like a model's answer, in `x->reply`, before it is finished. `fresh`: it
 * was the answer to another request, so it gets an id of its own. The reply names the response
 * that it continues. */
void sr_exchange_store_reply(sr_exchange *x, bool stream, bool fresh);

#endif
