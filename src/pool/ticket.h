/*
 * One request's claim on the pool: which members of its model's group are candidates, which were tried,
 * and which one the request is with.
 *
 * Embedded in the exchange that opens it. The verdict passes it to the door, which asks for a candidate,
 * sends the request there and reports the result. The functions that library users have too (choose,
 * begin, report, end) are declared in semroute/semroute.h. Used by one thread at a time.
 * It is not copied while its request is in flight or waits. docs/internals/pool.md.
 */
#ifndef SR_POOL_TICKET_H
#define SR_POOL_TICKET_H

#include "base/arena.h"
#include "base/mailbox.h"
#include "pool/policy.h"
#include "pool/pool.h"
#include "semroute/semroute.h"

struct sr_ticket {
    struct sr_pool_group *group; /* NULL: not open */
    struct sr_arena *arena;
    struct sr_pool_candidate *candidates;
    size_t n;
    const struct sr_pool_ask *ask;      /* of this request; NULL: nothing is known of it */
    struct sr_pool_why why;             /* of the latest choice */
    int chosen;                         /* the candidate of the latest choice; -1 = none yet */
    struct sr_pool_placement placement; /* of the request where it is */
    int at;                             /* current or last candidate; -1 = none yet */
    uint64_t began_ns;                  /* when the request began there */
    uint32_t timed;                     /* bits of enum sr_pool_time: what of it is timed now */
    bool untimed;                       /* its times say nothing of the worker */
    bool in_flight;                     /* the request counts as in flight there */
    bool answered;                      /* the head of its answer there has come */
    bool retries;                       /* it counts as a retry, from its second try on */
    struct sr_pool_roster *roster;      /* of the candidates; a reference */
    struct sr_pool_wait *wait;          /* NULL: it does not wait */
    int priority;                       /* in the queue: higher is served first */
    uint64_t waits_since_ns;            /* when it began to wait for the first time; 0: it never did */
    struct sr_pool_worker *claimed;     /* was chosen, and the request has not begun there; NULL: none */
    bool has_place, has_trial;          /* it has a place there; it is its trial (choose.h) */
    bool trial;                         /* it is the trial of the worker that it is with */
    bool full;                          /* the latest choice found workers, but none with room */
    bool offered; /* the candidates are offered members of the group, held by this ticket */
};

/* Opens a ticket whose candidates are the group's members. `group` must outlive it; it allocates from
 * `arena`. SR_ENOMEM: it is not open. */
int sr_ticket_open(struct sr_ticket *ticket, struct sr_pool_group *group,
                   struct sr_arena *arena) SR_WARN_UNUSED;

/* What the request brings for the policy (sr_pool_group_needs); before the first choice. Borrowed until the
 * ticket is disposed of. */
void sr_ticket_ask(struct sr_ticket *ticket, const struct sr_pool_ask *ask);

/* For a group without members: the candidates are these addresses, each with weight 1. Members are
 * identified by this text. Call it at most once. SR_ELIMIT: requests in progress hold SR_POOL_OFFERED_MAX
 * other addresses; SR_ENOMEM; then there are no candidates. */
int sr_ticket_offer(struct sr_ticket *ticket, const struct sr_bytes *addresses, size_t n) SR_WARN_UNUSED;

/* A choice found no worker with room (sr_ticket_choose returned -1): there are some that are full. */
bool sr_ticket_is_full(const struct sr_ticket *ticket);

/* Among what may be chosen is a worker that is not in cooldown or down, with room or without. */
bool sr_ticket_is_well(const struct sr_ticket *ticket);

/* The members of the group have changed since the ticket was opened. */
bool sr_ticket_is_stale(const struct sr_ticket *ticket);

/* The identity of a candidate's worker (pool.h), as long as the ticket is open. */
struct sr_bytes sr_ticket_worker(const struct sr_ticket *ticket, size_t candidate);

/* A candidate whose worker is well, beginning with number `from` modulo their count; -1: none is. For what is
 * no request: it counts nowhere. */
int sr_ticket_any(const struct sr_ticket *ticket, size_t from);

/* Takes over what `before`, an open ticket of the same group, has tried and waited, which is closed. */
void sr_ticket_take_over(struct sr_ticket *ticket, struct sr_ticket *before);

/* Nanoseconds that the ticket may still wait. */
uint64_t sr_ticket_patience_ns(const struct sr_ticket *ticket);

/* How a ticket that waits is told. */
struct sr_ticket_waiting {
    int (*post)(void *ctx, struct sr_message *message); /* runs it on the ticket's thread; any thread */
    void *post_ctx;
    /* On the ticket's thread, once unless it leaves the queue: a candidate that was chosen and has a place
     * for the request; or SR_AGAIN: the members of the group have changed; SR_ENOENT: no candidate is left.
     */
    void (*done)(void *ctx, int at);
    void *ctx;
};

/* After a choice that found all workers full: waits in the group's queue, behind requests of a higher
 * `priority` and those of the same that wait for longer. SR_OK: `done` follows. SR_ELIMIT: the queue is full,
 * or there is none; SR_ENOMEM. */
int sr_ticket_wait(struct sr_ticket *ticket, const struct sr_ticket_waiting *waiting) SR_WARN_UNUSED;

/* Leaves the queue: `done` is not called. No effect when it does not wait. */
void sr_ticket_leave(struct sr_ticket *ticket);

/* Why a request whose answer has not begun should not wait any longer where it is: its worker is "down" by a
 * health check, "ejected" for its errors, or "slow". NULL: it is well, or only asks for a pause
 * (Retry-After), or the request is at none. Compares the workers of the group, now and then. */
const char *sr_ticket_left_behind(const struct sr_ticket *ticket);

/* As sr_ticket_retry and sr_ticket_choose, and only a worker that is neither slow nor in cooldown or down,
 * nor busier than most: for a request that could as well stay where it is. -1: it should, and nothing
 * changed. */
int sr_ticket_choose_well(struct sr_ticket *ticket);

/* As sr_ticket_choose, among the candidates for which `allows` returns true. NULL: among all. */
int sr_ticket_choose_among(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx);

/* The data plane chooses the worker, most likely this one: it is named in logs and not counted. */
void sr_ticket_assume(struct sr_ticket *ticket, size_t candidate);

/* The request is about to be tried again. False: the pool's retry budget is used up, so it must not. */
bool sr_ticket_retry(struct sr_ticket *ticket) SR_WARN_UNUSED;

/* All candidates count as not tried again. */
void sr_ticket_again(struct sr_ticket *ticket);

/* The worker of a candidate asks for no requests for so long (Retry-After): a cooldown, at most
 * SR_POOL_COOLDOWN_MAX_NS. */
void sr_ticket_cool(struct sr_ticket *ticket, size_t candidate, uint64_t ns);

/* The first byte of the answer's body has arrived from the worker that it is with; more calls have no effect.
 * Without this call it counts as arrived with the end. Engines send the head of
 * a stream before they compute anything. */
void sr_ticket_first_byte(struct sr_ticket *ticket);

bool sr_ticket_is_tried(const struct sr_ticket *ticket, size_t candidate);

/* Ends the ticket and releases what it holds. A ticket that was never opened (zeroed) is allowed. */
void sr_ticket_dispose(struct sr_ticket *ticket);

#endif
