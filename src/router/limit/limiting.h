/*
 * The limits of one request: takes from its counters before it is forwarded, and settles its real cost when
 * it has ended.
 *
 * Tokens and cost are first taken as estimated from the prompt; the difference is settled, up or down.
 */
#ifndef SR_ROUTER_LIMIT_LIMITING_H
#define SR_ROUTER_LIMIT_LIMITING_H

#include "base/mailbox.h"
#include "limit/limiter.h"
#include "router/limit/rules.h"

/* How the request stands with its limits. */
enum sr_limiting_state {
    SR_LIMITING_OPEN,    /* not asked yet */
    SR_LIMITING_WAITS,   /* the store is asked */
    SR_LIMITING_PASSED,  /* it may go on */
    SR_LIMITING_REFUSED, /* `result` says by which counter */
    SR_LIMITING_AWAY,    /* refused: the store is not reached, and the configuration lets nothing pass then */
};

struct sr_limiting {
    enum sr_limiting_state state;
    struct sr_limiter *limiter;
    const struct sr_config *config;
    struct sr_limit *limits; /* [n], in the arena */
    struct sr_limit_item *items;
    size_t n, asked; /* the first of them are asked; the others have been, for another model */
    uint64_t taken_ms, deadline_ns;
    struct sr_limit_result result;
    bool looks;  /* it takes nothing, and only asks whether the limits have room for one request */
    bool failed; /* the store did not answer */
    bool settled, counted;
    struct sr_limit_query *query;
    void (*done)(void *ctx); /* the state is no longer WAITS; on the mailbox's thread */
    void *ctx;
};

/* Asks the counters of this request, once. SR_AGAIN: the state is WAITS, and `done` will be called unless
 * sr_limiting_deadline or sr_limiting_dispose was. `mailbox` NULL: this process counts. SR_ENOMEM. */
int sr_limiting_start(struct sr_limiting *l, struct sr_limiter *limiter, const struct sr_config *config,
                      const struct sr_limit_subject *subject, struct sr_mailbox *mailbox,
                      struct sr_arena *arena) SR_WARN_UNUSED;

/* The store is not waited for any more. */
void sr_limiting_deadline(struct sr_limiting *l);

/* What the request has cost; 0 and 0: nothing was used, what was taken goes back (but for the request
 * itself). Once. */
void sr_limiting_settle(struct sr_limiting *l, uint64_t tokens, double cost);

/* The request that has passed `from` is for another model now: asks the counters that it has not taken from
 * yet. `l`, with nothing but its settings, is as after sr_limiting_start then; `from` stays as it is. Nothing
 * is waited for. SR_ELIMIT: refused; SR_AGAIN: a remote would have to be asked; SR_ENOMEM. */
int sr_limiting_move(struct sr_limiting *l, const struct sr_limiting *from,
                     const struct sr_limit_subject *subject, struct sr_arena *arena) SR_WARN_UNUSED;

/* What was taken goes back, but to the counters that `other` has too; the requests themselves only where
 * `requests`. */
void sr_limiting_give_back(const struct sr_limiting *l, const struct sr_limiting *other, bool requests);

void sr_limiting_dispose(struct sr_limiting *l);

#endif
