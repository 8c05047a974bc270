/*
 * Opens tickets of pools for an exchange, with the targets that their candidates are.
 *
 * Which pool: tiers.c. Moving between pools: pool.c.
 */
#include "router/exchange/place.h"

#include "router/exchange/key.h"
#include "router/exchange/pick.h"
#include "router/exchange/tiers.h"

#include <string.h>

bool sr_exchange_picks_by_body(const struct sr_exchange *x, int model)
{
    const struct sr_router_pool *pool = &x->router->models[model].pools[0];
    uint32_t needs = sr_pool_group_needs(pool->group);
    return x->router->models[model].n_pools > 1 || (needs & SR_POOL_NEEDS_PROMPT) ||
           ((needs & SR_POOL_NEEDS_SESSION) && !sr_exchange_session(x, pool->entry).n);
}

/* The place of the request in the queue of its pool: the header's, or its decision's. */
static int priority_of(const sr_exchange *x, const struct sr_config_pool *pool)
{
    int priority = 0;
    if (!pool || (pool->queue.priority_header[0] &&
                  sr_config_priority(sr_head_named(&x->head, pool->queue.priority_header), &priority)))
        return priority;
    const struct sr_name_values *given = &pool->queue.priorities;
    for (size_t i = 0; i < given->count; i++)
        if (strcmp(given->items[i].name, x->record.decision_name) == 0 &&
            sr_config_priority(sr_bytes_str(given->items[i].value), &priority))
            return priority;
    return 0;
}

/* Opens a ticket of the pool, with what its policy needs. SR_ENOMEM. */
static int open_ticket(sr_exchange *x, const struct sr_router_pool *pool, struct sr_ticket *ticket)
{
    const struct sr_pool_ask *ask;
    int rc = sr_ticket_open(ticket, pool->group, &x->arena);
    ticket->priority = priority_of(x, pool->entry);
    if (rc == SR_OK)
        rc = sr_exchange_ask(x, pool, &ask);
    if (rc == SR_OK)
        sr_ticket_ask(ticket, ask);
    return rc;
}

/* The targets of a pool whose workers are discovered: those of its ticket. */
static int discovered_targets(sr_exchange *x, struct sr_exchange_place *place)
{
    static const struct sr_target plain = {.struct_size = sizeof plain,
                                           .scheme = "http",
                                           .base_path = "",
                                           .tls_ca_file = "",
                                           .tls_verify = true,
                                           .weight = 1};
    const struct sr_router_model *model = &x->router->models[x->record.model];
    struct sr_target *targets = sr_arena_calloc(&x->arena, place->ticket.n + 1, sizeof *targets);
    int rc = targets ? SR_OK : SR_ENOMEM;
    for (size_t i = 0; i < place->ticket.n && rc == SR_OK; i++)
        rc = sr_exchange_worker_target(&targets[i], model->n_targets ? &model->targets[0] : &plain,
                                       sr_ticket_worker(&place->ticket, i), &x->arena);
    place->targets = targets;
    place->n_targets = place->ticket.n;
    return rc;
}

int sr_exchange_open_place(sr_exchange *x, const struct sr_router_pool *pool, struct sr_exchange_place *out)
{
    *out = (struct sr_exchange_place){.targets = pool->targets, .n_targets = pool->n_targets};
    out->ticket.at = -1;
    int rc = open_ticket(x, pool, &out->ticket);
    if (!rc && pool->discovered)
        rc = discovered_targets(x, out);
    struct sr_bytes value;
    if (!rc && sr_exchange_key_for(x, x->record.model, &value) == SR_KEY_INJECTED)
        rc = sr_exchange_key_inject(x, pool, value, &out->targets, out->n_targets);
    if (rc)
        sr_ticket_dispose(&out->ticket);
    return rc;
}

void sr_exchange_take_place(sr_exchange *x, const struct sr_exchange_place *place)
{
    x->ticket = place->ticket;
    x->verdict.ticket = &x->ticket;
    x->verdict.targets = place->targets;
    x->verdict.n_targets = place->n_targets;
}

bool sr_exchange_renew(sr_exchange *x)
{
    struct sr_ticket before = x->ticket;
    struct sr_exchange_place place;
    if (!sr_exchange_pool(x)->discovered || !sr_ticket_is_stale(&before) ||
        sr_exchange_open_place(x, sr_exchange_pool(x), &place))
        return false;
    sr_exchange_take_place(x, &place);
    sr_ticket_take_over(&x->ticket, &before);
    return true;
}
