/* The pauses double, less a random part, so that many routers do not come back at once. */
#include "serve/otlp/delivery.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#define PAUSE_MS     500u
#define PAUSE_MAX_MS 10000u
#define PAUSE_STEPS  5u
#define TRY_FOR_MS   120000u

static void end(struct sr_otlp_delivery *d, bool taken, uint64_t rejected)
{
    d->tries = 0;
    d->events->ended(d->ctx, taken, rejected);
}

static void again(struct sr_otlp_delivery *d, const struct sr_otlp_outcome *outcome)
{
    unsigned steps = d->tries - 1 < PAUSE_STEPS ? d->tries - 1 : PAUSE_STEPS;
    uint32_t random = 0, pause = PAUSE_MS << steps;
    if (!d->away)
        sr_log(SR_LOG_WARN, d->event, "%s are not taken by %s:%d, and are sent again: %s", d->what,
               d->to->host, d->to->port, outcome->why);
    d->away = true;
    pause = pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS;
    if (sr_random(&random, sizeof random) == SR_OK)
        pause -= random % (pause / 4 + 1);
    if (outcome->after_ms)
        pause = (uint32_t)outcome->after_ms;
    d->pausing = true;
    sr_timer_start(&d->timer, pause);
    if ((sr_clock_ns() - d->since_ns) / SR_NS_PER_MS >= TRY_FOR_MS)
        end(d, false, 0);
}

static void on_done(void *ctx, const struct sr_otlp_outcome *outcome)
{
    struct sr_otlp_delivery *d = ctx;
    if (outcome->end == SR_OTLP_AGAIN) {
        again(d, outcome);
        return;
    }
    bool sent = outcome->end == SR_OTLP_SENT;
    if (sent && d->away)
        sr_log(SR_LOG_INFO, d->event, "%s:%d takes %s again", d->to->host, d->to->port, d->what);
    if (outcome->rejected)
        sr_log(SR_LOG_WARN, d->event, "%llu %s were rejected: %s", (unsigned long long)outcome->rejected,
               d->what, outcome->why);
    if (!sent)
        sr_log(SR_LOG_WARN, d->event, "%s:%d refuses %s: %s", d->to->host, d->to->port, d->what,
               outcome->why);
    d->away &= !sent;
    end(d, sent, outcome->rejected);
    d->events->ready(d->ctx);
}

static void send(struct sr_otlp_delivery *d)
{
    if (d->tries++ == 0)
        d->since_ns = sr_clock_ns();
    int rc = sr_otlp_send(d->sender, d->message);
    if (!rc)
        return;
    again(d, &(struct sr_otlp_outcome){.end = SR_OTLP_AGAIN, .why = sr_strerror(rc)});
    if (d->tries && (rc == SR_EINVAL || rc == SR_ELIMIT)) /* no other try can do better */
        end(d, false, 0);
}

static void on_timer(void *ctx)
{
    struct sr_otlp_delivery *d = ctx;
    d->pausing = false;
    if (d->tries)
        send(d);
    else
        d->events->ready(d->ctx);
}

void sr_otlp_delivery_init(struct sr_otlp_delivery *d, struct sr_loop *loop)
{
    d->loop = loop;
    sr_timer_init(&d->timer, loop, on_timer, d);
}

void sr_otlp_delivery_open(struct sr_otlp_delivery *d, const struct sr_config_otlp *to, sr_tls_context *tls)
{
    sr_otlp_sender_free(d->sender);
    d->sender = NULL;
    d->pausing = d->away = false;
    d->tries = 0;
    sr_timer_stop(&d->timer);
    d->to = to;
    int rc = to ? sr_otlp_sender_new(&d->sender, d->loop, to, d->method, tls, on_done, d) : SR_OK;
    if (rc)
        sr_log(SR_LOG_ERROR, d->event, "no %s are sent: %s", d->what, sr_strerror(rc));
}

void sr_otlp_delivery_dispose(struct sr_otlp_delivery *d)
{
    sr_otlp_sender_free(d->sender);
    sr_timer_stop(&d->timer);
}

bool sr_otlp_delivery_is_free(const struct sr_otlp_delivery *d)
{
    return d->sender && !d->tries && !d->pausing;
}

void sr_otlp_deliver(struct sr_otlp_delivery *d, struct sr_bytes message)
{
    d->message = message;
    send(d);
}
