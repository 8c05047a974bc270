/* The tickets of pools that the request has left are kept: they know which workers were tried. */
#include "router/exchange/pool.h"

#include "base/clock.h"
#include "base/log.h"
#include "router/exchange/place.h"
#include "router/exchange/send.h"
#include "router/exchange/tiers.h"

/* The kept place of another pool, opened if need be; NULL: out of memory. */
static struct sr_exchange_place *place_of(sr_exchange *x, size_t at)
{
    struct sr_exchange_pools *pools = &x->pools;
    const struct sr_router_pool *pool = &x->router->models[pools->model].pools[pools->tiers.order[at]];
    if (!pools->left)
        pools->left = sr_arena_calloc(&x->arena, pools->tiers.n, sizeof *pools->left);
    if (!pools->left)
        return NULL;
    struct sr_exchange_place *place = &pools->left[at], fresh;
    bool is_open = place->ticket.group != NULL;
    if (is_open && !(pool->discovered && sr_ticket_is_stale(&place->ticket)))
        return place;
    if (sr_exchange_open_place(x, pool, &fresh))
        return NULL;
    if (is_open)
        sr_ticket_take_over(&fresh.ticket, &place->ticket);
    *place = fresh;
    return place;
}

/* Exchanges the present place with a kept one. */
static void exchange_places(sr_exchange *x, size_t at)
{
    struct sr_exchange_pools *pools = &x->pools;
    struct sr_exchange_place now = {x->ticket, x->verdict.targets, x->verdict.n_targets},
                             next = pools->left[at];
    next.ticket.retries = now.ticket.retries;
    now.ticket.retries = false;
    pools->left[pools->at] = now;
    pools->left[at] = (struct sr_exchange_place){.ticket = {.at = -1}};
    sr_exchange_take_place(x, &next);
    pools->at = at;
    sr_exchange_note_pool(x);
    if (sr_exchange_set_headers(x)) /* the pool's name is for information there */
        sr_log(SR_LOG_WARN, "pool_header", "out of memory: `x-selected-pool` names the pool before");
}

static bool may_move(const sr_exchange *x)
{
    return x->pools.tiers.n > 1 && x->state == SR_EXCHANGE_SETTLED && x->record.action == SR_ACTION_FORWARD;
}

/* A worker of another pool; where `well`, only of pools that have one which is not gone. */
static int choose(sr_exchange *x, bool well)
{
    for (size_t i = 0; i < x->pools.tiers.n && may_move(x); i++) {
        struct sr_exchange_place *place = i == x->pools.at ? NULL : place_of(x, i);
        bool asks = place && (!well || sr_ticket_is_well(&place->ticket));
        int at = asks ? sr_ticket_choose(&place->ticket) : -1;
        if (at < 0)
            continue;
        sr_ticket_end(&x->ticket);
        exchange_places(x, i);
        return at;
    }
    return -1;
}

int sr_exchange_choose_pool(sr_exchange *x, bool well)
{
    if (well && sr_ticket_is_well(&x->ticket))
        return -1;
    return choose(x, well);
}

bool sr_exchange_move_to_pool(sr_exchange *x, size_t at)
{
    if (at == x->pools.at)
        return true;
    if (!may_move(x) || !place_of(x, at))
        return false;
    sr_ticket_end(&x->ticket);
    exchange_places(x, at);
    return true;
}

bool sr_exchange_next_pool(sr_exchange *x)
{
    return x->pools.at + 1 < x->pools.tiers.n && sr_exchange_move_to_pool(x, x->pools.at + 1);
}

/* The ticket at a pool; NULL: it was not asked. */
static const struct sr_ticket *ticket_at(const sr_exchange *x, size_t at)
{
    if (at == x->pools.at)
        return &x->ticket;
    return x->pools.left && x->pools.left[at].ticket.group ? &x->pools.left[at].ticket : NULL;
}

bool sr_exchange_is_full(const sr_exchange *x)
{
    bool full = sr_ticket_is_full(&x->ticket);
    for (size_t i = 0; i < x->pools.tiers.n; i++)
        full |= ticket_at(x, i) && sr_ticket_is_full(ticket_at(x, i));
    return full;
}

size_t sr_exchange_pool_at(const sr_exchange *x)
{
    return x->pools.at;
}

size_t sr_exchange_pool_to_wait(const sr_exchange *x)
{
    for (size_t i = 0; i < x->pools.tiers.n; i++) {
        const struct sr_ticket *ticket = ticket_at(x, i);
        if (ticket && sr_ticket_is_full(ticket) && sr_pool_group_limits(ticket->group)->queue_max > 0)
            return i;
    }
    return x->pools.at;
}

void sr_exchange_wait_begins(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    if (r->n_phases < SR_RECORD_PHASES_MAX)
        r->phases[r->n_phases++] = (struct sr_record_phase){.part = SR_PART_QUEUE, .began = sr_clock_ns()};
}

void sr_exchange_wait_ends(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_record_phase *last = r->n_phases ? &r->phases[r->n_phases - 1] : NULL;
    if (last && last->part == SR_PART_QUEUE && !last->ended)
        last->ended = sr_clock_ns();
}

void sr_exchange_pools_again(sr_exchange *x)
{
    sr_ticket_again(&x->ticket);
    for (size_t i = 0; i < x->pools.tiers.n && x->pools.left; i++)
        if (i != x->pools.at && x->pools.left[i].ticket.group)
            sr_ticket_again(&x->pools.left[i].ticket);
}

void sr_exchange_dispose_pools(struct sr_exchange_pools *pools)
{
    for (size_t i = 0; i < pools->tiers.n && pools->left; i++)
        sr_ticket_dispose(&pools->left[i].ticket);
    *pools = (struct sr_exchange_pools){.model = -1};
}

void sr_exchange_leave_pools(sr_exchange *x)
{
    sr_exchange_dispose_pools(&x->pools);
}
