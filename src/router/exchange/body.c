/*
 * Reads the body of a request, as it arrives.
 *
 * Undoes its coding, counts its bytes in the runtime and feeds it to the request's stages. A body that is
 * complete, or that passes through as it is, begins the phases; one that is not is prefetched.
 */
#include "router/exchange/body.h"

#include "router/exchange/cache.h"
#include "router/exchange/limit.h"
#include "router/exchange/phases.h"
#include "router/exchange/place.h"
#include "router/exchange/profile.h"
#include "router/exchange/record.h"
#include "router/exchange/reply.h"
#include "router/exchange/store.h"
#include "router/exchange/translate.h"

/* Do guards read a request that names this one's model? */
static bool is_guarded(const sr_exchange *x)
{
    return !x->head.skip && sr_guard_names(x->router, x->body.model);
}

/* Does the upstream know the client's model by another name? */
static bool needs_alias(const sr_exchange *x)
{
    const struct sr_config_model *model = &x->router->config->models[x->body.model];
    return !sr_bytes_eq(sr_bytes_str(model->name), sr_bytes_str(model->provider_model_id));
}

static struct sr_bytes tenant_of(const sr_exchange *x)
{
    return sr_guard_reads_units(x->router->config) ? x->identity.tenant : SR_LIT("");
}

/* The body is complete. */
static void on_complete(sr_exchange *x)
{
    struct sr_refusal refusal;
    if (x->body.builtin && !is_guarded(x)) {
        sr_exchange_begin_phases(x, SR_PHASES_EMBED);
    } else if (sr_body_is_named(&x->body) && !is_guarded(x)) {
        bool touched = needs_alias(x) || sr_exchange_caches_named(x);
        x->record.outcome = SR_OUTCOME_PASSED;
        x->named = true;
        sr_exchange_begin_phases(x, touched ? SR_PHASES_NAMED : SR_PHASES_PASS);
    } else if (!sr_body_check(&x->body, &refusal)) {
        sr_exchange_refuse(x, &refusal);
    } else {
        sr_exchange_begin_phases(x, x->body.builtin ? SR_PHASES_EMBED_GUARDED : SR_PHASES_ROUTE);
    }
}

/* Is it for a known model, and does nothing read or change the rest of it? */
static bool may_stream(const sr_exchange *x)
{
    return sr_body_is_named(&x->body) && !x->inflate && !needs_alias(x) && !is_guarded(x) &&
           !sr_exchange_caches_named(x) && !sr_exchange_has_limits(x) &&
           !sr_exchange_picks_by_body(x, x->body.model) && sr_exchange_translates(x, x->body.model) < 0 &&
           !sr_exchange_cleans(x, x->body.model) && !sr_exchange_keeps_state(x);
}

/* Passes through a request for a known model that no stage reads: the received bytes, then the rest as it
 * arrives. */
static void begin_streaming(sr_exchange *x)
{
    sr_body_pass(&x->body);
    x->verdict.streaming = true;
    x->record.outcome = SR_OUTCOME_PASSED;
    sr_exchange_begin_phases(x, SR_PHASES_PASS);
    if (x->verdict.action == SR_ACTION_FORWARD)
        x->state = SR_EXCHANGE_STREAMING;
}

/* Prefetches the incomplete body, for routing and for guards. */
static void prefetch(sr_exchange *x)
{
    const struct sr_body *body = &x->body;
    if (x->head.skip)
        return;
    if (!sr_body_is_named(body))
        sr_prefetch_read(&x->prefetch, x->router->signals, &body->doc);
    sr_prefetch_ask(&x->prefetch, x->router->signals,
                    sr_routing_types_to_prefetch(x->router, body->automatic, body->model), tenant_of(x),
                    &body->doc);
}

/* False: the bodies of all requests leave no room; the request is refused. */
static bool hold(sr_exchange *x, size_t n)
{
    struct sr_refusal refusal;
    if (sr_runtime_hold(x->runtime, n, x->held + n, x->router->config->global.gateway.max_buffered_bytes)) {
        x->held += n;
        return true;
    }
    sr_refuse_room(&refusal);
    sr_exchange_refuse(x, &refusal);
    return false;
}

static void read_plain(sr_exchange *x, struct sr_bytes piece, bool last)
{
    struct sr_refusal refusal;
    struct sr_body *body = &x->body;
    if (body->arrived == 0 && sr_exchange_limit_refuses(x))
        return;
    if (!hold(x, piece.n))
        return;
    enum sr_body_step step = sr_body_feed(body, piece.p, piece.n, last, &refusal);
    sr_exchange_note_body(x);
    if (body->automatic && step != SR_BODY_REFUSED && !x->record.recipe)
        sr_exchange_enter(x);
    if (step == SR_BODY_REFUSED)
        sr_exchange_refuse(x, &refusal);
    else if (step == SR_BODY_COMPLETE)
        on_complete(x);
    else if (may_stream(x))
        begin_streaming(x);
    else if (!body->whole && !sr_body_is_upload(body))
        prefetch(x);
}

static void refuse_coded(sr_exchange *x, int rc)
{
    struct sr_refusal refusal;
    if (rc == SR_ENOMEM)
        sr_refuse_memory(&refusal);
    else if (rc == SR_ELIMIT)
        sr_refuse(&refusal, 413, "request_too_large", NULL,
                  "the compressed request body expands more than %u times", SR_INFLATE_RATIO);
    else
        sr_refuse(&refusal, 400, "invalid_encoding", NULL,
                  rc == SR_MORE ? "the compressed request body ends before its end"
                                : "the request body cannot be decompressed as its content-encoding says");
    refusal.reason = "parse_error";
    sr_exchange_refuse(x, &refusal);
}

/* The same without the coding of the body; the pieces are read as they come out of it. */
static void read_coded(sr_exchange *x, struct sr_bytes in, bool last)
{
    struct sr_bytes piece;
    int rc = SR_OK;
    while (rc == SR_OK && x->state == SR_EXCHANGE_READING) {
        rc = sr_inflate_next(x->inflate, &in, &piece);
        if (piece.n && (rc == SR_OK || rc == SR_MORE))
            read_plain(x, piece, false);
    }
    if (x->state != SR_EXCHANGE_READING)
        return;
    if (rc != SR_MORE || (last && !sr_inflate_is_whole(x->inflate)))
        refuse_coded(x, rc);
    else if (last)
        read_plain(x, (struct sr_bytes){NULL, 0}, true);
}

void sr_exchange_read_body(sr_exchange *x, struct sr_bytes piece, bool last)
{
    if (x->inflate)
        read_coded(x, piece, last);
    else
        read_plain(x, piece, last);
}

enum sr_step sr_exchange_check_rest(sr_exchange *x, struct sr_bytes piece, bool last)
{
    struct sr_refusal refusal;
    enum sr_body_step step = sr_body_feed(&x->body, piece.p, piece.n, last, &refusal);
    sr_exchange_note_body(x);
    if (step == SR_BODY_REFUSED) {
        sr_exchange_refuse(x, &refusal);
        return SR_STEP_ABORT;
    }
    if (step == SR_BODY_COMPLETE)
        x->state = SR_EXCHANGE_SETTLED;
    return SR_STEP_PASS;
}

bool sr_exchange_body_whole(const sr_exchange *x)
{
    return x->body.whole && (!x->inflate || sr_inflate_is_whole(x->inflate));
}
