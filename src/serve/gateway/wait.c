/* Waits in the queue of a pool until a worker has room, and no longer than the pool says. */
#include "base/clock.h"
#include "router/exchange/next.h"
#include "router/exchange/pool.h"
#include "serve/gateway/call.h"

/* Any thread. */
static int post(void *ctx, struct sr_message *message)
{
    return sr_loop_post(ctx, message);
}

static void end(struct sr_call *call, int at)
{
    call->waits = false;
    sr_exchange_wait_ends(call->exchange);
    sr_timer_stop(&call->retry);
    call->placed(call, at);
}

static void on_place(void *ctx, int at)
{
    end(ctx, at);
}

void sr_wait_timeout(struct sr_call *call)
{
    sr_ticket_leave(call->verdict->ticket);
    sr_ticket_end(call->verdict->ticket);
    end(call, SR_ETIMEOUT);
}

/* Waits in the queue of the present pool. */
static bool wait_here(struct sr_call *call, void (*placed)(struct sr_call *call, int at))
{
    sr_ticket *ticket = call->verdict->ticket;
    const struct sr_ticket_waiting waiting = {
        .post = post, .post_ctx = call->gateway->options.loop, .done = on_place, .ctx = call};
    uint64_t patience_ms = sr_ticket_patience_ns(ticket) / SR_NS_PER_MS;
    if (!sr_ticket_is_full(ticket) || patience_ms == 0)
        return false;
    sr_ticket_end(ticket); /* of a try that failed */
    call->placed = placed;
    call->waits = sr_ticket_wait(ticket, &waiting) == SR_OK;
    if (!call->waits)
        return false;
    sr_exchange_wait_begins(call->exchange);
    sr_timer_start(&call->retry, patience_ms);
    sr_call_pause_client(call); /* its bytes have nowhere to go */
    return true;
}

bool sr_wait_begin(struct sr_call *call, void (*placed)(struct sr_call *call, int at))
{
    size_t before = sr_exchange_pool_at(call->exchange), to = sr_exchange_pool_to_wait(call->exchange);
    if (!sr_exchange_move_to_pool(call->exchange, to))
        return false;
    if (wait_here(call, placed)) {
        sr_exchange_take_model(call->exchange);
        return true;
    }
    (void)sr_exchange_move_to_pool(call->exchange, before); /* whose answer it may still get */
    return false;
}
