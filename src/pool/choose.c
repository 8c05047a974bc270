/* Which candidates are eligible, and the claim on the worker that the policy chose of them. */
#include "pool/choose.h"

#include "pool/circuit.h"
#include "pool/clock.h"
#include "pool/outlier.h"

#define TRIES 16 /* choices of a worker that another thread fills at that moment */

static bool has_room(const struct sr_pool_group *group, const struct sr_pool_worker *worker)
{
    uint32_t most = group->limits.max_in_flight;
    return !most || atomic_load(&worker->in_flight) < most;
}

/* The order in which candidates may be chosen: all of a rank before any of the next. */
enum rank { RANK_WELL, RANK_SLOW, RANK_BACKUP, RANK_COOLING, RANK_COOLING_BACKUP, RANKS };

static enum rank rank_of(const struct sr_pool_candidate *candidate)
{
    bool backup = candidate->member->backup;
    if (candidate->cooling)
        return backup ? RANK_COOLING_BACKUP : RANK_COOLING;
    return backup ? RANK_BACKUP : candidate->slow ? RANK_SLOW : RANK_WELL;
}

/* Marks the eligible candidates: those with room of the first rank that has any. Cooling ones only where all
 * that are open for this request are cooling: it waits for the others. False: none is eligible. */
static bool mark(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx)
{
    uint64_t now = sr_pool_clock_ns();
    size_t open[RANKS] = {0}, free[RANKS] = {0};
    sr_outlier_review(ticket->group, ticket->candidates, ticket->n, now);
    for (size_t i = 0; i < ticket->n; i++) {
        struct sr_pool_candidate *c = &ticket->candidates[i];
        const struct sr_pool_member *member = c->member;
        bool is_open = !c->tried && !atomic_load_explicit(&member->gone, memory_order_relaxed) &&
                       (!allows || allows(ctx, i));
        c->cooling = is_open && sr_circuit_is_open(member->worker, now);
        c->slow = is_open && sr_outlier_is_past(ticket->group, member->worker, now);
        c->eligible = is_open && has_room(ticket->group, member->worker);
        open[rank_of(c)] += is_open;
        free[rank_of(c)] += c->eligible;
    }
    bool any_well = open[RANK_WELL] + open[RANK_SLOW] + open[RANK_BACKUP] > 0;
    int first = any_well ? RANK_WELL : RANK_COOLING, end = any_well ? RANK_COOLING : RANKS;
    while (first < end && free[first] == 0)
        first++;
    for (size_t i = 0; i < ticket->n; i++)
        ticket->candidates[i].eligible &= (int)rank_of(&ticket->candidates[i]) == first;
    bool is_any_open = any_well || open[RANK_COOLING] + open[RANK_COOLING_BACKUP] > 0;
    ticket->full = is_any_open && first == end;
    return first < end;
}

/* One more request at the worker, if it has room. */
static bool take_place(struct sr_pool_worker *worker, uint32_t most)
{
    uint32_t n = atomic_load(&worker->in_flight);
    while (n < most)
        if (atomic_compare_exchange_weak(&worker->in_flight, &n, n + 1))
            return true;
    return false;
}

/* False: another request was faster. */
static bool claim(struct sr_ticket *ticket, const struct sr_pool_candidate *candidate)
{
    struct sr_pool_worker *worker = candidate->member->worker;
    uint32_t most = ticket->group->limits.max_in_flight;
    bool trial = false;
    if (most && !take_place(worker, most))
        return false;
    if (!candidate->cooling && !sr_circuit_enter(worker, &trial)) {
        if (most)
            atomic_fetch_sub(&worker->in_flight, 1);
        return false;
    }
    ticket->claimed = worker;
    ticket->has_place = most > 0;
    ticket->has_trial = trial;
    return true;
}

int sr_pool_choose(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx)
{
    for (int i = 0; i < TRIES && mark(ticket, allows, ctx); i++) {
        size_t at = 0;
        if (ticket->n > 1)
            at = sr_pool_picker_choose(ticket->group->picker, ticket->ask, ticket->candidates, ticket->n,
                                       &ticket->why);
        if (claim(ticket, &ticket->candidates[at])) {
            ticket->candidates[at].tried = true;
            ticket->chosen = (int)at;
            return (int)at;
        }
        ticket->full = true;
    }
    return -1;
}
