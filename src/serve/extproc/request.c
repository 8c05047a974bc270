/*
 * The request's half of Envoy's external processor: headers, body and trailers in each mode.
 *
 * Passes Envoy's messages to the exchange, and calls verdict.c once there is a verdict.
 */
#include "base/clock.h"
#include "config/endpoints.h"
#include "dialect/openai.h"
#include "router/identity/identity.h"
#include "serve/extproc/private.h"

/* ---- the exchange's environment ---- */

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct sr_extproc_core *core = ctx;
    core->options.ops->post(core->options.ctx, task, arg);
}

static void on_ready(void *ctx, sr_exchange *exchange)
{
    (void)exchange;
    sr_extproc_deliver(ctx);
}

static void on_answer_ready(void *ctx, sr_exchange *exchange)
{
    (void)exchange;
    sr_extproc_answer_ready(ctx);
}

/* ---- the head ---- */

static void bypass(struct sr_extproc_core *core)
{
    core->state = SR_EXTPROC_BYPASS;
    struct sr_bytes labels[] = {SR_LIT("extproc"), SR_LIT("bypassed")};
    sr_metrics_add(core->options.metrics, SR_METRIC_OUTCOMES, 1, labels);
}

/* The client's address: what a proxy in front of Envoy wrote last, else Envoy's own peer. */
static struct sr_bytes peer_of(const struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    struct sr_bytes peer = core->options.peer;
    for (size_t i = 0; i < message->n_headers; i++)
        if (sr_bytes_eq(message->headers[i].name, SR_LIT("x-forwarded-for")))
            peer = message->headers[i].value;
    return peer;
}

/* Keeps the path, and the names of headers that no client may send. False when out of memory. */
static bool keep_head(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    const struct sr_config *config = core->options.config;
    struct sr_identity_source source = {message->headers, message->n_headers, peer_of(core, message), false,
                                        0};
    bool trusted = sr_identity_trusts(config, &source);
    size_t n = 0;
    core->sent_path = sr_arena_dup(&core->arena, message->path);
    if (!core->sent_path.p || sr_request_path_read(&core->path, message->path, &core->arena))
        return false;
    for (size_t i = 0; i < message->n_headers; i++)
        n += sr_identity_strips(config, &message->headers[i], trusted);
    if (n == 0)
        return true;
    core->strip = sr_arena_calloc(&core->arena, n, sizeof *core->strip);
    for (size_t i = 0; core->strip && i < message->n_headers; i++) {
        if (!sr_identity_strips(config, &message->headers[i], trusted))
            continue;
        struct sr_bytes name = sr_arena_dup(&core->arena, message->headers[i].name);
        if (!name.p)
            return false;
        core->strip[core->n_strip++] = name;
    }
    return core->strip != NULL;
}

static bool has_header(const struct sr_extproc_message *message, struct sr_bytes name)
{
    for (size_t i = 0; i < message->n_headers; i++)
        if (sr_bytes_eq(message->headers[i].name, name))
            return true;
    return false;
}

static bool mode_is_chunked(enum sr_extproc_mode mode)
{
    return mode == SR_EXTPROC_MODE_STREAMED || mode == SR_EXTPROC_MODE_FULL_DUPLEX;
}

/* The limit of bodies that pass through; a body in one message is always kept, so its limit is that of
 * kept bodies. */
static uint64_t passing_max(const struct sr_extproc_core *core)
{
    size_t max = core->options.config->global.extproc.max_passing_bytes;
    return !mode_is_chunked(core->request_mode) ? 0 : max == 0 ? UINT64_MAX : max;
}

static bool is_context(struct sr_bytes name)
{
    return sr_bytes_eq(name, SR_LIT("traceparent")) || sr_bytes_eq(name, SR_LIT("tracestate"));
}

/* The headers as the exchange sees them: where Envoy traces, its span is the parent, not its client's. False:
 * out of memory. */
static bool trace_headers(struct sr_extproc_core *core, const struct sr_extproc_message *message,
                          struct sr_request_head *head)
{
    const struct sr_extproc_core_options *options = &core->options;
    head->headers = message->headers;
    head->n_headers = message->n_headers;
    if (!options->traceparent.n)
        return true;
    struct sr_header *out = sr_arena_calloc(&core->arena, message->n_headers + 2, sizeof *out);
    size_t n = 0;
    if (!out)
        return false;
    for (size_t i = 0; i < message->n_headers; i++)
        if (!is_context(message->headers[i].name))
            out[n++] = message->headers[i];
    out[n++] = (struct sr_header){SR_LIT("traceparent"), options->traceparent};
    if (options->tracestate.n)
        out[n++] = (struct sr_header){SR_LIT("tracestate"), options->tracestate};
    head->headers = out;
    head->n_headers = n;
    return true;
}

static bool make_exchange(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    struct sr_request_head head = {.struct_size = sizeof head,
                                   .door = SR_DOOR_EXTPROC,
                                   .method = message->method,
                                   .target = message->path,
                                   .peer = peer_of(core, message),
                                   .has_body = !message->end_of_stream,
                                   .answer_unseen = core->response_mode == SR_EXTPROC_MODE_NONE,
                                   .passing_max = passing_max(core)};
    if (!trace_headers(core, message, &head))
        return false;
    struct sr_exchange_env env = {.struct_size = sizeof env,
                                  .post = post,
                                  .ready = on_ready,
                                  .answer_ready = on_answer_ready,
                                  .ctx = core};
    core->exchange = sr_exchange_new(core->options.runtime, &head, core->options.ops->post ? &env : NULL);
    return core->exchange && sr_extproc_keep_subset(core, message);
}

/* Refuses a request for which no exchange could be made. */
static void refuse_without_exchange(struct sr_extproc_core *core)
{
    static const struct sr_header headers[] = {
        {{"content-type", sizeof "content-type" - 1}, {"application/json", sizeof "application/json" - 1}},
        {{"retry-after", sizeof "retry-after" - 1}, {"1", 1}},
    };
    struct sr_extproc_reply reply = {.action = SR_EXTPROC_IMMEDIATE,
                                     .phase = SR_EXTPROC_REQUEST_HEADERS,
                                     .status = 503,
                                     .set = headers,
                                     .n_set = 2,
                                     .body = &sr_openai_out_of_memory,
                                     .n_body = 1};
    struct sr_bytes labels[] = {SR_LIT("extproc"), SR_LIT("shed")};
    sr_metrics_add(core->options.metrics, SR_METRIC_OUTCOMES, 1, labels);
    core->state = SR_EXTPROC_CLOSED;
    sr_extproc_send(core, &reply);
}

static void wait_elsewhere(struct sr_extproc_core *core, enum sr_extproc_phase phase)
{
    uint64_t now = sr_clock_ns(), due = sr_exchange_deadline_ns(core->exchange);
    core->state = SR_EXTPROC_WAITING;
    core->read_due_ns = 0;
    sr_extproc_extend(core, phase, due > now ? (due - now) / SR_NS_PER_MS : 0);
}

/* Sets what is held, and the deadlines. */
static void begin_reading(struct sr_extproc_core *core)
{
    const struct sr_config_extproc *limits = &core->options.config->global.extproc;
    uint64_t now = sr_clock_ns();
    core->state = SR_EXTPROC_READING;
    if (core->request_mode != SR_EXTPROC_MODE_BUFFERED && limits->stream_timeout_sec > 0)
        core->read_due_ns = now + (uint64_t)limits->stream_timeout_sec * 1000 * SR_NS_PER_MS;
    if (core->request_mode == SR_EXTPROC_MODE_STREAMED && core->no_wait)
        core->hold_due_ns = now + limits->hold_ms * SR_NS_PER_MS;
    else if (core->request_mode != SR_EXTPROC_MODE_FULL_DUPLEX)
        sr_extproc_release_head(core);
}

#define UNSEEN_REFUSED                                                                                       \
    "guards or keys are configured, and Envoy does not send the bodies of requests here: use "               \
    "request_body_mode "                                                                                     \
    "BUFFERED, STREAMED or FULL_DUPLEX_STREAMED, and streamed_body.enabled"

/* The reason why the body of a request for a forwarded endpoint is not sent here, or NULL. */
static const char *why_unseen(const struct sr_extproc_core *core)
{
    if (core->path.flaw || !sr_config_forwards(core->options.config, core->path.path))
        return NULL;
    if (core->request_mode == SR_EXTPROC_MODE_NONE)
        return "no_body_mode";
    bool off = !core->options.config->global.extproc.streamed_body;
    return off && core->configured && mode_is_chunked(core->request_mode) ? "streamed_body_off" : NULL;
}

void sr_extproc_request_head(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    if (core->state != SR_EXTPROC_STARTING) {
        sr_extproc_fail(core, "request_headers came twice, or too late");
        return;
    }
    core->head_pending = true;
    if (!keep_head(core, message)) {
        refuse_without_exchange(core);
        return;
    }
    const char *unseen = message->end_of_stream ? NULL : why_unseen(core);
    if (unseen && !sr_extproc_protects(core)) {
        sr_extproc_count_unrouted(core, unseen);
        bypass(core);
        sr_extproc_release_head(core);
        return;
    }
    if (!make_exchange(core, message)) {
        refuse_without_exchange(core);
        return;
    }
    core->has_length = has_header(message, SR_LIT("content-length"));
    core->has_coding = has_header(message, SR_LIT("content-encoding"));
    core->ended = message->end_of_stream;
    if (core->options.shed) {
        sr_extproc_refuse(core, sr_extproc_is_picker(core) ? 429 : 503, "too many requests are in progress");
    } else if (unseen && !sr_exchange_verdict(core->exchange)) {
        sr_extproc_refuse(core, 500, UNSEEN_REFUSED);
    } else if (!message->end_of_stream && (core->request_mode == SR_EXTPROC_MODE_BUFFERED_PARTIAL ||
                                           core->request_mode == SR_EXTPROC_MODE_GRPC)) {
        sr_extproc_refuse(core, 500,
                          "this request_body_mode of Envoy cannot carry a routed request: use BUFFERED, "
                          "STREAMED or FULL_DUPLEX_STREAMED");
    } else if (sr_exchange_verdict(core->exchange)) {
        sr_extproc_deliver(core);
    } else if (sr_exchange_deadline_ns(core->exchange) != 0) { /* it needs no body */
        wait_elsewhere(core, SR_EXTPROC_REQUEST_HEADERS);
    } else {
        begin_reading(core);
    }
}

/* ---- the body ---- */

/* Replies to all chunks but the last `keep`: each becomes empty. */
static void drop_chunks(struct sr_extproc_core *core, size_t keep)
{
    struct sr_extproc_reply reply = {.phase = SR_EXTPROC_REQUEST_BODY, .change = SR_EXTPROC_REPLACE};
    for (; core->replies_pending > keep; core->replies_pending--) {
        core->dropped = true;
        sr_extproc_send(core, &reply);
    }
}

/* The exchange needs more bytes: sends the replies that need no verdict. */
static void read_on(struct sr_extproc_core *core)
{
    if (core->request_mode == SR_EXTPROC_MODE_FULL_DUPLEX)
        return;
    if (core->head_pending) {
        if (core->bytes < core->options.config->global.extproc.hold_bytes)
            return;
        sr_extproc_release_head(core);
    }
    drop_chunks(core, 0);
}

static void take_step(struct sr_extproc_core *core, enum sr_step step)
{
    switch (step) {
    case SR_STEP_MORE:
        read_on(core);
        break;
    case SR_STEP_WAIT:
        wait_elsewhere(core, SR_EXTPROC_REQUEST_BODY);
        break;
    case SR_STEP_VERDICT:
    case SR_STEP_ABORT:
        sr_extproc_deliver(core);
        break;
    case SR_STEP_PASS:
        break;
    }
}

/* Gives the exchange a chunk. A complete document counts as the end, because Envoy may never send an end
 * flag. */
static void read_chunk(struct sr_extproc_core *core, struct sr_bytes chunk, bool last)
{
    enum sr_step step = sr_exchange_body(core->exchange, chunk.p, chunk.n, last);
    if (step == SR_STEP_MORE && sr_exchange_body_whole(core->exchange))
        step = sr_exchange_body(core->exchange, NULL, 0, true);
    take_step(core, step);
}

static void pass_chunk(struct sr_extproc_core *core, struct sr_bytes chunk, bool end)
{
    if (core->request_mode == SR_EXTPROC_MODE_FULL_DUPLEX) {
        sr_extproc_pieces(core, SR_EXTPROC_REQUEST_BODY, &chunk, 1, end);
    } else {
        core->replies_pending--;
        sr_extproc_continue(core, SR_EXTPROC_REQUEST_BODY);
    }
}

static bool is_blank(struct sr_bytes s)
{
    return sr_bytes_trim(s).n == 0;
}

/* Checks chunks after a complete document. */
static void take_trailing(struct sr_extproc_core *core, struct sr_bytes chunk, bool end)
{
    if (!is_blank(chunk))
        sr_extproc_refuse(core, 400, "malformed JSON body: something follows the document");
    else if (core->state == SR_EXTPROC_DELIVERED)
        pass_chunk(core, chunk, end);
}

static bool too_large(struct sr_extproc_core *core, size_t n)
{
    size_t max = core->options.config->global.extproc.stream_max_bytes;
    core->bytes += n;
    return max != 0 && core->request_mode != SR_EXTPROC_MODE_BUFFERED && core->bytes > max;
}

static void on_own_body(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    bool duplex = core->request_mode == SR_EXTPROC_MODE_FULL_DUPLEX;
    if (core->chunks == 0 && !core->configured && message->end_of_stream)
        core->request_mode = SR_EXTPROC_MODE_BUFFERED;
    core->chunks++;
    core->replies_pending += duplex ? 0 : 1;
    core->ended = message->end_of_stream || core->request_mode == SR_EXTPROC_MODE_BUFFERED;
    if (too_large(core, message->body.n)) {
        sr_extproc_refuse(core, 413, "the request body is larger than streamed_body.max_bytes");
        return;
    }
    switch (core->state) {
    case SR_EXTPROC_READING:
        read_chunk(core, message->body, core->ended);
        break;
    case SR_EXTPROC_PASSING: {
        enum sr_step step = sr_exchange_body(core->exchange, message->body.p, message->body.n, core->ended);
        if (step == SR_STEP_PASS)
            pass_chunk(core, message->body, core->ended);
        else
            sr_extproc_deliver(core);
        break;
    }
    default:
        take_trailing(core, message->body, core->ended);
    }
}

/* The request may have begun without its head, so that where to is not known: it goes on. False after a
 * fault: it may not where guards or keys are configured. */
static bool begins_without_head(struct sr_extproc_core *core)
{
    if (core->state != SR_EXTPROC_STARTING)
        return true;
    if (sr_extproc_protects(core)) {
        sr_extproc_fail(core, SR_EXTPROC_HEAD_MISSING);
        return false;
    }
    sr_extproc_count_unrouted(core, "no_headers");
    bypass(core);
    return true;
}

void sr_extproc_request_body(struct sr_extproc_core *core, const struct sr_extproc_message *message)
{
    if (core->ended) {
        sr_extproc_fail(core, "request_body came after the end of the request");
        return;
    }
    if (!begins_without_head(core))
        return;
    if (core->state != SR_EXTPROC_BYPASS) {
        on_own_body(core, message);
        return;
    }
    core->ended = message->end_of_stream;
    core->replies_pending = 1;
    pass_chunk(core, message->body, message->end_of_stream);
}

void sr_extproc_request_trailers(struct sr_extproc_core *core)
{
    if (!begins_without_head(core))
        return;
    if (core->trailers_seen) {
        sr_extproc_fail(core, "request_trailers came twice");
        return;
    }
    bool first = !core->ended;
    core->ended = core->trailers_seen = core->trailers_pending = true;
    if (core->state == SR_EXTPROC_READING) {
        read_chunk(core, (struct sr_bytes){NULL, 0}, true);
    } else if (core->state == SR_EXTPROC_PASSING && first &&
               sr_exchange_body(core->exchange, NULL, 0, true) != SR_STEP_PASS) {
        sr_extproc_deliver(core);
    } else if (core->state != SR_EXTPROC_WAITING) {
        core->trailers_pending = false;
        sr_extproc_continue(core, SR_EXTPROC_REQUEST_TRAILERS);
    }
}

/* ---- time ---- */

void sr_extproc_request_timeout(struct sr_extproc_core *core)
{
    uint64_t now = sr_clock_ns();
    if (core->head_pending && core->hold_due_ns != 0 && now >= core->hold_due_ns) {
        sr_extproc_release_head(core);
        drop_chunks(core, core->state == SR_EXTPROC_WAITING ? 1 : 0);
    }
    if (core->state == SR_EXTPROC_READING && core->read_due_ns != 0 && now >= core->read_due_ns) {
        sr_extproc_refuse(core, 408, "the request body was not complete within streamed_body.timeout_sec");
    } else if (core->state == SR_EXTPROC_WAITING) {
        uint64_t due = sr_exchange_deadline_ns(core->exchange);
        if (due != 0 && now >= due) {
            sr_exchange_timeout(core->exchange);
            if (sr_exchange_verdict(core->exchange))
                sr_extproc_deliver(core);
            else
                wait_elsewhere(core, SR_EXTPROC_REQUEST_BODY); /* for a later stage */
        }
    }
}
