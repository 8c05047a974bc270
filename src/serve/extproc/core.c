/* Sequences one request: selects the stage that handles a message, a passed deadline or a resolved name. */
#include "serve/extproc/core.h"

#include "base/clock.h"
#include "base/mem.h"
#include "serve/extproc/private.h"

/* Memory limit of one request's header lists. */
#define ARENA_MAX ((size_t)4 << 20)

/* ---- messages ---- */

static void take_modes(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    core->silent = message->observability;
    core->configured = message->has_config;
    if (message->has_config) {
        core->request_mode = message->request_mode;
        core->response_mode = message->response_mode;
        core->no_wait = message->no_wait;
    } else {
        core->request_mode = SR_EXTPROC_MODE_STREAMED; /* until a whole body arrives */
        core->response_mode = SR_EXTPROC_MODE_STREAMED;
    }
}

void sr_extproc_core_message(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    if (core->state == SR_EXTPROC_CLOSED)
        return;
    if (core->state == SR_EXTPROC_STARTING)
        take_modes(core, message);
    switch (message->phase) {
    case SR_EXTPROC_REQUEST_HEADERS:
        sr_extproc_request_head(core, message);
        break;
    case SR_EXTPROC_REQUEST_BODY:
        sr_extproc_request_body(core, message);
        break;
    case SR_EXTPROC_REQUEST_TRAILERS:
        sr_extproc_request_trailers(core);
        break;
    case SR_EXTPROC_RESPONSE_HEADERS:
        sr_extproc_answer_head(core, message);
        break;
    case SR_EXTPROC_RESPONSE_BODY:
        sr_extproc_answer_body(core, message);
        break;
    case SR_EXTPROC_RESPONSE_TRAILERS:
        sr_extproc_answer_trailers(core);
        break;
    case SR_EXTPROC_NONE:
        sr_extproc_fail(core, "a message of an unknown kind");
        break;
    }
}

/* ---- time ---- */

static bool reads_answer(const struct sr_extproc_core *core)
{
    return core->answer_begun && core->exchange && core->state != SR_EXTPROC_CLOSED;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
    return a == 0 ? b : b == 0 || a < b ? a : b;
}

uint64_t sr_extproc_core_deadline_ns(const struct sr_extproc_core *core)
{
    uint64_t hold = core->head_pending ? core->hold_due_ns : 0;
    if (core->state == SR_EXTPROC_READING)
        return earliest(core->read_due_ns, hold);
    if (core->state == SR_EXTPROC_WAITING)
        return earliest(sr_exchange_deadline_ns(core->exchange), hold);
    return reads_answer(core) ? sr_exchange_deadline_ns(core->exchange) : 0;
}

void sr_extproc_core_timeout(struct sr_extproc_core *core)
{
    if (core->state == SR_EXTPROC_READING || core->state == SR_EXTPROC_WAITING) {
        sr_extproc_request_timeout(core);
    } else if (reads_answer(core)) {
        uint64_t due = sr_exchange_deadline_ns(core->exchange);
        if (due != 0 && sr_clock_ns() >= due) {
            sr_exchange_timeout(core->exchange);
            sr_extproc_answer_ready(core);
        }
    }
}

void sr_extproc_core_resolved(struct sr_extproc_core *core, const struct sr_extproc_addresses *addresses)
{
    if (core->state != SR_EXTPROC_RESOLVING)
        return;
    core->choice.resolved = true;
    core->choice.addresses = addresses ? *addresses : (struct sr_extproc_addresses){.count = 0};
    sr_extproc_deliver(core);
}

/* ---- life ---- */

struct sr_extproc_core *sr_extproc_core_new(const struct sr_extproc_core_options *options)
{
    struct sr_extproc_core *core = sr_mem_calloc(1, sizeof *core);
    if (!core)
        return NULL;
    core->options = *options;
    core->options.config = sr_config_ref(options->config);
    sr_arena_init(&core->arena, ARENA_MAX);
    core->options.peer = sr_arena_dup(&core->arena, options->peer);
    core->options.traceparent = sr_arena_dup(&core->arena, options->traceparent);
    core->options.tracestate = sr_arena_dup(&core->arena, options->tracestate);
    if (!core->options.peer.p || !core->options.traceparent.p || !core->options.tracestate.p) {
        sr_extproc_core_free(core);
        return NULL;
    }
    return core;
}

void sr_extproc_core_free(struct sr_extproc_core *core)
{
    if (!core)
        return;
    if (core->exchange)
        sr_exchange_end(core->exchange, sr_extproc_how_it_ended(core));
    sr_arena_dispose(&core->arena);
    sr_config_unref(core->options.config);
    sr_mem_free(core);
}
