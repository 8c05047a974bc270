/*
 * An export is a row of messages of about PART_BYTES: receivers of gRPC take 4 MiB unless told otherwise. One
 * that is lost ends the row.
 */
#include "serve/otlp/meter.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "router/runtime_metrics.h"
#include "serve/otlp/delivery.h"
#include "serve/otlp/message.h"
#include "serve/otlp/points.h"

#define METHOD     "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
#define PART_BYTES ((size_t)1 << 20)

struct sr_otlp_meter {
    sr_runtime *runtime;
    const struct sr_config *config; /* NULL: none yet */
    struct sr_otlp_delivery delivery;
    struct sr_otlp_points *points; /* NULL: metrics are not sent */
    struct sr_timer timer;
    struct sr_otlp_content part;
    uint64_t now_ns;          /* of the export */
    int next;                 /* metric of it; SR_OTLP_POINTS_END: all are sent */
    int rc;                   /* of reading */
    bool delta, ending, last; /* the last row has begun */
    void (*done)(void *ctx);
    void *ctx;
};

static void count(struct sr_otlp_meter *m, const char *result)
{
    struct sr_bytes labels[] = {sr_bytes_str(result)};
    sr_metrics_add(sr_runtime_metrics_table(m->runtime), SR_METRIC_METRICS_EXPORTS, 1, labels);
}

static void read_part(void *ctx, const struct sr_metrics *metrics)
{
    struct sr_otlp_meter *m = ctx;
    m->rc = sr_otlp_points_write(m->points, metrics, m->now_ns, PART_BYTES, &m->next, &m->part.bytes);
}

static void begin(struct sr_otlp_meter *m);

/* The row is over. */
static void rest(struct sr_otlp_meter *m)
{
    m->next = SR_OTLP_POINTS_END;
    if (!m->ending)
        sr_timer_start(&m->timer, m->config->global.metrics_export.interval_ms);
    else if (!m->last && !m->delivery.away)
        begin(m);
    else
        m->done(m->ctx);
}

static void send_part(struct sr_otlp_meter *m)
{
    struct sr_bytes message;
    m->rc = sr_otlp_content_clear(&m->part);
    if (!m->rc)
        sr_runtime_read_metrics(m->runtime, read_part, m);
    if (!m->rc)
        m->rc = sr_otlp_message(&m->config->global.tracing, &m->part, &message);
    if (!m->rc) {
        sr_otlp_deliver(&m->delivery, message);
        return;
    }
    sr_log(SR_LOG_WARN, "metrics_export", "metrics cannot be sent: %s", sr_strerror(m->rc));
    count(m, "failed");
    rest(m);
}

static void begin(struct sr_otlp_meter *m)
{
    m->now_ns = sr_clock_wall_ns();
    m->next = 0;
    m->last = m->ending;
    send_part(m);
}

static void on_ended(void *ctx, bool taken, uint64_t rejected)
{
    struct sr_otlp_meter *m = ctx;
    (void)rejected;
    if (taken)
        sr_otlp_points_taken(m->points);
    else
        m->next = SR_OTLP_POINTS_END;
    if (m->next == SR_OTLP_POINTS_END)
        count(m, taken ? "exported" : "failed");
}

static void on_ready(void *ctx)
{
    struct sr_otlp_meter *m = ctx;
    if (m->next == SR_OTLP_POINTS_END)
        rest(m);
    else
        send_part(m);
}

static const struct sr_otlp_delivery_events EVENTS = {.ended = on_ended, .ready = on_ready};

static void on_timer(void *ctx)
{
    struct sr_otlp_meter *m = ctx;
    if (sr_otlp_delivery_is_free(&m->delivery))
        begin(m);
}

int sr_otlp_meter_new(struct sr_otlp_meter **out, struct sr_loop *loop, sr_runtime *runtime,
                      void (*done)(void *ctx), void *ctx)
{
    struct sr_otlp_meter *m = *out = sr_mem_calloc(1, sizeof *m);
    if (!m)
        return SR_ENOMEM;
    m->runtime = runtime;
    m->done = done;
    m->ctx = ctx;
    m->next = SR_OTLP_POINTS_END;
    m->delivery = (struct sr_otlp_delivery){
        .event = "metrics_export", .what = "metrics", .method = METHOD, .events = &EVENTS, .ctx = m};
    sr_otlp_delivery_init(&m->delivery, loop);
    sr_timer_init(&m->timer, loop, on_timer, m);
    sr_otlp_content_init(&m->part);
    return SR_OK;
}

void sr_otlp_meter_free(struct sr_otlp_meter *m)
{
    if (!m)
        return;
    sr_otlp_delivery_dispose(&m->delivery);
    sr_otlp_points_free(m->points);
    sr_timer_stop(&m->timer);
    sr_otlp_content_dispose(&m->part);
    sr_mem_free(m);
}

void sr_otlp_meter_open(struct sr_otlp_meter *m, const struct sr_config *config, sr_tls_context *tls)
{
    const struct sr_config_metrics_export *e = &config->global.metrics_export;
    sr_timer_stop(&m->timer);
    m->config = config;
    m->next = SR_OTLP_POINTS_END;
    if (!e->enabled || (m->points && m->delta != e->delta)) {
        sr_otlp_points_free(m->points);
        m->points = NULL;
    }
    m->delta = e->delta;
    if (e->enabled && !m->points && sr_otlp_points_new(&m->points, e->delta) != SR_OK)
        sr_log(SR_LOG_ERROR, "metrics_export", "no metrics are sent: out of memory");
    sr_otlp_delivery_open(&m->delivery, m->points ? &e->to : NULL, tls);
    if (m->delivery.sender)
        sr_timer_start(&m->timer, e->interval_ms);
}

void sr_otlp_meter_finish(struct sr_otlp_meter *m)
{
    m->ending = true;
    sr_timer_stop(&m->timer);
    if (sr_otlp_delivery_is_free(&m->delivery) && m->next == SR_OTLP_POINTS_END)
        begin(m);
}

bool sr_otlp_meter_is_done(const struct sr_otlp_meter *m)
{
    return !m->delivery.sender || m->delivery.away ||
           (m->next == SR_OTLP_POINTS_END && sr_otlp_delivery_is_free(&m->delivery));
}
