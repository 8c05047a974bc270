/* Server and client over real sockets on loopback: reuse, pipelining, back-pressure, timeouts, cancel, drain.
 */
#include "tests/unit/net_harness.h"

#include <sys/socket.h>
#include <unistd.h>

#define HELLO "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"

static void call_simple(struct call *c, struct world *w, const char *method, const char *target,
                        const char *text)
{
    struct sr_bytes body = sr_bytes_str(text);
    struct sr_client_request request = call_request(method, target, text ? &body : NULL);
    *c = (struct call){0};
    call_begin(c, w, &request, NULL);
    world_run(w, &c->over);
}

static void echo_and_reuse(void **state)
{
    struct world w;
    struct call c;
    (void)state;
    world_open(&w, NULL, NULL);
    for (int i = 0; i < 5; i++) {
        call_simple(&c, &w, "POST", "/echo", "some body");
        assert_true(c.ok);
        assert_int_equal(c.status, 200);
        assert_string_equal(c.body.data, "some body");
        call_dispose(&c);
    }
    call_simple(&c, &w, "GET", "/hello?x=1", NULL);
    assert_true(c.ok);
    assert_string_equal(c.body.data, "hello");
    call_dispose(&c);
    call_simple(&c, &w, "HEAD", "/hello", NULL);
    assert_true(c.ok);
    assert_int_equal(c.body.len, 0);
    call_dispose(&c);
    assert_int_equal(sr_client_opened(w.client), 1);
    assert_int_equal(sr_client_idle(w.client), 1);
    assert_int_equal(w.done_complete, 7);
    world_close(&w);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct world w;
    struct raw r;
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    raw_send(
        &r,
        "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none" HELLO
        "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n" HELLO);
    raw_wait_text(&r, "HTTP/1.1 200 OK", 4);
    raw_wait_text(&r, "hello", 2);
    assert_true(strstr(r.in.data, "one") < strstr(r.in.data, "hello"));
    assert_true(strstr(r.in.data, "hello") < strstr(r.in.data, "two"));
    raw_close(&r);
    world_close(&w);
}

/* A second request waits until the first, which takes its time, was answered. */
static void pipelined_request_waits(void **state)
{
    struct world w;
    struct raw r;
    struct sr_http_response ok = response_of(200, 0);
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    raw_send(&r, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n" HELLO);
    world_run_ms(&w, 50);
    assert_int_equal(w.requests, 1);
    assert_int_equal(r.in.len, 0);
    assert_int_equal(sr_http_request_reply(w.last, &ok, SR_LIT("first")), SR_OK);
    raw_wait_text(&r, "hello", 1);
    assert_true(strstr(r.in.data, "first") < strstr(r.in.data, "hello"));
    raw_close(&r);
    world_close(&w);
}

static void expectations_and_versions(void **state)
{
    struct world w;
    struct raw r;
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    raw_send(&r, "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    raw_wait_text(&r, "HTTP/1.1 100 Continue\r\n\r\n", 1);
    raw_send(&r, "body");
    raw_wait_text(&r, "\r\n\r\n4", 1);
    raw_send(&r, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    raw_wait_text(&r, "connection: keep-alive", 1);
    raw_wait_text(&r, "hello", 1);
    raw_send(&r, "POST /echo HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");
    raw_wait_close(&r);
    assert_int_equal(count_text(&r.in, "chunked"), 0);
    assert_int_equal(count_text(&r.in, "\r\n\r\nhi"), 1);
    raw_close(&r);
    world_close(&w);
}

static void answer_comes_back(struct world *w, const char *request, const char *status)
{
    struct raw r;
    raw_open(&r, w);
    raw_send(&r, request);
    raw_wait_close(&r);
    assert_memory_equal(r.in.data, status, strlen(status));
    assert_int_equal(count_text(&r.in, "connection: close"), 1);
    raw_close(&r);
}

static void bad_requests_are_answered_and_closed(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct world w;
    (void)state;
    settings.limits.head_bytes = 1000;
    settings.limits.target_bytes = 500;
    settings.limits.body_bytes = 100;
    settings.header_timeout_ms = 60;
    settings.body_timeout_ms = 60;
    world_open(&w, &settings, NULL);
    answer_comes_back(&w, "\x16\x03\x01", "HTTP/1.1 400");
    answer_comes_back(&w,
                      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                      "HTTP/1.1 400");
    answer_comes_back(&w, "BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 501");
    answer_comes_back(&w, "GET / HTTP/2.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505");
    answer_comes_back(&w, "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n", "HTTP/1.1 413");
    answer_comes_back(&w, "GET /hello HTTP/1.1\r\nHo", "HTTP/1.1 408");
    assert_int_equal(w.requests, 0);
    answer_comes_back(&w, "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf",
                      "HTTP/1.1 408");
    assert_int_equal(w.error_status, 408);
    answer_comes_back(
        &w,
        "POST /length HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "HTTP/1.1 413");
    assert_int_equal(w.error_status, 413);
    assert_int_equal(w.done_complete, 0);
    assert_int_equal(w.done, w.requests);
    world_close(&w);
}

static void idle_connections_are_closed(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct world w;
    struct raw r;
    (void)state;
    settings.idle_timeout_ms = 40;
    world_open(&w, &settings, NULL);
    raw_open(&r, &w);
    raw_send(&r, HELLO);
    raw_wait_text(&r, "hello", 1);
    raw_wait_close(&r);
    assert_int_equal(count_text(&r.in, "HTTP/1.1"), 1);
    raw_close(&r);
    world_close(&w);
}

/* Requests that come in one read and are answered at once are use too: the time counts from the last one. */
static void busy_connections_stay(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct world w;
    struct raw r;
    (void)state;
    settings.idle_timeout_ms = 1000;
    world_open(&w, &settings, NULL);
    raw_open(&r, &w);
    uint64_t until = sr_loop_now(w.loop) + 2 * settings.idle_timeout_ms;
    for (size_t n = 1; sr_loop_now(w.loop) < until; n++) {
        raw_send(&r, HELLO);
        raw_wait_text(&r, "hello", n);
        assert_false(r.closed);
        world_run_ms(&w, 20);
    }
    raw_close(&r);
    world_close(&w);
}

/* A client that does not read: the echo stops reading from it, and little is held. */
static void slow_reader_holds_up_the_writer(void **state)
{
    enum { size = 32 << 20 };
    struct world w;
    struct raw r;
    struct sr_bytes part;
    char head[100], *body = malloc(size);
    (void)state;
    memset(body, 'x', size);
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    sr_conn_pause(r.conn);
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size);
    raw_send(&r, head);
    part = sr_bytes_of(body, size);
    assert_int_equal(sr_conn_write(r.conn, &part, 1), SR_OK);
    for (int i = 0; i < 200 && w.requests == 0; i++)
        world_run_ms(&w, 50);
    world_run_ms(&w, 300);
    assert_int_equal(w.requests, 1);
    assert_true(w.body_bytes < size);
    assert_non_null(w.server);
    assert_true(sr_conn_queued(r.conn) > 0);
    assert_int_equal(w.body_ends, 0);
    sr_conn_resume(r.conn);
    raw_wait(&r, 0, "\r\n0\r\n\r\n", 1);
    assert_int_equal(w.body_bytes, size);
    assert_true(r.in.len > size);
    raw_close(&r);
    world_close(&w);
    free(body);
}

/* A client that never reads its answer is given up. */
static void stuck_reader_is_closed(void **state)
{
    enum { size = 32 << 20 };
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct world w;
    struct raw r;
    char head[100], *body = calloc(1, size);
    struct sr_bytes part = {body, size};
    (void)state;
    settings.write_timeout_ms = 50;
    world_open(&w, &settings, NULL);
    raw_open(&r, &w);
    sr_conn_pause(r.conn);
    snprintf(head, sizeof head, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size);
    raw_send(&r, head);
    assert_int_equal(sr_conn_write(r.conn, &part, 1), SR_OK);
    while (!w.done)
        world_run_ms(&w, 20);
    assert_int_equal(w.done_complete, 0);
    assert_int_equal(sr_http_server_connections(w.server), 0);
    raw_close(&r);
    world_close(&w);
    free(body);
}

static void paused_body_waits(void **state)
{
    struct world w;
    struct raw r;
    struct sr_http_response ok = response_of(200, 0);
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    raw_send(&r, "POST /paused HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody");
    world_run_ms(&w, 30);
    assert_int_equal(w.requests, 1);
    assert_int_equal(w.body_bytes, 0);
    sr_http_request_resume(w.last);
    world_run_ms(&w, 30);
    assert_int_equal(w.body_bytes, 4);
    assert_int_equal(w.body_ends, 1);
    assert_int_equal(sr_http_request_reply(w.last, &ok, SR_LIT("done")), SR_OK);
    raw_wait_text(&r, "done", 1);
    raw_close(&r);
    world_close(&w);
}

static void leaving_client_is_noticed(void **state)
{
    struct world w;
    struct raw r;
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    raw_send(&r, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    world_run_ms(&w, 30);
    assert_non_null(w.last);
    raw_close(&r);
    world_run(&w, &w.last_gone);
    assert_int_equal(w.done_complete, 0);
    assert_int_equal(sr_http_server_connections(w.server), 0);
    world_close(&w);
}

static void half_closed_client_gets_its_answer(void **state)
{
    struct world w;
    struct raw r;
    struct sr_http_response ok = response_of(200, 0);
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    raw_send(&r, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n" HELLO);
    while (!w.last)
        world_run_ms(&w, 5);
    sr_conn_shutdown(r.conn);
    world_run_ms(&w, 600); /* longer than the looks at a client that may be gone */
    assert_non_null(w.last);
    assert_int_equal(sr_http_request_reply(w.last, &ok, SR_LIT("late")), SR_OK);
    raw_wait_close(&r);
    assert_int_equal(count_text(&r.in, "HTTP/1.1 100 Continue"), 1);
    assert_int_equal(count_text(&r.in, "late"), 1);
    assert_int_equal(count_text(&r.in, "hello"), 1);
    raw_close(&r);
    world_close(&w);
}

/* A body that comes byte by byte, never silent for long. */
static void dripping_body_is_ended(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct world w;
    struct raw r;
    (void)state;
    settings.body_timeout_ms = 60000;
    settings.request_timeout_ms = 300;
    world_open(&w, &settings, NULL);
    raw_open(&r, &w);
    raw_send(&r, "POST /length HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
    while (!r.closed) {
        (void)!sr_conn_write(r.conn, &SR_LIT("x"), 1);
        world_run_ms(&w, 20);
    }
    assert_int_equal(count_text(&r.in, "HTTP/1.1 408"), 1);
    assert_int_equal(w.done_complete, 0);
    raw_close(&r);
    world_close(&w);
}

static void aborted_answer_is_cut(void **state)
{
    struct world w;
    struct call c = {0};
    struct sr_client_request request = call_request("GET", "/hold", NULL);
    struct sr_http_response stream = response_of(200, -1);
    struct sr_bytes part = SR_LIT("part");
    (void)state;
    world_open(&w, NULL, NULL);
    call_begin(&c, &w, &request, NULL);
    world_run_ms(&w, 30);
    assert_int_equal(sr_http_request_respond(w.last, &stream, &part, 1), SR_OK);
    world_run(&w, &c.head);
    sr_http_request_abort(w.last);
    world_run(&w, &c.over);
    assert_false(c.ok);
    assert_int_equal(c.error.code, SR_ECLOSED);
    assert_int_equal(c.error.stage, SR_CLIENT_BODY);
    assert_int_equal(sr_client_idle(w.client), 0);
    call_dispose(&c);
    world_close(&w);
}

static void cancelled_exchange_reaches_the_server(void **state)
{
    struct world w;
    struct call c = {0};
    struct sr_client_request request = call_request("GET", "/hold", NULL);
    struct sr_http_response stream = response_of(200, -1);
    (void)state;
    world_open(&w, NULL, NULL);
    call_begin(&c, &w, &request, NULL);
    world_run_ms(&w, 30);
    sr_fetch_cancel(&c.exchange);
    assert_null(c.exchange);
    world_run(&w, &w.last_gone);
    call_dispose(&c);
    c.cancel_at_head = true;
    call_begin(&c, &w, &request, NULL);
    world_run_ms(&w, 30);
    assert_int_equal(sr_http_request_respond(w.last, &stream, NULL, 0), SR_OK);
    world_run(&w, &c.over);
    w.last_gone = w.last == NULL;
    world_run(&w, &w.last_gone);
    call_dispose(&c);
    world_close(&w);
}

/* Drain: idle connections go, a running answer is completed and says close, nobody new comes in. */
static void drain_completes_what_runs(void **state)
{
    struct world w;
    struct raw idle, busy, late;
    struct sr_http_response ok = response_of(200, 0);
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&idle, &w);
    raw_send(&idle, HELLO);
    raw_wait_text(&idle, "hello", 1);
    raw_open(&busy, &w);
    raw_send(&busy, "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    while (!w.last)
        world_run_ms(&w, 5);
    sr_http_server_drain(w.server);
    raw_wait_close(&idle);
    assert_false(w.drained);
    raw_open(&late, &w);
    raw_wait_close(&late);
    assert_int_equal(late.in.len, 0);
    assert_int_equal(sr_http_request_reply(w.last, &ok, SR_LIT("last words")), SR_OK);
    world_run(&w, &w.drained);
    raw_wait_close(&busy);
    assert_int_equal(count_text(&busy.in, "connection: close"), 1);
    assert_int_equal(count_text(&busy.in, "last words"), 1);
    raw_close(&idle);
    raw_close(&busy);
    raw_close(&late);
    world_close(&w);
}

static void too_many_connections_get_503(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct world w;
    struct raw one, two;
    (void)state;
    settings.max_connections = 1;
    world_open(&w, &settings, NULL);
    raw_open(&one, &w);
    raw_send(&one, HELLO);
    raw_wait_text(&one, "hello", 1);
    raw_open(&two, &w);
    raw_wait_close(&two);
    assert_int_equal(count_text(&two.in, "HTTP/1.1 503"), 1);
    raw_close(&two);
    raw_send(&one, HELLO);
    raw_wait_text(&one, "hello", 2);
    raw_close(&one);
    world_close(&w);
}

/* An answer given before a large body was sent is read in full, although the rest is not wanted. */
static void early_answer_survives(void **state)
{
    enum { size = 4 << 20 };
    struct world w;
    struct raw r;
    char *body = calloc(1, size), head[100];
    struct sr_bytes part = {body, size};
    (void)state;
    memset(body, 'x', size);
    world_open(&w, NULL, NULL);
    raw_open(&r, &w);
    snprintf(head, sizeof head, "POST /early HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", size);
    raw_send(&r, head);
    assert_int_equal(sr_conn_write(r.conn, &part, 1), SR_OK);
    raw_wait_close(&r);
    assert_int_equal(count_text(&r.in, "early"), 1);
    assert_int_equal(count_text(&r.in, "connection: close"), 1);
    assert_int_equal(w.body_bytes, 0);
    raw_close(&r);
    world_close(&w);
    free(body);
}

static void a_taken_port_is_an_error(void **state)
{
    struct sr_err err = {0};
    uint16_t port;
    int fds[2], more[1];
    (void)state;
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 2, fds, &port, &err), SR_OK);
    assert_true(port > 0 && fds[0] >= 0 && fds[1] >= 0);
    assert_int_equal(listen(fds[0], 1), 0);
    assert_int_equal(sr_listen_open("127.0.0.1", port, 1, more, NULL, &err), SR_EBUSY);
    assert_non_null(strstr(err.message, "in use"));
    close(fds[0]);
    close(fds[1]);
    assert_int_equal(sr_listen_open("127.0.0.1", port, 1, more, NULL, &err), SR_OK);
    close(more[0]);
    assert_int_equal(sr_listen_open("not an address", 1, 1, more, NULL, &err), SR_EINVAL);
}

/* Connections for which there is no memory are closed, and those after them are served. */
static void a_listener_outlives_a_shortage(void **state)
{
    struct world w;
    struct raw early, late;
    (void)state;
    world_open(&w, NULL, NULL);
    raw_open(&early, &w); /* connects at once: the kernel has it in its queue */
    sr_mem_fail_at(1);
    world_run_ms(&w, 20);
    sr_mem_fail_at(0);
    raw_wait_close(&early);
    raw_open(&late, &w);
    raw_send(&late, HELLO);
    raw_wait_text(&late, "hello", 1);
    raw_close(&early);
    raw_close(&late);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(echo_and_reuse),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(pipelined_request_waits),
        cmocka_unit_test(expectations_and_versions),
        cmocka_unit_test(bad_requests_are_answered_and_closed),
        cmocka_unit_test(idle_connections_are_closed),
        cmocka_unit_test(busy_connections_stay),
        cmocka_unit_test(slow_reader_holds_up_the_writer),
        cmocka_unit_test(stuck_reader_is_closed),
        cmocka_unit_test(paused_body_waits),
        cmocka_unit_test(leaving_client_is_noticed),
        cmocka_unit_test(half_closed_client_gets_its_answer),
        cmocka_unit_test(dripping_body_is_ended),
        cmocka_unit_test(aborted_answer_is_cut),
        cmocka_unit_test(cancelled_exchange_reaches_the_server),
        cmocka_unit_test(drain_completes_what_runs),
        cmocka_unit_test(too_many_connections_get_503),
        cmocka_unit_test(early_answer_survives),
        cmocka_unit_test(a_taken_port_is_an_error),
        cmocka_unit_test(a_listener_outlives_a_shortage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
