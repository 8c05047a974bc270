/* The list of calls that wait for a first byte; its timer runs while there are any. What is done with one is
 * take_back.c's. */
#include "serve/gateway/call.h"

static void append(struct sr_gateway *gateway, struct sr_call *call)
{
    gateway->n_waiting++;
    call->later = NULL;
    call->earlier = gateway->waiting_end;
    *gateway->waiting_end = call;
    gateway->waiting_end = &call->later;
}

void sr_waiting_add(struct sr_call *call)
{
    struct sr_gateway *gateway = call->gateway;
    if (call->earlier)
        return;
    append(gateway, call);
    if (!gateway->looks.armed)
        sr_timer_start(&gateway->looks, SR_GATEWAY_LOOKS_MS);
}

void sr_waiting_remove(struct sr_call *call)
{
    if (!call->earlier)
        return;
    *call->earlier = call->later;
    *(call->later ? &call->later->earlier : &call->gateway->waiting_end) = call->earlier;
    call->earlier = NULL;
    call->gateway->n_waiting--;
}

struct sr_call *sr_waiting_turn(struct sr_gateway *gateway)
{
    struct sr_call *call = gateway->waiting;
    sr_waiting_remove(call);
    append(gateway, call);
    return call;
}
