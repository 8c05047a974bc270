/* Requests in: the body is read, scanned and remembered; then what the path asks for. */
#include "mock/private.h"

#define SCAN_ARENA ((size_t)16 << 20)

/* The path from "/v1/" on: the part before it is a base path. */
static struct sr_bytes api_path(struct sr_bytes path)
{
    for (size_t i = 0; i + 4 <= path.n; i++)
        if (memcmp(path.p + i, "/v1/", 4) == 0)
            return sr_bytes_of(path.p + i, path.n - i);
    return path;
}

static int endpoint_of(struct sr_bytes path)
{
    static const struct {
        struct sr_bytes path;
        enum sr_mock_endpoint endpoint;
    } endpoints[] = {
        {{"/v1/chat/completions", 20}, SR_MOCK_CHAT},
        {{"/v1/completions", 15}, SR_MOCK_COMPLETION},
        {{"/v1/embeddings", 14}, SR_MOCK_EMBEDDING},
        {{"/v1/responses", 13}, SR_MOCK_RESPONSES},
        {{"/v1/messages", 12}, SR_MOCK_MESSAGES},
        {{"/v1/messages/count_tokens", 25}, SR_MOCK_COUNT_TOKENS},
        {{"/v1/responses/input_tokens", 26}, SR_MOCK_INPUT_TOKENS},
    };
    for (size_t i = 0; i < sizeof endpoints / sizeof endpoints[0]; i++)
        if (sr_bytes_eq(path, endpoints[i].path))
            return (int)endpoints[i].endpoint;
    return -1;
}

static void remember_head(struct sr_mock_worker *worker, const struct sr_http_head *head)
{
    struct sr_buf *out = &worker->last_head;
    sr_buf_clear(out);
    int rc = sr_buf_printf(out, "%.*s %.*s HTTP/1.%d\r\n", (int)head->method.n, head->method.p,
                           (int)head->target.n, head->target.p, head->minor);
    for (size_t i = 0; i < head->header_count && rc == SR_OK; i++) {
        const struct sr_header *h = &head->headers[i];
        rc = sr_buf_append_bytes(out, h->name);
        if (rc == SR_OK)
            rc = sr_buf_append(out, ": ", 2);
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, h->value);
        if (rc == SR_OK)
            rc = sr_buf_append(out, "\r\n", 2);
    }
}

static void answer(struct sr_mock_call *call)
{
    int status = call->asked.status >= 200 && call->asked.status <= 599 ? (int)call->asked.status : 200;
    if (call->asked.close_before_head)
        sr_mock_give_up(call);
    else if (status >= 300)
        sr_mock_reply_error(call, status, "the mock was asked to fail");
    else if (call->scan_status != SR_OK)
        sr_mock_reply_error(call, 400, call->scan_error.message);
    else if (call->tokenize)
        sr_mock_tokenize(call);
    else if (call->ask.endpoint == SR_MOCK_MESSAGES && !call->ask.max_tokens)
        sr_mock_reply_error(call, 400, "max_tokens: Field required");
    else if (call->worker->drive && sr_mock_generates(call->ask.endpoint))
        sr_mock_generate(call);
    else
        sr_mock_answer_begin(call, status);
}

static void on_timer(void *ctx)
{
    struct sr_mock_call *call = ctx;
    if (call->reading)
        sr_http_request_resume(call->request);
    else if (call->answering)
        sr_mock_go_on(call);
    else
        answer(call);
}

/* A header's value, else the worker's usual one, for as long as the request lives; p NULL: not given. False:
 * out of memory. */
static bool dup_value(struct sr_mock_call *call, const struct sr_http_head *head, struct sr_bytes name,
                      const struct sr_buf *usual, struct sr_bytes *out)
{
    struct sr_bytes value = sr_http_head_value(head, name);
    if (!value.p && usual->len > 0)
        value = sr_buf_view(usual);
    if (value.p)
        *out = sr_arena_dup(sr_http_request_arena(call->request), value);
    return !value.p || out->p;
}

/* What headers ask of the answer. False: the call has ended. */
static bool read_asked(struct sr_mock_call *call, const struct sr_http_head *head)
{
    struct sr_mock_ask *ask = &call->ask;
    const struct sr_mock_worker *worker = call->worker;
    bool blocks = ask->endpoint != SR_MOCK_COMPLETION;
    ask->calls = blocks ? call->asked.calls : 0;
    ask->reasons = blocks && call->asked.reasons;
    ask->cached = call->asked.cached;
    if (dup_value(call, head, SR_LIT("x-mock-text"), &worker->text, &ask->text) &&
        dup_value(call, head, SR_LIT("x-mock-arguments"), &worker->arguments, &ask->arguments))
        return true;
    sr_mock_give_up(call);
    return false;
}

/* Numbers of one mock are all different, those of two mocks that follow each other almost surely too: who
 * keeps answers by their ids must not meet one twice. */
static uint64_t own_number(struct sr_mock *mock)
{
    uint64_t at = mock->seed + ++mock->answers;
    return mock->settings.same_ids ? 0 : at ? at : mock->seed + ++mock->answers;
}

static void begin_post(struct sr_mock_call *call, const struct sr_http_head *head,
                       enum sr_mock_endpoint endpoint)
{
    struct sr_mock_worker *worker = call->worker;
    call->post = call->reading = true;
    call->ask.endpoint = endpoint;
    call->ask.worker = worker->index;
    call->ask.own = own_number(worker->mock);
    worker->open++;
    call->asked = call->worker->usual;
    sr_mock_behaviour_read(&call->asked, head);
    if (!read_asked(call, head))
        return;
    remember_head(worker, head);
    call->body = sr_mock_kept_new(worker);
    call->scan_status =
        sr_scan_new(&call->scan, worker->mock->paths, sr_scan_limits_defaults(), &call->arena);
    if (call->scan_status != SR_OK || !call->body) {
        sr_mock_give_up(call);
        return;
    }
    call->scan_status = SR_MORE;
    sr_http_request_continue(call->request);
}

static void on_request(void *ctx, struct sr_http_request *request)
{
    struct sr_mock_worker *worker = ctx;
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_bytes path = api_path(head->path);
    bool tokenize = sr_bytes_eq(path, SR_LIT("/tokenize"));
    int endpoint = tokenize ? SR_MOCK_CHAT : endpoint_of(path);
    struct sr_mock_call *call = sr_arena_calloc(sr_http_request_arena(request), 1, sizeof *call);
    sr_http_request_set_ctx(request, call);
    if (!call) {
        sr_http_request_abort(request);
        return;
    }
    call->request = request;
    call->worker = worker;
    sr_timer_init(&call->timer, worker->mock->loop, on_timer, call);
    sr_arena_init(&call->arena, SCAN_ARENA);
    call->tokenize = tokenize;
    if (sr_mock_order(call, head, path))
        return;
    if (endpoint >= 0 && sr_bytes_eq(head->method, SR_LIT("POST")))
        begin_post(call, head, (enum sr_mock_endpoint)endpoint);
    else if (endpoint >= 0)
        sr_mock_reply_error(call, 405, "use POST");
    else
        sr_mock_page(call, path);
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct sr_mock_call *call = ctx;
    if (!call || call->ended || !call->post)
        return;
    struct sr_buf *body = &call->body->bytes;
    size_t room = body->max - body->len;
    if (sr_buf_append(body, slice.p, slice.n < room ? slice.n : room) != SR_OK) {
        sr_mock_give_up(call);
        return;
    }
    call->worker->body_bytes += slice.n;
    if (call->scan_status == SR_MORE || call->scan_status == SR_OK)
        call->scan_status = sr_scan_feed(call->scan, slice.p, slice.n, &call->scan_error);
    if (call->asked.slow_read_ms) {
        sr_http_request_pause(request);
        sr_timer_start(&call->timer, call->asked.slow_read_ms);
    }
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct sr_mock_call *call = ctx;
    (void)request;
    if (!call || call->ended || !call->post)
        return;
    struct sr_mock_worker *worker = call->worker;
    call->reading = false;
    sr_timer_stop(&call->timer);
    worker->requests++;
    sr_mock_kept_unref(worker, worker->last);
    worker->last = call->body;
    call->body->refs++;
    if (call->scan_status == SR_MORE || call->scan_status == SR_OK)
        call->scan_status = sr_scan_finish(call->scan, &call->scan_error);
    if (call->scan_status == SR_OK) {
        size_t n = 0;
        const struct sr_span *spans = sr_scan_spans(call->scan, &n);
        sr_mock_ask_read(&call->ask, spans, n, sr_buf_view(&call->body->bytes));
    }
    if (call->asked.delay_ms)
        sr_timer_start(&call->timer, call->asked.delay_ms);
    else
        answer(call);
}

static void on_writable(void *ctx, struct sr_http_request *request)
{
    struct sr_mock_call *call = ctx;
    (void)request;
    if (call && call->answering && !call->ended && !call->timer.armed)
        sr_mock_go_on(call);
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct sr_mock_call *call = ctx;
    (void)request;
    if (!call)
        return;
    if (call->worker->drive)
        sr_mock_drive_remove(call->worker->drive, &call->sequence);
    call->worker->open -= call->post;
    bool asked = call->asked.close_before_head || call->asked.close_inside;
    call->worker->canceled += call->post && !complete && !asked;
    sr_timer_stop(&call->timer);
    sr_arena_dispose(&call->arena);
    sr_mock_kept_unref(call->worker, call->body);
}

static struct sr_bytes on_error(void *ctx, int status, const char *reason, const char *peer,
                                const struct sr_http_head *head, struct sr_buf *body)
{
    (void)ctx;
    (void)peer;
    (void)head;
    return sr_mock_error(SR_MOCK_CHAT, status, reason, body) == SR_OK ? SR_MOCK_JSON : (struct sr_bytes){0};
}

const struct sr_http_handler sr_mock_handler = {
    .request = on_request,
    .error_body = on_error,
    .body = on_body,
    .body_end = on_body_end,
    .writable = on_writable,
    .done = on_done,
};
