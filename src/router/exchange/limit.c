/* From the exchange to the stage limit/limiting, and back into the record. */
#include "router/exchange/limit.h"
#include "router/exchange/mail.h"

#include "base/clock.h"
#include "router/exchange/reply.h"
#include "router/limit/period.h"

#include <inttypes.h>
#include <stdio.h>

#define BYTES_A_TOKEN        4
#define BYTES_A_STREAM_TOKEN 64 /* an event of a stream has more, around one token */
#define AWAY_RETRY_S         5
#define SHOULD_RETRY_S       60 /* clients that wait by themselves do not wait longer */
#define MS_PER_S             1000

bool sr_exchange_has_limits(const sr_exchange *x)
{
    return x->router->config->global.limits.n_all > 0;
}

static uint64_t prompt_tokens(sr_exchange *x)
{
    uint64_t total = 0;
    if (!sr_limit_needs_tokens(x->router->config))
        return 0;
    if (x->record.has_text)
        return x->record.text_tokens;
    (void)sr_request_text(&x->body.doc, &x->arena, &total);
    return total / BYTES_A_TOKEN + 1;
}

static void count(sr_exchange *x, const struct sr_limiting *l)
{
    for (size_t i = 0; x->metrics && i < l->asked; i++) {
        bool refused = l->state == SR_LIMITING_REFUSED && l->result.which == i;
        const char *result = l->failed ? "failed" : refused ? "limited" : "allowed";
        if (l->state == SR_LIMITING_REFUSED && !refused)
            continue;
        struct sr_bytes labels[] = {sr_bytes_str(l->items[i].rule->name), sr_bytes_str(result)};
        sr_metrics_add(x->metrics, SR_METRIC_LIMITED, 1, labels);
    }
}

static bool has_to_ask(const sr_exchange *x)
{
    return sr_exchange_has_limits(x) && x->recall.purpose == SR_PURPOSE_SERVE;
}

static struct sr_limit_subject subject_of(const sr_exchange *x, int model, uint64_t tokens, bool look)
{
    return (struct sr_limit_subject){.identity = &x->identity,
                                     .client = sr_identity_client(&x->identity, x->head.peer),
                                     .model = model,
                                     .look = look,
                                     .prompt_tokens = tokens,
                                     .now_ms = sr_clock_wall_ns() / SR_NS_PER_MS};
}

/* Asks for a model, or looks. */
static enum sr_limiting_state start(sr_exchange *x, int model, uint64_t tokens, bool look)
{
    struct sr_limiting *l = &x->limiting;
    struct sr_limit_subject subject = subject_of(x, model, tokens, look);
    struct sr_mailbox *mailbox = sr_exchange_mailbox(x);
    if (x->env.post && !mailbox)
        return l->state = SR_LIMITING_AWAY;
    int rc =
        sr_limiting_start(l, sr_runtime_limiter(x->runtime), x->router->config, &subject, mailbox, &x->arena);
    if (rc == SR_ENOMEM)
        l->state = SR_LIMITING_AWAY;
    return l->state;
}

/* Asks the limits for the record's model, once for each exchange. */
static enum sr_limiting_state ask(sr_exchange *x)
{
    struct sr_limiting *l = &x->limiting;
    if (!has_to_ask(x))
        return SR_LIMITING_PASSED;
    if (l->state != SR_LIMITING_OPEN) {
        if (!l->counted && l->state != SR_LIMITING_WAITS) {
            l->counted = true;
            count(x, l);
        }
        return l->state;
    }
    return start(x, x->record.model, prompt_tokens(x), false) == SR_LIMITING_WAITS ? SR_LIMITING_WAITS
                                                                                   : ask(x);
}

/* Looks whether the limits that are known to hold have room: those for every model, and for the model that
 * the client names. Takes nothing from them. What has passed is asked again once the model is chosen, unless
 * the store is away. */
static enum sr_limiting_state look(sr_exchange *x)
{
    struct sr_limiting *l = &x->limiting;
    if (!has_to_ask(x))
        return SR_LIMITING_PASSED;
    if (l->state == SR_LIMITING_OPEN)
        (void)start(x, sr_body_is_named(&x->body) ? x->body.model : -1, 0, true);
    if (l->state == SR_LIMITING_PASSED && !l->failed) {
        *l = (struct sr_limiting){.done = l->done, .ctx = l->ctx};
        return SR_LIMITING_PASSED;
    }
    if (l->state == SR_LIMITING_REFUSED && !l->counted) {
        l->counted = true;
        count(x, l);
    }
    return l->state;
}

/* "100 tokens a minute", or "a cost of 5.00 a day" */
static void describe(const struct sr_limiting *l, char *out, size_t size)
{
    const struct sr_limit_item *item = &l->items[l->result.which];
    const char *unit = sr_limit_unit_name((enum sr_limit_unit)item->rule->unit);
    if (item->what == SR_LIMIT_COST)
        snprintf(out, size, "a cost of %.2f a %s", item->rule->cost, unit);
    else
        snprintf(out, size, "%" PRId64 " %s a %s", l->limits[l->result.which].max,
                 item->what == SR_LIMIT_TOKENS ? "tokens" : "requests", unit);
}

/* When a period ends, in words. */
static const char *moment(uint64_t now_ms, uint64_t wait_ms, char out[32])
{
    time_t then = (time_t)((now_ms + wait_ms + MS_PER_S - 1) / MS_PER_S);
    struct tm tm;
    if (!gmtime_r(&then, &tm) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm))
        out[0] = '\0';
    return out;
}

static void note(sr_exchange *x, unsigned retry_s, uint64_t reset_s)
{
    const struct sr_limiting *l = &x->limiting;
    const struct sr_limit_item *item = &l->items[l->result.which];
    bool cost = item->what == SR_LIMIT_COST;
    x->record.limit =
        (struct sr_record_limit){.rule = item->rule->name,
                                 .max = cost ? item->rule->cost : (double)l->limits[l->result.which].max,
                                 .remaining = cost ? 0 : (double)l->result.remaining,
                                 .reset_s = reset_s,
                                 .no_retry = retry_s == 0 || retry_s > SHOULD_RETRY_S};
}

/* Fills the 429, and what its headers say. */
static void make_refusal(sr_exchange *x, struct sr_refusal *refusal)
{
    const struct sr_limiting *l = &x->limiting;
    char what[64], when[32];
    if (l->state == SR_LIMITING_AWAY) {
        sr_refuse(refusal, 429, "rate_limit_unavailable", NULL,
                  "Rate limit exceeded: the store of the limits does not answer. Retry after %d seconds.",
                  AWAY_RETRY_S);
        refusal->retry_after_s = AWAY_RETRY_S;
        x->record.limit = (struct sr_record_limit){.rule = "", .away = true};
    } else {
        const struct sr_limit_item *item = &l->items[l->result.which];
        bool never = l->result.retry_ms == UINT64_MAX;
        uint64_t seconds = never ? 0 : l->result.retry_ms / MS_PER_S + 1;
        describe(l, what, sizeof what);
        refusal->retry_after_s = (unsigned)(seconds < UINT32_MAX ? seconds : UINT32_MAX);
        if (never)
            sr_refuse(refusal, 429, "rate_limit_exceeded", NULL,
                      "Rate limit exceeded: this request alone needs more than %s.", what);
        else if (item->rule->budget)
            sr_refuse(refusal, 429, "budget_exceeded", NULL,
                      "The budget of %s is spent. It is new at %s; retry after %" PRIu64 " seconds.", what,
                      moment(l->taken_ms, l->result.retry_ms, when), seconds);
        else
            sr_refuse(refusal, 429, "rate_limit_exceeded", NULL,
                      "Rate limit exceeded: %s. Retry after %" PRIu64 " seconds.", what, seconds);
        refusal->retry_after_s = (unsigned)(seconds < UINT32_MAX ? seconds : UINT32_MAX);
        note(x, refusal->retry_after_s, (l->taken_ms + (never ? 0 : l->result.retry_ms)) / MS_PER_S + 1);
    }
    refusal->reason = "rate_limited";
    refusal->path = "rate_limited";
}

/* ---- the phase ---- */

static enum sr_phase_step step_of(sr_exchange *x, enum sr_limiting_state state)
{
    struct sr_refusal refusal;
    switch (state) {
    case SR_LIMITING_OPEN:
    case SR_LIMITING_PASSED:
        return SR_PHASE_NEXT;
    case SR_LIMITING_WAITS:
        return SR_PHASE_WAITS;
    case SR_LIMITING_REFUSED:
    case SR_LIMITING_AWAY:
        break;
    }
    make_refusal(x, &refusal);
    sr_exchange_refuse(x, &refusal);
    return SR_PHASE_SETTLED;
}

enum sr_phase_step sr_exchange_limit_step(sr_exchange *x)
{
    return step_of(x, ask(x));
}

static enum sr_phase_step look_step(sr_exchange *x)
{
    bool asked = !sr_limiter_is_remote(sr_runtime_limiter(x->runtime)) && !sr_body_is_named(&x->body);
    return asked ? SR_PHASE_NEXT : step_of(x, look(x));
}

static enum sr_phase_step look_end(sr_exchange *x)
{
    return step_of(x, look(x));
}

bool sr_exchange_limit_refuses(sr_exchange *x)
{
    return has_to_ask(x) && !sr_limiter_is_remote(sr_runtime_limiter(x->runtime)) &&
           step_of(x, look(x)) == SR_PHASE_SETTLED;
}

uint64_t sr_exchange_limit_deadline_ns(const sr_exchange *x)
{
    return x->limiting.deadline_ns;
}

void sr_exchange_limit_give_up(sr_exchange *x)
{
    sr_limiting_deadline(&x->limiting);
}

const struct sr_phase sr_phase_limit = {.part = SR_PART_LIMIT,
                                        .begin = sr_exchange_limit_step,
                                        .end = sr_exchange_limit_step,
                                        .deadline_ns = sr_exchange_limit_deadline_ns,
                                        .give_up = sr_exchange_limit_give_up};

const struct sr_phase sr_phase_look = {.begin = look_step,
                                       .end = look_end,
                                       .deadline_ns = sr_exchange_limit_deadline_ns,
                                       .give_up = sr_exchange_limit_give_up};

bool sr_exchange_limit_moves(sr_exchange *x, int model)
{
    struct sr_limiting next = {.done = x->limiting.done, .ctx = x->limiting.ctx, .counted = true};
    if (!has_to_ask(x) || x->limiting.state != SR_LIMITING_PASSED)
        return true;
    struct sr_limit_subject subject = subject_of(x, model, prompt_tokens(x), false);
    int rc = sr_limiting_move(&next, &x->limiting, &subject, &x->arena);
    if (rc == SR_OK || rc == SR_ELIMIT)
        count(x, &next);
    if (rc == SR_OK)
        x->limiting = next;
    return rc == SR_OK;
}

/* ---- the end ---- */

/* Tokens of an answer that says none, by its size. */
static uint64_t tokens_of(const struct sr_record *r)
{
    if (r->usage.seen)
        return r->usage.prompt + r->usage.completion;
    return r->text_tokens + r->bytes_out / (r->streamed ? BYTES_A_STREAM_TOKEN : BYTES_A_TOKEN);
}

void sr_exchange_limit_settle(sr_exchange *x)
{
    const struct sr_record *r = &x->record;
    if (x->limiting.state != SR_LIMITING_PASSED || x->limiting.n == 0)
        return;
    if (x->own_tokens) {
        sr_limiting_settle(&x->limiting, x->own_tokens, 0);
        return;
    }
    if (r->answer_status / 100 != 2) {
        sr_limiting_settle(&x->limiting, 0, 0);
        return;
    }
    struct sr_record priced = *r;
    if (!r->usage.seen)
        priced.usage = (struct sr_usage){
            .seen = true, .prompt = r->text_tokens, .completion = tokens_of(r) - r->text_tokens};
    sr_limiting_settle(&x->limiting, tokens_of(r), sr_record_cost(&priced, x->router->config));
}
