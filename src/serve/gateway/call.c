/* Functions for every stage of a call: set its timer, cancel its upstream or its wait. */
#include "serve/gateway/call.h"

#include "base/clock.h"

static uint64_t earliest(uint64_t a, uint64_t b)
{
    return a == 0 ? b : b == 0 || a < b ? a : b;
}

void sr_call_arm(struct sr_call *call)
{
    uint64_t due = call->deadline_ns;
    if (call->stage == SR_CALL_WAITING || call->stage == SR_CALL_ANSWERING)
        due = earliest(due, sr_exchange_deadline_ns(call->exchange));
    if (due != 0) {
        uint64_t now = sr_clock_ns();
        sr_timer_start(&call->timer, due > now ? (due - now) / SR_NS_PER_MS + 1 : 1);
    }
}

void sr_call_cancel(struct sr_call *call)
{
    if (call->waits) {
        call->waits = false;
        sr_timer_stop(&call->retry);
        sr_ticket_leave(call->verdict->ticket);
        sr_ticket_end(call->verdict->ticket);
    }
    if (call->upstream) {
        sr_fetch_cancel(&call->upstream);
        sr_ticket_end(call->verdict->ticket);
    }
}
