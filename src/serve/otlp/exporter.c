/*
 * One export of spans is on its way at a time. Its spans are kept until the collector has taken them, or they
 * are lost; meanwhile the queue fills. The queue is a list of batches: spans are copied once, to the end of
 * the last batch, which is sent as it lies there. A batch that was sent is filled again.
 */
#include "serve/otlp/exporter.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "serve/otlp/delivery.h"
#include "serve/otlp/message.h"
#include "serve/otlp/meter.h"

#include <string.h>

#define BATCH_BYTES ((size_t)1 << 20)
#define CLOSE_MS    5000u
#define METHOD      "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

/* The spans of one export. */
struct batch {
    struct batch *next;
    size_t n_spans;
    struct sr_otlp_content spans;
};

/* Where spans and metrics go; the config is a reference. */
struct destination {
    const struct sr_config *config;
    sr_tls_context *tls, *metrics_tls;
};

struct sr_otlp {
    sr_runtime *runtime;
    struct sr_metrics *metrics;
    struct sr_loop *loop; /* NULL: no configuration needed it yet */
    pthread_t thread;
    /* guarded by the lock */
    pthread_mutex_t lock;
    struct batch *first, *last, *spare;
    size_t queued_bytes, queue_max;
    size_t enough; /* spans of a batch that waits for no others */
    struct sr_message wake;
    bool woken;               /* the message is posted */
    bool taken;               /* the configuration wants what is in the queue */
    struct destination *next; /* NULL: no news */
    bool closing;
    /* of the thread */
    struct destination *now; /* NULL: nothing is sent */
    struct sr_otlp_delivery delivery;
    struct sr_otlp_meter *meter;
    struct sr_timer timer; /* for others of the batch */
    struct sr_timer close;
    struct batch *export; /* NULL: there is none */
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
    sr_tls_context_unref(d->metrics_tls);
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

static void batch_free(struct batch *batch)
{
    if (batch)
        sr_otlp_content_dispose(&batch->spans);
    sr_mem_free(batch);
}

static struct batch *batch_new(void)
{
    struct batch *batch = sr_mem_calloc(1, sizeof *batch);
    if (batch)
        sr_otlp_content_init(&batch->spans);
    return batch;
}

/* With the lock. */
static bool is_enough(const struct sr_otlp *o, const struct batch *batch)
{
    return batch && (batch->n_spans >= o->enough || sr_otlp_content_size(&batch->spans) >= BATCH_BYTES);
}

/* With the lock: a batch that takes more, at the end of the queue. NULL: there is no memory. */
static struct batch *open_batch(struct sr_otlp *o)
{
    if (o->last && !is_enough(o, o->last))
        return o->last;
    struct batch *batch = o->spare ? o->spare : batch_new();
    o->spare = NULL;
    if (!batch || sr_otlp_content_clear(&batch->spans) != SR_OK) {
        batch_free(batch);
        return NULL;
    }
    batch->n_spans = 0;
    batch->next = NULL;
    *(o->last ? &o->last->next : &o->first) = batch;
    return o->last = batch;
}

/* With the lock: true if the spans are in the queue. */
static bool keep(struct sr_otlp *o, struct sr_bytes spans, size_t n)
{
    bool none = !o->first || !o->first->n_spans, enough = is_enough(o, o->first);
    if (!o->taken || o->closing || o->queued_bytes + spans.n > o->queue_max)
        return false;
    struct batch *batch = open_batch(o);
    if (!batch || sr_buf_append_bytes(&batch->spans.bytes, spans) != SR_OK)
        return false;
    batch->n_spans += n;
    o->queued_bytes += spans.n;
    if (none || (!enough && is_enough(o, o->first)))
        post(o);
    return true;
}

static void on_spans(void *ctx, struct sr_bytes spans, size_t n)
{
    struct sr_otlp *o = ctx;
    pthread_mutex_lock(&o->lock);
    bool kept = keep(o, spans, n);
    pthread_mutex_unlock(&o->lock);
    if (!kept)
        count(o, "dropped", n);
}

/* Moves a batch from the queue to the export. */
static void take(struct sr_otlp *o)
{
    pthread_mutex_lock(&o->lock);
    struct batch *batch = o->first;
    o->first = batch->next;
    if (!o->first)
        o->last = NULL;
    o->queued_bytes -= sr_otlp_content_size(&batch->spans);
    pthread_mutex_unlock(&o->lock);
    o->export = batch;
}

/* ---- an export ---- */

/* The export is over. */
static void drop(struct sr_otlp *o)
{
    struct batch *batch = o->export;
    o->export = NULL;
    pthread_mutex_lock(&o->lock);
    if (!o->spare) {
        o->spare = batch;
        batch = NULL;
    }
    pthread_mutex_unlock(&o->lock);
    batch_free(batch);
}

static void on_ended(void *ctx, bool taken, uint64_t rejected)
{
    struct sr_otlp *o = ctx;
    size_t n = o->export->n_spans, without = rejected < n ? (size_t)rejected : n;
    if (taken) {
        count(o, "rejected", without);
        count(o, "exported", n - without);
    } else {
        count(o, "failed", n);
    }
    drop(o);
}

static void send(struct sr_otlp *o)
{
    struct sr_bytes message;
    int rc = sr_otlp_message(tracing_of(o->now), &o->export->spans, &message);
    if (!rc) {
        sr_otlp_deliver(&o->delivery, message);
        return;
    }
    sr_log(SR_LOG_WARN, "trace_export", "spans cannot be sent: %s", sr_strerror(rc));
    on_ended(o, false, 0);
}

/* ---- the thread ---- */

/* The end of the process waits for what can be sent soon. */
static void stop_if_done(struct sr_otlp *o)
{
    pthread_mutex_lock(&o->lock);
    bool closing = o->closing, some = o->first != NULL;
    pthread_mutex_unlock(&o->lock);
    bool spans = o->delivery.sender && !o->delivery.away && (some || o->export);
    if (closing && !spans && sr_otlp_meter_is_done(o->meter))
        sr_loop_stop(o->loop);
}

/* Sends what waits: at once if it is enough for a batch or the timer has fired, else soon. */
static void pump_now(struct sr_otlp *o, bool late)
{
    pthread_mutex_lock(&o->lock);
    bool closing = o->closing, some = o->first != NULL, enough = is_enough(o, o->first);
    pthread_mutex_unlock(&o->lock);
    if (sr_otlp_delivery_is_free(&o->delivery)) {
        if (!o->export && some && (enough || late || closing))
            take(o);
        if (o->export)
            send(o);
        else if (some)
            sr_timer_start(&o->timer, tracing_of(o->now)->delay_ms);
    }
    stop_if_done(o);
}

static void pump(void *ctx)
{
    pump_now(ctx, false);
}

static void on_timer(void *ctx)
{
    pump_now(ctx, true);
}

static void on_close(void *ctx)
{
    struct sr_otlp *o = ctx;
    sr_loop_stop(o->loop);
}

static void on_meter_done(void *ctx)
{
    stop_if_done(ctx);
}

static const struct sr_otlp_delivery_events EVENTS = {.ended = on_ended, .ready = pump};

/* Takes a new destination; an export that is on its way begins anew there. */
static void take_news(struct sr_otlp *o, struct destination *next)
{
    const struct sr_config_tracing *t = tracing_of(next);
    sr_timer_stop(&o->timer);
    sr_otlp_delivery_open(&o->delivery, t->enabled ? &t->to : NULL, next->tls);
    sr_otlp_meter_open(o->meter, next->config, next->metrics_tls);
    destination_free(o->now);
    o->now = next;
    if (!t->enabled && o->export) {
        count(o, "dropped", o->export->n_spans);
        drop(o);
    }
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
    if (closing && !o->close.armed) {
        sr_timer_start(&o->close, CLOSE_MS);
        sr_otlp_meter_finish(o->meter);
    }
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
    o->delivery = (struct sr_otlp_delivery){
        .event = "trace_export", .what = "spans", .method = METHOD, .events = &EVENTS, .ctx = o};
    sr_otlp_delivery_init(&o->delivery, o->loop);
    sr_timer_init(&o->timer, o->loop, on_timer, o);
    sr_timer_init(&o->close, o->loop, on_close, o);
    rc = sr_otlp_meter_new(&o->meter, o->loop, o->runtime, on_meter_done, o);
    if (!rc && pthread_create(&o->thread, NULL, thread_main, o) == 0)
        return SR_OK;
    sr_otlp_meter_free(o->meter);
    o->meter = NULL;
    sr_otlp_delivery_dispose(&o->delivery);
    sr_loop_free(o->loop);
    o->loop = NULL;
    return rc ? rc : SR_EIO;
}

/* SR_OK with NULL: in clear text. */
static int open_tls(sr_tls_context **out, const struct sr_config_otlp *to, bool used, const char *event)
{
    struct sr_tls_settings tls = {.ca_file = to->ca_file[0] ? to->ca_file : NULL,
                                  .cert_file = to->cert_file[0] ? to->cert_file : NULL,
                                  .key_file = to->key_file[0] ? to->key_file : NULL,
                                  .alpn = to->protocol == SR_OTLP_HTTP ? NULL : "h2"};
    struct sr_err err = {0};
    int rc = used && to->tls ? sr_tls_context_new(out, &tls, &err) : SR_OK;
    if (rc)
        sr_log(SR_LOG_ERROR, event, "spans and metrics go on as before: %s", err.message);
    return rc;
}

/* NULL: out of memory, or its certificates cannot be read, which was logged. */
static struct destination *destination_new(const struct sr_config *config)
{
    const struct sr_config_tracing *t = &config->global.tracing;
    const struct sr_config_metrics_export *m = &config->global.metrics_export;
    struct destination *d = sr_mem_calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->config = sr_config_ref(config);
    if (open_tls(&d->tls, &t->to, t->enabled, "trace_export") == SR_OK &&
        open_tls(&d->metrics_tls, &m->to, m->enabled, "metrics_export") == SR_OK)
        return d;
    destination_free(d);
    return NULL;
}

static int configure(struct sr_otlp *o, const struct sr_config *config)
{
    const struct sr_config_tracing *t = &config->global.tracing;
    if (!o->loop && !t->enabled && !config->global.metrics_export.enabled)
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
    o->enough = (size_t)t->batch;
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
    o->wake.run = on_wake;
    pthread_mutex_init(&o->lock, NULL);
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
        sr_log(SR_LOG_ERROR, "trace_export", "no thread left: spans and metrics are not sent");
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
        sr_otlp_delivery_dispose(&o->delivery);
        sr_otlp_meter_free(o->meter);
        sr_timer_stop(&o->timer);
        sr_timer_stop(&o->close);
        sr_loop_free(o->loop);
    }
    while (o->first) {
        struct batch *batch = o->first;
        o->first = batch->next;
        count(o, "dropped", batch->n_spans);
        batch_free(batch);
    }
    batch_free(o->export);
    batch_free(o->spare);
    destination_free(o->now);
    destination_free(o->next);
    pthread_mutex_destroy(&o->lock);
    sr_mem_free(o);
}
