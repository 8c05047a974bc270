/* gRPC over real sockets: echo of ProcessingRequest, framing, status, deadlines, back-pressure, health. */
#include "tests/unit/h2_client.h"

#include "net/grpc/grpc.h"
#include "net/grpc/health.h"
#include "net/grpc/protobuf_arena.h"

#include <ext_proc.pb-c.h>
#include <health.pb-c.h>

#define PROCESS "/envoy.service.ext_proc.v3.ExternalProcessor/Process"

typedef Envoy__Service__ExtProc__V3__ProcessingRequest processing_request;

/* The test's service. What a call does depends on its method. */
struct service {
    struct sr_loop *loop;
    struct sr_grpc_server *server;
    struct sr_grpc_health *health;
    struct sr_grpc_method methods[5];
    uint16_t port;
    size_t opened, messages, bytes, half_closed, closed, writable;
    size_t longest;
    int why;
    bool drained;
    struct sr_grpc_call *last; /* the call that is left to the test */
    char metadata[64];
};

static struct service the;

static void echo_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    struct service *s = ctx;
    s->messages++;
    s->bytes += message.n;
    s->longest = message.n > s->longest ? message.n : s->longest;
    assert_int_equal(sr_grpc_call_send(call, &message, 1), SR_OK);
}

static void any_half_closed(void *ctx, struct sr_grpc_call *call)
{
    struct service *s = ctx;
    s->half_closed++;
    if (s->last != call)
        sr_grpc_call_finish(call, SR_GRPC_OK, NULL);
}

static void any_writable(void *ctx, struct sr_grpc_call *call)
{
    (void)call;
    ((struct service *)ctx)->writable++;
}

static void any_closed(void *ctx, struct sr_grpc_call *call, int why)
{
    struct service *s = ctx;
    s->closed++;
    s->why = why;
    if (s->last == call)
        s->last = NULL;
}

static const struct sr_grpc_call_events echo_events = {
    .message = echo_message, .half_closed = any_half_closed, .writable = any_writable, .closed = any_closed};

static void echo_open(void *ctx, struct sr_grpc_call *call)
{
    struct service *s = ctx;
    struct sr_bytes value = sr_grpc_call_metadata(call, "x-test");
    s->opened++;
    snprintf(s->metadata, sizeof s->metadata, "%.*s", (int)value.n, value.n ? value.p : "");
    sr_grpc_call_accept(call, &echo_events, s);
}

/* Decodes every request and encodes it again. */
static void process_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    ProtobufCMessage *request;
    struct sr_arena arena;
    struct sr_bytes packed;
    sr_arena_init(&arena, (size_t)64 << 20);
    assert_int_equal(sr_protobuf_unpack(&request,
                                        &envoy__service__ext_proc__v3__processing_request__descriptor, &arena,
                                        message),
                     SR_OK);
    packed = sr_protobuf_pack(request, &arena);
    assert_non_null(packed.p);
    echo_message(ctx, call, packed);
    sr_arena_dispose(&arena);
}

static const struct sr_grpc_call_events process_events = {
    .message = process_message, .half_closed = any_half_closed, .closed = any_closed};

static void process_open(void *ctx, struct sr_grpc_call *call)
{
    sr_grpc_call_accept(call, &process_events, ctx);
}

static void hold_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    struct service *s = ctx;
    (void)call;
    s->messages++;
    s->bytes += message.n;
}

static const struct sr_grpc_call_events hold_events = {
    .message = hold_message, .half_closed = any_half_closed, .writable = any_writable, .closed = any_closed};

static void hold_open(void *ctx, struct sr_grpc_call *call)
{
    struct service *s = ctx;
    s->opened++;
    s->last = call;
    sr_grpc_call_accept(call, &hold_events, s);
}

static void refuse_open(void *ctx, struct sr_grpc_call *call)
{
    (void)ctx;
    sr_grpc_call_finish(call, SR_GRPC_PERMISSION_DENIED, "no: 100% sure, \xc3\xa9\n");
}

static void on_drained(void *ctx)
{
    ((struct service *)ctx)->drained = true;
}

static void service_open(const struct sr_grpc_settings *settings, sr_tls_context *tls)
{
    static const char *const names[] = {"envoy.service.ext_proc.v3.ExternalProcessor"};
    struct sr_grpc_settings defaults = sr_grpc_settings_defaults();
    int fd;
    the = (struct service){0};
    assert_int_equal(sr_loop_new(&the.loop), SR_OK);
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &the.port, NULL), SR_OK);
    assert_int_equal(sr_grpc_health_new(&the.health, names, 1), SR_OK);
    the.methods[0] = (struct sr_grpc_method){PROCESS, process_open, &the};
    the.methods[1] = (struct sr_grpc_method){"/test.Test/Echo", echo_open, &the};
    the.methods[2] = (struct sr_grpc_method){"/test.Test/Hold", hold_open, &the};
    sr_grpc_health_methods(the.health, the.methods + 3);
    assert_int_equal(sr_grpc_server_new(&the.server, the.loop, fd, tls, settings ? settings : &defaults,
                                        the.methods, 5, on_drained, &the),
                     SR_OK);
}

static void service_close(void)
{
    sr_grpc_server_free(the.server);
    sr_grpc_health_free(the.health);
    sr_loop_free(the.loop);
}

static char *random_bytes(size_t n)
{
    char *p = malloc(n ? n : 1);
    uint32_t x = 12345;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = (char)(x >> 24);
    }
    return p;
}

/* ---- tests ---- */

/* An envoy-like first message comes back with everything that the .proto knows, and without what it does not.
 */
static void test_processing_request_comes_back(void **state)
{
    Envoy__Service__ExtProc__V3__ProcessingRequest request =
        ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__INIT;
    Envoy__Service__ExtProc__V3__HttpHeaders headers = ENVOY__SERVICE__EXT_PROC__V3__HTTP_HEADERS__INIT;
    Envoy__Service__ExtProc__V3__HeaderMap map = ENVOY__SERVICE__EXT_PROC__V3__HEADER_MAP__INIT;
    Envoy__Service__ExtProc__V3__HeaderValue value = ENVOY__SERVICE__EXT_PROC__V3__HEADER_VALUE__INIT;
    Envoy__Service__ExtProc__V3__HeaderValue *values[1] = {&value};
    Envoy__Service__ExtProc__V3__ProtocolConfiguration config =
        ENVOY__SERVICE__EXT_PROC__V3__PROTOCOL_CONFIGURATION__INIT;
    static const char unknown[] = "\xfa\x3f\x03xyz"; /* field 127, length 3 */
    uint8_t packed[512];
    struct h2_client client;
    struct h2_stream stream;
    size_t n;
    (void)state;
    value.key = (char *)":path";
    value.raw_value = (ProtobufCBinaryData){4, (uint8_t *)"/v1\xff"};
    map.n_headers = 1;
    map.headers = values;
    headers.headers = &map;
    headers.end_of_stream = 1;
    config.request_body_mode = ENVOY__SERVICE__EXT_PROC__V3__BODY_SEND_MODE__FULL_DUPLEX_STREAMED;
    request.request_case = ENVOY__SERVICE__EXT_PROC__V3__PROCESSING_REQUEST__REQUEST_REQUEST_HEADERS;
    request.request_headers = &headers;
    request.protocol_config = &config;
    n = envoy__service__ext_proc__v3__processing_request__pack(&request, packed);
    memcpy(packed + n, unknown, sizeof unknown - 1);

    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, PROCESS, NULL, NULL);
    h2_stream_message(&stream, 0, packed, n + sizeof unknown - 1);
    /* The library keeps unknown fields and writes them again behind the known ones. */
    h2_run_to(the.loop, &stream.in_total, 5 + n + sizeof unknown - 1);
    assert_int_equal(stream.status, 200);
    assert_memory_equal(stream.in.data + 5, packed, n);
    h2_stream_finish(&stream);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    assert_int_equal(stream.code, 0);
    assert_int_equal(the.why, SR_OK);
    h2_stream_dispose(&stream);
    h2_close(&client);
    service_close();
}

/* Messages of every size, cut into DATA frames of every length. */
static void test_any_split(void **state)
{
    static const size_t sizes[] = {0, 1, 4, 5, 6, 63, 1000, 0, 16384, 16379};
    static const size_t pieces[] = {1, 2, 3, 4, 5, 6, 7, 11, 64, 1000, 16383, 0};
    char *bytes = random_bytes(1 << 16);
    struct h2_client client;
    (void)state;
    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    for (size_t p = 0; p < sizeof pieces / sizeof *pieces; p++) {
        struct h2_stream stream;
        size_t at = 0, limit = pieces[p] && pieces[p] < 16 ? 8 : 10;
        h2_stream_begin(&stream, &client, "/test.Test/Echo", "x-test", "yes");
        stream.piece = pieces[p];
        for (size_t i = 0; i < limit; i++)
            h2_stream_message(&stream, 0, bytes + i, sizes[i]);
        h2_stream_finish(&stream);
        h2_stream_wait(&stream);
        assert_int_equal(stream.grpc_status, 0);
        for (size_t i = 0; i < limit; i++) {
            const unsigned char *got = (const unsigned char *)stream.in.data + at;
            assert_true(at + 5 + sizes[i] <= stream.in.len);
            assert_int_equal((size_t)got[3] << 8 | got[4], sizes[i]);
            assert_memory_equal(got + 5, bytes + i, sizes[i]);
            at += 5 + sizes[i];
        }
        assert_int_equal(at, stream.in.len);
        h2_stream_dispose(&stream);
    }
    assert_string_equal(the.metadata, "yes");
    free(bytes);
    h2_close(&client);
    service_close();
}

/* Far over both windows and what the socket takes at once, both ways. */
static void test_huge_message(void **state)
{
    size_t n = (size_t)20 << 20;
    char *bytes = random_bytes(n);
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 16);
    h2_stream_begin(&stream, &client, "/test.Test/Echo", NULL, NULL);
    h2_stream_message(&stream, 0, bytes, n);
    h2_stream_finish(&stream);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    assert_int_equal(stream.in.len, n + 5);
    assert_memory_equal(stream.in.data + 5, bytes, n);
    h2_stream_dispose(&stream);
    h2_close(&client);
    free(bytes);
    service_close();
}

/* What goes wrong inside one call ends that call with a status, and no other. */
static void test_statuses(void **state)
{
    static const struct {
        const char *path, *name, *value;
        int flag;
        size_t announced; /* 0: no message */
        bool cut;         /* end the stream inside the message */
        int http, status, why;
        const char *message;
    } cases[] = {
        {"/test.Test/None", NULL, NULL, 0, 0, false, 200, 12, 0, "unknown method"},
        {"/test.Test/Echo", NULL, NULL, 1, 4, false, 200, 12, SR_EUNSUPPORTED,
         "compressed messages are not supported"},
        {"/test.Test/Echo", NULL, NULL, 7, 4, false, 200, 13, SR_EPROTO, "broken message prefix"},
        {"/test.Test/Echo", NULL, NULL, 0, 100000, false, 200, 8, SR_ELIMIT,
         "message of 100000 bytes is over the limit of 65536"},
        {"/test.Test/Echo", NULL, NULL, 0, 9, true, 200, 13, SR_EPROTO, "the stream ended inside a message"},
        {"/test.Test/Refuse", NULL, NULL, 0, 0, false, 200, 7, 0, "no: 100%25 sure, %C3%A9%0A"},
        {"/test.Test/Echo", "grpc-timeout", "12", 0, 0, false, 200, 13, 0, "malformed grpc-timeout"},
        {"/test.Test/Echo", "grpc-timeout", "1x", 0, 0, false, 200, 13, 0, "malformed grpc-timeout"},
        {"/test.Test/Hold", "grpc-timeout", "1m", 0, 0, false, 200, 4, SR_ETIMEOUT, "deadline exceeded"},
        {"/test.Test/Hold", "grpc-timeout", "900000u", 0, 0, false, 200, 4, SR_ETIMEOUT, "deadline exceeded"},
    };
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    struct h2_client client;
    struct h2_stream good;
    size_t closed;
    (void)state;
    settings.message_bytes = 65536;
    settings.deadline_ms = 60000;
    service_open(&settings, NULL);
    the.methods[0] = (struct sr_grpc_method){"/test.Test/Refuse", refuse_open, &the};
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    h2_stream_begin(&good, &client, "/test.Test/Echo", NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct h2_stream stream;
        closed = the.closed;
        h2_stream_begin(&stream, &client, cases[i].path, cases[i].name, cases[i].value);
        if (cases[i].announced) {
            const unsigned char prefix[6] = {
                (unsigned char)cases[i].flag, 0, (unsigned char)(cases[i].announced >> 16),
                (unsigned char)(cases[i].announced >> 8), (unsigned char)cases[i].announced};
            assert_int_equal(sr_buf_append(&stream.out, prefix, sizeof prefix), SR_OK);
            h2_stream_push(&stream);
        }
        if (cases[i].cut)
            h2_stream_finish(&stream);
        h2_stream_wait(&stream);
        assert_int_equal(stream.status, cases[i].http);
        assert_int_equal(stream.grpc_status, cases[i].status);
        assert_string_equal(stream.grpc_message, cases[i].message);
        if (cases[i].why) {
            h2_run_to(the.loop, &the.closed, closed + 1);
            assert_int_equal(the.why, cases[i].why);
        }
        h2_stream_dispose(&stream);
    }
    h2_stream_message(&good, 0, "alive", 5);
    h2_run_to(the.loop, &good.in_total, 10);
    assert_memory_equal(good.in.data + 5, "alive", 5);
    h2_stream_dispose(&good);
    h2_close(&client);
    service_close();
}

/* The peer's reset, and the loss of its connection, end calls; nothing is answered. */
static void test_reset_and_loss(void **state)
{
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/test.Test/Hold", NULL, NULL);
    h2_run_to(the.loop, &the.opened, 1);
    nghttp2_submit_rst_stream(client.session, 0, stream.id, NGHTTP2_INTERNAL_ERROR);
    h2_flush(&client);
    h2_run_to(the.loop, &the.closed, 1);
    assert_int_equal(the.why, SR_ECANCELED);
    h2_stream_dispose(&stream);
    h2_stream_begin(&stream, &client, "/test.Test/Hold", NULL, NULL);
    h2_run_to(the.loop, &the.opened, 2);
    h2_close(&client);
    h2_run_to(the.loop, &the.closed, 2);
    assert_int_equal(the.why, SR_ECLOSED);
    assert_int_equal(sr_grpc_server_calls(the.server), 0);
    h2_stream_dispose(&stream);
    service_close();
}

/* A paused call takes no more than its window from the peer, and all of it afterwards, in order. */
static void test_pause(void **state)
{
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    size_t n = 300000, count = 20;
    char *bytes = random_bytes(n);
    struct h2_client client;
    struct h2_stream stream, other;
    (void)state;
    settings.http2.stream_window = 1 << 17;
    service_open(&settings, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/test.Test/Hold", NULL, NULL);
    h2_run_to(the.loop, &the.opened, 1);
    sr_grpc_call_pause(the.last);
    for (size_t i = 0; i < count; i++)
        h2_stream_message(&stream, 0, bytes, n);
    h2_stream_finish(&stream);
    /* Another call of the connection is not held up. */
    h2_stream_begin(&other, &client, "/test.Test/Echo", NULL, NULL);
    h2_stream_message(&other, 0, bytes, n);
    h2_run_to(the.loop, &other.in_total, n + 5);
    h2_settle(the.loop);
    assert_int_equal(the.messages, 1);
    assert_int_equal(the.half_closed, 0);
    assert_int_equal(stream.out.len, count * (n + 5) - settings.http2.stream_window);
    sr_grpc_call_resume(the.last);
    h2_run_to(the.loop, &the.half_closed, 1);
    assert_int_equal(the.messages, 1 + count);
    assert_int_equal(the.bytes, (1 + count) * n);
    sr_grpc_call_finish(the.last, SR_GRPC_OK, NULL);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    h2_stream_dispose(&stream);
    h2_stream_dispose(&other);
    free(bytes);
    h2_close(&client);
    service_close();
}

/* A peer that does not read: what is sent waits, up to the limit, and `writable` comes when it is gone. */
static void test_slow_reader(void **state)
{
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    char *bytes = random_bytes(100000);
    struct sr_bytes message = {bytes, 100000};
    struct h2_client client;
    struct h2_stream stream;
    size_t sent = 0;
    int rc;
    (void)state;
    settings.http2.send_bytes = 1 << 20;
    service_open(&settings, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 16);
    client.hold = true;
    h2_stream_begin(&stream, &client, "/test.Test/Hold", NULL, NULL);
    h2_run_to(the.loop, &the.opened, 1);
    while ((rc = sr_grpc_call_send(the.last, &message, 1)) == SR_OK)
        sent++;
    assert_int_equal(rc, SR_ELIMIT);
    assert_int_equal(sent, 10);
    h2_run_to(the.loop, &stream.in_total, 65535);
    h2_settle(the.loop);
    assert_true(sr_grpc_call_queued(the.last) >= sent * 100005 - 65536);
    assert_int_equal(the.writable, 0);
    client.hold = false;
    h2_stream_consume(&stream, stream.in_total);
    h2_run_to(the.loop, &the.writable, 1);
    h2_run_to(the.loop, &stream.in_total, sent * 100005);
    sr_grpc_call_finish(the.last, SR_GRPC_OK, NULL);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    assert_int_equal(the.why, SR_OK);
    h2_stream_dispose(&stream);
    free(bytes);
    h2_close(&client);
    service_close();
}

/* Hostile: many calls announce large messages and send little of them. Memory follows what came. */
static void test_announced_memory(void **state)
{
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    struct h2_stream *streams = calloc(200, sizeof *streams);
    char *bytes = random_bytes(60000);
    struct h2_client client;
    size_t refused = 0;
    (void)state;
    settings.assembly_bytes = 1 << 20;
    service_open(&settings, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    for (size_t i = 0; i < 200; i++) {
        static const unsigned char prefix[5] = {0, 3, 0, 0, 0};
        h2_stream_begin(&streams[i], &client, "/test.Test/Echo", NULL, NULL);
        assert_int_equal(sr_buf_append(&streams[i].out, prefix, 5), SR_OK);
        assert_int_equal(sr_buf_append(&streams[i].out, bytes, i < 100 ? 1 : 60000), SR_OK);
        h2_stream_push(&streams[i]);
    }
    h2_run_to(the.loop, &client.streams_closed, 80);
    h2_settle(the.loop);
    for (size_t i = 0; i < 200; i++)
        refused += streams[i].grpc_status == SR_GRPC_RESOURCE_EXHAUSTED;
    assert_true(refused >= 80 && refused < 100);
    for (size_t i = 0; i < 100; i++)
        assert_false(streams[i].closed);
    h2_close(&client);
    h2_run_to(the.loop, &the.closed, 200);
    for (size_t i = 0; i < 200; i++)
        h2_stream_dispose(&streams[i]);
    free(streams);
    free(bytes);
    service_close();
}

static void test_drain(void **state)
{
    struct h2_client client;
    struct h2_stream stream;
    (void)state;
    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    h2_stream_begin(&stream, &client, "/test.Test/Hold", NULL, NULL);
    h2_run_to(the.loop, &the.opened, 1);
    sr_grpc_server_drain(the.server);
    h2_run(the.loop, h2_flag, &client.goaway);
    h2_settle(the.loop);
    assert_false(the.drained);
    h2_stream_message(&stream, 0, "late", 4);
    h2_run_to(the.loop, &the.messages, 1);
    sr_grpc_call_finish(the.last, SR_GRPC_OK, NULL);
    h2_run(the.loop, h2_flag, &the.drained);
    h2_stream_wait(&stream);
    assert_int_equal(stream.grpc_status, 0);
    assert_int_equal(the.why, SR_OK);
    assert_int_equal(sr_grpc_server_connections(the.server), 0);
    h2_stream_dispose(&stream);
    h2_close(&client);
    service_close();
}

static int health_status(const struct h2_stream *stream, size_t nth)
{
    const unsigned char *p = (const unsigned char *)stream->in.data;
    for (; nth; nth--)
        p += 5 + p[4];
    return p[4] ? p[6] : 0; /* field 1, a varint below 128 */
}

static void test_health(void **state)
{
    static const char service[] = "\x0a\x2b"
                                  "envoy.service.ext_proc.v3.ExternalProcessor";
    struct h2_client client;
    struct h2_stream check, unknown, watch, watch_unknown;
    (void)state;
    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 20);
    h2_stream_begin(&check, &client, "/grpc.health.v1.Health/Check", NULL, NULL);
    h2_stream_message(&check, 0, service, sizeof service - 1);
    h2_stream_finish(&check);
    h2_stream_wait(&check);
    assert_int_equal(check.grpc_status, 0);
    assert_int_equal(health_status(&check, 0), SR_GRPC_HEALTH_SERVING);
    h2_stream_begin(&unknown, &client, "/grpc.health.v1.Health/Check", NULL, NULL);
    h2_stream_message(&unknown, 0, "\x0a\x01x", 3);
    h2_stream_wait(&unknown);
    assert_int_equal(unknown.grpc_status, SR_GRPC_NOT_FOUND);
    h2_stream_begin(&watch, &client, "/grpc.health.v1.Health/Watch", NULL, NULL);
    h2_stream_message(&watch, 0, "", 0);
    h2_run_to(the.loop, &watch.in_total, 7);
    h2_stream_begin(&watch_unknown, &client, "/grpc.health.v1.Health/Watch", NULL, NULL);
    h2_stream_message(&watch_unknown, 0, "\x0a\x01x", 3);
    h2_run_to(the.loop, &watch_unknown.in_total, 7);
    assert_int_equal(health_status(&watch_unknown, 0), SR_GRPC_HEALTH_SERVICE_UNKNOWN);
    sr_grpc_health_set(the.health, SR_GRPC_HEALTH_NOT_SERVING, false);
    h2_run_to(the.loop, &watch.in_total, 14);
    assert_int_equal(health_status(&watch, 0), SR_GRPC_HEALTH_SERVING);
    assert_int_equal(health_status(&watch, 1), SR_GRPC_HEALTH_NOT_SERVING);
    sr_grpc_health_set(the.health, SR_GRPC_HEALTH_NOT_SERVING, true);
    h2_stream_wait(&watch);
    h2_stream_wait(&watch_unknown);
    assert_int_equal(watch.grpc_status, SR_GRPC_UNAVAILABLE);
    h2_stream_dispose(&check);
    h2_stream_dispose(&unknown);
    h2_stream_dispose(&watch);
    h2_stream_dispose(&watch_unknown);
    h2_close(&client);
    service_close();
}

/* 10,000 calls of one connection at a time; the memory of an idle one is small. */
static void test_many_calls(void **state)
{
    enum { CALLS = 10000 };
    struct h2_stream *streams = calloc(CALLS, sizeof *streams);
    struct h2_client client;
    (void)state;
    service_open(NULL, NULL);
    h2_open(&client, the.loop, the.port, NULL, 1 << 24);
    for (size_t i = 0; i < CALLS; i++)
        h2_stream_begin(&streams[i], &client, "/test.Test/Echo", NULL, NULL);
    h2_run_to(the.loop, &the.opened, CALLS);
    assert_int_equal(sr_grpc_server_calls(the.server), CALLS);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < CALLS; i++)
            h2_stream_message(&streams[CALLS - 1 - i], 0, &i, sizeof i);
    for (size_t i = 0; i < CALLS; i++)
        h2_stream_finish(&streams[i]);
    h2_run_to(the.loop, &client.streams_closed, CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        size_t want = CALLS - 1 - i;
        assert_int_equal(streams[i].grpc_status, 0);
        assert_int_equal(streams[i].in.len, 2 * (5 + sizeof want));
        assert_memory_equal(streams[i].in.data + 5, &want, sizeof want);
        h2_stream_dispose(&streams[i]);
    }
    assert_int_equal(the.messages, 2 * CALLS);
    assert_int_equal(sr_grpc_server_calls(the.server), 0);
    free(streams);
    h2_close(&client);
    service_close();
}

/* Deep nesting is refused before the library recurses into it, cut bytes too. */
static void test_protobuf_depth(void **state)
{
    const ProtobufCMessageDescriptor *type = &envoy__service__ext_proc__v3__value__descriptor;
    char bytes[4096];
    size_t n = 0;
    struct sr_arena arena;
    ProtobufCMessage *out;
    (void)state;
    sr_arena_init(&arena, 1 << 20);
    /* Value{list_value{values{Value ...}}}, from the inside out. */
    for (unsigned depth = 0; depth < 70; depth++) {
        char head[8];
        size_t h = 0;
        head[h++] = depth % 2 ? 0x0a : 0x32;
        if (n > 127) {
            head[h++] = (char)(n | 128);
            head[h++] = (char)(n >> 7);
        } else {
            head[h++] = (char)n;
        }
        memmove(bytes + h, bytes, n);
        memcpy(bytes, head, h);
        n += h;
        if (depth % 2 == 0)
            assert_int_equal(sr_protobuf_unpack(&out, type, &arena, sr_bytes_of(bytes, n)),
                             depth + 2 <= 64 ? SR_OK : SR_EPARSE);
    }
    assert_int_equal(sr_protobuf_unpack(&out, type, &arena, SR_LIT("\x32\x05\x0a")), SR_EPARSE);
    assert_int_equal(
        sr_protobuf_unpack(&out, type, &arena, SR_LIT("\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff")),
        SR_EPARSE);
    sr_arena_dispose(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processing_request_comes_back),
        cmocka_unit_test(test_any_split),
        cmocka_unit_test(test_huge_message),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_reset_and_loss),
        cmocka_unit_test(test_pause),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_announced_memory),
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_health),
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_protobuf_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
