/*
 * One request's claim on the pool: which members of its model's group are candidates, which were tried, and
 * which one the request is with.
 *
 * Embedded in the exchange that opens it; its verdict shows it to the door, which asks for a candidate, sends
 * the request there and reports what came of it. The functions that library users have as well (choose,
 * begin, report, end) stand in semroute/semroute.h. Used by one thread at a time. docs/internals/pool.md.
 */
#ifndef SR_POOL_TICKET_H
#define SR_POOL_TICKET_H

#include "base/arena.h"
#include "pool/policy.h"
#include "pool/pool.h"
#include "semroute/semroute.h"

struct sr_ticket {
    struct sr_pool_group *group; /* NULL: not open */
    struct sr_arena *arena;
    struct sr_pool_candidate *candidates;
    size_t n;
    int at;         /* the candidate that the request is or was with; -1 = none yet */
    bool in_flight; /* it counts there */
    bool offered;   /* the candidates are held members of the group's offered ones */
};

/* A ticket whose candidates are the group's members. `group` must outlive it; what it needs is in `arena`.
 * SR_ENOMEM: it is not open. */
int sr_ticket_open(struct sr_ticket *ticket, struct sr_pool_group *group,
                   struct sr_arena *arena) SR_WARN_UNUSED;

/* For a group without members: the candidates are these addresses, each with weight 1. They are remembered by
 * their text. At most once. SR_ELIMIT: requests in progress hold SR_POOL_OFFERED_MAX other addresses;
 * SR_ENOMEM; then there are no candidates. */
int sr_ticket_offer(struct sr_ticket *ticket, const struct sr_bytes *addresses, size_t n) SR_WARN_UNUSED;

/* As sr_ticket_choose, among the candidates that `allows` says true to. NULL: among all. */
int sr_ticket_choose_among(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx);

/* The data plane chooses the worker, most likely this one: named in logs, counted nowhere. */
void sr_ticket_assume(struct sr_ticket *ticket, size_t candidate);

bool sr_ticket_is_tried(const struct sr_ticket *ticket, size_t candidate);

/* Ends it and gives back what it holds. One that was never opened (zeroed) is allowed. */
void sr_ticket_dispose(struct sr_ticket *ticket);

#endif
