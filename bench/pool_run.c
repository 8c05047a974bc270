/* One loop: a timer and a fetch for each session. */
#include "bench/pool_run.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "net/client/client.h"

#include <stdio.h>
#include <stdlib.h>

#define TAIL_MAX 4096 /* the end of an answer, where the counts are */
#define HEADERS  2

struct trace;

struct session {
    struct trace *trace;
    const struct sr_bench_session *of;
    size_t index, turn;
    struct sr_bench_answer *answer; /* of the turn in progress */
    struct sr_timer timer;
    struct sr_fetch *fetch;
    uint64_t sent_ns;
    struct sr_buf tail;
};

struct trace {
    struct sr_bench_run *run;
    struct sr_loop *loop;
    struct sr_client *client;
    struct session *sessions;
    size_t open, sent;
    uint64_t first_ns, last_ns;
    struct sr_timer limit;
    struct sr_fetch *orders[2];
    bool failed, late;
};

static void next_turn(struct session *s);

/* ---- orders to the mock ----------------------------------------------------------------------------- */

static void order_head(void *ctx, const struct sr_http_head *head)
{
    (void)ctx;
    (void)head;
}

static void order_body(void *ctx, struct sr_bytes slice)
{
    (void)ctx;
    (void)slice;
}

static void order_end(void *ctx)
{
    *(struct sr_fetch **)ctx = NULL;
}

static void order_failed(void *ctx, const struct sr_client_error *error)
{
    (void)error;
    *(struct sr_fetch **)ctx = NULL;
}

static void give_orders(struct trace *trace)
{
    static const struct sr_fetch_events events = {
        .head = order_head, .body = order_body, .end = order_end, .failed = order_failed};
    static const struct sr_bytes targets[2] = {{"/mock/kill?worker=1", 19},
                                               {"/mock/slow?worker=2&factor=4", 28}};
    struct sr_origin origin = {.host = "127.0.0.1", .port = (uint16_t)trace->run->admin_port};
    for (size_t i = 0; i < 2; i++) {
        struct sr_client_request request = {
            .method = SR_LIT("PUT"), .target = targets[i], .body_complete = true};
        if (sr_client_start(&trace->orders[i], trace->client, &origin, &request, &events,
                            &trace->orders[i]) != SR_OK)
            trace->failed = true;
    }
}

/* ---- one answer ------------------------------------------------------------------------------------- */

/* The last number after "name": in the end of the answer; false when there is none. */
static bool find_number(const struct session *s, const char *name, uint64_t *out)
{
    size_t n = strlen(name);
    const char *found = NULL;
    for (size_t i = 0; i + n < s->tail.len; i++)
        if (memcmp(s->tail.data + i, name, n) == 0)
            found = s->tail.data + i + n;
    if (found)
        *out = strtoull(found, NULL, 10);
    return found != NULL;
}

static void read_answer(struct session *s)
{
    uint64_t worker, prompt, cached, tokens, arrived, first;
    struct sr_bench_answer *answer = s->answer;
    answer->answered = answer->status == 200 && find_number(s, "\"worker\":", &worker) &&
                       find_number(s, "\"prompt_tokens\":", &prompt) &&
                       find_number(s, "\"cached_tokens\":", &cached) &&
                       find_number(s, "\"completion_tokens\":", &tokens) &&
                       find_number(s, "\"arrived_ns\":", &arrived) && find_number(s, "\"first_us\":", &first);
    if (!answer->answered)
        return;
    answer->worker = (uint32_t)worker;
    answer->prompt_tokens = (uint32_t)prompt;
    answer->cached_tokens = (uint32_t)cached;
    answer->answer_tokens = (uint32_t)tokens;
    answer->router_ms = arrived > s->sent_ns ? (double)(arrived - s->sent_ns) / 1e6 : 0;
    answer->ttft_ms = (double)first / 1e3 + answer->router_ms;
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    ((struct session *)ctx)->answer->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct session *s = ctx;
    s->answer->partial = true;
    if (slice.n > TAIL_MAX / 2)
        slice = sr_bytes_of(slice.p + slice.n - TAIL_MAX / 2, TAIL_MAX / 2);
    if (s->tail.len + slice.n > TAIL_MAX)
        sr_buf_consume(&s->tail, s->tail.len + slice.n - TAIL_MAX);
    if (sr_buf_append_bytes(&s->tail, slice) != SR_OK)
        s->trace->failed = true;
}

/* The turn is over: the next one follows after its pause, also when this one was lost. */
static void finish_turn(struct session *s)
{
    struct trace *trace = s->trace;
    trace->last_ns = sr_clock_ns();
    s->fetch = NULL;
    s->answer->partial = s->answer->partial && !s->answer->answered;
    if (++s->turn < s->of->n)
        sr_timer_start(&s->timer, s->of->turns[s->turn].pause_ms / trace->run->speed);
    else if (--trace->open == 0)
        sr_loop_stop(trace->loop);
}

static void on_end(void *ctx)
{
    read_answer(ctx);
    finish_turn(ctx);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    (void)error;
    finish_turn(ctx);
}

static const struct sr_fetch_events events = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

static void next_turn(struct session *s)
{
    struct trace *trace = s->trace;
    const struct sr_bench_turn *turn = &s->of->turns[s->turn];
    struct sr_origin origin = {.host = "127.0.0.1", .port = (uint16_t)trace->run->port};
    char name[32];
    int length = snprintf(name, sizeof name, "session-%zu", s->index);
    struct sr_header headers[HEADERS] = {{SR_LIT("content-type"), SR_LIT("application/json")},
                                         {SR_LIT("x-session-id"), sr_bytes_of(name, (size_t)length)}};
    struct sr_bytes body = sr_bytes_of(turn->body, turn->n);
    struct sr_client_request request = {.method = SR_LIT("POST"),
                                        .target = SR_LIT("/v1/chat/completions"),
                                        .headers = headers,
                                        .header_count = HEADERS,
                                        .content_length = (int64_t)turn->n,
                                        .body = &body,
                                        .body_count = 1,
                                        .body_complete = true};
    s->answer = &trace->run->answers[trace->sent++];
    if (trace->run->faults && trace->sent == trace->run->n / 3)
        give_orders(trace);
    sr_buf_clear(&s->tail);
    s->sent_ns = sr_clock_ns();
    if (!trace->first_ns)
        trace->first_ns = s->sent_ns;
    if (sr_client_start(&s->fetch, trace->client, &origin, &request, &events, s) != SR_OK) {
        trace->failed = true;
        sr_loop_stop(trace->loop);
    }
}

static void on_timer(void *ctx)
{
    next_turn(ctx);
}

static void on_limit(void *ctx)
{
    struct trace *trace = ctx;
    trace->late = true;
    sr_loop_stop(trace->loop);
}

/* ---- the whole -------------------------------------------------------------------------------------- */

static void start_sessions(struct trace *trace)
{
    struct sr_bench_run *run = trace->run;
    for (size_t i = 0; i < run->workload->n; i++) {
        struct session *s = &trace->sessions[i];
        *s = (struct session){.trace = trace, .of = &run->workload->sessions[i], .index = i};
        sr_buf_init(&s->tail, TAIL_MAX);
        sr_timer_init(&s->timer, trace->loop, on_timer, s);
        if (s->of->n == 0)
            continue;
        trace->open++;
        sr_timer_start(&s->timer, s->of->start_ms / run->speed);
    }
}

static void stop_all(struct trace *trace)
{
    sr_timer_stop(&trace->limit);
    for (size_t i = 0; i < 2; i++)
        sr_fetch_cancel(&trace->orders[i]);
    for (size_t i = 0; i < trace->run->workload->n; i++) {
        sr_timer_stop(&trace->sessions[i].timer);
        sr_fetch_cancel(&trace->sessions[i].fetch);
        sr_buf_dispose(&trace->sessions[i].tail);
    }
}

int sr_bench_run_trace(struct sr_bench_run *run)
{
    struct trace trace = {.run = run};
    run->n = run->workload->requests;
    run->answers = sr_mem_calloc(run->n + 1, sizeof *run->answers);
    trace.sessions = sr_mem_calloc(run->workload->n + 1, sizeof *trace.sessions);
    int rc = run->answers && trace.sessions ? sr_loop_new(&trace.loop) : SR_ENOMEM;
    struct sr_client_settings settings = sr_client_settings_defaults();
    if (rc == SR_OK)
        rc = sr_client_new(&trace.client, trace.loop, &settings);
    if (rc == SR_OK) {
        sr_timer_init(&trace.limit, trace.loop, on_limit, &trace);
        sr_timer_start(&trace.limit, (uint64_t)(run->seconds_max * 1000));
        start_sessions(&trace);
        sr_loop_run(trace.loop);
        stop_all(&trace);
        run->seconds = (double)(trace.last_ns - trace.first_ns) / 1e9 * run->speed;
        rc = trace.failed ? SR_EIO : trace.late ? SR_ETIMEOUT : SR_OK;
    }
    sr_client_free(trace.client);
    sr_loop_free(trace.loop);
    sr_mem_free(trace.sessions);
    return rc;
}
