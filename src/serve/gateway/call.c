/* Functions for every stage of a call: its timer, its target in metrics, the end of its upstream or its wait.
 */
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

bool sr_call_is_discovered(const struct sr_call *call)
{
    const struct sr_config *config = call->gateway->config;
    for (size_t i = 0; i < config->global.n_pools; i++)
        if (strcmp(config->global.pools[i].model_name, call->verdict->model) == 0 &&
            sr_config_pool_discovers(&config->global.pools[i]))
            return true;
    return false;
}

struct sr_bytes sr_call_backend(const struct sr_call *call)
{
    return sr_bytes_str(sr_call_is_discovered(call) ? call->verdict->model : call->target->name);
}

void sr_call_count_failure(const struct sr_call *call, const char *reason)
{
    if (call->gateway->config->global.metrics) {
        struct sr_bytes labels[] = {sr_call_backend(call), sr_bytes_str(reason)};
        sr_metrics_add(call->gateway->metrics, SR_METRIC_UPSTREAM_FAILURES, 1, labels);
    }
}

void sr_call_pause_client(struct sr_call *call)
{
    if (!call->body_done && !call->client_paused) {
        call->client_paused = true;
        sr_http_request_pause(call->request);
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
