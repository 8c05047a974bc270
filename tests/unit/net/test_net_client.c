/* The client: streamed bodies, back-pressure, error records, timeouts, stale connections, pool limits. */
#include "tests/unit/net_harness.h"

#include <unistd.h>

/* A server that says exactly what a test wants: one listener, raw connections. */
struct stub {
    struct world *w;
    struct sr_listener *listener;
    struct sr_conn *conn; /* the latest */
    size_t accepted;
    struct sr_buf in;
    const char *answer; /* sent when `until` has come in full */
    const char *until;
    bool close_after;
    bool close_at_once;
    bool got, gone;
};

static void stub_data(void *ctx, const char *p, size_t n)
{
    struct stub *s = ctx;
    assert_int_equal(sr_buf_append(&s->in, p, n), SR_OK);
    if (s->until && count_text(&s->in, s->until)) {
        struct sr_bytes answer = sr_bytes_str(s->answer);
        sr_buf_clear(&s->in);
        s->got = true;
        assert_int_equal(sr_conn_write(s->conn, &answer, 1), SR_OK);
        if (s->close_after)
            sr_conn_finish(&s->conn, 100);
    }
    world_wake(s->w);
}

static void stub_eof(void *ctx)
{
    struct stub *s = ctx;
    s->gone = true;
    sr_conn_close(&s->conn);
    world_wake(s->w);
}

static void stub_failed(void *ctx, int code, const char *text)
{
    (void)code, (void)text;
    stub_eof(ctx);
}

static const struct sr_conn_events stub_events = {.data = stub_data, .eof = stub_eof, .failed = stub_failed};

static void stub_accepted(void *ctx, struct sr_conn *conn)
{
    struct stub *s = ctx;
    s->accepted++;
    if (s->close_at_once) {
        sr_conn_close(&conn);
        return;
    }
    sr_conn_close(&s->conn);
    s->conn = conn;
    sr_conn_set_events(conn, &stub_events, s);
}

static const struct sr_listener_events stub_listener = {.accepted = stub_accepted};

/* The calls of the world go to the stub from now on. */
static void stub_open(struct stub *s, struct world *w, const char *until, const char *answer)
{
    int fd;
    *s = (struct stub){.w = w, .until = until, .answer = answer};
    sr_buf_init(&s->in, (size_t)256 << 20);
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &w->port, NULL), SR_OK);
    assert_int_equal(sr_listener_start(&s->listener, w->loop, fd, NULL, &stub_listener, s), SR_OK);
}

static void stub_close(struct stub *s)
{
    sr_conn_close(&s->conn);
    sr_listener_close(&s->listener);
    sr_buf_dispose(&s->in);
}

#define OK_HI "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

static void streamed_request_body(void **state)
{
    struct sr_bytes first = SR_LIT("first,");
    struct world w;
    (void)state;
    world_open(&w, NULL, NULL);
    for (int round = 0; round < 4; round++) {
        struct sr_client_request request = call_request("POST", "/length", round & 2 ? &first : NULL);
        struct call c = {0};
        char expect[20];
        request.content_length = round & 1 ? -1 : (round & 2 ? 17 : 11);
        request.body_complete = false;
        w.body_bytes = 0;
        call_begin(&c, &w, &request, NULL);
        while (!c.writable)
            world_run_ms(&w, 5);
        assert_int_equal(sr_fetch_write(c.exchange, SR_LIT("second,")), SR_OK);
        if (!(round & 1)) {
            assert_int_equal(sr_fetch_write(c.exchange, SR_LIT("too much")), SR_EINVAL);
            assert_int_equal(sr_fetch_write_end(c.exchange), SR_EINVAL);
        }
        assert_int_equal(sr_fetch_write(c.exchange, SR_LIT("last")), SR_OK);
        assert_int_equal(sr_fetch_write_end(c.exchange), SR_OK);
        world_run(&w, &c.over);
        assert_true(c.ok);
        snprintf(expect, sizeof expect, "%d", round & 2 ? 17 : 11);
        assert_string_equal(c.body.data, expect);
        call_dispose(&c);
    }
    assert_int_equal(sr_client_opened(w.client), 1);
    world_close(&w);
}

/* Written before the connection is there: kept in order, head first. */
static void body_before_the_connection(void **state)
{
    struct sr_bytes first = SR_LIT("a");
    struct sr_client_request request = call_request("POST", "/echo", &first);
    struct world w;
    struct call c = {0};
    (void)state;
    world_open(&w, NULL, NULL);
    request.content_length = -1;
    request.body_complete = false;
    call_begin(&c, &w, &request, NULL);
    assert_int_equal(sr_fetch_write(c.exchange, SR_LIT("b")), SR_OK);
    assert_true(sr_fetch_queued(c.exchange) > 0);
    assert_int_equal(sr_fetch_write(c.exchange, SR_LIT("c")), SR_OK);
    assert_int_equal(sr_fetch_write_end(c.exchange), SR_OK);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_string_equal(c.body.data, "abc");
    call_dispose(&c);
    world_close(&w);
}

static void large_bodies_both_ways(void **state)
{
    enum { size = 20 << 20 };
    char *text = malloc(size + 1);
    struct sr_bytes body = {text, size};
    struct sr_client_request request = call_request("POST", "/echo", &body);
    struct world w;
    struct call c = {.pause_at_head = true};
    (void)state;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)('a' + i % 23);
    world_open(&w, NULL, NULL);
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.head);
    world_run_ms(&w, 200);
    assert_int_equal(c.body.len, 0);
    assert_true(w.body_bytes < size);
    sr_fetch_resume(c.exchange);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_int_equal(c.body.len, size);
    assert_memory_equal(c.body.data, text, size);
    call_dispose(&c);
    w.body_bytes = 0;
    request = call_request("POST", "/length", &body);
    c = (struct call){0};
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_string_equal(c.body.data, "20971520");
    assert_int_equal(sr_client_idle(w.client), 1);
    call_dispose(&c);
    world_close(&w);
    free(text);
}

static void pause_holds_the_end(void **state)
{
    struct sr_client_request request = call_request("GET", "/hello", NULL);
    struct world w;
    struct call c = {.pause_at_head = true};
    (void)state;
    world_open(&w, NULL, NULL);
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.head);
    world_run_ms(&w, 20);
    assert_false(c.over);
    assert_int_equal(c.body.len, 0);
    sr_fetch_resume(c.exchange);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_string_equal(c.body.data, "hello");
    call_dispose(&c);
    world_close(&w);
}

static void run_to(struct world *w, struct call *c, const char *host, uint16_t port)
{
    struct sr_client_request request = call_request("GET", "/", NULL);
    struct sr_origin origin = {.host = host, .port = port};
    *c = (struct call){.w = w};
    sr_buf_init(&c->body, 1 << 20);
    assert_int_equal(sr_client_start(&c->exchange, w->client, &origin, &request, &call_events, c), SR_OK);
    assert_false(c->over);
    world_run(w, &c->over);
    assert_false(c->ok);
}

static void errors_say_what_happened(void **state)
{
    struct world w;
    struct call c;
    uint16_t port;
    int fd;
    (void)state;
    world_open(&w, NULL, NULL);
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &port, NULL), SR_OK);
    close(fd);
    run_to(&w, &c, "127.0.0.1", port);
    assert_int_equal(c.error.code, SR_ECLOSED);
    assert_int_equal(c.error.stage, SR_CLIENT_CONNECTING);
    assert_false(c.error.sent);
    assert_non_null(strstr(c.error_text, "refused"));
    call_dispose(&c);
    run_to(&w, &c, "no-such-name.invalid", 80);
    assert_int_equal(c.error.code, SR_ENOENT);
    assert_int_equal(c.error.stage, SR_CLIENT_CONNECTING);
    call_dispose(&c);
    world_close(&w);
}

static void names_try_every_address(void **state)
{
    struct sr_client_request request = call_request("GET", "/hello", NULL);
    struct sr_origin origin = {.host = "localhost"};
    struct world w;
    (void)state;
    world_open(&w, NULL, NULL);
    origin.port = w.port;
    /* The server listens on 127.0.0.1 only, and localhost may be ::1 first; the second time the cache
     * answers. */
    for (int i = 0; i < 2; i++) {
        struct call c = {.w = &w};
        request.fresh = true;
        sr_buf_init(&c.body, 100);
        assert_int_equal(sr_client_start(&c.exchange, w.client, &origin, &request, &call_events, &c), SR_OK);
        world_run(&w, &c.over);
        assert_true(c.ok);
        call_dispose(&c);
    }
    assert_int_equal(sr_client_opened(w.client), 2);
    world_close(&w);
}

static void closed_early(void **state)
{
    static const struct {
        const char *answer;
        enum sr_client_stage stage;
        int code;
    } cases[] = {
        {"", SR_CLIENT_WAITING, SR_ECLOSED},
        {"HTTP/1.1 200", SR_CLIENT_HEAD, SR_ECLOSED},
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi", SR_CLIENT_BODY, SR_ECLOSED},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", SR_CLIENT_BODY, SR_ECLOSED},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", SR_CLIENT_BODY, SR_EPROTO},
        {"SSH-2.0-x\r\n", SR_CLIENT_HEAD, SR_EPROTO},
    };
    struct world w;
    (void)state;
    world_open(&w, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct sr_client_request request = call_request("GET", "/", NULL);
        struct call c = {0};
        struct stub s;
        stub_open(&s, &w, "\r\n\r\n", cases[i].answer);
        s.close_after = true;
        call_begin(&c, &w, &request, NULL);
        world_run(&w, &c.over);
        assert_false(c.ok);
        assert_int_equal(c.error.code, cases[i].code);
        assert_int_equal(c.error.stage, cases[i].stage);
        assert_true(c.error.sent);
        assert_false(c.error.reused);
        call_dispose(&c);
        stub_close(&s);
    }
    world_close(&w);
}

static void timeouts(void **state)
{
    static const char *const answers[] = {"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhi"};
    struct world w;
    (void)state;
    world_open(&w, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        struct sr_client_request request = call_request("GET", "/", NULL);
        struct call c = {0};
        struct stub s;
        request.timeouts.head_ms = i == 0 ? 30 : 30000;
        request.timeouts.idle_ms = 30;
        stub_open(&s, &w, "\r\n\r\n", answers[i]);
        call_begin(&c, &w, &request, NULL);
        world_run(&w, &c.over);
        assert_false(c.ok);
        assert_int_equal(c.error.code, SR_ETIMEOUT);
        assert_int_equal(c.error.stage, i == 0 ? SR_CLIENT_WAITING : SR_CLIENT_BODY);
        /* The upstream sees that nobody waits any more. */
        world_run(&w, &s.gone);
        call_dispose(&c);
        stub_close(&s);
    }
    world_close(&w);
}

/* A caller that pauses between two pieces may take its time. */
static void a_pause_is_no_silence(void **state)
{
    struct sr_client_request request = call_request("GET", "/", NULL);
    struct world w;
    struct call c = {0};
    struct stub s;
    (void)state;
    world_open(&w, NULL, NULL);
    request.timeouts.idle_ms = 1000;
    stub_open(&s, &w, "\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh");
    call_begin(&c, &w, &request, NULL);
    while (!c.body.len)
        world_run_ms(&w, 5);
    sr_fetch_pause(c.exchange);
    world_run_ms(&w, 1500);
    assert_false(c.over);
    struct sr_bytes rest = SR_LIT("i");
    assert_int_equal(sr_conn_write(s.conn, &rest, 1), SR_OK);
    sr_fetch_resume(c.exchange);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_string_equal(c.body.data, "hi");
    call_dispose(&c);
    stub_close(&s);
    world_close(&w);
}

static void early_answer_is_delivered(void **state)
{
    struct sr_client_request request = call_request("POST", "/", NULL);
    struct world w;
    struct call c = {0};
    struct stub s;
    (void)state;
    world_open(&w, NULL, NULL);
    stub_open(&s, &w, "\r\n\r\n", OK_HI);
    request.content_length = 100;
    request.body_complete = false;
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_string_equal(c.body.data, "hi");
    assert_int_equal(sr_client_idle(w.client), 0);
    call_dispose(&c);
    stub_close(&s);
    world_close(&w);
}

/* The upstream answers a large request at once and closes: its answer counts, not the broken pipe. */
static void an_answer_that_closes_is_delivered(void **state)
{
    enum { size = 20 << 20 };
    char *text = calloc(1, size);
    struct sr_bytes body = {text, size};
    struct sr_client_request request = call_request("POST", "/", &body);
    struct world w;
    struct call c = {0};
    struct stub s;
    (void)state;
    world_open(&w, NULL, NULL);
    stub_open(&s, &w, "\r\n\r\n", "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno");
    s.close_after = true;
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_int_equal(c.status, 413);
    assert_string_equal(c.body.data, "no");
    assert_int_equal(sr_client_idle(w.client), 0);
    call_dispose(&c);
    stub_close(&s);
    world_close(&w);
    free(text);
}

/* A connection that the upstream closed while it was idle is not used again. */
static void stale_connections_are_not_reused(void **state)
{
    struct world w;
    struct stub s;
    (void)state;
    world_open(&w, NULL, NULL);
    stub_open(&s, &w, "\r\n\r\n", OK_HI);
    for (int i = 0; i < 3; i++) {
        struct sr_client_request request = call_request("GET", "/", NULL);
        struct call c = {0};
        call_begin(&c, &w, &request, NULL);
        world_run(&w, &c.over);
        assert_true(c.ok);
        assert_int_equal(sr_client_idle(w.client), 1);
        call_dispose(&c);
        sr_conn_close(&s.conn);
        world_run_ms(&w, 10);
        assert_int_equal(sr_client_idle(w.client), 0);
    }
    assert_int_equal(s.accepted, 3);
    stub_close(&s);
    world_close(&w);
}

/* It closes only when the next request is there: the caller learns that it was sent, on a reused connection.
 */
static void a_failed_reuse_is_told(void **state)
{
    struct sr_client_request request = call_request("GET", "/", NULL);
    struct world w;
    struct call c = {0};
    struct stub s;
    (void)state;
    world_open(&w, NULL, NULL);
    stub_open(&s, &w, "\r\n\r\n", OK_HI);
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.over);
    call_dispose(&c);
    s.answer = "";
    s.close_after = true;
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.over);
    assert_false(c.ok);
    assert_true(c.error.reused);
    assert_true(c.error.sent);
    assert_int_equal(c.error.stage, SR_CLIENT_WAITING);
    call_dispose(&c);
    stub_close(&s);
    world_close(&w);
}

static void unasked_bytes_close_an_idle_connection(void **state)
{
    struct sr_client_request request = call_request("GET", "/", NULL);
    struct world w;
    struct call c = {0};
    struct stub s;
    (void)state;
    world_open(&w, NULL, NULL);
    stub_open(&s, &w, "\r\n\r\n", OK_HI "HTTP/1.1 200 OK\r\n\r\n");
    call_begin(&c, &w, &request, NULL);
    world_run(&w, &c.over);
    assert_true(c.ok);
    assert_int_equal(sr_client_idle(w.client), 0);
    call_dispose(&c);
    stub_close(&s);
    world_close(&w);
}

static void the_pool_has_limits(void **state)
{
    struct sr_client_settings settings = sr_client_settings_defaults();
    struct sr_client_request request = call_request("GET", "/hello", NULL);
    struct world w;
    struct call c[5];
    (void)state;
    world_open(&w, NULL, NULL);
    sr_client_free(w.client);
    settings.max_idle_per_origin = 3;
    settings.keepalive_ms = 60;
    assert_int_equal(sr_client_new(&w.client, w.loop, &settings), SR_OK);
    for (int i = 0; i < 5; i++) {
        c[i] = (struct call){0};
        call_begin(&c[i], &w, &request, NULL);
    }
    for (int i = 0; i < 5; i++) {
        world_run(&w, &c[i].over);
        assert_true(c[i].ok);
        call_dispose(&c[i]);
    }
    assert_int_equal(sr_client_opened(w.client), 5);
    assert_int_equal(sr_client_idle(w.client), 3);
    while (sr_client_idle(w.client))
        world_run_ms(&w, 20);
    assert_int_equal(sr_http_server_connections(w.server), 0);
    world_close(&w);
}

static void refuses_what_splits_messages(void **state)
{
    struct sr_header bad = {SR_LIT("x"), SR_LIT("a\r\nb: c")};
    struct sr_client_request request = call_request("GET", "/", NULL);
    struct sr_origin origin = {.host = "127.0.0.1", .port = 1};
    struct sr_fetch *exchange = NULL;
    struct world w;
    (void)state;
    world_open(&w, NULL, NULL);
    request.headers = &bad;
    request.header_count = 1;
    assert_int_equal(sr_client_start(&exchange, w.client, &origin, &request, &call_events, NULL), SR_EINVAL);
    request.header_count = 0;
    request.target = SR_LIT("/ HTTP/1.1\r\nx: y");
    assert_int_equal(sr_client_start(&exchange, w.client, &origin, &request, &call_events, NULL), SR_EINVAL);
    assert_null(exchange);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streamed_request_body),
        cmocka_unit_test(body_before_the_connection),
        cmocka_unit_test(large_bodies_both_ways),
        cmocka_unit_test(pause_holds_the_end),
        cmocka_unit_test(errors_say_what_happened),
        cmocka_unit_test(names_try_every_address),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(timeouts),
        cmocka_unit_test(a_pause_is_no_silence),
        cmocka_unit_test(early_answer_is_delivered),
        cmocka_unit_test(an_answer_that_closes_is_delivered),
        cmocka_unit_test(stale_connections_are_not_reused),
        cmocka_unit_test(a_failed_reuse_is_told),
        cmocka_unit_test(unasked_bytes_close_an_idle_connection),
        cmocka_unit_test(the_pool_has_limits),
        cmocka_unit_test(refuses_what_splits_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
