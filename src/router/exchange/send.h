/* The verdict that forwards a request, and what of it is one target's. */
#ifndef SR_ROUTER_EXCHANGE_SEND_H
#define SR_ROUTER_EXCHANGE_SEND_H

#include "router/exchange/phase.h"

/* The verdict's headers for the upstream, from the record of now. SR_ENOMEM: they stay as they are. */
int sr_exchange_set_headers(sr_exchange *x) SR_WARN_UNUSED;

/* The target of the verdict to forward was chosen: its body, request target and headers are those of the
 * target's API. `target` < 0: it is not known who gets the request. After an error of
 * sr_exchange_translate_for another target may be chosen; else the caller refuses the request with
 * sr_exchange_refuse_translation. */
int sr_exchange_aim(sr_exchange *x, int target, struct sr_err *err) SR_WARN_UNUSED;

#endif
