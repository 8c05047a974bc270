/* Sends replies to Envoy for all stages, in the form of the mode. */
#include "serve/extproc/private.h"

/* Milliseconds that Envoy is asked to wait after the signals' own deadline. */
#define EXTEND_MARGIN_MS 500

void sr_extproc_send(struct sr_extproc_core *core, const struct sr_extproc_reply *reply)
{
    if (!core->silent)
        core->options.ops->send(core->options.ctx, reply);
}

void sr_extproc_continue(struct sr_extproc_core *core, enum sr_extproc_phase phase)
{
    struct sr_extproc_reply reply = {.phase = phase};
    sr_extproc_send(core, &reply);
}

void sr_extproc_pieces(struct sr_extproc_core *core, enum sr_extproc_phase phase,
                       const struct sr_bytes *slices, size_t count, bool end)
{
    struct sr_extproc_reply reply = {.phase = phase, .change = SR_EXTPROC_PIECE, .n_body = 1};
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        left += slices[i].n;
    for (size_t i = 0; i < count; i++) {
        for (size_t at = 0; at < slices[i].n;) {
            size_t rest = slices[i].n - at;
            struct sr_bytes piece = {slices[i].p + at,
                                     rest < SR_EXTPROC_PIECE_MAX ? rest : SR_EXTPROC_PIECE_MAX};
            at += piece.n;
            left -= piece.n;
            reply.body = &piece;
            reply.end_of_stream = end && left == 0;
            sr_extproc_send(core, &reply);
        }
    }
    if (end && !reply.end_of_stream) {
        struct sr_bytes nothing = {"", 0};
        reply.body = &nothing;
        reply.end_of_stream = true;
        sr_extproc_send(core, &reply);
    }
}

void sr_extproc_fail(struct sr_extproc_core *core, const char *why)
{
    core->state = SR_EXTPROC_CLOSED;
    core->options.ops->fail(core->options.ctx, why);
}

void sr_extproc_count_unrouted(struct sr_extproc_core *core, const char *reason)
{
    struct sr_bytes label = sr_bytes_str(reason);
    sr_metrics_add(core->options.metrics, SR_METRIC_EXTPROC_UNROUTED, 1, &label);
}

void sr_extproc_extend(struct sr_extproc_core *core, enum sr_extproc_phase phase, uint64_t ms)
{
    struct sr_extproc_reply reply = {
        .action = SR_EXTPROC_EXTEND, .phase = phase, .extend_ms = ms + EXTEND_MARGIN_MS};
    bool request = phase < SR_EXTPROC_RESPONSE_HEADERS;
    /* In FULL_DUPLEX Envoy has no timer. */
    if ((request ? core->request_mode : core->response_mode) != SR_EXTPROC_MODE_FULL_DUPLEX)
        sr_extproc_send(core, &reply);
}

bool sr_extproc_is_sse(const struct sr_header *headers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sr_bytes_eq(headers[i].name, SR_LIT("content-type"))) {
            struct sr_bytes value = sr_bytes_trim(headers[i].value), sse = SR_LIT("text/event-stream");
            return value.n >= sse.n && sr_bytes_eq_nocase(sr_bytes_of(value.p, sse.n), sse);
        }
    }
    return false;
}
