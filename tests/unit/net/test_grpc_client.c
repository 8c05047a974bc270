/* The unary gRPC client against our own server on the same loop: status, deadlines, connections that come and
 * go. */
#include "tests/unit/cmocka_all.h"

#include "base/buf.h"
#include "net/grpc/client.h"

#include <stdio.h>
#include <stdlib.h>

static struct sr_loop *loop;
static struct sr_grpc_server *server;
static struct sr_grpc_client *client;
static uint16_t port;
static char seen_token[64];
static size_t opened;

/* ---- the service: /a/Echo, /a/Fail, /a/Silent ---- */

static void on_echo(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    (void)ctx;
    assert_int_equal(sr_grpc_call_send(call, &message, 1), SR_OK);
}

static void on_half_closed(void *ctx, struct sr_grpc_call *call)
{
    if (ctx == on_echo)
        sr_grpc_call_finish(call, SR_GRPC_OK, NULL);
}

static void on_fail(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    (void)ctx, (void)message;
    sr_grpc_call_finish(call, SR_GRPC_FAILED_PRECONDITION, "caf\xc3\xa9 100%\n");
}

static void on_silent(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    (void)ctx, (void)call, (void)message;
}

static void on_closed(void *ctx, struct sr_grpc_call *call, int why)
{
    (void)ctx, (void)call, (void)why;
}

static const struct sr_grpc_call_events echo = {
    .message = on_echo, .half_closed = on_half_closed, .closed = on_closed};
static const struct sr_grpc_call_events fail_events = {.message = on_fail, .closed = on_closed};
static const struct sr_grpc_call_events silent = {.message = on_silent, .closed = on_closed};

static void open_echo(void *ctx, struct sr_grpc_call *call)
{
    struct sr_bytes token = sr_grpc_call_metadata(call, "authorization");
    (void)ctx;
    opened++;
    snprintf(seen_token, sizeof seen_token, "%.*s", (int)token.n, token.n ? token.p : "");
    sr_grpc_call_accept(call, &echo, on_echo);
}

static void open_fail(void *ctx, struct sr_grpc_call *call)
{
    (void)ctx;
    sr_grpc_call_accept(call, &fail_events, NULL);
}

static void open_silent(void *ctx, struct sr_grpc_call *call)
{
    (void)ctx;
    sr_grpc_call_accept(call, &silent, NULL);
}

static const struct sr_grpc_method methods[] = {
    {"/a/Echo", open_echo, NULL}, {"/a/Fail", open_fail, NULL}, {"/a/Silent", open_silent, NULL}};

/* ---- the world ---- */

static void server_open(void)
{
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    int fd;
    assert_int_equal(sr_listen_open("127.0.0.1", port, 1, &fd, &port, NULL), SR_OK);
    assert_int_equal(sr_grpc_server_new(&server, loop, fd, NULL, &settings, methods, 3, NULL, NULL), SR_OK);
}

static void client_open(size_t answer_bytes)
{
    struct sr_grpc_client_options options = sr_grpc_client_options_defaults();
    struct sr_http2_header metadata = {SR_LIT("authorization"), SR_LIT("Bearer x")};
    options.host = "127.0.0.1";
    options.port = port;
    options.metadata = &metadata;
    options.metadata_count = 1;
    options.calls = 100;
    options.http2.answer_bytes = answer_bytes;
    assert_int_equal(sr_grpc_client_new(&client, loop, &options), SR_OK);
}

static int setup(void **state)
{
    (void)state;
    port = 0;
    opened = 0;
    assert_int_equal(sr_loop_new(&loop), SR_OK);
    server_open();
    client_open((size_t)64 << 20);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sr_grpc_client_free(client);
    sr_grpc_server_free(server);
    server = NULL;
    sr_loop_free(loop);
    return 0;
}

struct result {
    bool done;
    enum sr_grpc_status status;
    char why[256];
    struct sr_buf message;
    struct sr_grpc_unary *unary;
};

static size_t running;

static void on_done(void *ctx, const struct sr_grpc_reply *reply)
{
    struct result *result = ctx;
    assert_false(result->done);
    result->done = true;
    result->status = reply->status;
    snprintf(result->why, sizeof result->why, "%s", reply->why);
    sr_buf_init(&result->message, (size_t)64 << 20);
    if (reply->message.n)
        assert_int_equal(sr_buf_append_bytes(&result->message, reply->message), SR_OK);
    if (--running == 0)
        sr_loop_stop(loop);
}

static void start(struct result *result, const char *path, struct sr_bytes message, uint32_t timeout_ms)
{
    *result = (struct result){0};
    assert_int_equal(sr_grpc_client_call(&result->unary, client, path, message, timeout_ms, on_done, result),
                     SR_OK);
    running++;
}

static void run(void)
{
    if (running)
        sr_loop_run(loop);
}

static struct result ask(const char *path, struct sr_bytes message)
{
    static struct result result;
    start(&result, path, message, 60000);
    run();
    return result;
}

static void test_status(void **state)
{
    struct result r = ask("/a/Echo", SR_LIT("hello"));
    (void)state;
    assert_int_equal(r.status, SR_GRPC_OK);
    assert_true(sr_bytes_eq(sr_buf_view(&r.message), SR_LIT("hello")));
    assert_string_equal(r.why, "");
    assert_string_equal(seen_token, "Bearer x");
    sr_buf_dispose(&r.message);
    r = ask("/a/Echo", SR_LIT(""));
    assert_int_equal(r.status, SR_GRPC_OK);
    assert_int_equal(r.message.len, 0);
    r = ask("/a/Fail", SR_LIT("x"));
    assert_int_equal(r.status, SR_GRPC_FAILED_PRECONDITION);
    assert_string_equal(r.why, "caf\xc3\xa9 100%?");
    r = ask("/a/None", SR_LIT("x"));
    assert_int_equal(r.status, SR_GRPC_UNIMPLEMENTED);
}

static void test_large(void **state)
{
    size_t n = (size_t)20 << 20;
    char *bytes = calloc(1, n);
    struct result r;
    (void)state;
    bytes[n - 1] = 'e';
    r = ask("/a/Echo", sr_bytes_of(bytes, n));
    assert_int_equal(r.status, SR_GRPC_OK);
    assert_int_equal(r.message.len, n);
    assert_memory_equal(r.message.data, bytes, n);
    sr_buf_dispose(&r.message);
    sr_grpc_client_free(client);
    client_open(1000);
    r = ask("/a/Echo", sr_bytes_of(bytes, n));
    assert_int_equal(r.status, SR_GRPC_RESOURCE_EXHAUSTED);
    free(bytes);
}

static void test_many(void **state)
{
    struct result results[100], more;
    (void)state;
    for (size_t i = 0; i < 100; i++)
        start(&results[i], i % 2 ? "/a/Echo" : "/a/Fail", SR_LIT("abc"), 60000);
    assert_int_equal(sr_grpc_client_call(&more.unary, client, "/a/Echo", SR_LIT(""), 1, on_done, &more),
                     SR_EBUSY);
    run();
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(results[i].status, i % 2 ? SR_GRPC_OK : SR_GRPC_FAILED_PRECONDITION);
        sr_buf_dispose(&results[i].message);
    }
    assert_true(sr_grpc_server_connections(server) <= 2);
}

static void test_deadline_and_cancel(void **state)
{
    struct result late, gone, fine;
    (void)state;
    start(&late, "/a/Silent", SR_LIT("x"), 50);
    start(&gone, "/a/Silent", SR_LIT("x"), 60000);
    sr_grpc_unary_cancel(&gone.unary);
    running--;
    run();
    assert_true(late.done && !gone.done);
    assert_int_equal(late.status, SR_GRPC_DEADLINE_EXCEEDED);
    fine = ask("/a/Echo", SR_LIT("x"));
    assert_int_equal(fine.status, SR_GRPC_OK);
    sr_buf_dispose(&fine.message);
}

/* A server that goes away and comes back on its port; one that drains. */
static void test_connections(void **state)
{
    struct result r, open;
    (void)state;
    r = ask("/a/Echo", SR_LIT("x"));
    assert_int_equal(r.status, SR_GRPC_OK);
    sr_buf_dispose(&r.message);
    start(&open, "/a/Silent", SR_LIT("x"), 60000);
    start(&r, "/a/Echo", SR_LIT("x"), 60000);
    while (!r.done) {
        running = 1;
        run();
    }
    sr_buf_dispose(&r.message);
    sr_grpc_server_free(server);
    server = NULL;
    running = 1;
    run();
    assert_int_equal(open.status, SR_GRPC_UNAVAILABLE);
    r = ask("/a/Echo", SR_LIT("x"));
    assert_int_equal(r.status, SR_GRPC_UNAVAILABLE);
    server_open();
    r = ask("/a/Echo", SR_LIT("x"));
    assert_int_equal(r.status, SR_GRPC_OK);
    sr_buf_dispose(&r.message);
    sr_grpc_server_drain(server);
    r = ask("/a/Echo", SR_LIT("last")); /* on the connection that drains, or refused: answered */
    sr_buf_dispose(&r.message);
    sr_grpc_server_free(server);
    server_open();
    do {
        r = ask("/a/Echo", SR_LIT("x"));
        sr_buf_dispose(&r.message);
    } while (r.status == SR_GRPC_UNAVAILABLE);
    assert_int_equal(r.status, SR_GRPC_OK);
}

/* Certificates for 127.0.0.1 in a folder; the caller removes it. */
static void certificates_make(char *folder)
{
    char command[1000];
    assert_non_null(mkdtemp(folder));
    snprintf(
        command, sizeof command,
        "cd %s && exec 2>/dev/null && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
        " -keyout key.pem -out cert.pem -days 2 -subj /CN=self -addext subjectAltName=IP:127.0.0.1",
        folder);
    assert_int_equal(system(command), 0);
}

/* Over TLS with ALPN "h2"; a server whose certificate is not known is not spoken to. */
static void test_tls(void **state)
{
    char folder[] = "/tmp/sr-grpc-tls-XXXXXX", cert[64], key[64], command[64];
    struct sr_tls_settings of_server = {.server = true, .cert_file = cert, .key_file = key, .alpn = "h2"};
    struct sr_tls_settings of_client = {.ca_file = cert, .alpn = "h2"}, stranger = {.alpn = "h2"};
    struct sr_grpc_client_options options = sr_grpc_client_options_defaults();
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    sr_tls_context *server_tls, *known, *unknown;
    struct result r;
    int fd;
    (void)state;
    certificates_make(folder);
    snprintf(cert, sizeof cert, "%s/cert.pem", folder);
    snprintf(key, sizeof key, "%s/key.pem", folder);
    assert_int_equal(sr_tls_context_new(&server_tls, &of_server, NULL), SR_OK);
    assert_int_equal(sr_tls_context_new(&known, &of_client, NULL), SR_OK);
    assert_int_equal(sr_tls_context_new(&unknown, &stranger, NULL), SR_OK);
    sr_grpc_client_free(client);
    sr_grpc_server_free(server);
    port = 0;
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &port, NULL), SR_OK);
    assert_int_equal(sr_grpc_server_new(&server, loop, fd, server_tls, &settings, methods, 3, NULL, NULL),
                     SR_OK);
    options.host = "127.0.0.1";
    options.port = port;
    options.tls = unknown;
    assert_int_equal(sr_grpc_client_new(&client, loop, &options), SR_OK);
    r = ask("/a/Echo", SR_LIT("secret"));
    assert_int_equal(r.status, SR_GRPC_UNAVAILABLE);
    assert_int_equal(opened, 0);
    sr_grpc_client_free(client);
    options.tls = known;
    assert_int_equal(sr_grpc_client_new(&client, loop, &options), SR_OK);
    r = ask("/a/Echo", SR_LIT("secret"));
    assert_int_equal(r.status, SR_GRPC_OK);
    assert_true(sr_bytes_eq(sr_buf_view(&r.message), SR_LIT("secret")));
    sr_buf_dispose(&r.message);
    sr_tls_context_unref(server_tls);
    sr_tls_context_unref(known);
    sr_tls_context_unref(unknown);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void test_options(void **state)
{
    struct sr_grpc_client_options options = sr_grpc_client_options_defaults();
    struct sr_grpc_client *none;
    struct result r = {0};
    (void)state;
    assert_int_equal(sr_grpc_client_new(&none, loop, &options), SR_EINVAL);
    options.host = "127.0.0.1";
    options.connections = 0;
    assert_int_equal(sr_grpc_client_new(&none, loop, &options), SR_EINVAL);
    options.connections = 1;
    options.port = port;
    options.metadata = &(struct sr_http2_header){SR_LIT("authorization"), SR_LIT("two\nlines")};
    options.metadata_count = 1;
    assert_int_equal(sr_grpc_client_new(&none, loop, &options), SR_OK);
    assert_int_equal(sr_grpc_client_call(&r.unary, none, "/a/Echo", SR_LIT(""), 1000, on_done, &r),
                     SR_EINVAL);
    sr_grpc_client_free(none);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_status, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_and_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connections, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tls, setup, teardown),
        cmocka_unit_test_setup_teardown(test_options, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
