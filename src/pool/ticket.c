/*
 * Chooses a candidate and records its result. The picker's lock is held for one call of its policy; health
 * is read and written without it.
 */
#include "pool/ticket.h"

#include "base/clock.h"
#include "pool/private.h"

int sr_ticket_open(struct sr_ticket *ticket, struct sr_pool_group *group, struct sr_arena *arena)
{
    *ticket = (struct sr_ticket){.at = -1};
    ticket->candidates = sr_arena_calloc(arena, group->n + 1, sizeof *ticket->candidates);
    if (!ticket->candidates)
        return SR_ENOMEM;
    ticket->group = group;
    ticket->arena = arena;
    ticket->n = group->n;
    for (size_t i = 0; i < group->n; i++)
        ticket->candidates[i].member = group->members[i];
    return SR_OK;
}

void sr_ticket_ask(struct sr_ticket *ticket, const struct sr_pool_ask *ask)
{
    ticket->ask = ask;
}

int sr_ticket_offer(struct sr_ticket *ticket, const struct sr_bytes *addresses, size_t n)
{
    struct sr_pool_group *group = ticket->group;
    if (group->n > 0 || ticket->offered)
        return SR_EINVAL;
    struct sr_pool_candidate *candidates = sr_arena_calloc(ticket->arena, n + 1, sizeof *candidates);
    if (!candidates)
        return SR_ENOMEM;
    int rc = SR_OK;
    size_t held = 0;
    pthread_mutex_lock(&group->lock);
    while (held < n && rc == SR_OK) {
        rc = sr_pool_offered_hold(group, &candidates[held].member, addresses[held]);
        held += rc == SR_OK;
    }
    for (size_t i = 0; i < held && rc != SR_OK; i++)
        candidates[i].member->tickets--;
    pthread_mutex_unlock(&group->lock);
    if (rc == SR_OK) {
        ticket->candidates = candidates;
        ticket->n = n;
        ticket->offered = true;
    }
    return rc;
}

/* ---- choosing ---- */

static bool is_cooling(const struct sr_pool_worker *worker, uint64_t now_ns)
{
    return atomic_load_explicit(&worker->cooldown_until_ns, memory_order_relaxed) > now_ns ||
           atomic_load_explicit(&worker->down, memory_order_relaxed);
}

/* Marks the eligible candidates; those in cooldown only when there is no other. False: none is eligible. */
static bool mark_eligible(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx)
{
    uint64_t now = sr_clock_ns();
    size_t open = 0, cooling = 0;
    for (size_t i = 0; i < ticket->n; i++) {
        struct sr_pool_candidate *c = &ticket->candidates[i];
        c->eligible = !c->tried && (!allows || allows(ctx, i));
        c->cooling = c->eligible && is_cooling(c->member->worker, now);
        open += c->eligible;
        cooling += c->cooling;
    }
    for (size_t i = 0; i < ticket->n && cooling > 0 && cooling < open; i++) {
        struct sr_pool_candidate *c = &ticket->candidates[i];
        c->eligible = c->eligible && !c->cooling;
    }
    return open > 0;
}

int sr_ticket_choose_among(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx)
{
    size_t at = 0;
    if (ticket->n == 1) {
        if (ticket->candidates[0].tried || (allows && !allows(ctx, 0)))
            return -1;
    } else {
        if (!mark_eligible(ticket, allows, ctx))
            return -1;
        at = sr_pool_picker_choose(ticket->group->picker, ticket->ask, ticket->candidates, ticket->n,
                                   &ticket->why);
    }
    ticket->candidates[at].tried = true;
    return (int)at;
}

int sr_ticket_choose(sr_ticket *ticket)
{
    return sr_ticket_choose_among(ticket, NULL, NULL);
}

bool sr_ticket_is_tried(const struct sr_ticket *ticket, size_t candidate)
{
    return ticket->candidates[candidate].tried;
}

/* ---- what comes of it ---- */

void sr_ticket_begin(sr_ticket *ticket, size_t target)
{
    if (target >= ticket->n)
        return;
    sr_ticket_end(ticket);
    struct sr_pool_candidate *candidate = &ticket->candidates[target];
    candidate->tried = true;
    ticket->at = (int)target;
    ticket->in_flight = true;
    ticket->answered = false;
    atomic_fetch_add_explicit(&candidate->member->worker->in_flight, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ticket->group->pool->in_flight, 1, memory_order_relaxed);
    sr_pool_picker_placed(ticket->group->picker, candidate->member->seat, ticket->ask);
}

void sr_ticket_assume(struct sr_ticket *ticket, size_t candidate)
{
    if (candidate < ticket->n) {
        sr_ticket_end(ticket);
        ticket->at = (int)candidate;
    }
}

bool sr_ticket_retry(struct sr_ticket *ticket)
{
    struct sr_pool *pool = ticket->group->pool;
    if (ticket->retries)
        return true;
    uint32_t all = atomic_load_explicit(&pool->in_flight, memory_order_relaxed);
    uint32_t most = all * SR_POOL_RETRIES_PERCENT / 100;
    if (atomic_fetch_add_explicit(&pool->retries, 1, memory_order_relaxed) >=
        (most > SR_POOL_RETRIES_MIN ? most : SR_POOL_RETRIES_MIN)) {
        atomic_fetch_sub_explicit(&pool->retries, 1, memory_order_relaxed);
        return false;
    }
    ticket->retries = true;
    return true;
}

void sr_ticket_again(struct sr_ticket *ticket)
{
    for (size_t i = 0; i < ticket->n; i++)
        ticket->candidates[i].tried = false;
}

/* ---- health ---- */

static void cool(struct sr_pool_worker *worker, uint64_t ns)
{
    atomic_store_explicit(&worker->cooldown_until_ns, sr_clock_ns() + ns, memory_order_relaxed);
}

void sr_ticket_cool(struct sr_ticket *ticket, size_t candidate, uint64_t ns)
{
    if (candidate < ticket->n)
        cool(ticket->candidates[candidate].member->worker,
             ns < SR_POOL_COOLDOWN_MAX_NS ? ns : SR_POOL_COOLDOWN_MAX_NS);
}

static void unreachable(struct sr_pool_worker *worker)
{
    uint32_t row = atomic_fetch_add_explicit(&worker->unreachable, 1, memory_order_relaxed);
    uint64_t ns = SR_POOL_COOLDOWN_NS << (row < 4 ? row : 4);
    cool(worker, ns < SR_POOL_COOLDOWN_MAX_NS ? ns : SR_POOL_COOLDOWN_MAX_NS);
}

/* One more member of the group may be in cooldown. */
static bool may_eject(const struct sr_pool_group *group)
{
    uint64_t now = sr_clock_ns();
    size_t cooling = 0;
    for (size_t i = 0; i < group->n; i++)
        cooling += is_cooling(group->members[i]->worker, now);
    return cooling == 0 || (cooling + 1) * 100 <= group->n * group->ejection.max_percent;
}

/* An error of a worker that can be reached. */
static void failed(const struct sr_pool_group *group, struct sr_pool_worker *worker)
{
    uint32_t row = atomic_fetch_add_explicit(&worker->failures, 1, memory_order_relaxed) + 1;
    if (!group->ejection.failures || row < group->ejection.failures || !may_eject(group))
        return;
    atomic_store_explicit(&worker->failures, 0, memory_order_relaxed);
    uint64_t times = atomic_fetch_add_explicit(&worker->ejections, 1, memory_order_relaxed) + 1;
    cool(worker, group->ejection.base_ns * (times < 10 ? times : 10));
}

/* Stores 0 only where something else is, so that the cache line stays shared between loops. */
#define CLEAR(counter)                                                                                       \
    do {                                                                                                     \
        if (atomic_load_explicit(counter, memory_order_relaxed) != 0)                                        \
            atomic_store_explicit(counter, 0, memory_order_relaxed);                                         \
    } while (0)

static void answered(struct sr_ticket *ticket, size_t target)
{
    if (!ticket->in_flight || ticket->answered || (size_t)ticket->at != target)
        return;
    ticket->answered = true;
    sr_pool_picker_answered(ticket->group->picker, ticket->candidates[target].member->seat, ticket->ask);
}

void sr_ticket_report(sr_ticket *ticket, size_t target, enum sr_ticket_event event, int status)
{
    if (target >= ticket->n)
        return;
    struct sr_pool_worker *worker = ticket->candidates[target].member->worker;
    if (event == SR_TICKET_UNREACHABLE) {
        unreachable(worker);
        return;
    }
    CLEAR(&worker->unreachable);
    if (event == SR_TICKET_ANSWERED)
        answered(ticket, target);
    if (event == SR_TICKET_LOST || status >= 500) {
        failed(ticket->group, worker);
    } else if (status != 429) {
        CLEAR(&worker->failures);
        CLEAR(&worker->ejections);
        CLEAR(&worker->cooldown_until_ns);
    }
}

void sr_ticket_end(sr_ticket *ticket)
{
    if (ticket->in_flight) {
        ticket->in_flight = false;
        struct sr_pool_worker *worker = ticket->candidates[ticket->at].member->worker;
        atomic_fetch_sub_explicit(&worker->in_flight, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&ticket->group->pool->in_flight, 1, memory_order_relaxed);
        sr_pool_picker_ended(ticket->group->picker, ticket->candidates[ticket->at].member->seat, ticket->ask);
    }
}

void sr_ticket_dispose(struct sr_ticket *ticket)
{
    if (!ticket->group)
        return;
    sr_ticket_end(ticket);
    if (ticket->retries)
        atomic_fetch_sub_explicit(&ticket->group->pool->retries, 1, memory_order_relaxed);
    if (ticket->offered) {
        pthread_mutex_lock(&ticket->group->lock);
        for (size_t i = 0; i < ticket->n; i++)
            ticket->candidates[i].member->tickets--;
        pthread_mutex_unlock(&ticket->group->lock);
    }
    *ticket = (struct sr_ticket){.at = -1};
}
