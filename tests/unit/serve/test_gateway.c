/*
 * serve/gateway over real sockets: client, gateway and upstream on one loop, driven until a condition holds.
 * The client sees only the gateway, the upstream's handler does what the test told it.
 */
#include "serve/gateway/gateway.h"

#include "router/runtime.h"
#include "tests/unit/net_harness.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PIECE 65536

enum behaviour { ANSWER, STREAM, BREAK_STREAM, BREAK_PLAIN, FLOOD, HOLD };

struct site {
    struct world w; /* its server is the upstream, its client the client */
    sr_runtime *runtime;
    struct sr_upstream_tls *tls;
    struct sr_gateway *gateway;
    uint16_t port;
    char config[64];
    enum behaviour behaviour;
    /* the upstream */
    struct sr_http_request *running;
    struct sr_buf seen; /* the request's body */
    char head[4096];    /* its headers, one a line */
    size_t flooded;     /* bytes written for FLOOD */
    bool got_request, upstream_done, upstream_complete;
    /* the client */
    struct sr_fetch *call;
    struct sr_buf answer;
    int status;
    char request_id[128];
    int64_t length;
    size_t count;
    bool got_head, got_bytes, over, failed;
    bool drained;
};

static const char events_text[] = "data: {\"n\":1}\n\n";

/* ---- the upstream ---- */

static void wake(struct site *s)
{
    world_wake(&s->w);
}

static void flood(struct site *s)
{
    static char piece[PIECE];
    struct sr_bytes slice = {piece, PIECE};
    while (s->running && s->flooded < (size_t)64 << 20 && sr_http_request_queued(s->running) == 0) {
        assert_int_equal(sr_http_request_write(s->running, &slice, 1), SR_OK);
        s->flooded += PIECE;
    }
    if (s->running && s->flooded == (size_t)64 << 20) {
        assert_int_equal(sr_http_request_finish(s->running), SR_OK);
        s->running = NULL;
    }
}

static void upstream_request(void *ctx, struct sr_http_request *request)
{
    struct site *s = ctx;
    const struct sr_http_head *head = sr_http_request_head(request);
    size_t at = 0;
    sr_http_request_set_ctx(request, s);
    s->running = request;
    for (size_t i = 0; i < head->header_count; i++)
        at += (size_t)snprintf(s->head + at, sizeof s->head - at, "%.*s: %.*s\n",
                               (int)head->headers[i].name.n, head->headers[i].name.p,
                               (int)head->headers[i].value.n, head->headers[i].value.p);
}

static void upstream_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct site *s = ctx;
    (void)request;
    assert_int_equal(sr_buf_append_bytes(&s->seen, slice), SR_OK);
}

static void begin_stream(struct sr_http_request *request, const char *type, int64_t length)
{
    struct sr_header header = {SR_LIT("content-type"), sr_bytes_str(type)};
    struct sr_http_response response = {
        .status = 200, .headers = &header, .header_count = 1, .content_length = length};
    struct sr_bytes first = sr_bytes_str(events_text);
    assert_int_equal(sr_http_request_respond(request, &response, &first, 1), SR_OK);
}

static void upstream_body_end(void *ctx, struct sr_http_request *request)
{
    struct site *s = ctx;
    struct sr_header json = {SR_LIT("content-type"), SR_LIT("application/json")};
    struct sr_http_response plain = {.status = 200, .headers = &json, .header_count = 1};
    s->got_request = true;
    switch (s->behaviour) {
    case ANSWER:
        s->running = NULL;
        assert_int_equal(sr_http_request_reply(request, &plain, SR_LIT("{\"answer\": 42}")), SR_OK);
        break;
    case STREAM:
    case BREAK_STREAM:
        begin_stream(request, "text/event-stream", -1);
        break;
    case BREAK_PLAIN:
        begin_stream(request, "text/plain", 1000);
        break;
    case FLOOD:
        begin_stream(request, "text/plain", -1);
        flood(s);
        break;
    case HOLD:
        break;
    }
    wake(s);
}

static void upstream_writable(void *ctx, struct sr_http_request *request)
{
    struct site *s = ctx;
    (void)request;
    if (s->behaviour == FLOOD)
        flood(s);
}

static void upstream_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct site *s = ctx;
    (void)request;
    s->running = NULL;
    s->upstream_done = true;
    s->upstream_complete = complete;
    wake(s);
}

static const struct sr_http_handler upstream_handler = {.request = upstream_request,
                                                        .body = upstream_body,
                                                        .body_end = upstream_body_end,
                                                        .writable = upstream_writable,
                                                        .done = upstream_done};

/* ---- the client ---- */

static void client_head(void *ctx, const struct sr_http_head *head)
{
    struct site *s = ctx;
    struct sr_bytes id = sr_http_head_value(head, SR_LIT("x-request-id"));
    s->status = head->status;
    s->length = head->content_length;
    snprintf(s->request_id, sizeof s->request_id, "%.*s", (int)id.n, id.p ? id.p : "");
    s->got_head = true;
    wake(s);
}

static void client_body(void *ctx, struct sr_bytes slice)
{
    struct site *s = ctx;
    s->count += slice.n;
    if (s->behaviour != FLOOD)
        assert_int_equal(sr_buf_append_bytes(&s->answer, slice), SR_OK);
    s->got_bytes = true;
    wake(s);
}

static void client_over(struct site *s)
{
    s->call = NULL;
    s->over = true;
    wake(s);
}

static void client_end(void *ctx)
{
    client_over(ctx);
}

static void client_failed(void *ctx, const struct sr_client_error *error)
{
    struct site *s = ctx;
    (void)error;
    s->failed = true;
    client_over(s);
}

static const struct sr_fetch_events client_events = {
    .head = client_head, .body = client_body, .end = client_end, .failed = client_failed};

static void ask(struct site *s, const char *path, struct sr_bytes body)
{
    struct sr_origin origin = {.host = "127.0.0.1", .port = s->port};
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("application/json")},
                                  {SR_LIT("x-custom"), SR_LIT("kept")},
                                  {SR_LIT("x-forwarded-for"), SR_LIT("10.1.2.3")}};
    struct sr_client_request request = {.method = SR_LIT("POST"),
                                        .target = sr_bytes_str(path),
                                        .headers = headers,
                                        .header_count = 3,
                                        .content_length = (int64_t)body.n,
                                        .body = &body,
                                        .body_count = 1,
                                        .body_complete = true};
    sr_buf_clear(&s->answer);
    sr_buf_clear(&s->seen);
    s->status = 0;
    s->got_head = s->got_bytes = s->over = s->failed = s->got_request = s->upstream_done = false;
    assert_int_equal(sr_client_start(&s->call, s->w.client, &origin, &request, &client_events, s), SR_OK);
}

static void ask_model(struct site *s, const char *model)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"model\": \"%s\",  \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}", model);
    ask(s, "/v1/chat/completions", sr_bytes_str(body));
    /* The body must stay until it was sent, so the call is driven on from here. */
    if (s->behaviour == ANSWER)
        world_run(&s->w, &s->over);
    else
        world_run(&s->w, &s->got_request);
}

static bool answer_has(const struct site *s, const char *text)
{
    return sr_bytes_contains(sr_buf_view(&s->answer), sr_bytes_str(text));
}

/* ---- the site ---- */

static int open_port(uint16_t *port)
{
    int fd;
    struct sr_err err = {0};
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, port, &err), SR_OK);
    return fd;
}

static void gateway_drained(void *ctx)
{
    struct site *s = ctx;
    s->drained = true;
    wake(s);
}

static void write_config(struct site *s, uint16_t upstream, uint16_t dead)
{
    snprintf(s->config, sizeof s->config, "/tmp/sr-gateway-XXXXXX");
    int fd = mkstemp(s->config);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    assert_non_null(file);
    fprintf(
        file,
        "version: v0.3\n"
        "providers:\n"
        "  defaults: {default_model: small}\n"
        "  models:\n"
        "    - {name: small, backend_refs: [{name: up, endpoint: \"127.0.0.1:%d\"}]}\n"
        "    - {name: gone, backend_refs: [{name: dead, endpoint: \"127.0.0.1:%d\"}]}\n"
        "    - {name: pair, backend_refs: [{name: dead, endpoint: \"127.0.0.1:%d\"}, {name: up, endpoint: "
        "\"127.0.0.1:%d\"}]}\n"
        "routing: {modelCards: [{name: small}, {name: gone}, {name: pair}]}\n"
        "global: {semroute: {gateway: {max_body_bytes: 4096}}}\n",
        upstream, dead, dead, upstream);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    struct site *s = calloc(1, sizeof *s);
    assert_non_null(s);
    char error[512] = "";
    uint16_t dead;
    close(open_port(&dead)); /* a port where nobody listens */
    assert_int_equal(sr_loop_new(&s->w.loop), SR_OK);
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    assert_int_equal(sr_http_server_new(&s->w.server, s->w.loop, open_port(&s->w.port), NULL, &settings,
                                        &upstream_handler, s),
                     SR_OK);
    struct sr_client_settings client = sr_client_settings_defaults();
    assert_int_equal(sr_client_new(&s->w.client, s->w.loop, &client), SR_OK);
    write_config(s, s->w.port, dead);
    s->runtime = sr_runtime_open(s->config, NULL, error, sizeof error);
    assert_string_equal(error, "");
    assert_non_null(s->runtime);
    assert_int_equal(sr_upstream_tls_new(&s->tls), SR_OK);
    const struct sr_config *config = sr_runtime_config(s->runtime);
    struct sr_gateway_options options = {.loop = s->w.loop,
                                         .runtime = s->runtime,
                                         .tls = s->tls,
                                         .config = config,
                                         .drained = gateway_drained,
                                         .ctx = s};
    assert_int_equal(sr_gateway_new(&s->gateway, &options), SR_OK);
    assert_int_equal(sr_gateway_listen(s->gateway, open_port(&s->port), NULL, 0), SR_OK);
    sr_config_unref(config);
    sr_buf_init(&s->seen, (size_t)1 << 20);
    sr_buf_init(&s->answer, (size_t)1 << 20);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    struct site *s = *state;
    sr_fetch_cancel(&s->call);
    sr_gateway_free(s->gateway);
    sr_http_server_free(s->w.server);
    sr_client_free(s->w.client);
    sr_runtime_close(s->runtime);
    sr_upstream_tls_free(s->tls);
    sr_loop_free(s->w.loop);
    sr_buf_dispose(&s->seen);
    sr_buf_dispose(&s->answer);
    unlink(s->config);
    free(s);
    return 0;
}

/* ---- tests ---- */

static void test_bytes_and_headers_pass(void **state)
{
    struct site *s = *state;
    struct sr_bytes body = SR_LIT("{ \"model\":\"small\", \"unknown\" : [1, 2.50],\n \"messages\": [] }");
    char host[64];
    ask(s, "/v1/chat/completions", body);
    world_run(&s->w, &s->over);
    assert_int_equal(s->status, 200);
    assert_int_equal(s->length, 14);
    assert_true(answer_has(s, "{\"answer\": 42}"));
    assert_true(sr_bytes_eq(sr_buf_view(&s->seen), body));
    snprintf(host, sizeof host, "host: 127.0.0.1:%d\n", s->w.port);
    assert_non_null(strstr(s->head, host));
    assert_non_null(strstr(s->head, "x-custom: kept\n"));
    assert_non_null(strstr(s->head, "x-forwarded-for: 10.1.2.3, 127.0.0.1\n"));
    assert_true(s->request_id[0] != '\0');
    assert_non_null(strstr(s->head, s->request_id));
}

/* The second event is written only after the first has arrived: nothing waits for more. */
static void test_events_are_passed_one_by_one(void **state)
{
    struct site *s = *state;
    struct sr_bytes more = SR_LIT("data: {\"n\":2}\n\n");
    s->behaviour = STREAM;
    ask_model(s, "small");
    world_run(&s->w, &s->got_bytes);
    assert_string_equal(s->answer.data, events_text);
    s->got_bytes = false;
    assert_int_equal(sr_http_request_write(s->running, &more, 1), SR_OK);
    world_run(&s->w, &s->got_bytes);
    assert_true(answer_has(s, "{\"n\":2}"));
    assert_int_equal(sr_http_request_finish(s->running), SR_OK);
    world_run(&s->w, &s->over);
    assert_false(s->failed);
}

static void test_a_broken_stream_ends_with_an_error_event(void **state)
{
    struct site *s = *state;
    s->behaviour = BREAK_STREAM;
    ask_model(s, "small");
    world_run(&s->w, &s->got_bytes);
    sr_http_request_abort(s->running);
    world_run(&s->w, &s->over);
    assert_false(s->failed);
    assert_true(sr_bytes_starts_with(sr_buf_view(&s->answer), sr_bytes_str(events_text)));
    assert_true(answer_has(s, "\n\ndata: {\"error\":{"));
    assert_true(answer_has(s, "upstream_lost"));
}

static void test_a_broken_answer_is_cut(void **state)
{
    struct site *s = *state;
    s->behaviour = BREAK_PLAIN;
    ask_model(s, "small");
    world_run(&s->w, &s->got_bytes);
    sr_http_request_abort(s->running);
    world_run(&s->w, &s->over);
    assert_true(s->failed);
    assert_int_equal(s->status, 200);
}

static void test_no_upstream_is_502(void **state)
{
    struct site *s = *state;
    ask_model(s, "gone");
    assert_int_equal(s->status, 502);
    assert_true(answer_has(s, "\"type\":\"upstream_error\""));
    assert_true(answer_has(s, "gone"));
}

static void test_another_target_is_tried(void **state)
{
    struct site *s = *state;
    for (int i = 0; i < 4; i++) {
        ask_model(s, "pair");
        assert_int_equal(s->status, 200);
    }
}

static void test_a_leaving_client_cancels_the_upstream(void **state)
{
    struct site *s = *state;
    s->behaviour = HOLD;
    ask_model(s, "small");
    assert_int_equal(sr_gateway_active(s->gateway), 1);
    sr_fetch_cancel(&s->call);
    world_run(&s->w, &s->upstream_done);
    assert_false(s->upstream_complete);
    assert_int_equal(sr_gateway_active(s->gateway), 0);
}

static void test_a_body_over_the_limit_is_413(void **state)
{
    struct site *s = *state;
    static char large[8192];
    memset(large, ' ', sizeof large);
    ask(s, "/v1/chat/completions", sr_bytes_of(large, sizeof large));
    world_run(&s->w, &s->over);
    assert_int_equal(s->status, 413);
    assert_true(answer_has(s, "4096 bytes"));
    assert_false(s->got_request);
}

/* The client reads nothing: the upstream can write no more than what buffers hold, and all of it arrives in
 * the end. */
static void test_a_slow_client_holds_the_upstream_back(void **state)
{
    struct site *s = *state;
    s->behaviour = FLOOD;
    ask_model(s, "small");
    world_run(&s->w, &s->got_bytes);
    sr_fetch_pause(s->call);
    size_t before;
    do {
        before = s->flooded;
        world_run_ms(&s->w, 200);
    } while (s->flooded != before);
    assert_true(s->flooded < (size_t)64 << 20);
    sr_fetch_resume(s->call);
    world_run(&s->w, &s->over);
    assert_false(s->failed);
    assert_int_equal(s->count, ((size_t)64 << 20) + sizeof events_text - 1);
}

static void test_drain_lets_a_request_finish(void **state)
{
    struct site *s = *state;
    s->behaviour = STREAM;
    ask_model(s, "small");
    world_run(&s->w, &s->got_bytes);
    sr_gateway_drain(s->gateway);
    world_run_ms(&s->w, 20);
    assert_false(s->drained);
    assert_int_equal(sr_http_request_finish(s->running), SR_OK);
    world_run(&s->w, &s->over);
    assert_false(s->failed);
    world_run(&s->w, &s->drained);
}

/* Whatever allocation fails, a client hears something or is hung up on: it does not wait for ever. */
static void test_no_shortage_leaves_a_client_waiting(void **state)
{
    static const char *const asked[] = {
        "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        "GET /v1/models HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        ("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 30\r\n\r\n"
         "{\"model\":\"gone\",\"messages\":[]}"),
    };
    struct site *s = *state;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(s->port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (size_t i = 0; i < 3 * 24; i++) {
        const char *text = asked[i % 3];
        char got[16];
        ssize_t n = -1;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        sr_mem_fail_at(i / 3 < 20 ? 4 + i / 3
                                  : i / 3 - 19); /* accepting last: it is tried again, and warms up */
        world_run_ms(&s->w, 5);
        sr_mem_fail_at(0);
        for (int wait = 0; wait < 400 && n < 0 && (wait == 0 || errno == EAGAIN); wait++) {
            world_run_ms(&s->w, 5);
            n = recv(fd, got, sizeof got, MSG_DONTWAIT);
        }
        assert_true(n >= 0 || errno == ECONNRESET);
        close(fd);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_bytes_and_headers_pass),
        TEST(test_events_are_passed_one_by_one),
        TEST(test_a_broken_stream_ends_with_an_error_event),
        TEST(test_a_broken_answer_is_cut),
        TEST(test_no_upstream_is_502),
        TEST(test_another_target_is_tried),
        TEST(test_a_leaving_client_cancels_the_upstream),
        TEST(test_a_body_over_the_limit_is_413),
        TEST(test_a_slow_client_holds_the_upstream_back),
        TEST(test_drain_lets_a_request_finish),
        TEST(test_no_shortage_leaves_a_client_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
