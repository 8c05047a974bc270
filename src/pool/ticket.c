/*
 * Chooses a candidate and records its result. The picker's lock is held for one call of its policy; health
 * is read and written without it.
 */
#include "pool/ticket.h"

#include "pool/choose.h"
#include "pool/circuit.h"
#include "pool/clock.h"
#include "pool/outlier.h"
#include "pool/queue.h"
#include "pool/roster.h"

#include <math.h>

int sr_ticket_open(struct sr_ticket *ticket, struct sr_pool_group *group, struct sr_arena *arena)
{
    *ticket = (struct sr_ticket){.at = -1, .chosen = -1};
    struct sr_pool_roster *roster = sr_roster_ref(group);
    ticket->candidates = sr_arena_calloc(arena, roster->n + 1, sizeof *ticket->candidates);
    if (!ticket->candidates) {
        sr_roster_unref(group, roster);
        return SR_ENOMEM;
    }
    ticket->group = group;
    ticket->roster = roster;
    ticket->arena = arena;
    ticket->n = roster->n;
    for (size_t i = 0; i < roster->n; i++)
        ticket->candidates[i].member = roster->members[i];
    return SR_OK;
}

void sr_ticket_ask(struct sr_ticket *ticket, const struct sr_pool_ask *ask)
{
    ticket->ask = ask;
}

int sr_ticket_offer(struct sr_ticket *ticket, const struct sr_bytes *addresses, size_t n)
{
    struct sr_pool_group *group = ticket->group;
    if (ticket->roster->n > 0 || group->limits.discovered || ticket->offered)
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

/* Gives back what it has of a worker that was chosen, and where the request has not begun. */
static void give_back(struct sr_ticket *ticket)
{
    struct sr_pool_worker *worker = ticket->claimed;
    if (!worker)
        return;
    ticket->claimed = NULL;
    if (ticket->has_trial)
        sr_circuit_end_trial(worker);
    if (ticket->has_place)
        atomic_fetch_sub(&worker->in_flight, 1);
    sr_pool_serve_waiting(ticket->group->pool);
}

int sr_ticket_choose_among(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx)
{
    give_back(ticket);
    ticket->full = ticket->group->limits.max_in_flight && atomic_load(&ticket->group->n_waiting) > 0;
    return ticket->full ? -1 : sr_pool_choose(ticket, allows, ctx);
}

int sr_ticket_choose(sr_ticket *ticket)
{
    return sr_ticket_choose_among(ticket, NULL, NULL);
}

bool sr_ticket_is_full(const struct sr_ticket *ticket)
{
    return ticket->full;
}

bool sr_ticket_is_well(const struct sr_ticket *ticket)
{
    uint64_t now = sr_pool_clock_ns();
    for (size_t i = 0; i < ticket->n; i++) {
        const struct sr_pool_member *member = ticket->candidates[i].member;
        if (!ticket->candidates[i].tried && !atomic_load_explicit(&member->gone, memory_order_relaxed) &&
            !sr_circuit_is_open(member->worker, now))
            return true;
    }
    return false;
}

bool sr_pool_group_is_well(struct sr_pool_group *group)
{
    uint64_t now = sr_pool_clock_ns();
    struct sr_pool_roster *roster = sr_roster_ref(group);
    bool well = false;
    for (size_t i = 0; i < roster->n && !well; i++)
        well = !sr_circuit_is_open(roster->members[i]->worker, now);
    sr_roster_unref(group, roster);
    return well;
}

void sr_pool_group_count(struct sr_pool_group *group, struct sr_pool_group_count *out)
{
    uint64_t now = sr_pool_clock_ns();
    struct sr_pool_roster *roster = sr_roster_ref(group);
    *out = (struct sr_pool_group_count){.workers = roster->n};
    for (size_t i = 0; i < roster->n; i++) {
        struct sr_pool_worker *worker = roster->members[i]->worker;
        out->down += atomic_load_explicit(&worker->down, memory_order_relaxed);
        out->well += !sr_circuit_is_open(worker, now);
    }
    sr_roster_unref(group, roster);
}

bool sr_ticket_is_stale(const struct sr_ticket *ticket)
{
    return atomic_load(&ticket->roster->stale);
}

struct sr_bytes sr_ticket_worker(const struct sr_ticket *ticket, size_t candidate)
{
    return ticket->candidates[candidate].member->worker->key;
}

int sr_ticket_any(const struct sr_ticket *ticket, size_t from)
{
    uint64_t now = sr_pool_clock_ns();
    for (size_t i = 0; i < ticket->n; i++) {
        size_t at = (from + i) % ticket->n;
        const struct sr_pool_member *member = ticket->candidates[at].member;
        if (!atomic_load_explicit(&member->gone, memory_order_relaxed) &&
            !sr_circuit_is_open(member->worker, now))
            return (int)at;
    }
    return -1;
}

void sr_ticket_take_over(struct sr_ticket *ticket, struct sr_ticket *before)
{
    for (size_t i = 0; i < ticket->n; i++)
        for (size_t k = 0; k < before->n; k++)
            if (ticket->candidates[i].member->worker == before->candidates[k].member->worker)
                ticket->candidates[i].tried |= before->candidates[k].tried;
    ticket->waits_since_ns = before->waits_since_ns;
    ticket->retries = before->retries;
    before->retries = false;
    sr_ticket_dispose(before);
}

bool sr_ticket_is_tried(const struct sr_ticket *ticket, size_t candidate)
{
    return ticket->candidates[candidate].tried;
}

/* ---- how long it takes ---- */

static void time_ends(struct sr_ticket *ticket, enum sr_pool_time which)
{
    if (!(ticket->timed & 1u << which))
        return;
    struct sr_pool_seat *seat = ticket->candidates[ticket->at].member->seat;
    ticket->timed &= ~(1u << which);
    sr_pace_end(&seat->paces[which], ticket->began_ns, sr_pool_clock_ns(),
                ticket->answered && !ticket->untimed, sr_outlier_usual_ms(ticket->group, which));
}

void sr_ticket_first_byte(struct sr_ticket *ticket)
{
    if (!ticket->in_flight || !(ticket->timed & 1u << SR_POOL_FIRST_BYTE))
        return;
    time_ends(ticket, SR_POOL_FIRST_BYTE);
    sr_pool_picker_answered(ticket->group->picker, ticket->candidates[ticket->at].member->seat,
                            &ticket->placement);
}

/* ---- what comes of it ---- */

/* The request ends at the worker that it is with. */
static void end_now(struct sr_ticket *ticket)
{
    const struct sr_pool_member *member = ticket->candidates[ticket->at].member;
    struct sr_pool *pool = ticket->group->pool;
    ticket->in_flight = false;
    if (ticket->trial)
        sr_circuit_end_trial(member->worker);
    ticket->trial = false;
    time_ends(ticket, SR_POOL_FIRST_BYTE);
    time_ends(ticket, SR_POOL_WHOLE);
    atomic_fetch_sub_explicit(&pool->in_flight, 1, memory_order_relaxed);
    sr_pool_picker_ended(ticket->group->picker, member->seat, &ticket->placement);
    atomic_fetch_sub(&member->worker->in_flight, 1);
    sr_pool_serve_waiting(pool);
}

void sr_ticket_begin(sr_ticket *ticket, size_t target)
{
    if (target >= ticket->n)
        return;
    struct sr_pool_candidate *candidate = &ticket->candidates[target];
    struct sr_pool_worker *worker = candidate->member->worker;
    if (ticket->in_flight)
        end_now(ticket);
    if (ticket->claimed != worker)
        give_back(ticket);
    bool has_place = ticket->claimed && ticket->has_place;
    ticket->trial = ticket->claimed && ticket->has_trial;
    ticket->claimed = NULL;
    candidate->tried = true;
    ticket->at = (int)target;
    ticket->began_ns = sr_pool_clock_ns();
    ticket->in_flight = true;
    ticket->timed = (1u << SR_POOL_TIMES) - 1;
    ticket->answered = ticket->untimed = false;
    for (enum sr_pool_time which = 0; which < SR_POOL_TIMES; which++)
        sr_pace_begin(&candidate->member->seat->paces[which], ticket->began_ns);
    if (!has_place)
        atomic_fetch_add_explicit(&worker->in_flight, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ticket->group->pool->in_flight, 1, memory_order_relaxed);
    ticket->placement = (struct sr_pool_placement){
        .overlap = ticket->chosen == (int)target ? ticket->why.overlap : 0,
    };
    sr_pool_picker_placed(ticket->group->picker, candidate->member->seat, ticket->ask, &ticket->placement);
}

void sr_ticket_assume(struct sr_ticket *ticket, size_t candidate)
{
    if (candidate < ticket->n) {
        sr_ticket_end(ticket);
        ticket->at = (int)candidate;
    }
}

static size_t count_cooling(const struct sr_pool_roster *roster)
{
    uint64_t now = sr_pool_clock_ns();
    size_t n = 0;
    for (size_t i = 0; i < roster->n; i++)
        n += sr_circuit_is_cooling(roster->members[i]->worker, now);
    return n;
}

/* Retries that may be in progress at once, of so many requests. */
static uint32_t retries_of(const struct sr_pool_roster *roster, uint32_t all)
{
    uint32_t most = all * SR_POOL_RETRIES_PERCENT / 100;
    if (roster->n > 1) {
        uint32_t well = (uint32_t)(roster->n - count_cooling(roster));
        uint32_t of_one = well > 3 ? all * 3 / (2 * well) : all / 2;
        most = most > of_one ? most : of_one;
    }
    return most > SR_POOL_RETRIES_MIN ? most : SR_POOL_RETRIES_MIN;
}

bool sr_ticket_retry(struct sr_ticket *ticket)
{
    struct sr_pool *pool = ticket->group->pool;
    if (ticket->retries)
        return true;
    uint32_t all = atomic_load_explicit(&pool->in_flight, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&pool->retries, 1, memory_order_relaxed) >=
        retries_of(ticket->roster, all)) {
        atomic_fetch_sub_explicit(&pool->retries, 1, memory_order_relaxed);
        return false;
    }
    ticket->retries = true;
    return true;
}

/* ---- away from where it is ---- */

const char *sr_ticket_left_behind(const struct sr_ticket *ticket)
{
    uint64_t now = sr_pool_clock_ns();
    if (!ticket->in_flight)
        return NULL;
    const struct sr_pool_worker *worker = ticket->candidates[ticket->at].member->worker;
    sr_outlier_review(ticket->group, ticket->candidates, ticket->n, now);
    if (atomic_load_explicit(&worker->down, memory_order_relaxed))
        return "down";
    if (sr_circuit_is_ejected(worker, now))
        return "ejected";
    return sr_outlier_is_slow(worker, now) ? "slow" : NULL;
}

/* Where a request may go that has waited in vain: workers that are well and not busier than most. */
struct refuge {
    const struct sr_ticket *ticket;
    uint64_t now;
    double load; /* the mean of those that are well */
};

static bool is_well(const struct refuge *refuge, size_t candidate)
{
    const struct sr_pool_worker *worker = refuge->ticket->candidates[candidate].member->worker;
    return !sr_circuit_is_open(worker, refuge->now) && !sr_outlier_is_slow(worker, refuge->now);
}

static bool is_refuge(void *ctx, size_t candidate)
{
    const struct refuge *refuge = ctx;
    return is_well(refuge, candidate) &&
           sr_pool_member_load(refuge->ticket->candidates[candidate].member) <= refuge->load;
}

int sr_ticket_choose_well(struct sr_ticket *ticket)
{
    struct refuge refuge = {.ticket = ticket, .now = sr_pool_clock_ns()};
    double sum = 0, count = 0;
    for (size_t i = 0; i < ticket->n; i++) {
        double load = is_well(&refuge, i) ? sr_pool_member_load(ticket->candidates[i].member) : HUGE_VAL;
        sum += isinf(load) ? 0 : load;
        count += !isinf(load);
    }
    refuge.load = count > 0 ? sum / count : 0;
    bool retried = ticket->retries;
    if (!sr_ticket_retry(ticket))
        return -1;
    int at = sr_ticket_choose_among(ticket, is_refuge, &refuge);
    if (at < 0 && !retried) {
        ticket->retries = false;
        atomic_fetch_sub_explicit(&ticket->group->pool->retries, 1, memory_order_relaxed);
    }
    return at;
}

void sr_ticket_again(struct sr_ticket *ticket)
{
    for (size_t i = 0; i < ticket->n; i++)
        ticket->candidates[i].tried = false;
}

/* ---- health ---- */

void sr_ticket_cool(struct sr_ticket *ticket, size_t candidate, uint64_t ns)
{
    if (candidate < ticket->n)
        sr_circuit_cool(ticket->candidates[candidate].member->worker, ns);
}

/* One more member of the group may be in cooldown. */
static bool may_eject(const struct sr_ticket *ticket)
{
    const struct sr_pool_roster *roster = ticket->roster;
    size_t cooling = count_cooling(roster);
    return cooling == 0 || (cooling + 1) * 100 <= roster->n * ticket->group->ejection.max_percent;
}

void sr_ticket_report(sr_ticket *ticket, size_t target, enum sr_ticket_event event, int status)
{
    if (target >= ticket->n)
        return;
    struct sr_pool_worker *worker = ticket->candidates[target].member->worker;
    if (event != SR_TICKET_ANSWERED || status >= 400)
        ticket->untimed = true;
    if (event == SR_TICKET_UNREACHABLE) {
        sr_circuit_unreachable(worker);
        return;
    }
    sr_circuit_reached(worker);
    if (event == SR_TICKET_ANSWERED && (size_t)ticket->at == target)
        ticket->answered = true;
    if (event == SR_TICKET_LOST || status >= 500)
        sr_circuit_failed(worker, &ticket->group->ejection, may_eject(ticket));
    else if (status != 429)
        sr_circuit_well(worker);
}

void sr_ticket_end(sr_ticket *ticket)
{
    if (ticket->in_flight)
        end_now(ticket);
    give_back(ticket);
}

void sr_ticket_dispose(struct sr_ticket *ticket)
{
    if (!ticket->group)
        return;
    sr_ticket_leave(ticket);
    sr_ticket_end(ticket);
    if (ticket->retries)
        atomic_fetch_sub_explicit(&ticket->group->pool->retries, 1, memory_order_relaxed);
    if (ticket->offered) {
        pthread_mutex_lock(&ticket->group->lock);
        for (size_t i = 0; i < ticket->n; i++)
            ticket->candidates[i].member->tickets--;
        pthread_mutex_unlock(&ticket->group->lock);
    }
    sr_roster_unref(ticket->group, ticket->roster);
    *ticket = (struct sr_ticket){.at = -1};
}
