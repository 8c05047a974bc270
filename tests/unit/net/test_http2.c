/* HTTP/2 over real sockets: answers, flow control, limits, hostile peers, time limits, drain, TLS. */
#include "tests/unit/h2_client.h"

#include "net/http2/http2.h"

#include <unistd.h>

/* The test's handler: /echo sends back what comes; /early answers at once; /keep consumes nothing; /hold
 * leaves the stream to the test. */
struct world {
    struct sr_loop *loop;
    struct sr_http2_server *server;
    uint16_t port;
    size_t opened, bytes, ends, closed, writable;
    int why;
    uint32_t code;
    bool drained;
    struct sr_http2_stream *last;
    size_t header_count;
};

static struct world w;

static char path_of[32];

static void on_open(void *ctx, struct sr_http2_stream *stream, const struct sr_http2_head *head)
{
    assert_ptr_equal(ctx, &w);
    w.opened++;
    w.header_count = head->header_count;
    snprintf(path_of, sizeof path_of, "%.*s", (int)head->path.n, head->path.p);
    sr_http2_stream_set_ctx(stream, &w);
    w.last = stream;
    if (strcmp(path_of, "/echo") == 0) {
        assert_int_equal(sr_http2_stream_respond(stream, 200, NULL, 0, false), SR_OK);
    } else if (strcmp(path_of, "/early") == 0) {
        struct sr_bytes text = SR_LIT("early");
        struct sr_http2_header bad = {SR_LIT("connection"), SR_LIT("close")};
        struct sr_http2_header line = {SR_LIT("x-line"), SR_LIT("a\r\nb")};
        assert_int_equal(sr_http2_stream_write(stream, &text, 1), SR_EINVAL);
        assert_int_equal(sr_http2_stream_respond(stream, 200, &bad, 1, false), SR_EINVAL);
        assert_int_equal(sr_http2_stream_respond(stream, 200, &line, 1, false), SR_EINVAL);
        assert_int_equal(sr_http2_stream_respond(stream, 200, NULL, 0, false), SR_OK);
        assert_int_equal(sr_http2_stream_respond(stream, 200, NULL, 0, false), SR_EINVAL);
        assert_int_equal(sr_http2_stream_write(stream, &text, 1), SR_OK);
        assert_int_equal(sr_http2_stream_finish(stream, NULL, 0), SR_OK);
        assert_int_equal(sr_http2_stream_write(stream, &text, 1), SR_EINVAL);
    }
}

static void on_data(void *ctx, struct sr_http2_stream *stream, struct sr_bytes slice)
{
    (void)ctx;
    w.bytes += slice.n;
    if (strcmp(path_of, "/echo") == 0) {
        assert_int_equal(sr_http2_stream_write(stream, &slice, 1), SR_OK);
        sr_http2_stream_consume(stream, slice.n);
    }
}

static void on_end(void *ctx, struct sr_http2_stream *stream)
{
    struct sr_http2_header trailer = {SR_LIT("grpc-status"), SR_LIT("0")};
    (void)ctx;
    w.ends++;
    if (strcmp(path_of, "/echo") == 0)
        assert_int_equal(sr_http2_stream_finish(stream, &trailer, 1), SR_OK);
}

static void on_writable(void *ctx, struct sr_http2_stream *stream)
{
    (void)ctx, (void)stream;
    w.writable++;
}

static void on_closed(void *ctx, struct sr_http2_stream *stream, int why, uint32_t code)
{
    (void)ctx;
    w.closed++;
    w.why = why;
    w.code = code;
    if (w.last == stream)
        w.last = NULL;
}

static void on_drained(void *ctx)
{
    (void)ctx;
    w.drained = true;
}

static const struct sr_http2_handler handler = {.open = on_open,
                                                .data = on_data,
                                                .end = on_end,
                                                .writable = on_writable,
                                                .closed = on_closed,
                                                .drained = on_drained};

static void world_open(const struct sr_http2_settings *settings, sr_tls_context *tls)
{
    struct sr_http2_settings defaults = sr_http2_settings_defaults();
    int fd;
    w = (struct world){0};
    assert_int_equal(sr_loop_new(&w.loop), SR_OK);
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &w.port, NULL), SR_OK);
    assert_int_equal(
        sr_http2_server_new(&w.server, w.loop, fd, tls, settings ? settings : &defaults, &handler, &w),
        SR_OK);
}

static void world_close(void)
{
    sr_http2_server_free(w.server);
    sr_loop_free(w.loop);
}

/* ---- answers and flow control ---- */

static void test_echo(void **state)
{
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    world_open(NULL, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/echo", "x-one", "1");
    assert_int_equal(sr_buf_append(&stream.out, "hello", 5), SR_OK);
    h2_stream_finish(&stream);
    h2_stream_wait(&stream);
    assert_int_equal(stream.status, 200);
    assert_memory_equal(stream.in.data, "hello", 5);
    assert_int_equal(stream.grpc_status, 0);
    assert_int_equal(w.header_count, 3);
    assert_int_equal(w.why, SR_OK);
    assert_int_equal(sr_http2_server_streams(w.server), 0);
    h2_stream_dispose(&stream);
    h2_close(&client);
    world_close();
}

/* An answer before the request is complete asks the peer to stop; an aborted one resets. */
static void test_early_answer_and_reset(void **state)
{
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    world_open(NULL, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/early", NULL, NULL);
    h2_stream_wait(&stream);
    assert_true(stream.end);
    assert_int_equal(stream.code, NGHTTP2_NO_ERROR);
    assert_memory_equal(stream.in.data, "early", 5);
    assert_int_equal(w.why, SR_OK);
    h2_stream_dispose(&stream);
    h2_stream_begin(&stream, &client, "/hold", NULL, NULL);
    h2_run_to(w.loop, &w.opened, 2);
    sr_http2_stream_reset(w.last, SR_HTTP2_ENHANCE_YOUR_CALM);
    assert_int_equal(sr_http2_stream_respond(w.last, 200, NULL, 0, true), SR_ECLOSED);
    h2_stream_wait(&stream);
    assert_int_equal(stream.code, SR_HTTP2_ENHANCE_YOUR_CALM);
    assert_int_equal(w.closed, 2);
    assert_int_equal(w.why, SR_ELIMIT);
    h2_stream_dispose(&stream);
    h2_close(&client);
    world_close();
}

/* Windows open only for what was consumed, the connection's too, also when a stream ends unconsumed. */
static void test_windows(void **state)
{
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    struct h2_client client;
    struct h2_stream streams[4];
    char *bytes = calloc(1, 100000);
    (void)state;
    settings.stream_window = 70000;
    settings.connection_window = 150000;
    world_open(&settings, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    for (size_t i = 0; i < 3; i++) {
        h2_stream_begin(&streams[i], &client, "/keep", NULL, NULL);
        h2_run_to(w.loop, &w.opened, i + 1);
        assert_int_equal(sr_buf_append(&streams[i].out, bytes, 100000), SR_OK);
        h2_stream_push(&streams[i]);
        h2_settle(w.loop);
        assert_int_equal(w.bytes, i < 2 ? (i + 1) * 70000 : 150000);
    }
    for (size_t i = 0; i < 2; i++) {
        nghttp2_submit_rst_stream(client.session, 0, streams[i].id, NGHTTP2_CANCEL);
        h2_flush(&client);
    }
    h2_run_to(w.loop, &w.closed, 2);
    assert_int_equal(w.why, SR_ECANCELED);
    assert_int_equal(w.code, NGHTTP2_CANCEL);
    h2_run_to(w.loop, &w.bytes, 140000 + 70000);
    h2_settle(w.loop);
    assert_int_equal(w.bytes, 210000);
    sr_http2_stream_consume(w.last, 69000);
    h2_run_to(w.loop, &w.bytes, 240000);
    for (size_t i = 0; i < 3; i++)
        h2_stream_dispose(&streams[i]);
    free(bytes);
    h2_close(&client);
    world_close();
}

/* ---- limits and hostile peers ---- */

static void test_header_list(void **state)
{
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    struct h2_client client;
    struct h2_stream stream;
    char value[3000];
    (void)state;
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = 0;
    settings.header_list_bytes = 2000;
    world_open(&settings, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/echo", "x-long", value);
    h2_stream_wait(&stream);
    assert_int_equal(stream.status, 431);
    assert_int_equal(w.opened, 0);
    h2_stream_dispose(&stream);
    h2_stream_begin(&stream, &client, "/early", NULL, NULL);
    h2_stream_wait(&stream);
    assert_int_equal(stream.status, 200);
    h2_stream_dispose(&stream);
    h2_close(&client);
    world_close();
}

static void test_max_streams_and_connections(void **state)
{
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    struct h2_client client, second;
    struct h2_stream streams[8];
    (void)state;
    settings.max_streams = 5;
    settings.max_connections = 1;
    world_open(&settings, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    for (size_t i = 0; i < 8; i++)
        h2_stream_begin(&streams[i], &client, "/hold", NULL, NULL);
    h2_run_to(w.loop, &client.streams_closed, 3);
    assert_int_equal(w.opened, 5);
    for (size_t i = 5; i < 8; i++)
        assert_int_equal(streams[i].code, NGHTTP2_REFUSED_STREAM);
    h2_open(&second, w.loop, w.port, NULL, 1 << 20);
    h2_run(w.loop, h2_flag, &second.closed);
    assert_int_equal(sr_http2_server_connections(w.server), 1);
    h2_close(&client);
    h2_close(&second);
    h2_run_to(w.loop, &w.closed, 5);
    for (size_t i = 0; i < 8; i++)
        h2_stream_dispose(&streams[i]);
    world_close();
}

static bool nobody(void *ctx)
{
    (void)ctx;
    return sr_http2_server_connections(w.server) == 0;
}

/* A rapid reset: streams opened only to be reset. Resets after an answer, Envoy's way to end, cost nothing.
 */
static void test_reset_flood(void **state)
{
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    settings.resets_per_second = 1;
    world_open(&settings, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    for (size_t i = 0; i < 200; i++) {
        h2_stream_begin(&stream, &client, "/echo", NULL, NULL);
        h2_run_to(w.loop, &w.opened, i + 1);
        nghttp2_submit_rst_stream(client.session, 0, stream.id, NGHTTP2_INTERNAL_ERROR);
        h2_flush(&client);
        h2_stream_wait(&stream);
        h2_stream_dispose(&stream);
    }
    assert_false(client.goaway);
    for (size_t i = 0; i < 200 && !client.goaway; i++) {
        size_t opened = w.opened;
        h2_stream_begin(&stream, &client, "/hold", NULL, NULL);
        nghttp2_submit_rst_stream(client.session, 0, stream.id, NGHTTP2_CANCEL);
        h2_flush(&client);
        h2_settle(w.loop);
        assert_true(w.opened <= opened + 1);
        h2_stream_dispose(&stream);
    }
    h2_run(w.loop, h2_flag, &client.closed);
    assert_true(client.goaway);
    assert_int_equal(client.goaway_code, NGHTTP2_ENHANCE_YOUR_CALM);
    h2_run(w.loop, nobody, NULL);
    h2_close(&client);
    world_close();
}

#define PREFACE                        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define FRAME(length, type, flags, id) "\0" length type flags "\0\0\0" id

/* Bytes after which the server must close, each on a connection of its own; each part is repeated. */
static void test_hostile_bytes(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        size_t times;
    } cases[] = {
#define CASE(text, times) {text, sizeof text - 1, times}
        CASE("GET / HTTP/1.1\r\nhost: x\r\n\r\n", 1),
        CASE("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not a preface", 1),
        CASE("\xff\xff\xff\x00\x00\x00\x00\x00\x01", 1),                 /* a frame of 16 MiB */
        CASE(FRAME("\0\x08", "\x06", "\0", "\0") "12345678", 30000),     /* PING */
        CASE(FRAME("\0\0", "\x04", "\0", "\0"), 3000),                   /* SETTINGS */
        CASE(FRAME("\0\0", "\0", "\0", "\x01"), 60000),                  /* DATA on an idle stream */
        CASE(FRAME("\0\x01", "\x01", "\0", "\x01") "\x82", 1),           /* half a header block, twice */
        CASE(FRAME("\0\x04", "\x08", "\0", "\0") "\x7f\xff\xff\xff", 3), /* window over 2^31 */
        CASE(FRAME("\0\0", "\0", "\0", "\0"), 1),                        /* DATA on stream 0 */
        CASE(FRAME("\0\x04", "\x03", "\0", "\x09") "\0\0\0\x08", 1),     /* reset of an idle stream */
        CASE(FRAME("\0\x01", "\x09", "\x04", "\x01") "\x82", 1),         /* CONTINUATION of nothing */
        CASE(FRAME("\0\x01", "\x01", "\x04", "\x01") "\xff", 1),         /* broken HPACK */
        CASE(FRAME("\0\x06", "\x04", "\0", "\0") "\0\x04\xff\xff\xff\xff", 1), /* INITIAL_WINDOW_SIZE */
#undef CASE
    };
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    (void)state;
    settings.resets_per_second = 10;
    world_open(&settings, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct h2_client client;
        struct sr_buf bytes;
        h2_open_raw(&client, w.loop, w.port);
        sr_buf_init(&bytes, 16 << 20);
        if (i > 1)
            assert_int_equal(sr_buf_append(&bytes, PREFACE "\0\0\0\x04\0\0\0\0\0", 33), SR_OK);
        for (size_t t = 0; t < cases[i].times; t++)
            assert_int_equal(sr_buf_append(&bytes, cases[i].bytes, cases[i].n), SR_OK);
        if (cases[i].bytes[3] == 1 && cases[i].bytes[4] == 0)
            assert_int_equal(sr_buf_append(&bytes, cases[i].bytes, cases[i].n), SR_OK);
        h2_write(&client, bytes.data, bytes.len);
        h2_run(w.loop, h2_flag, &client.closed);
        h2_run(w.loop, nobody, NULL);
        sr_buf_dispose(&bytes);
        h2_close(&client);
    }
    assert_int_equal(w.opened, 0);
    world_close();
}

/* ---- time ---- */

/* Who says nothing, or half a preface, or does not answer the PING, is closed. */
static void test_silence(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {{"", 0}, {PREFACE, 10}, {PREFACE, 24}, {PREFACE "\0\0\0\x04\0\0\0\0\0", 33}};
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    (void)state;
    settings.handshake_timeout_ms = 50;
    settings.ping_interval_ms = 50;
    settings.ping_timeout_ms = 50;
    world_open(&settings, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct h2_client client;
        h2_open_raw(&client, w.loop, w.port);
        h2_write(&client, cases[i].bytes, cases[i].n);
        h2_run(w.loop, h2_flag, &client.closed);
        h2_close(&client);
    }
    world_close();
}

/* A client that answers PINGs stays, and one without a stream is sent away when that is asked for. */
static void test_ping_and_idle(void **state)
{
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    settings.ping_interval_ms = 20;
    settings.ping_timeout_ms = 30000;
    world_open(&settings, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    h2_run_to(w.loop, &client.pings, 3);
    assert_false(client.closed);
    h2_close(&client);
    h2_run(w.loop, nobody, NULL);
    settings.idle_timeout_ms = 60;
    sr_http2_server_set(w.server, &settings);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/hold", NULL, NULL);
    h2_run_to(w.loop, &client.pings, 8);
    assert_false(client.goaway);
    assert_int_equal(sr_http2_stream_respond(w.last, 204, NULL, 0, true), SR_OK);
    h2_run(w.loop, h2_flag, &client.closed);
    assert_true(client.goaway);
    assert_int_equal(client.goaway_code, NGHTTP2_NO_ERROR);
    h2_stream_dispose(&stream);
    h2_close(&client);
    world_close();
}

/* A finished answer that the peer's window never lets out is reset; a socket that takes nothing is closed. */
static void test_peer_takes_nothing(void **state)
{
    struct sr_http2_settings settings = sr_http2_settings_defaults();
    char *bytes = calloc(1, 1 << 20);
    struct sr_bytes megabyte = {bytes, 1 << 20};
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    settings.write_timeout_ms = 100;
    world_open(&settings, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 16);
    client.hold = true;
    h2_stream_begin(&stream, &client, "/hold", NULL, NULL);
    h2_run_to(w.loop, &w.opened, 1);
    assert_int_equal(sr_http2_stream_respond(w.last, 200, NULL, 0, false), SR_OK);
    assert_int_equal(sr_http2_stream_write(w.last, &megabyte, 1), SR_OK);
    assert_int_equal(sr_http2_stream_finish(w.last, NULL, 0), SR_OK);
    h2_stream_wait(&stream);
    assert_int_equal(stream.code, NGHTTP2_CANCEL);
    h2_stream_dispose(&stream);
    h2_close(&client);
    h2_run(w.loop, nobody, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 30);
    h2_stream_begin(&stream, &client, "/hold", NULL, NULL);
    h2_run_to(w.loop, &w.opened, 2);
    sr_conn_pause(client.conn);
    assert_int_equal(sr_http2_stream_respond(w.last, 200, NULL, 0, false), SR_OK);
    for (size_t i = 0; i < 40; i++)
        assert_int_equal(sr_http2_stream_write(w.last, &megabyte, 1), SR_OK);
    h2_run(w.loop, nobody, NULL);
    assert_int_equal(w.why, SR_ECLOSED);
    free(bytes);
    h2_stream_dispose(&stream);
    h2_close(&client);
    world_close();
}

static void test_drain(void **state)
{
    struct h2_client idle, silent, busy;
    struct h2_stream stream;
    (void)state;
    world_open(NULL, NULL);
    h2_open(&idle, w.loop, w.port, NULL, 1 << 20);
    h2_open(&busy, w.loop, w.port, NULL, 1 << 20);
    h2_open_raw(&silent, w.loop, w.port);
    h2_stream_begin(&stream, &busy, "/echo", NULL, NULL);
    h2_run_to(w.loop, &w.opened, 1);
    h2_run_to(w.loop, &idle.settings, 2);
    sr_http2_server_drain(w.server);
    h2_run(w.loop, h2_flag, &idle.closed);
    assert_int_equal(idle.goaway_code, NGHTTP2_NO_ERROR);
    assert_true(busy.goaway);
    assert_false(w.drained);
    assert_int_equal(sr_buf_append(&stream.out, "last", 4), SR_OK);
    h2_stream_finish(&stream);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    h2_run(w.loop, h2_flag, &silent.closed);
    h2_run(w.loop, h2_flag, &w.drained);
    h2_stream_dispose(&stream);
    h2_close(&idle);
    h2_close(&busy);
    h2_close(&silent);
    world_close();
}

/* The server is freed with streams that run: each is told once. */
static void test_free_with_streams(void **state)
{
    struct h2_client client;
    struct h2_stream streams[3];
    (void)state;
    world_open(NULL, NULL);
    h2_open(&client, w.loop, w.port, NULL, 1 << 20);
    for (size_t i = 0; i < 3; i++)
        h2_stream_begin(&streams[i], &client, "/hold", NULL, NULL);
    h2_run_to(w.loop, &w.opened, 3);
    sr_http2_server_free(w.server);
    w.server = NULL;
    assert_int_equal(w.closed, 3);
    assert_int_equal(w.why, SR_ECLOSED);
    h2_close(&client);
    for (size_t i = 0; i < 3; i++)
        h2_stream_dispose(&streams[i]);
    world_close();
}

/* ---- TLS ---- */

static char folder[] = "/tmp/sr-http2-XXXXXX";

static int make_certificate(void **state)
{
    char command[600];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command,
             "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem"
             " -out cert.pem -days 2 -subj /CN=self -addext subjectAltName=IP:127.0.0.1 2>/dev/null",
             folder);
    return system(command);
}

static int remove_certificate(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static sr_tls_context *context_of(bool server, const char *alpn, bool cert, bool ca)
{
    char cert_file[64], key_file[64];
    struct sr_tls_settings settings = {.server = server, .alpn = alpn};
    sr_tls_context *context;
    snprintf(cert_file, sizeof cert_file, "%s/cert.pem", folder);
    snprintf(key_file, sizeof key_file, "%s/key.pem", folder);
    settings.cert_file = cert ? cert_file : NULL;
    settings.key_file = cert ? key_file : NULL;
    settings.ca_file = ca ? cert_file : NULL;
    assert_int_equal(sr_tls_context_new(&context, &settings, NULL), SR_OK);
    return context;
}

/* h2 by ALPN with a client certificate works; another protocol, or no certificate, is refused. */
static void test_tls(void **state)
{
    sr_tls_context *server = context_of(true, "h2", true, true);
    sr_tls_context *good = context_of(false, "h2", true, true);
    sr_tls_context *others[] = {context_of(false, "http/1.1", true, true),
                                context_of(false, "h2", false, true)};
    char *bytes = calloc(1, 3 << 20);
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    world_open(NULL, server);
    h2_open(&client, w.loop, w.port, good, 1 << 20);
    h2_stream_begin(&stream, &client, "/echo", NULL, NULL);
    assert_int_equal(sr_buf_append(&stream.out, bytes, 3 << 20), SR_OK);
    h2_stream_finish(&stream);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    assert_int_equal(stream.in_total, 3 << 20);
    h2_stream_dispose(&stream);
    h2_close(&client);
    for (size_t i = 0; i < 2; i++) {
        h2_open(&client, w.loop, w.port, others[i], 1 << 20);
        h2_run(w.loop, h2_flag, &client.closed);
        assert_int_equal(w.opened, 1);
        h2_close(&client);
        sr_tls_context_unref(others[i]);
    }
    world_close();
    free(bytes);
    sr_tls_context_unref(server);
    sr_tls_context_unref(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_echo),
        cmocka_unit_test(test_early_answer_and_reset),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_header_list),
        cmocka_unit_test(test_max_streams_and_connections),
        cmocka_unit_test(test_reset_flood),
        cmocka_unit_test(test_hostile_bytes),
        cmocka_unit_test(test_silence),
        cmocka_unit_test(test_ping_and_idle),
        cmocka_unit_test(test_peer_takes_nothing),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_free_with_streams),
        cmocka_unit_test_setup_teardown(test_tls, make_certificate, remove_certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
