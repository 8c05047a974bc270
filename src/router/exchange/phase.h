/*
 * A phase of a whole request: one thing that an exchange does between the last byte of the body and its
 * verdict. It begins, may wait for something until a deadline, and ends.
 *
 * Each phase stands in the file that is named beside it; phases.c has their order. A phase calls stages and
 * writes what they found into the exchange; it does not know which phase is next.
 */
#ifndef SR_ROUTER_EXCHANGE_PHASE_H
#define SR_ROUTER_EXCHANGE_PHASE_H

#include "router/exchange/exchange.h"

enum sr_phase_step {
    SR_PHASE_NEXT,    /* go on with the next phase */
    SR_PHASE_WAITS,   /* `x->resumed` follows, or the deadline */
    SR_PHASE_SETTLED, /* the verdict is made */
};

struct sr_phase {
    enum sr_record_part part; /* its time in the record */
    enum sr_phase_step (*begin)(sr_exchange *x);

    /* All NULL: it never waits. */
    enum sr_phase_step (*end)(sr_exchange *x); /* what it waited for is there, or was given up */
    uint64_t (*deadline_ns)(const sr_exchange *x);
    void (*give_up)(sr_exchange *x); /* the deadline has passed; `end` follows */
    bool own_work;                   /* the wait counts as the router's own time */
    bool hurries;                    /* it does not wait once a phase was given up */
};

extern const struct sr_phase sr_phase_expand; /* stored.c: items of the response that it continues */
extern const struct sr_phase sr_phase_stored; /* stored.c: a stored response is read or removed */
extern const struct sr_phase sr_phase_look;   /* limit.c: limits that are known before routing */
extern const struct sr_phase sr_phase_early;  /* cache.c: an answer that is known before any signal */
extern const struct sr_phase sr_phase_route;  /* route.c: signals, decision, guards, the choice of a model */
extern const struct sr_phase sr_phase_permit; /* permit.c: may this client use the model? */
extern const struct sr_phase sr_phase_limit;  /* limit.c: rate limits and budgets */
extern const struct sr_phase sr_phase_tools;  /* tools.c: which tools the model gets */
extern const struct sr_phase sr_phase_recall; /* cache.c: an answer to the same question */
extern const struct sr_phase sr_phase_whole;  /* edit.c: the body as it came */
extern const struct sr_phase sr_phase_edit;   /* edit.c: the edited body */
extern const struct sr_phase sr_phase_upload; /* edit.c: of a form, the body that its document stands for */
extern const struct sr_phase sr_phase_embed;  /* embed.c: vectors of the texts, as the reply */
extern const struct sr_phase sr_phase_translate; /* translate.c: the body in the API of the upstream */
extern const struct sr_phase sr_phase_pick;      /* send.c: what the policy that picks the worker needs */
extern const struct sr_phase sr_phase_send;      /* send.c: the verdict to forward */

#endif
