/* Streams of HTTP/2 as requests of the server: bodies, answers, timeouts, ends, and the reading of heads. */
#include "tests/unit/h2_client.h"
#include "tests/unit/net_harness.h"

#include "net/server/private.h"

static struct world w;

static void open_with(const struct sr_http_server_settings *settings)
{
    struct sr_http_server_settings own = settings ? *settings : sr_http_server_settings_defaults();
    own.http2.enabled = true;
    world_open(&w, &own, NULL);
}

static void client_open(struct h2_client *client, uint32_t window)
{
    h2_open(client, w.loop, w.port, NULL, window);
}

/* A stream with the whole body `text`. */
static void post(struct h2_stream *stream, struct h2_client *client, const char *path, const char *text)
{
    h2_stream_begin(stream, client, path, NULL, NULL);
    assert_int_equal(sr_buf_append(&stream->out, text, strlen(text)), SR_OK);
    h2_stream_finish(stream);
}

static void assert_answer(struct h2_stream *stream, int status, const char *body)
{
    h2_stream_wait(stream);
    assert_int_equal(stream->status, status);
    assert_int_equal(stream->in.len, strlen(body));
    assert_memory_equal(stream->in.data ? stream->in.data : "", body, strlen(body));
    h2_stream_dispose(stream);
}

/* ---- answers ---- */

static void test_the_same_handler(void **state)
{
    struct h2_client client;
    struct h2_stream hello, echo, length;
    struct raw r;
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    post(&hello, &client, "/hello", "");
    assert_answer(&hello, 200, "hello");
    post(&echo, &client, "/echo", "there and back");
    assert_answer(&echo, 200, "there and back");
    h2_stream_begin(&length, &client, "/length", NULL, NULL);
    w.body_bytes = 0;
    for (size_t i = 1; i <= 3; i++) {
        assert_int_equal(sr_buf_append(&length.out, "12345", 5), SR_OK);
        h2_stream_push(&length);
        h2_run_to(w.loop, &w.body_bytes, 5 * i);
    }
    h2_stream_finish(&length);
    assert_answer(&length, 200, "15");
    raw_open(&r, &w);
    raw_send(&r, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
    raw_wait_text(&r, "hello", 1);
    struct sr_http_server_counts counts = sr_http_server_counts(w.server);
    assert_int_equal(counts.http1, 1);
    assert_int_equal(counts.http2, 1);
    assert_int_equal(sr_http_server_connections(w.server), 2);
    h2_run_to(w.loop, &w.done_complete, 4);
    assert_int_equal(sr_http_server_counts(w.server).busy, 0);
    raw_close(&r);
    h2_close(&client);
    world_close(&w);
}

/* What cannot be sent leaves the request free for another answer; too much body is refused. */
static void test_refused_answers(void **state)
{
    struct h2_client client;
    struct h2_stream stream;
    struct sr_header bad = {SR_LIT("x-line"), SR_LIT("a\r\nb")}, upper = {SR_LIT("X-Upper"), SR_LIT("1")};
    struct sr_http_response response = {
        .status = 200, .headers = &bad, .header_count = 1, .content_length = 3};
    struct sr_bytes four = SR_LIT("four"), three = SR_LIT("one");
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    post(&stream, &client, "/hold", "");
    h2_run_to(w.loop, &w.body_ends, 1);
    assert_string_equal(sr_http_request_protocol(w.last).p, "HTTP/2");
    assert_int_equal(sr_http_request_respond(w.last, &response, NULL, 0), SR_EINVAL);
    response.headers = &upper;
    assert_int_equal(sr_http_request_write(w.last, &three, 1), SR_EINVAL);
    assert_int_equal(sr_http_request_respond(w.last, &response, NULL, 0), SR_OK);
    assert_int_equal(sr_http_request_respond(w.last, &response, NULL, 0), SR_EINVAL);
    assert_int_equal(sr_http_request_write(w.last, &four, 1), SR_EINVAL);
    assert_int_equal(sr_http_request_write(w.last, &three, 1), SR_OK);
    assert_int_equal(sr_http_request_finish(w.last), SR_OK);
    assert_int_equal(sr_http_request_finish(w.last), SR_EINVAL);
    assert_answer(&stream, 200, "one");
    h2_close(&client);
    world_close(&w);
}

/* A head that one frame cannot hold is sent in several; one that is larger than all limits ends its stream.
 */
static void test_large_heads(void **state)
{
    struct h2_client client;
    struct h2_stream stream;
    char *value = calloc(1, 300000);
    (void)state;
    memset(value, 'x', 300000);
    open_with(NULL);
    client_open(&client, 1 << 20);
    for (size_t i = 0; i < 2; i++) {
        struct sr_header large[] = {{SR_LIT("a"), sr_bytes_of(value, i ? 299999 : 50000)},
                                    {SR_LIT("b"), sr_bytes_of(value, 50000)}};
        struct sr_http_response response = {.status = 200, .headers = large, .header_count = 2};
        post(&stream, &client, "/hold", "");
        h2_run_to(w.loop, &w.body_ends, i + 1);
        assert_int_equal(sr_http_request_reply(w.last, &response, SR_LIT("ok")), SR_OK);
        h2_stream_wait(&stream);
        assert_int_equal(stream.status, i ? 0 : 200);
        assert_int_equal(stream.code, i ? NGHTTP2_INTERNAL_ERROR : NGHTTP2_NO_ERROR);
        h2_stream_dispose(&stream);
    }
    h2_close(&client);
    world_close(&w);
    free(value);
}

/* An answer that is cut: what was written arrives, then a reset; the connection goes on. */
static void test_an_answer_is_cut(void **state)
{
    struct h2_client client;
    struct h2_stream stream, next;
    struct sr_http_response response = response_of(200, -1);
    struct sr_bytes part = SR_LIT("part");
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    post(&stream, &client, "/hold", "");
    h2_run_to(w.loop, &w.body_ends, 1);
    assert_int_equal(sr_http_request_respond(w.last, &response, &part, 1), SR_OK);
    sr_http_request_abort(w.last);
    assert_int_equal(sr_http_request_write(w.last, &part, 1), SR_ECLOSED);
    h2_stream_wait(&stream);
    assert_int_equal(stream.code, NGHTTP2_INTERNAL_ERROR);
    assert_int_equal(stream.in_total, 4);
    assert_false(stream.end);
    assert_int_equal(w.done, 1);
    assert_int_equal(w.done_complete, 0);
    h2_stream_dispose(&stream);
    post(&next, &client, "/hello", "");
    assert_answer(&next, 200, "hello");
    h2_close(&client);
    world_close(&w);
}

static void test_a_client_resets(void **state)
{
    struct h2_client client;
    struct h2_stream streams[3];
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    for (size_t i = 0; i < 3; i++)
        post(&streams[i], &client, "/hold", "");
    h2_run_to(w.loop, &w.body_ends, 3);
    nghttp2_submit_rst_stream(client.session, 0, streams[1].id, NGHTTP2_CANCEL);
    h2_flush(&client);
    h2_run_to(w.loop, &w.done, 1);
    assert_int_equal(w.done_complete, 0);
    assert_int_equal(sr_http_server_counts(w.server).resets, 1);
    assert_int_equal(sr_http_server_counts(w.server).busy, 1);
    h2_close(&client); /* the others end with the connection */
    h2_run_to(w.loop, &w.done, 3);
    assert_int_equal(sr_http_server_connections(w.server), 0);
    for (size_t i = 0; i < 3; i++)
        h2_stream_dispose(&streams[i]);
    world_close(&w);
}

/* ---- flow control ---- */

static void test_a_paused_body(void **state)
{
    const size_t window = (size_t)256 << 10, size = 3 * window;
    struct h2_client client;
    struct h2_stream stream;
    char *bytes = calloc(1, size);
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    h2_stream_begin(&stream, &client, "/paused", NULL, NULL);
    h2_run_to(w.loop, &w.requests, 1);
    assert_int_equal(sr_buf_append(&stream.out, bytes, size), SR_OK);
    h2_stream_finish(&stream);
    while (stream.out.len > size - window)
        h2_settle(w.loop);
    h2_settle(w.loop);
    assert_int_equal(stream.out.len, size - window);
    assert_int_equal(w.body_bytes, 0);
    struct sr_http_request *request = w.last;
    sr_http_request_resume(request);
    h2_run_to(w.loop, &w.body_ends, 1);
    assert_int_equal(w.body_bytes, size);
    struct sr_http_response ok = response_of(200, 0);
    assert_int_equal(sr_http_request_reply(request, &ok, SR_LIT("ok")), SR_OK);
    assert_answer(&stream, 200, "ok");
    h2_close(&client);
    world_close(&w);
    free(bytes);
}

/* A client that grants no window: the answer waits, then the stream is given up; others are served. */
static void test_a_client_reads_nothing(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct h2_client client;
    struct h2_stream stream, next;
    struct sr_http_response response = response_of(200, -1);
    char bytes[1000] = {0};
    struct sr_bytes slice = sr_bytes_of(bytes, sizeof bytes);
    (void)state;
    settings.write_timeout_ms = 50;
    open_with(&settings);
    client_open(&client, 500);
    client.hold = true;
    post(&stream, &client, "/hold", "");
    h2_run_to(w.loop, &w.body_ends, 1);
    assert_int_equal(sr_http_request_respond(w.last, &response, &slice, 1), SR_OK);
    h2_run_to(w.loop, &w.done, 1);
    assert_int_equal(w.done_complete, 0);
    h2_stream_wait(&stream);
    assert_int_equal(stream.code, NGHTTP2_CANCEL);
    assert_int_equal(stream.in_total, 500);
    nghttp2_session_consume(client.session, stream.id, 500);
    h2_stream_dispose(&stream);
    post(&next, &client, "/hello", "");
    assert_answer(&next, 200, "hello");
    h2_close(&client);
    world_close(&w);
}

/* ---- refusals of the server ---- */

static void test_bodies_that_fail(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct h2_client client;
    struct h2_stream large, slow, mute;
    (void)state;
    settings.limits.body_bytes = 4;
    settings.body_timeout_ms = 50;
    open_with(&settings);
    client_open(&client, 1 << 20);
    post(&large, &client, "/hold", "12345");
    h2_stream_wait(&large);
    assert_int_equal(large.status, 413);
    assert_int_equal(w.error_status, 413);
    h2_stream_begin(&slow, &client, "/hold", NULL, NULL);
    h2_stream_wait(&slow);
    assert_int_equal(slow.status, 408);
    assert_int_equal(w.error_status, 408);
    h2_stream_begin(&mute, &client, "/echo", NULL, NULL); /* whose answer has begun: reset */
    h2_stream_wait(&mute);
    assert_false(mute.end);
    assert_int_equal(w.done, 3);
    assert_int_equal(w.done_complete, 0);
    h2_stream_dispose(&large);
    h2_stream_dispose(&slow);
    h2_stream_dispose(&mute);
    h2_close(&client);
    world_close(&w);
}

static void test_the_time_of_a_body(void **state)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    settings.request_timeout_ms = 50;
    open_with(&settings);
    client_open(&client, 1 << 20);
    h2_stream_begin(&stream, &client, "/hold", NULL, NULL);
    while (!stream.closed) {
        assert_int_equal(sr_buf_append(&stream.out, "x", 1), SR_OK);
        h2_stream_push(&stream);
        h2_settle(w.loop);
    }
    assert_int_equal(stream.status, 408);
    h2_stream_dispose(&stream);
    h2_close(&client);
    world_close(&w);
}

/* ---- the end ---- */

static void test_drain(void **state)
{
    struct h2_client client, idle, half;
    struct h2_stream stream;
    struct sr_http_response ok = response_of(200, 0);
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    client_open(&idle, 1 << 20);
    h2_run_to(w.loop, &idle.settings, 2); /* the server's, and its acknowledgement */
    h2_open_raw(&half, w.loop, w.port);
    h2_write(&half, "PRI * HT", 8);
    post(&stream, &client, "/hold", "");
    h2_run_to(w.loop, &w.body_ends, 1);
    h2_settle(w.loop);
    sr_http_server_drain(w.server);
    h2_run(w.loop, h2_flag, &idle.closed);
    assert_int_equal(idle.goaway_code, NGHTTP2_NO_ERROR);
    h2_run(w.loop, h2_flag, &client.goaway);
    assert_false(w.drained);
    assert_int_equal(sr_http_request_reply(w.last, &ok, SR_LIT("last")), SR_OK);
    assert_answer(&stream, 200, "last");
    h2_write(&half, "TP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 25); /* one more that is told to go */
    h2_close(&half);
    h2_run(w.loop, h2_flag, &w.drained);
    assert_int_equal(sr_http_server_connections(w.server), 0);
    h2_close(&idle);
    h2_close(&client);
    world_close(&w);
}

/* The server is freed with open streams, of which one waits for its body: each request ends once. */
static void test_free_with_streams(void **state)
{
    struct h2_client client;
    struct h2_stream streams[4];
    (void)state;
    open_with(NULL);
    client_open(&client, 1 << 20);
    for (size_t i = 0; i < 4; i++)
        h2_stream_begin(&streams[i], &client, i % 2 ? "/paused" : "/hold", NULL, NULL);
    h2_run_to(w.loop, &w.requests, 4);
    sr_http_server_free(w.server);
    w.server = NULL;
    assert_int_equal(w.done, 4);
    h2_close(&client);
    for (size_t i = 0; i < 4; i++)
        h2_stream_dispose(&streams[i]);
    world_close(&w);
}

/* ---- heads ---- */

#define FIELD(name, value)                                                                                   \
    {                                                                                                        \
        {name, sizeof(name) - 1},                                                                            \
        {                                                                                                    \
            value, sizeof(value) - 1                                                                         \
        }                                                                                                    \
    }

struct head_case {
    const char *method, *path, *authority;
    struct sr_http2_header fields[4];
    size_t count;
    int status; /* 0: it is read */
};

static const struct head_case cases[] = {
    {"GET", "/a?b=c", "host", {{{0}}}, 0, 0},
    {"GET", "/a", "", {FIELD("host", "h")}, 1, 0},
    {"GET", "/a", "Host", {FIELD("host", "hOST")}, 1, 0},
    {"GET", "/a", "", {{{0}}}, 0, 400},
    {"GET", "/a", "host", {FIELD("host", "other")}, 1, 400},
    {"GET", "/a", "", {FIELD("host", "a"), FIELD("host", "b")}, 2, 400},
    {"GET", "/a b", "host", {{{0}}}, 0, 400},
    {"GET", "/a\r\nx: y", "host", {{{0}}}, 0, 400},
    {"GET", "a", "host", {{{0}}}, 0, 400},
    {"", "/a", "host", {{{0}}}, 0, 400},
    {"GET /", "/a", "host", {{{0}}}, 0, 400},
    {"CONNECT", "", "host:1", {{{0}}}, 0, 501},
    {"BREW", "/a", "host", {{{0}}}, 0, 501},
    {"GET", "/a", "ho\r\nst", {{{0}}}, 0, 400},
    {"GET", "/a", "host", {FIELD("x", "a\r\nb: c")}, 1, 400},
    {"GET", "/a", "host", {FIELD("x y", "a")}, 1, 400},
    {"GET", "/a", "host", {FIELD("", "a")}, 1, 400},
    {"GET", "/a", "host", {FIELD("te", "trailers")}, 1, 0},
    {"GET", "/a", "host", {FIELD("te", "gzip")}, 1, 400},
    {"GET", "/a", "host", {FIELD("transfer-encoding", "chunked")}, 1, 400},
    {"GET", "/a", "host", {FIELD("connection", "x")}, 1, 400},
    {"POST", "/a", "host", {FIELD("content-length", "7")}, 1, 0},
    {"POST", "/a", "host", {FIELD("content-length", "7"), FIELD("content-length", "7")}, 2, 400},
    {"POST", "/a", "host", {FIELD("content-length", "101")}, 1, 413},
};

static int head_read(struct sr_http_head *out, const struct head_case *c, struct sr_arena *arena, int *status)
{
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    struct sr_http2_head head = {.method = sr_bytes_str(c->method),
                                 .path = sr_bytes_str(c->path),
                                 .scheme = SR_LIT("http"),
                                 .authority = sr_bytes_str(c->authority),
                                 .headers = c->fields,
                                 .header_count = c->count};
    const char *reason;
    limits.body_bytes = 100;
    sr_arena_init(arena, 1 << 20);
    return sr_http_stream_head(out, &head, &limits, arena, status, &reason);
}

static void test_heads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sr_http_head head;
        struct sr_arena arena;
        int status = 0, rc = head_read(&head, &cases[i], &arena, &status);
        if (rc != (cases[i].status ? SR_EPROTO : SR_OK) || status != cases[i].status)
            fail_msg("case %zu: %d, %d", i, rc, status);
        sr_arena_dispose(&arena);
    }
}

static void test_cookies_in_pieces(void **state)
{
    const struct head_case c = {
        "POST", "/a?b", "host", {FIELD("cookie", "a=1"), FIELD("x", "y"), FIELD("cookie", "b=2")}, 3, 0};
    struct sr_http_head head;
    struct sr_arena arena;
    int status;
    (void)state;
    assert_int_equal(head_read(&head, &c, &arena, &status), SR_OK);
    assert_int_equal(head.header_count, 3);
    assert_true(sr_bytes_eq(sr_http_head_value(&head, SR_LIT("cookie")), SR_LIT("a=1; b=2")));
    assert_true(sr_bytes_eq(sr_http_head_value(&head, SR_LIT("host")), SR_LIT("host")));
    assert_true(sr_bytes_eq(head.path, SR_LIT("/a")) && sr_bytes_eq(head.query, SR_LIT("b")));
    assert_true(head.has_body && head.keep_alive && head.content_length == -1);
    sr_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_handler),
        cmocka_unit_test(test_refused_answers),
        cmocka_unit_test(test_large_heads),
        cmocka_unit_test(test_an_answer_is_cut),
        cmocka_unit_test(test_a_client_resets),
        cmocka_unit_test(test_a_paused_body),
        cmocka_unit_test(test_a_client_reads_nothing),
        cmocka_unit_test(test_bodies_that_fail),
        cmocka_unit_test(test_the_time_of_a_body),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_free_with_streams),
        cmocka_unit_test(test_heads),
        cmocka_unit_test(test_cookies_in_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
