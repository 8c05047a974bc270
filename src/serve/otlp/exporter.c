/*
 * One export is on its way at a time. Its spans are kept until the collector has taken them, or until it was
 * tried for TRY_FOR_MS; meanwhile the queue fills.
 */
#include "serve/otlp/exporter.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/version.h"
#include "serve/otlp/sender.h"
#include "trace/export.h"

#include <stdio.h>
#include <string.h>

#define BATCH_BYTES  ((size_t)1 << 20)
#define MESSAGE_MAX  ((size_t)64 << 20)
#define PAUSE_MS     500u /* between tries: doubled, less a random part */
#define PAUSE_MAX_MS 10000u
#define TRY_FOR_MS   120000u
#define CLOSE_MS     2000u

/* The spans of one request. */
struct piece {
    struct piece *next;
    size_t n_spans, size;
    char bytes[];
};

/* Where spans go; the config is a reference. */
struct destination {
    const struct sr_config *config;
    sr_tls_context *tls;
};

struct sr_otlp {
    sr_runtime *runtime;
    struct sr_metrics *metrics;
    struct sr_loop *loop; /* NULL: no configuration needed it yet */
    pthread_t thread;
    /* guarded by the lock */
    pthread_mutex_t lock;
    struct piece *first, **end;
    size_t queued_bytes, queued_spans, queue_max, batch;
    struct sr_message wake;
    bool woken;               /* the message is posted */
    bool taken;               /* the configuration wants what is in the queue */
    struct destination *next; /* NULL: no news */
    bool closing;
    /* of the thread */
    struct destination *now; /* NULL: nothing is sent */
    struct sr_otlp_sender *sender;
    struct sr_timer timer; /* for others of the batch, or before the next try */
    struct sr_timer close;
    struct sr_buf spans, message; /* of the export */
    size_t n_spans;               /* 0: there is none */
    uint64_t since_ns;            /* it was tried first */
    unsigned tries;
    bool sending, pausing, away;
};

static struct sr_otlp *otlp_of(struct sr_message *message)
{
    return (struct sr_otlp *)(void *)((char *)message - offsetof(struct sr_otlp, wake));
}

static void count(struct sr_otlp *o, const char *result, size_t n)
{
    struct sr_bytes labels[] = {sr_bytes_str(result)};
    if (n)
        sr_metrics_add(o->metrics, SR_METRIC_TRACE_SPANS, (double)n, labels);
}

static const struct sr_config_tracing *tracing_of(const struct destination *d)
{
    return &d->config->global.tracing;
}

static void destination_free(struct destination *d)
{
    if (!d)
        return;
    sr_tls_context_unref(d->tls);
    sr_config_unref(d->config);
    sr_mem_free(d);
}

/* ---- the queue: any thread ---- */

/* With the lock. */
static void post(struct sr_otlp *o)
{
    if (!o->woken)
        o->woken = sr_loop_post(o->loop, &o->wake) == SR_OK;
}

static void on_spans(void *ctx, struct sr_bytes spans, size_t n)
{
    struct sr_otlp *o = ctx;
    struct piece *piece = sr_mem_alloc(sizeof *piece + spans.n);
    bool kept = false;
    if (piece) {
        *piece = (struct piece){.n_spans = n, .size = spans.n};
        memcpy(piece->bytes, spans.p, spans.n);
        pthread_mutex_lock(&o->lock);
        kept = o->taken && !o->closing && o->queued_bytes + spans.n <= o->queue_max;
        if (kept) {
            bool first = o->queued_spans == 0, was_full = o->queued_spans >= o->batch;
            *o->end = piece;
            o->end = &piece->next;
            o->queued_bytes += spans.n;
            o->queued_spans += n;
            if (first || (!was_full && o->queued_spans >= o->batch))
                post(o);
        }
        pthread_mutex_unlock(&o->lock);
    }
    if (!kept) {
        sr_mem_free(piece);
        count(o, "dropped", n);
    }
}

/* Moves pieces from the queue to the export. */
static void take(struct sr_otlp *o)
{
    pthread_mutex_lock(&o->lock);
    while (o->first && o->n_spans < o->batch && (!o->n_spans || o->spans.len < BATCH_BYTES)) {
        struct piece *piece = o->first;
        o->first = piece->next;
        if (!o->first)
            o->end = &o->first;
        o->queued_bytes -= piece->size;
        o->queued_spans -= piece->n_spans;
        if (sr_buf_append(&o->spans, piece->bytes, piece->size) == SR_OK)
            o->n_spans += piece->n_spans;
        else
            count(o, "dropped", piece->n_spans);
        sr_mem_free(piece);
    }
    pthread_mutex_unlock(&o->lock);
}

/* ---- an export ---- */

static void pump(struct sr_otlp *o);

/* The export is over. */
static void drop(struct sr_otlp *o)
{
    sr_buf_clear(&o->spans);
    o->n_spans = 0;
    o->tries = 0;
}

static void again(struct sr_otlp *o, const struct sr_otlp_outcome *outcome)
{
    uint32_t random = 0, pause = PAUSE_MS << (o->tries < 6 ? o->tries - 1 : 5);
    uint64_t tried_ms = (sr_clock_ns() - o->since_ns) / SR_NS_PER_MS;
    if (!o->away)
        sr_log(SR_LOG_WARN, "trace_export", "spans are not taken by %s:%d, and are sent again: %s",
               tracing_of(o->now)->host, tracing_of(o->now)->port, outcome->why);
    o->away = true;
    if (tried_ms >= TRY_FOR_MS) {
        count(o, "failed", o->n_spans);
        drop(o);
    }
    pause = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
    if (sr_random(&random, sizeof random) == SR_OK)
        pause -= random % (pause / 4 + 1);
    if (outcome->after_ms)
        pause = (uint32_t)outcome->after_ms;
    o->pausing = true;
    sr_timer_start(&o->timer, pause);
}

static void on_done(void *ctx, const struct sr_otlp_outcome *outcome)
{
    struct sr_otlp *o = ctx;
    o->sending = false;
    switch (outcome->end) {
    case SR_OTLP_SENT: {
        size_t rejected = outcome->rejected < o->n_spans ? (size_t)outcome->rejected : o->n_spans;
        if (o->away)
            sr_log(SR_LOG_INFO, "trace_export", "%s:%d takes spans again", tracing_of(o->now)->host,
                   tracing_of(o->now)->port);
        if (rejected)
            sr_log(SR_LOG_WARN, "trace_export", "%zu spans were rejected: %s", rejected, outcome->why);
        o->away = false;
        count(o, "rejected", rejected);
        count(o, "exported", o->n_spans - rejected);
        drop(o);
        break;
    }
    case SR_OTLP_REFUSED:
        sr_log(SR_LOG_WARN, "trace_export", "%s:%d refuses spans: %s", tracing_of(o->now)->host,
               tracing_of(o->now)->port, outcome->why);
        count(o, "failed", o->n_spans);
        drop(o);
        break;
    case SR_OTLP_AGAIN:
        again(o, outcome);
        return;
    }
    pump(o);
}

/* What all spans are of, as far as it is written; returns their number. */
static size_t resource_of(const struct sr_config_tracing *t, struct sr_export_attribute *out)
{
    size_t n = 0;
    out[n++] =
        (struct sr_export_attribute){"service.name", t->service_name[0] ? t->service_name : "semroute"};
    out[n++] = (struct sr_export_attribute){"service.version",
                                            t->service_version[0] ? t->service_version : sr_version_text};
    if (t->environment[0])
        out[n++] = (struct sr_export_attribute){"deployment.environment", t->environment};
    out[n++] = (struct sr_export_attribute){"telemetry.sdk.name", "semroute"};
    out[n++] = (struct sr_export_attribute){"telemetry.sdk.language", "c"};
    out[n++] = (struct sr_export_attribute){"telemetry.sdk.version", sr_version_text};
    for (size_t i = 0; i < t->attributes.count; i++) {
        bool known = false;
        for (size_t k = 0; k < n && !known; k++)
            known = strcmp(out[k].key, t->attributes.items[i].name) == 0;
        if (!known)
            out[n++] =
                (struct sr_export_attribute){t->attributes.items[i].name, t->attributes.items[i].value};
    }
    return n;
}

static int make_message(struct sr_otlp *o)
{
    const struct sr_config_tracing *t = tracing_of(o->now);
    struct sr_export_attribute *resource = sr_mem_calloc(6 + t->attributes.count, sizeof *resource);
    if (!resource)
        return SR_ENOMEM;
    sr_buf_clear(&o->message);
    int rc = sr_export_head(&o->message, resource, resource_of(t, resource), "semantic-router",
                            sr_version_text, o->spans.len);
    sr_mem_free(resource);
    return rc ? rc : sr_buf_append_bytes(&o->message, sr_buf_view(&o->spans));
}

static void send(struct sr_otlp *o)
{
    if (o->tries++ == 0)
        o->since_ns = sr_clock_ns();
    int rc = make_message(o);
    if (!rc)
        rc = sr_otlp_send(o->sender, sr_buf_view(&o->message));
    if (!rc) {
        o->sending = true;
        return;
    }
    if (rc == SR_EINVAL || rc == SR_ELIMIT) {
        sr_log(SR_LOG_WARN, "trace_export", "spans cannot be sent: %s", sr_strerror(rc));
        count(o, "failed", o->n_spans);
        drop(o);
    }
    again(o, &(struct sr_otlp_outcome){.end = SR_OTLP_AGAIN, .why = sr_strerror(rc)});
}

/* ---- the thread ---- */

/* Sends what waits: at once if it is enough for a batch or the timer has fired, else soon. */
static void pump_now(struct sr_otlp *o, bool late)
{
    if (o->sending || o->pausing || !o->sender)
        return;
    pthread_mutex_lock(&o->lock);
    bool closing = o->closing, some = o->queued_spans > 0, enough = o->queued_spans >= o->batch;
    pthread_mutex_unlock(&o->lock);
    if (!o->n_spans && some && (enough || late || closing))
        take(o);
    if (o->n_spans)
        send(o);
    else if (some)
        sr_timer_start(&o->timer, tracing_of(o->now)->delay_ms);
    else if (closing)
        sr_loop_stop(o->loop);
}

static void pump(struct sr_otlp *o)
{
    pump_now(o, false);
}

static void on_timer(void *ctx)
{
    struct sr_otlp *o = ctx;
    o->pausing = false;
    pump_now(o, true);
}

static void on_close(void *ctx)
{
    struct sr_otlp *o = ctx;
    sr_loop_stop(o->loop);
}

/* Takes a new destination; an export that is on its way begins anew there. */
static void take_news(struct sr_otlp *o, struct destination *next)
{
    sr_otlp_sender_free(o->sender);
    o->sender = NULL;
    o->sending = o->pausing = o->away = false;
    sr_timer_stop(&o->timer);
    destination_free(o->now);
    o->now = next;
    if (!tracing_of(next)->enabled) {
        count(o, "dropped", o->n_spans);
        drop(o);
        return;
    }
    int rc = sr_otlp_sender_new(&o->sender, o->loop, tracing_of(next), next->tls, on_done, o);
    if (rc)
        sr_log(SR_LOG_ERROR, "trace_export", "no spans are sent: %s", sr_strerror(rc));
}

static void on_wake(struct sr_message *self, bool closed)
{
    struct sr_otlp *o = otlp_of(self);
    pthread_mutex_lock(&o->lock);
    struct destination *next = o->next;
    bool closing = o->closing;
    o->next = NULL;
    o->woken = false;
    pthread_mutex_unlock(&o->lock);
    if (closed) {
        destination_free(next);
        return;
    }
    if (next)
        take_news(o, next);
    if (closing && !o->close.armed)
        sr_timer_start(&o->close, CLOSE_MS);
    if (closing && (o->away || !o->sender))
        sr_loop_stop(o->loop);
    else
        pump(o);
}

static void *thread_main(void *arg)
{
    struct sr_otlp *o = arg;
    sr_thread_name("sr-otlp");
    sr_loop_run(o->loop);
    return NULL;
}

/* ---- life ---- */

static int begin(struct sr_otlp *o)
{
    int rc = sr_loop_new(&o->loop);
    if (rc)
        return rc;
    sr_timer_init(&o->timer, o->loop, on_timer, o);
    sr_timer_init(&o->close, o->loop, on_close, o);
    if (pthread_create(&o->thread, NULL, thread_main, o) == 0)
        return SR_OK;
    sr_loop_free(o->loop);
    o->loop = NULL;
    return SR_EIO;
}

/* NULL: out of memory, or its certificates cannot be read, which was logged. */
static struct destination *destination_new(const struct sr_config *config)
{
    const struct sr_config_tracing *t = &config->global.tracing;
    struct sr_tls_settings tls = {.ca_file = t->ca_file[0] ? t->ca_file : NULL,
                                  .cert_file = t->cert_file[0] ? t->cert_file : NULL,
                                  .key_file = t->key_file[0] ? t->key_file : NULL,
                                  .alpn = t->protocol == SR_TRACING_HTTP ? NULL : "h2"};
    struct sr_err err = {0};
    struct destination *d = sr_mem_calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->config = sr_config_ref(config);
    if (!t->enabled || !t->tls || sr_tls_context_new(&d->tls, &tls, &err) == SR_OK)
        return d;
    sr_log(SR_LOG_ERROR, "trace_export", "spans go on as before: %s", err.message);
    destination_free(d);
    return NULL;
}

static int configure(struct sr_otlp *o, const struct sr_config *config)
{
    const struct sr_config_tracing *t = &config->global.tracing;
    if (!o->loop && !t->enabled)
        return SR_OK;
    struct destination *d = destination_new(config);
    int rc = d && !o->loop ? begin(o) : SR_OK;
    if (!d || rc) {
        destination_free(d);
        return rc;
    }
    pthread_mutex_lock(&o->lock);
    struct destination *before = o->next;
    o->next = d;
    o->taken = t->enabled;
    o->queue_max = t->queue_bytes;
    o->batch = (size_t)t->batch;
    post(o);
    pthread_mutex_unlock(&o->lock);
    destination_free(before);
    return SR_OK;
}

int sr_otlp_start(struct sr_otlp **out, sr_runtime *runtime, const struct sr_config *config)
{
    struct sr_otlp *o = sr_mem_calloc(1, sizeof *o);
    *out = NULL;
    if (!o)
        return SR_ENOMEM;
    o->runtime = runtime;
    o->metrics = sr_runtime_metrics_table(runtime);
    o->end = &o->first;
    o->wake.run = on_wake;
    pthread_mutex_init(&o->lock, NULL);
    sr_buf_init(&o->spans, MESSAGE_MAX);
    sr_buf_init(&o->message, MESSAGE_MAX);
    int rc = configure(o, config);
    if (rc) {
        sr_otlp_stop(o);
        return rc;
    }
    sr_runtime_set_spans(runtime, on_spans, o);
    *out = o;
    return SR_OK;
}

void sr_otlp_configure(struct sr_otlp *otlp, const struct sr_config *config)
{
    if (configure(otlp, config) != SR_OK)
        sr_log(SR_LOG_ERROR, "trace_export", "no thread left: spans are dropped");
}

void sr_otlp_stop(struct sr_otlp *o)
{
    if (!o)
        return;
    sr_runtime_set_spans(o->runtime, NULL, NULL);
    if (o->loop) {
        pthread_mutex_lock(&o->lock);
        o->closing = true;
        post(o);
        pthread_mutex_unlock(&o->lock);
        pthread_join(o->thread, NULL);
        sr_otlp_sender_free(o->sender);
        sr_timer_stop(&o->timer);
        sr_timer_stop(&o->close);
        sr_loop_free(o->loop);
    }
    while (o->first) {
        struct piece *piece = o->first;
        o->first = piece->next;
        count(o, "dropped", piece->n_spans);
        sr_mem_free(piece);
    }
    destination_free(o->now);
    destination_free(o->next);
    sr_buf_dispose(&o->spans);
    sr_buf_dispose(&o->message);
    pthread_mutex_destroy(&o->lock);
    sr_mem_free(o);
}
