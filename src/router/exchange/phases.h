/* The order of the phases of a whole request, and the exchange's way through them. */
#ifndef SR_ROUTER_EXCHANGE_PHASES_H
#define SR_ROUTER_EXCHANGE_PHASES_H

#include "router/exchange/phase.h"

enum sr_phases {
    SR_PHASES_ROUTE, /* a request that is routed, or whose named model is guarded */
    SR_PHASES_NAMED, /* a request for a named model that nothing reads: edited, or answered from the cache */
    SR_PHASES_PASS,  /* one that is forwarded as it came, whole or not */
    SR_PHASES_AGAIN, /* the verdict is made anew, for another model */
    SR_PHASES_EMBED, /* embeddings that are computed here */
    SR_PHASES_EMBED_GUARDED, /* the same, and guards read them */
    SR_PHASES_STORED,        /* a request for a stored response, which has no body */
};

/* Begins; the exchange is SETTLED or WAITING then. */
void sr_exchange_begin_phases(sr_exchange *x, enum sr_phases phases);

/* For an exchange that is WAITING: what it waits for is there. It is SETTLED or WAITING then. */
void sr_exchange_resume(sr_exchange *x);
/* What it waits for is given up: the same. */
void sr_exchange_give_up(sr_exchange *x);

/* Until when it waits, and whether the wait is the router's own work. */
uint64_t sr_exchange_waits_until_ns(const sr_exchange *x);
bool sr_exchange_waits_for_own_work(const sr_exchange *x);

#endif
