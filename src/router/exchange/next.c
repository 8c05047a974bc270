/* What the request has at the model before is kept while another one is tried out. */
#include "router/exchange/next.h"

#include "router/exchange/limit.h"
#include "router/exchange/permit.h"
#include "router/exchange/phases.h"
#include "router/exchange/pool.h"
#include "router/exchange/record.h"
#include "router/exchange/route.h"
#include "router/report/outcome.h"

#include <assert.h>

/* All that the phases of another model change. */
struct sr_exchange_before {
    bool kept;
    bool full; /* its workers are only busy: it has not failed */
    struct sr_record record;
    struct sr_verdict verdict;
    struct sr_ticket ticket;
    struct sr_exchange_pools pools;
    struct sr_limiting limiting;
    struct sr_edited edited;
    struct sr_sending sending, untranslated;
    struct sr_translation *translation;
    struct sr_buf translated;
    struct sr_pool_ask *ask;
    const struct sr_router_pool *ask_pool;
    uint64_t kv_root;
    bool named, injects;
};

bool sr_exchange_tries_model(const sr_exchange *x)
{
    return x->before && x->before->kept;
}

/* ---- keeping ---- */

/* Ends the request at its worker and keeps what it has; it has no ticket then. False: out of memory. */
static bool keep(sr_exchange *x)
{
    assert(!sr_exchange_tries_model(x));
    if (!x->before)
        x->before = sr_arena_calloc(&x->arena, 1, sizeof *x->before);
    if (!x->before)
        return false;
    const bool full = sr_exchange_is_full(x);
    sr_ticket_end(&x->ticket);
    *x->before = (struct sr_exchange_before){.kept = true,
                                             .full = full,
                                             .record = x->record,
                                             .verdict = x->verdict,
                                             .ticket = x->ticket,
                                             .pools = x->pools,
                                             .limiting = x->limiting,
                                             .edited = x->edited,
                                             .sending = x->sending,
                                             .untranslated = x->untranslated,
                                             .translation = x->translation,
                                             .translated = x->translated,
                                             .ask = x->ask,
                                             .ask_pool = x->ask_pool,
                                             .kv_root = x->kv_root,
                                             .named = x->named,
                                             .injects = x->head.injects};
    x->ticket = (struct sr_ticket){.at = -1};
    x->pools = (struct sr_exchange_pools){.model = -1};
    sr_buf_init(&x->translated, SR_TRANSLATE_BODY_MAX);
    return true;
}

/* Of two tickets of the request, `to` has its place in the budget of retries. */
static void pass_retry(struct sr_ticket *from, struct sr_ticket *to)
{
    if (from->retries && to->group) {
        to->retries = true;
        from->retries = false;
    }
}

/* Makes all of it what it was. */
static void restore(sr_exchange *x)
{
    struct sr_exchange_before *b = x->before;
    pass_retry(&x->ticket, &b->ticket);
    sr_exchange_leave_pools(x);
    sr_ticket_dispose(&x->ticket);
    sr_buf_dispose(&x->translated);
    sr_limiting_give_back(&x->limiting, &b->limiting, true);
    x->record = b->record;
    x->verdict = b->verdict;
    x->ticket = b->ticket;
    x->pools = b->pools;
    x->limiting = b->limiting;
    x->edited = b->edited;
    x->sending = b->sending;
    x->untranslated = b->untranslated;
    x->translation = b->translation;
    x->translated = b->translated;
    x->ask = b->ask;
    x->ask_pool = b->ask_pool;
    x->kv_root = b->kv_root;
    x->named = b->named;
    x->head.injects = b->injects;
    b->kept = false;
}

/* It counts as one of the verdict's model from now on, and no more of the other. */
static void note_move(sr_exchange *x, int from)
{
    sr_exchange_note_placed(x);
    sr_exchange_note_next_model(x, from);
}

bool sr_exchange_go_back(sr_exchange *x)
{
    int model = x->record.model;
    if (!sr_exchange_tries_model(x))
        return false;
    restore(x);
    note_move(x, model);
    return true;
}

void sr_exchange_take_model(sr_exchange *x)
{
    struct sr_exchange_before *b = x->before;
    if (!sr_exchange_tries_model(x))
        return;
    b->kept = false;
    if (!b->full)
        sr_outcome_failed(&b->record, x->router);
    sr_exchange_dispose_pools(&b->pools);
    sr_ticket_dispose(&b->ticket);
    sr_buf_dispose(&b->translated);
    sr_limiting_give_back(&b->limiting, &x->limiting, false);
}

/* ---- the next one ---- */

/* Did the request begin at a worker of the verdict's model? */
static bool has_begun(const sr_exchange *x)
{
    bool begun = x->ticket.at >= 0;
    for (size_t i = 0; i < x->pools.tiers.n && x->pools.left; i++)
        begun |= x->pools.left[i].ticket.group && x->pools.left[i].ticket.at >= 0;
    return begun;
}

/* The routing has chosen another candidate of its decision: makes the verdict to forward anew. Nothing is
 * waited for. False: the request cannot be forwarded there. */
static bool forward(sr_exchange *x)
{
    x->record.failovers++;
    x->named = false;
    x->hurries = true;
    if (!sr_exchange_choose_next(x))
        return false;
    sr_exchange_begin_phases(x, SR_PHASES_AGAIN);
    pass_retry(&x->before->ticket, &x->ticket);
    return x->record.action == SR_ACTION_FORWARD;
}

const struct sr_verdict *sr_exchange_next_model(sr_exchange *x)
{
    if (x->state != SR_EXCHANGE_SETTLED || x->record.action != SR_ACTION_FORWARD || x->verdict.streaming)
        return NULL;
    while (sr_routing_next(&x->routing) == SR_OK) {
        const int model = x->routing.choice.model;
        if (!sr_exchange_may_use(x, model))
            continue;
        if (has_begun(x))
            sr_exchange_take_model(x);
        (void)sr_exchange_go_back(x);
        if (!keep(x))
            return NULL;
        if (sr_exchange_limit_moves(x, model) && forward(x)) {
            note_move(x, x->before->record.model);
            return &x->verdict;
        }
        restore(x);
    }
    return NULL;
}
