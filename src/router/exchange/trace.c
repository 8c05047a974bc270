/* Ids come from the runtime's counter, hashed with its secret. */
#include "router/exchange/trace.h"

#include "base/clock.h"
#include "router/report/spans.h"
#include "trace/sampler.h"

static struct sr_sampler sampler_of(const struct sr_config_tracing *tracing)
{
    return (struct sr_sampler){.ratio = tracing->rate,
                               .parent_based = tracing->parent_based,
                               .errors = tracing->errors,
                               .slow_ns = tracing->slow_ms * SR_NS_PER_MS};
}

static void new_span(sr_exchange *x, uint8_t out[SR_SPAN_ID_SIZE])
{
    uint8_t id[SR_TRACE_ID_SIZE];
    sr_runtime_unique(x->runtime, id);
    memcpy(out, id, SR_SPAN_ID_SIZE);
    out[0] |= !out[0]; /* an id of zeros only is none */
}

void sr_exchange_begin_trace(sr_exchange *x)
{
    const struct sr_config_tracing *tracing = &x->router->config->global.tracing;
    struct sr_record_trace *trace = &x->record.trace;
    struct sr_trace_context parent;
    if (!tracing->enabled)
        return;
    struct sr_sampler sampler = sampler_of(tracing);
    trace->known = true;
    trace->has_parent = sr_trace_parent_read(&parent, x->head.traceparent) == SR_OK;
    if (trace->has_parent) {
        memcpy(trace->own.trace, parent.trace, SR_TRACE_ID_SIZE);
        memcpy(trace->parent, parent.span, SR_SPAN_ID_SIZE);
        if (sr_trace_state_is_usable(x->head.tracestate))
            trace->state = x->head.tracestate;
    } else {
        sr_runtime_unique(x->runtime, trace->own.trace);
        trace->own.trace[0] |= !trace->own.trace[0];
    }
    new_span(x, trace->own.span);
    if (sr_sampler_head(&sampler, trace->own.trace, trace->has_parent ? &parent : NULL))
        trace->own.flags = SR_TRACE_SAMPLED;
}

struct sr_span_ref sr_exchange_origin(const sr_exchange *x)
{
    const struct sr_record_trace *trace = &x->record.trace;
    struct sr_span_ref origin = {.known = trace->known && x->recall.purpose == SR_PURPOSE_SERVE};
    origin.kept = trace->own.flags & SR_TRACE_SAMPLED;
    memcpy(origin.trace, trace->own.trace, sizeof origin.trace);
    memcpy(origin.span, trace->own.span, sizeof origin.span);
    return origin;
}

/* ---- requests to upstreams ---- */

static struct sr_bytes parent_value(sr_exchange *x, const struct sr_record_try *try)
{
    struct sr_trace_context context = x->record.trace.own;
    char text[SR_TRACE_PARENT_SIZE];
    memcpy(context.span, try->span, SR_SPAN_ID_SIZE);
    sr_trace_parent_write(&context, text);
    struct sr_bytes value = sr_arena_dup(&x->arena, sr_bytes_of(text, sizeof text - 1));
    return value.p ? value : (struct sr_bytes){"", 0};
}

struct sr_bytes sr_exchange_try(sr_exchange *x, const struct sr_target *target)
{
    struct sr_record *r = &x->record;
    struct sr_record_try spare, *try = &spare;
    if (r->n_tries < SR_RECORD_TRIES_MAX)
        try = &r->tries[r->n_tries++];
    *try = (struct sr_record_try){.started = sr_clock_ns(),
                                  .model_index = r->model,
                                  .model = r->model_name,
                                  .target = target ? target->name : NULL,
                                  .host = target ? target->host : NULL,
                                  .port = target ? target->port : 0};
    if (!r->trace.known)
        return (struct sr_bytes){"", 0};
    new_span(x, try->span);
    return parent_value(x, try);
}

size_t sr_exchange_tries(const sr_exchange *x)
{
    return x->record.n_tries;
}

void sr_exchange_try_failed(sr_exchange *x, size_t number, int status, const char *why)
{
    struct sr_record *r = &x->record;
    struct sr_record_try *try = number && number <= r->n_tries ? &r->tries[number - 1] : NULL;
    if (!try || try->ended)
        return;
    try->ended = sr_clock_ns();
    try->failure = why;
    if (status) {
        try->answered = try->ended;
        try->status = status;
    }
}

void sr_exchange_try_answered(sr_exchange *x, int status)
{
    struct sr_record *r = &x->record;
    struct sr_record_try *try = r->n_tries ? &r->tries[r->n_tries - 1] : NULL;
    if (!try || try->ended)
        return;
    try->answered = r->times.answer_head;
    try->status = status;
}

/* ---- the end ---- */

/* For the operator: it failed, or it was refused for what it says. */
static bool has_failed(const struct sr_record *r)
{
    bool upstream = r->end == SR_END_UPSTREAM_LOST || r->answer_status >= 500;
    return upstream || (r->has_verdict && (r->outcome == SR_OUTCOME_FAILED || r->outcome == SR_OUTCOME_SHED ||
                                           r->outcome == SR_OUTCOME_BLOCKED));
}

static bool is_kept(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_sampler sampler = sampler_of(&x->router->config->global.tracing);
    if (r->trace.own.flags & SR_TRACE_SAMPLED)
        return true;
    if (!sr_sampler_tail(&sampler, has_failed(r), r->times.ended - r->times.started))
        return false;
    r->trace.own.flags |= SR_TRACE_SAMPLED;
    return true;
}

void sr_exchange_end_trace(sr_exchange *x)
{
    struct sr_record *r = &x->record;
    struct sr_buf spans;
    size_t n;
    if (r->n_tries && !r->tries[r->n_tries - 1].ended)
        r->tries[r->n_tries - 1].ended = r->times.last_token ? r->times.last_token : r->times.ended;
    if (!r->trace.known || x->recall.purpose != SR_PURPOSE_SERVE || !sr_runtime_wants_spans(x->runtime) ||
        !is_kept(x))
        return;
    uint64_t offset = sr_clock_wall_ns() - sr_clock_ns();
    sr_buf_init(&spans, SR_SPANS_MAX);
    if (sr_buf_reserve(&spans, SR_SPANS_USUAL) == SR_OK &&
        sr_spans_of_record(r, x->router, offset, &spans, &n) == SR_OK)
        sr_runtime_spans(x->runtime, sr_buf_view(&spans), n);
    sr_buf_dispose(&spans);
}
