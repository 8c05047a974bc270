/*
 * Takes requests back from workers that turned out to be slow or gone, before the first byte of their
 * answers.
 *
 * What is known of workers comes from all requests, all loops and the health checks (pool/); this file asks
 * for it on a timer, so that a request also moves where nothing else happens. Envoy keeps its own requests.
 */
#include "serve/gateway/call.h"

void sr_take_back_look(void *ctx)
{
    struct sr_gateway *gateway = ctx;
    size_t n = gateway->n_waiting < SR_GATEWAY_LOOKS ? gateway->n_waiting : SR_GATEWAY_LOOKS;
    for (size_t i = 0; i < n && gateway->n_waiting > 0; i++) {
        struct sr_call *call = sr_waiting_turn(gateway);
        const char *why = call->stage == SR_CALL_SENDING && call->upstream
                              ? sr_ticket_left_behind(call->verdict->ticket)
                              : NULL;
        if (why)
            sr_call_take_back(call, why);
    }
    if (gateway->n_waiting > 0)
        sr_timer_start(&gateway->looks, SR_GATEWAY_LOOKS_MS);
}
