/* An exchange without a door: it waits for its signals and its deadline, and is explained. */
#include "serve/admin/explain.h"

#include "base/clock.h"
#include "router/purpose.h"
#include "serve/admin/explain_request.h"
#include "serve/post.h"
#include "json/doc.h"

static void post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct sr_api *api = ctx;
    sr_serve_post(api->options.loop, task, arg);
}

static void stop_waiting(struct sr_api_call *call)
{
    sr_timer_stop(&call->timer);
    if (call->pprev) {
        *call->pprev = call->next;
        if (call->next)
            call->next->pprev = call->pprev;
        call->pprev = NULL;
    }
}

static void explained(struct sr_api_call *call)
{
    stop_waiting(call);
    if (!call->answered) {
        call->answered = true;
        sr_api_reply(call->request, 200, SR_LIT("application/json"),
                     sr_exchange_explain(call->exchange, false, 0, false));
    }
}

static void on_ready(void *ctx, sr_exchange *exchange)
{
    struct sr_api *api = ctx;
    for (struct sr_api_call *call = api->waiting; call; call = call->next) {
        if (call->exchange == exchange) {
            explained(call);
            return;
        }
    }
}

static void on_deadline(void *ctx)
{
    struct sr_api_call *call = ctx;
    sr_exchange_timeout(call->exchange);
    explained(call);
}

static void wait_for(struct sr_api_call *call)
{
    struct sr_api *api = call->api;
    call->next = api->waiting;
    call->pprev = &api->waiting;
    if (call->next)
        call->next->pprev = &call->next;
    api->waiting = call;
    uint64_t due = sr_exchange_deadline_ns(call->exchange), now = sr_clock_ns();
    if (due != 0)
        sr_timer_start(&call->timer, due > now ? (due - now) / SR_NS_PER_MS + 1 : 1);
}

static void run_exchange(struct sr_api_call *call, struct sr_bytes body)
{
    struct sr_api *api = call->api;
    struct sr_header type = {SR_LIT("content-type"), SR_LIT("application/json")};
    struct sr_request_head head = sr_api_explain_head(&type);
    struct sr_exchange_env env = {.struct_size = sizeof env, .post = post, .ready = on_ready, .ctx = api};
    call->exchange = sr_exchange_new(api->options.runtime, &head, &env);
    if (call->exchange)
        sr_exchange_explains(call->exchange);
    if (!call->exchange) {
        call->answered = true;
        sr_api_reply_error(call->request, 503, "The server is out of memory.");
    } else if (sr_exchange_body(call->exchange, body.p, body.n, true) == SR_STEP_WAIT) {
        wait_for(call);
    } else {
        explained(call);
    }
}

void sr_api_explain(struct sr_api_call *call)
{
    struct sr_doc *doc = NULL;
    struct sr_err err = {0};
    struct sr_buf body;
    sr_buf_init(&body, SR_API_BODY_MAX * 2);
    int rc = sr_doc_parse(&doc, sr_buf_view(&call->body), SR_API_BODY_MAX, &err);
    if (rc == SR_OK)
        rc = sr_api_explain_request(call->api->options.runtime, sr_doc_root(doc), &body);
    if (rc == SR_OK) {
        run_exchange(call, sr_buf_view(&body));
    } else {
        call->answered = true;
        sr_api_reply_error(call->request, 400,
                           rc == SR_EPARSE ? err.message
                                           : "The body must be {\"request\": {...}} or {\"text\": \"...\"}.");
    }
    sr_buf_dispose(&body);
    sr_doc_free(doc);
}

void sr_api_explain_init(struct sr_api_call *call)
{
    sr_timer_init(&call->timer, call->api->options.loop, on_deadline, call);
}

void sr_api_explain_end(struct sr_api_call *call, bool complete)
{
    stop_waiting(call);
    if (call->exchange)
        sr_exchange_end(call->exchange, complete ? SR_END_COMPLETE : SR_END_CLIENT_GONE);
}
