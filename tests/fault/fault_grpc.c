/*
 * Every allocation of an HTTP/2 connection and a gRPC call fails once, and all after it: the server neither
 * breaks nor leaks, tells each call's end exactly once, and serves the next client as if nothing had been.
 * The client uses plain sockets and writes bytes that were recorded, so that it takes no part in the failing.
 */
#include "tests/unit/cmocka_all.h"

#include "base/mem.h"
#include "net/grpc/grpc.h"
#include "net/grpc/health.h"
#include "net/loop/sock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <nghttp2/nghttp2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MESSAGE "what the echo says, said once"

struct service {
    struct sr_loop *loop;
    struct sr_grpc_server *server;
    struct sr_grpc_health *health;
    struct sr_grpc_method methods[1 + SR_GRPC_HEALTH_METHODS];
    uint16_t port;
    size_t opened, closed;
};

/* ---- the client's bytes ---- */

static char recorded[65536];
static size_t recorded_n;

struct source {
    char bytes[4096];
    size_t n, at;
};

static ssize_t read_source(nghttp2_session *session, int32_t id, uint8_t *out, size_t room, uint32_t *flags,
                           nghttp2_data_source *from, void *ctx)
{
    struct source *source = from->ptr;
    size_t n = source->n - source->at < 20 ? source->n - source->at : 20; /* several frames for one message */
    (void)session, (void)id, (void)ctx;
    assert_true(n <= room);
    memcpy(out, source->bytes + source->at, n);
    source->at += n;
    if (source->at == source->n)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_nv field(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), 0};
}

static void submit(nghttp2_session *session, const char *path, struct source *source)
{
    nghttp2_nv head[] = {field(":method", "POST"),
                         field(":scheme", "http"),
                         field(":path", path),
                         field(":authority", "semroute"),
                         field("content-type", "application/grpc"),
                         field("grpc-timeout", "100S"),
                         field("te", "trailers")};
    nghttp2_data_provider provider = {.source = {.ptr = source}, .read_callback = read_source};
    assert_true(nghttp2_submit_request(session, NULL, head, sizeof head / sizeof *head, &provider, NULL) > 0);
}

static void add_message(struct source *source, const char *text)
{
    size_t n = strlen(text);
    const char prefix[5] = {0, 0, 0, 0, (char)n};
    memcpy(source->bytes + source->n, prefix, 5);
    memcpy(source->bytes + source->n + 5, text, n);
    source->n += 5 + n;
}

/* An echo of two messages, a health check, and a method that there is not. */
static void record(void)
{
    static struct source echo, health, none;
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session;
    const uint8_t *p;
    ssize_t n;
    add_message(&echo, MESSAGE);
    add_message(&echo, "and again");
    add_message(&health, "");
    add_message(&none, "x");
    assert_int_equal(nghttp2_session_callbacks_new(&callbacks), 0);
    assert_int_equal(nghttp2_session_client_new(&session, callbacks, NULL), 0);
    assert_int_equal(nghttp2_submit_settings(session, 0, NULL, 0), 0);
    submit(session, "/test.Test/Echo", &echo);
    submit(session, "/grpc.health.v1.Health/Check", &health);
    submit(session, "/test.Test/None", &none);
    while ((n = nghttp2_session_mem_send(session, &p)) > 0) {
        assert_true(recorded_n + (size_t)n <= sizeof recorded);
        memcpy(recorded + recorded_n, p, (size_t)n);
        recorded_n += (size_t)n;
    }
    nghttp2_session_del(session);
    nghttp2_session_callbacks_del(callbacks);
}

/* ---- the service ---- */

static void on_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    (void)ctx;
    if (sr_grpc_call_send(call, &message, 1) != SR_OK)
        sr_grpc_call_finish(call, SR_GRPC_RESOURCE_EXHAUSTED, "no room");
}

static void on_half_closed(void *ctx, struct sr_grpc_call *call)
{
    (void)ctx;
    sr_grpc_call_finish(call, SR_GRPC_OK, NULL);
}

static void on_closed(void *ctx, struct sr_grpc_call *call, int why)
{
    (void)call, (void)why;
    ((struct service *)ctx)->closed++;
}

static const struct sr_grpc_call_events events = {
    .message = on_message, .half_closed = on_half_closed, .closed = on_closed};

static void on_open(void *ctx, struct sr_grpc_call *call)
{
    ((struct service *)ctx)->opened++;
    sr_grpc_call_accept(call, &events, ctx);
}

/* False when memory was out. */
static bool service_open(struct service *s)
{
    static const char *const names[] = {"test.Test"};
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    int fd;
    assert_int_equal(sr_listen_open("127.0.0.1", 0, 1, &fd, &s->port, NULL), SR_OK);
    if (sr_grpc_health_new(&s->health, names, 1) != SR_OK) {
        close(fd);
        return false;
    }
    s->methods[0] = (struct sr_grpc_method){"/test.Test/Echo", on_open, s};
    sr_grpc_health_methods(s->health, s->methods + 1);
    return sr_grpc_server_new(&s->server, s->loop, fd, NULL, &settings, s->methods,
                              sizeof s->methods / sizeof *s->methods, NULL, NULL) == SR_OK;
}

/* ---- one client ---- */

struct client {
    struct service *service;
    int fd;
    char got[65536];
    size_t n;
    bool gone;
    size_t quiet; /* turns of the loop without a word from the server */
    struct sr_timer timer;
};

static bool is_over(const struct client *c)
{
    bool whole = memmem(c->got, c->n, MESSAGE, sizeof MESSAGE - 1) != NULL && c->service->closed > 0;
    return c->gone || c->quiet > (whole ? 5U : 20U);
}

static void on_turn(void *ctx)
{
    struct client *c = ctx;
    ssize_t n = read(c->fd, c->got + c->n, sizeof c->got - c->n);
    c->gone |= n == 0 || (n < 0 && errno != EAGAIN);
    c->quiet = n > 0 ? 0 : c->quiet + 1;
    c->n += n > 0 ? (size_t)n : 0;
    if (is_over(c))
        sr_loop_stop(c->service->loop);
    else
        sr_timer_start(&c->timer, 1);
}

/* Sends everything; true when the echo came back. */
static bool visit(struct service *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(s->port)};
    static struct client c;
    c = (struct client){.service = s, .fd = socket(AF_INET, SOCK_STREAM, 0)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(c.fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(write(c.fd, recorded, recorded_n), (ssize_t)recorded_n);
    assert_int_equal(fcntl(c.fd, F_SETFL, O_NONBLOCK), 0);
    sr_timer_init(&c.timer, s->loop, on_turn, &c);
    sr_timer_start(&c.timer, 1);
    sr_loop_run(s->loop);
    sr_timer_stop(&c.timer);
    close(c.fd);
    return memmem(c.got, c.n, MESSAGE, sizeof MESSAGE - 1) != NULL;
}

/* One server, whose nth allocation fails and then serves again; the allocations that it made. */
static size_t live(size_t failing)
{
    struct service s = {.port = 0};
    assert_int_equal(sr_loop_new(&s.loop), SR_OK);
    sr_mem_fail_at(failing);
    bool open = service_open(&s);
    assert_true(open || failing > 0);
    if (open && !visit(&s))
        assert_true(failing > 0);
    size_t count = sr_mem_count();
    sr_mem_fail_at(0);
    if (open) {
        assert_true(visit(&s));
        sr_grpc_server_free(s.server);
    }
    assert_int_equal(s.opened, s.closed);
    sr_grpc_health_free(s.health);
    sr_loop_free(s.loop);
    return count;
}

static void test_every_failure(void **state)
{
    (void)state;
    record();
    size_t count = live(0);
    assert_true(count > 30);
    for (size_t n = 1; n <= count + 1; n++)
        live(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_failure)};
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
