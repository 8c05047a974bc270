/* Links are of requests whose trace is kept; the others are counted only. */
#include "router/report/batch_span.h"

#include "trace/span.h"

bool sr_batch_is_kept(const struct sr_infer_batch *batch)
{
    for (size_t i = 0; i < batch->n_origins; i++)
        if (batch->origins[i].kept)
            return true;
    return false;
}

int sr_batch_span(const struct sr_infer_batch *batch, const uint8_t trace[16], const uint8_t span[16],
                  uint64_t offset, struct sr_buf *out)
{
    struct sr_trace_context own = {.flags = SR_TRACE_SAMPLED};
    struct sr_trace_writer w = sr_trace_writer_of(out);
    memcpy(own.trace, trace, sizeof own.trace);
    memcpy(own.span, span, sizeof own.span);
    own.trace[0] |= !own.trace[0]; /* an id of zeros only is none */
    own.span[0] |= !own.span[0];
    const struct sr_trace_span head = {.trace = &own,
                                       .name = "semantic_router.inference.batch",
                                       .kind = SR_TRACE_INTERNAL,
                                       .start_ns = batch->began_ns + offset,
                                       .end_ns = batch->ended_ns + offset};
    sr_trace_begin(&w, &head);
    sr_trace_text(&w, "semroute.inference.lane", batch->lane);
    sr_trace_int(&w, "semroute.inference.jobs", (int64_t)batch->jobs);
    sr_trace_int(&w, "semroute.inference.tokens", (int64_t)batch->tokens);
    sr_trace_int(&w, "semroute.inference.requests", (int64_t)(batch->n_origins + batch->more));
    for (size_t i = 0; i < batch->n_origins; i++)
        if (batch->origins[i].kept)
            sr_trace_link(&w, batch->origins[i].trace, batch->origins[i].span);
    sr_trace_end(&w);
    return w.rc;
}
