/*
 * For the tests of net/: a server and clients on one loop in one thread, driven until a condition holds.
 * The watchdog has a long timeout; it only prevents that a defect hangs the test.
 */
#ifndef SR_TESTS_NET_HARNESS_H
#define SR_TESTS_NET_HARNESS_H

#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "base/mem.h"
#include "net/client/client.h"
#include "net/server/server.h"

#include <stdio.h>
#include <stdlib.h>

struct world {
    struct sr_loop *loop;
    struct sr_http_server *server;
    struct sr_client *client;
    struct sr_timer watchdog;
    const bool *until;
    uint16_t port;
    /* What the handler saw. */
    size_t requests, body_bytes, body_ends, done, done_complete, writable;
    int error_status;
    bool drained;
    struct sr_http_request *last; /* the running request that the handler left to the test */
    bool last_gone;
};

/* ---- driving the loop ---- */

static inline void world_watchdog(void *ctx)
{
    (void)ctx;
    fprintf(stderr, "the condition did not come true in a minute\n");
    abort();
}

static inline void world_wake(struct world *w)
{
    if (w->until && *w->until)
        sr_loop_stop(w->loop);
}

/* Runs until *flag; whoever changes a flag calls world_wake. */
static inline void world_run(struct world *w, const bool *flag)
{
    if (*flag)
        return;
    w->until = flag;
    sr_timer_init(&w->watchdog, w->loop, world_watchdog, w);
    sr_timer_start(&w->watchdog, 60000);
    sr_loop_run(w->loop);
    sr_timer_stop(&w->watchdog);
    w->until = NULL;
}

struct pause {
    struct world *w;
    bool over;
};

static inline void pause_over(void *ctx)
{
    struct pause *pause = ctx;
    pause->over = true;
    world_wake(pause->w);
}

static inline void world_run_ms(struct world *w, unsigned ms)
{
    struct pause pause = {.w = w};
    struct sr_timer timer;
    sr_timer_init(&timer, w->loop, pause_over, &pause);
    sr_timer_start(&timer, ms);
    world_run(w, &pause.over);
    sr_timer_stop(&timer);
}

/* ---- the server's handler: what it does depends on the path ---- */

static inline struct sr_http_response response_of(int status, int64_t length)
{
    static const struct sr_header type = {{"content-type", 12}, {"text/plain", 10}};
    return (struct sr_http_response){
        .status = status, .headers = &type, .header_count = 1, .content_length = length};
}

static inline bool path_is(struct sr_http_request *request, const char *path)
{
    return sr_bytes_eq(sr_http_request_head(request)->path, sr_bytes_str(path));
}

/* /echo sends the body back in chunks; /hello answers at once; /length tells the body's length; /slow and
 * /hold leave the request to the test; /paused too, with its body paused; /early answers before the body. */
static inline void on_request(void *ctx, struct sr_http_request *request)
{
    struct world *w = ctx;
    struct sr_http_response echo = response_of(200, -1), hello = response_of(200, 5);
    w->requests++;
    sr_http_request_set_ctx(request, w);
    sr_http_request_continue(request);
    if (path_is(request, "/echo")) {
        assert_int_equal(sr_http_request_respond(request, &echo, NULL, 0), SR_OK);
    } else if (path_is(request, "/hello")) {
        assert_int_equal(sr_http_request_reply(request, &hello, SR_LIT("hello")), SR_OK);
    } else if (path_is(request, "/early")) {
        assert_int_equal(sr_http_request_reply(request, &hello, SR_LIT("early")), SR_OK);
    } else if (!path_is(request, "/length")) {
        w->last = request;
        w->last_gone = false;
        if (path_is(request, "/paused"))
            sr_http_request_pause(request);
    }
}

static inline void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct world *w = ctx;
    w->body_bytes += slice.n;
    if (path_is(request, "/echo")) {
        assert_int_equal(sr_http_request_write(request, &slice, 1), SR_OK);
        if (sr_http_request_queued(request))
            sr_http_request_pause(request);
    }
    world_wake(w);
}

static inline void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct world *w = ctx;
    struct sr_http_response ok = response_of(200, 0);
    char text[32];
    w->body_ends++;
    if (path_is(request, "/echo")) {
        assert_int_equal(sr_http_request_finish(request), SR_OK);
    } else if (path_is(request, "/length")) {
        snprintf(text, sizeof text, "%zu", w->body_bytes);
        assert_int_equal(sr_http_request_reply(request, &ok, sr_bytes_str(text)), SR_OK);
    }
    world_wake(w);
}

static inline void on_writable(void *ctx, struct sr_http_request *request)
{
    struct world *w = ctx;
    w->writable++;
    sr_http_request_resume(request);
    world_wake(w);
}

static inline void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct world *w = ctx;
    w->done++;
    w->done_complete += complete;
    w->error_status = sr_http_request_error_status(request);
    if (w->last == request) {
        w->last = NULL;
        w->last_gone = true;
    }
    world_wake(w);
}

static inline void on_drained(void *ctx)
{
    struct world *w = ctx;
    w->drained = true;
    world_wake(w);
}

static const struct sr_http_handler test_handler = {.request = on_request,
                                                    .drained = on_drained,
                                                    .body = on_body,
                                                    .body_end = on_body_end,
                                                    .writable = on_writable,
                                                    .done = on_done};

static inline void world_open(struct world *w, const struct sr_http_server_settings *settings,
                              sr_tls_context *tls)
{
    struct sr_http_server_settings defaults = sr_http_server_settings_defaults();
    struct sr_client_settings client = sr_client_settings_defaults();
    int fd;
    *w = (struct world){0};
    assert_int_equal(sr_loop_new(&w->loop), SR_OK);
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &w->port, NULL), SR_OK);
    assert_int_equal(
        sr_http_server_new(&w->server, w->loop, fd, tls, settings ? settings : &defaults, &test_handler, w),
        SR_OK);
    assert_int_equal(sr_client_new(&w->client, w->loop, &client), SR_OK);
}

static inline void world_close(struct world *w)
{
    sr_client_free(w->client);
    sr_http_server_free(w->server);
    sr_loop_free(w->loop);
}

/* ---- a raw TCP client ---- */

struct raw {
    struct world *w;
    struct sr_conn *conn;
    struct sr_buf in;
    bool closed;
    bool reached;
    size_t want_bytes;
    const char *want_text;
    size_t want_count;
};

static inline size_t count_text(const struct sr_buf *in, const char *needle)
{
    size_t count = 0, n = strlen(needle);
    const char *p = in->data, *end = in->data ? in->data + in->len : NULL;
    while (p && (p = memmem(p, (size_t)(end - p), needle, n)) != NULL) {
        count++;
        p += n;
    }
    return count;
}

static inline void raw_check(struct raw *r)
{
    r->reached = r->closed || (r->want_bytes && r->in.len >= r->want_bytes) ||
                 (r->want_text && count_text(&r->in, r->want_text) >= r->want_count);
    world_wake(r->w);
}

static inline void raw_data(void *ctx, const char *p, size_t n)
{
    struct raw *r = ctx;
    assert_int_equal(sr_buf_append(&r->in, p, n), SR_OK);
    raw_check(r);
}

static inline void raw_eof(void *ctx)
{
    struct raw *r = ctx;
    r->closed = true;
    raw_check(r);
}

static inline void raw_failed(void *ctx, int code, const char *text)
{
    (void)code, (void)text;
    raw_eof(ctx);
}

static const struct sr_conn_events raw_events = {.data = raw_data, .eof = raw_eof, .failed = raw_failed};

static inline void raw_open(struct raw *r, struct world *w)
{
    struct sr_connect to = {.host = "127.0.0.1", .port = w->port, .timeout_ms = 10000};
    *r = (struct raw){.w = w};
    sr_buf_init(&r->in, (size_t)256 << 20);
    assert_int_equal(sr_conn_connect(&r->conn, w->loop, &to, &raw_events, r), SR_OK);
    sr_conn_set_queue_max(r->conn, (size_t)256 << 20);
}

static inline void raw_send(struct raw *r, const char *text)
{
    struct sr_bytes bytes = sr_bytes_str(text);
    assert_int_equal(sr_conn_write(r->conn, &bytes, 1), SR_OK);
}

static inline void raw_wait(struct raw *r, size_t bytes, const char *text, size_t count)
{
    r->want_bytes = bytes;
    r->want_text = text;
    r->want_count = count;
    raw_check(r);
    world_run(r->w, &r->reached);
}

static inline void raw_wait_text(struct raw *r, const char *text, size_t count)
{
    raw_wait(r, 0, text, count);
    assert_int_equal(count_text(&r->in, text), count);
}

static inline void raw_wait_close(struct raw *r)
{
    world_run(r->w, &r->closed);
}

static inline void raw_close(struct raw *r)
{
    sr_conn_close(&r->conn);
    sr_buf_dispose(&r->in);
}

/* ---- an exchange of the client ---- */

struct call {
    struct world *w;
    struct sr_fetch *exchange;
    struct sr_buf body;
    int status;
    bool head, over, ok, pause_at_head, cancel_at_head;
    size_t writable;
    struct sr_client_error error;
    char error_text[200];
};

static inline void call_head(void *ctx, const struct sr_http_head *head)
{
    struct call *c = ctx;
    c->head = true;
    c->status = head->status;
    if (c->pause_at_head)
        sr_fetch_pause(c->exchange);
    if (c->cancel_at_head) {
        sr_fetch_cancel(&c->exchange);
        c->over = true;
    }
    world_wake(c->w);
}

static inline void call_body(void *ctx, struct sr_bytes slice)
{
    struct call *c = ctx;
    assert_int_equal(sr_buf_append_bytes(&c->body, slice), SR_OK);
    world_wake(c->w);
}

static inline void call_end(void *ctx)
{
    struct call *c = ctx;
    c->over = c->ok = true;
    c->exchange = NULL;
    world_wake(c->w);
}

static inline void call_failed(void *ctx, const struct sr_client_error *error)
{
    struct call *c = ctx;
    c->over = true;
    c->exchange = NULL;
    c->error = *error;
    snprintf(c->error_text, sizeof c->error_text, "%s", error->text);
    c->error.text = c->error_text;
    world_wake(c->w);
}

static inline void call_writable(void *ctx)
{
    struct call *c = ctx;
    c->writable++;
    world_wake(c->w);
}

static const struct sr_fetch_events call_events = {
    .writable = call_writable, .head = call_head, .body = call_body, .end = call_end, .failed = call_failed};

static inline struct sr_client_request call_request(const char *method, const char *target,
                                                    const struct sr_bytes *body)
{
    return (struct sr_client_request){
        .method = sr_bytes_str(method),
        .target = sr_bytes_str(target),
        .content_length = body ? (int64_t)body->n : 0,
        .body = body,
        .body_count = body ? 1 : 0,
        .body_complete = true,
        .timeouts = {.connect_ms = 10000, .head_ms = 30000, .idle_ms = 30000},
    };
}

static inline void call_begin(struct call *c, struct world *w, const struct sr_client_request *request,
                              sr_tls_context *tls)
{
    struct sr_origin origin = {.host = "127.0.0.1", .port = w->port, .tls = tls};
    *c = (struct call){.w = w, .pause_at_head = c->pause_at_head, .cancel_at_head = c->cancel_at_head};
    sr_buf_init(&c->body, (size_t)256 << 20);
    assert_int_equal(sr_client_start(&c->exchange, w->client, &origin, request, &call_events, c), SR_OK);
}

static inline void call_dispose(struct call *c)
{
    sr_fetch_cancel(&c->exchange);
    sr_buf_dispose(&c->body);
}

#endif
