/*
 * Whether a failed try of a request is followed by another one, where and when.
 *
 * Another worker of the model comes first, at once; then the next model of the decision; then, after a while,
 * the same workers again, unless they may have worked on the request. No try follows once a byte of an answer
 * went to the client, or when a part of the body is gone.
 */
#include "router/exchange/retry.h"
#include "base/clock.h"
#include "base/hash.h"
#include "router/exchange/next.h"
#include "router/exchange/place.h"
#include "router/exchange/pool.h"
#include "router/exchange/send.h"
#include "serve/gateway/call.h"

#include <time.h>

/* Failures after which the same worker may answer in a moment: it did not work on the request. */
#define PASSING (SR_RETRY_CONNECT | SR_RETRY_RESET | SR_RETRY_429 | SR_RETRY_GATEWAY)

/* Failures of a worker that is not there: another try adds no load to the workers that are, so that it needs
 * no place in the budget; all requests of a worker that dies move at once. */
#define GONE (SR_RETRY_CONNECT | SR_RETRY_RESET)

/* The longest wait is so many times the first one. */
#define BACK_OFF_GROWTH 20u

uint32_t sr_retry_of_status(int status)
{
    if (status == 429)
        return SR_RETRY_429;
    if (status >= 502 && status <= 504)
        return SR_RETRY_GATEWAY | SR_RETRY_5XX;
    return status >= 500 && status != 501 ? SR_RETRY_5XX : 0;
}

uint32_t sr_retry_of_error(const struct sr_client_error *error)
{
    if (error->stage == SR_CLIENT_CONNECTING || !error->sent)
        return SR_RETRY_CONNECT;
    return error->code == SR_ETIMEOUT ? SR_RETRY_TIMEOUT : SR_RETRY_RESET;
}

const char *sr_retry_failure_name(const struct sr_client_error *error)
{
    uint32_t failure = sr_retry_of_error(error);
    if (failure == SR_RETRY_RESET && (error->code == SR_EPROTO || error->code == SR_ELIMIT))
        return "garbage";
    return failure == SR_RETRY_CONNECT ? "connect" : failure == SR_RETRY_TIMEOUT ? "timeout" : "reset";
}

/* The milliseconds of a Retry-After header (RFC 9110, section 10.2.3); 0: none, or in the past. */
uint64_t sr_retry_after_ms(const struct sr_http_head *head)
{
    for (size_t i = 0; i < head->header_count; i++) {
        char text[64] = "";
        struct sr_bytes value = sr_bytes_trim(head->headers[i].value);
        if (!sr_bytes_eq(head->headers[i].name, SR_LIT("retry-after")) || value.n >= sizeof text)
            continue;
        memcpy(text, value.p, value.n);
        uint64_t seconds = 0;
        size_t digits = strspn(text, "0123456789");
        for (size_t k = 0; k < digits && seconds < 86400; k++)
            seconds = seconds * 10 + (uint64_t)(text[k] - '0');
        if (digits && digits == value.n)
            return seconds * 1000;
        struct tm tm = {0};
        const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        time_t at = end && !*end ? timegm(&tm) : 0, now = (time_t)(sr_clock_wall_ns() / SR_NS_PER_S);
        return at > now ? (uint64_t)(at - now) * 1000 : 0;
    }
    return 0;
}

/* Chooses a target that the request has not tried, and begins there. False: there is none. */
static bool choose(struct sr_call *call)
{
    const struct sr_verdict *v = call->verdict;
    int at = sr_ticket_choose(v->ticket);
    if (at < 0 && !call->upstream && sr_exchange_renew(call->exchange))
        at = sr_ticket_choose(v->ticket);
    if (at < 0)
        return false;
    call->target = &v->targets[at];
    sr_ticket_begin(v->ticket, (size_t)at);
    return true;
}

/* Milliseconds before the same workers are tried for the `n`th time, from 1: a random half of `first_ms`,
 * which is doubled each time. */
static uint64_t back_off(uint64_t first_ms, int n)
{
    uint64_t most = first_ms << (n < 6 ? n - 1 : 5);
    uint32_t random = 0;
    most = most < first_ms * BACK_OFF_GROWTH ? most : first_ms * BACK_OFF_GROWTH;
    if (sr_random(&random, sizeof random) != SR_OK)
        random = 0;
    return most / 2 + random % (most / 2 + 1);
}

/* Is there time for this wait and an answer? */
static bool has_time(const struct sr_call *call, uint64_t wait_ms)
{
    return call->deadline_ns == 0 || sr_clock_ns() + wait_ms * SR_NS_PER_MS < call->deadline_ns;
}

/* A worker of another pool of the model. */
static bool choose_other_pool(struct sr_call *call, bool well)
{
    int at = sr_exchange_choose_pool(call->exchange, well);
    if (at < 0)
        return false;
    call->target = &call->verdict->targets[at];
    sr_ticket_begin(call->verdict->ticket, (size_t)at);
    return true;
}

/* Another worker of the model: of the present pool, or of one of its others; workers that are gone last. */
static bool choose_of_model(struct sr_call *call)
{
    return choose_other_pool(call, true) || choose(call) || choose_other_pool(call, false);
}

/* The next model of the decision that has a worker for the request takes over. */
static bool next_model(struct sr_call *call)
{
    int tries = call->tries;
    while (sr_exchange_next_model(call->exchange)) {
        call->tries_before = tries;
        call->tries = 0;
        if (choose_of_model(call)) {
            sr_exchange_take_model(call->exchange);
            return true;
        }
    }
    if (!sr_exchange_tries_model(call->exchange))
        call->tries = tries;
    return false;
}

bool sr_retry_go_back(struct sr_call *call)
{
    if (!sr_exchange_go_back(call->exchange))
        return false;
    call->tries = call->tries_before;
    return true;
}

bool sr_retry_place(struct sr_call *call)
{
    return choose_of_model(call) || next_model(call);
}

int sr_retry_aim(struct sr_call *call, struct sr_err *err)
{
    int rc;
    while ((rc = sr_exchange_aim(call->exchange, (int)(call->target - call->verdict->targets), err))) {
        sr_ticket_end(call->verdict->ticket);
        if (rc != SR_EUNSUPPORTED || !choose_of_model(call))
            break;
    }
    return rc;
}

/* Has its model tries left? */
static bool may_again(const struct sr_call *call)
{
    return call->tries <= sr_exchange_retry(call->exchange).retries;
}

/* May the request be sent again, after so many tries and what was sent of it? */
static bool may_retry(const struct sr_call *call)
{
    return !call->body_passed && may_again(call);
}

bool sr_retry_may_move(const struct sr_call *call)
{
    return call->gateway->config->global.gateway.upstream.take_back && call->body_whole &&
           call->verdict->n_targets > 1 && may_retry(call);
}

bool sr_retry_leave(struct sr_call *call)
{
    const struct sr_verdict *v = call->verdict;
    if (!call->gateway->config->global.gateway.upstream.take_back || !may_retry(call))
        return false;
    int at = sr_ticket_choose_well(v->ticket);
    if (at < 0)
        return false;
    call->target = &v->targets[at];
    sr_ticket_begin(v->ticket, (size_t)at);
    return true;
}

bool sr_retry_may(const struct sr_call *call, uint32_t failure)
{
    return !call->body_passed && (failure & sr_exchange_retry(call->exchange).retry_on) &&
           ((failure & GONE) || sr_ticket_retry(call->verdict->ticket));
}

bool sr_retry_next(struct sr_call *call)
{
    return (may_again(call) && choose_of_model(call)) || next_model(call);
}

bool sr_retry_may_wait(const struct sr_call *call)
{
    return may_again(call) && sr_exchange_is_full(call->exchange);
}

bool sr_retry_same(struct sr_call *call, uint32_t failure, uint64_t retry_after_ms, uint64_t *wait_ms)
{
    const struct sr_config_gateway *settings = &call->gateway->config->global.gateway;
    *wait_ms = retry_after_ms ? retry_after_ms : back_off(settings->upstream.back_off_ms, call->tries);
    if (!may_again(call) || !(failure & PASSING) || retry_after_ms > settings->upstream.retry_after_ms ||
        !has_time(call, *wait_ms) || !sr_ticket_retry(call->verdict->ticket))
        return false;
    sr_exchange_pools_again(call->exchange);
    return choose_of_model(call);
}
