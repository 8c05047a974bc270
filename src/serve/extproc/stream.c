/* A stream lives from the call's `open` to its `closed`. */
#include "serve/extproc/stream.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/loop/dns.h"
#include "serve/post.h"

#include <arpa/inet.h>
#include <netinet/in.h>

/* Bytes for decoded headers and encoded replies of one message, in addition to its body. */
#define SCRATCH_EXTRA ((size_t)16 << 20)

/* Bytes that wait for Envoy above which reading from it stops. */
#define HIGH_WATER ((size_t)1 << 20)

struct stream {
    struct sr_extproc_streams *streams;
    struct sr_grpc_call *call; /* NULL: ended */
    struct sr_extproc_core *core;
    struct sr_arena in, out; /* memory of the current message, of the current reply */
    struct sr_timer timer;
    struct sr_dns_query *query; /* NULL: none is in progress */
    struct sr_timer query_timer;
    bool paused;
};

/* ---- the core's callbacks ---- */

static void end_call(struct stream *s, enum sr_grpc_status status, const char *why)
{
    if (s->call)
        sr_grpc_call_finish(s->call, status, why);
}

static void on_send(void *ctx, const struct sr_extproc_reply *reply)
{
    struct stream *s = ctx;
    if (!s->call)
        return;
    struct sr_bytes bytes = sr_extproc_encode(reply, &s->out);
    int rc = bytes.p ? sr_grpc_call_send(s->call, &bytes, 1) : SR_ENOMEM;
    sr_arena_dispose(&s->out);
    if (rc == SR_ENOMEM || rc == SR_ELIMIT) {
        sr_log(SR_LOG_WARN, "extproc_send", "a stream was reset: %s", sr_strerror(rc));
        end_call(s, SR_GRPC_RESOURCE_EXHAUSTED, "no room for the reply");
    } else if (rc == SR_OK && !s->paused && sr_grpc_call_queued(s->call) > HIGH_WATER) {
        s->paused = true;
        sr_grpc_call_pause(s->call);
    }
}

static void on_fail(void *ctx, const char *why)
{
    end_call(ctx, SR_GRPC_INVALID_ARGUMENT, why);
}

static void on_post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct stream *s = ctx;
    sr_serve_post(s->timer.loop, task, arg);
}

/* ---- names ---- */

static void arm(struct stream *s);

static void print_addresses(struct sr_extproc_addresses *out, const struct sr_dns_result *result)
{
    out->count = 0;
    for (size_t i = 0; i < result->count && out->count < sizeof out->text / sizeof out->text[0]; i++) {
        const struct sockaddr_storage *address = &result->address[i];
        const void *bytes =
            address->ss_family == AF_INET6
                ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr
                : (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr;
        if (inet_ntop(address->ss_family, bytes, out->text[out->count], sizeof out->text[0]))
            out->count++;
    }
}

/* The call reads again once the core has continued. */
static void end_query(struct stream *s, const struct sr_extproc_addresses *addresses)
{
    sr_dns_cancel(&s->query);
    sr_timer_stop(&s->query_timer);
    sr_extproc_core_resolved(s->core, addresses);
    arm(s);
    if (s->call && !s->paused && !s->query)
        sr_grpc_call_resume(s->call);
}

static void on_resolved(void *ctx, int code, const struct sr_dns_result *result, const char *text)
{
    struct stream *s = ctx;
    struct sr_extproc_addresses addresses = {.count = 0};
    (void)text;
    s->query = NULL;
    if (code == SR_OK)
        print_addresses(&addresses, result);
    end_query(s, &addresses);
}

static void on_query_timer(void *ctx)
{
    end_query(ctx, NULL);
}

static int on_resolve(void *ctx, const char *host, struct sr_extproc_addresses *out)
{
    struct stream *s = ctx;
    struct sr_dns_result result;
    if (!s->call)
        return SR_ENOENT;
    int rc = sr_dns_resolve(&s->query, s->timer.loop, host, &result, on_resolved, s);
    if (rc == SR_OK) {
        print_addresses(out, &result);
    } else if (rc == SR_AGAIN) {
        sr_grpc_call_pause(s->call);
        sr_timer_start(&s->query_timer, SR_EXTPROC_RESOLVE_MS);
    }
    return rc;
}

static const struct sr_extproc_core_ops CORE_OPS = {
    .send = on_send, .fail = on_fail, .post = on_post, .resolve = on_resolve};

/* ---- time ---- */

static void arm(struct stream *s)
{
    uint64_t due = sr_extproc_core_deadline_ns(s->core);
    if (due == 0) {
        sr_timer_stop(&s->timer);
        return;
    }
    uint64_t now = sr_clock_ns();
    sr_timer_start(&s->timer, due > now ? (due - now) / SR_NS_PER_MS + 1 : 1);
}

static void on_timer(void *ctx)
{
    struct stream *s = ctx;
    sr_extproc_core_timeout(s->core);
    arm(s);
}

/* ---- the call's events ---- */

static void on_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes bytes)
{
    struct stream *s = ctx;
    struct sr_extproc_message message;
    (void)call;
    sr_arena_init(&s->in, bytes.n + SCRATCH_EXTRA);
    int rc = sr_extproc_decode(&message, bytes, &s->in);
    if (rc == SR_OK) {
        sr_extproc_core_message(s->core, &message);
        arm(s);
    } else {
        end_call(s, rc == SR_EPARSE ? SR_GRPC_INVALID_ARGUMENT : SR_GRPC_RESOURCE_EXHAUSTED,
                 "the message cannot be read");
    }
    sr_arena_dispose(&s->in);
}

static void on_half_closed(void *ctx, struct sr_grpc_call *call)
{
    (void)call;
    end_call(ctx, SR_GRPC_OK, NULL);
}

static void on_writable(void *ctx, struct sr_grpc_call *call)
{
    struct stream *s = ctx;
    if (s->paused) {
        s->paused = false;
        if (!s->query)
            sr_grpc_call_resume(call);
    }
}

/* Envoy usually ends with RST_STREAM, so the kind of end is not logged. */
static void on_closed(void *ctx, struct sr_grpc_call *call, int why)
{
    struct stream *s = ctx;
    (void)call;
    (void)why;
    s->call = NULL;
    s->streams->active--;
    sr_timer_stop(&s->timer);
    sr_timer_stop(&s->query_timer);
    sr_dns_cancel(&s->query);
    sr_extproc_core_free(s->core);
    sr_mem_free(s);
}

static const struct sr_grpc_call_events EVENTS = {
    .message = on_message,
    .half_closed = on_half_closed,
    .writable = on_writable,
    .closed = on_closed,
};

void sr_extproc_stream_open(struct sr_extproc_streams *streams, struct sr_grpc_call *call)
{
    struct stream *s = sr_mem_calloc(1, sizeof *s);
    if (!s) {
        sr_grpc_call_finish(call, SR_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    struct sr_extproc_core_options options = {.runtime = streams->runtime,
                                              .config = streams->config,
                                              .metrics = streams->metrics,
                                              .peer = sr_bytes_str(sr_grpc_call_peer(call)),
                                              .traceparent = sr_grpc_call_metadata(call, "traceparent"),
                                              .tracestate = sr_grpc_call_metadata(call, "tracestate"),
                                              .shed = streams->active >= streams->max,
                                              .ops = &CORE_OPS,
                                              .ctx = s};
    s->streams = streams;
    s->call = call;
    s->core = sr_extproc_core_new(&options);
    if (!s->core) {
        sr_mem_free(s);
        sr_grpc_call_finish(call, SR_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    sr_arena_init(&s->out, streams->config->global.extproc.max_message_bytes * 3 + SCRATCH_EXTRA);
    sr_timer_init(&s->timer, sr_grpc_call_loop(call), on_timer, s);
    sr_timer_init(&s->query_timer, sr_grpc_call_loop(call), on_query_timer, s);
    streams->active++;
    sr_grpc_call_accept(call, &EVENTS, s);
}
