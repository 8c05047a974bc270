/*
 * The gRPC server behind a real socket. First byte even: the rest are HTTP/2 frames after the client's
 * preface; no order of frames may leave a call that is not closed once, or memory behind. Odd: the rest are
 * the bytes of one call, cut into DATA frames and writes as the second byte says; messages and status must be
 * those of a plain reading of them.
 */
#include "base/buf.h"
#include "net/grpc/grpc.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

#define MESSAGE_MAX 5000
#define TURNS_MAX   1000000

static struct sr_loop *loop;
static struct sr_grpc_server *server;
static uint16_t port;
static struct sr_buf log_bytes;            /* every message of the call: length and bytes */
static size_t opened, closed, pause_every; /* messages between two pauses; 0: none */
static size_t messages;
static int why;
static struct sr_grpc_call *paused;

/* ---- the service: writes down what comes, echoes it, pauses now and then ---- */

static void log_message(struct sr_bytes message)
{
    uint32_t n = (uint32_t)message.n;
    CHECK(sr_buf_append(&log_bytes, &n, sizeof n) == SR_OK);
    CHECK(sr_buf_append_bytes(&log_bytes, message) == SR_OK);
}

static void on_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    int rc;
    CHECK(ctx == &opened && message.n <= MESSAGE_MAX);
    log_message(message);
    rc = sr_grpc_call_send(call, &message, 1);
    CHECK(rc == SR_OK || rc == SR_ELIMIT || rc == SR_ECLOSED);
    if (pause_every && ++messages % pause_every == 0 && !paused) {
        sr_grpc_call_pause(call);
        paused = call;
    }
}

static void on_half_closed(void *ctx, struct sr_grpc_call *call)
{
    CHECK(ctx == &opened);
    sr_grpc_call_finish(call, SR_GRPC_OK, "fine");
}

static void on_closed(void *ctx, struct sr_grpc_call *call, int reason)
{
    CHECK(ctx == &opened);
    closed++;
    why = reason;
    if (paused == call)
        paused = NULL;
}

static const struct sr_grpc_call_events events = {
    .message = on_message, .half_closed = on_half_closed, .closed = on_closed};

static void on_open(void *ctx, struct sr_grpc_call *call)
{
    (void)ctx;
    opened++;
    sr_grpc_call_accept(call, &events, &opened);
}

static const struct sr_grpc_method method = {"/a", on_open, NULL};

static void start(void)
{
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    int fd;
    settings.message_bytes = MESSAGE_MAX;
    settings.http2.stream_window = 65535;
    settings.http2.send_bytes = 100000;
    settings.http2.header_list_bytes = 4096;
    CHECK(sr_loop_new(&loop) == SR_OK);
    CHECK(sr_listen_open("127.0.0.1", 0, 1, &fd, &port, NULL) == SR_OK);
    CHECK(sr_grpc_server_new(&server, loop, fd, NULL, &settings, &method, 1, NULL, NULL) == SR_OK);
    sr_buf_init(&log_bytes, 64 << 20);
}

/* ---- the client: a plain socket, reset at the end so that no port stays busy ---- */

static size_t polls;

/* Goes round once more, so that the loop has looked at its sockets. */
static void turn_message(struct sr_message *message, bool gone)
{
    (void)gone;
    if (polls--)
        CHECK(sr_loop_post(loop, message) == SR_OK);
    else
        sr_loop_stop(loop);
}

static void turn(void)
{
    static struct sr_message message = {.run = turn_message};
    polls = 2;
    CHECK(sr_loop_post(loop, &message) == SR_OK);
    sr_loop_run(loop);
    if (paused) {
        struct sr_grpc_call *call = paused;
        paused = NULL;
        sr_grpc_call_resume(call);
    }
}

static int client_open(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct linger linger = {1, 0};
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    return fd;
}

/* False when the server has closed. */
static bool client_read(int fd)
{
    char sink[4096];
    ssize_t n;
    while ((n = recv(fd, sink, sizeof sink, MSG_DONTWAIT)) > 0)
        ;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* Sends all of it, `step` bytes in a turn of the loop. */
static bool client_send(int fd, const char *p, size_t n, size_t step)
{
    for (size_t at = 0; at < n;) {
        size_t part = n - at < step ? n - at : step;
        ssize_t sent = send(fd, p + at, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return false;
        at += sent > 0 ? (size_t)sent : 0;
        turn();
        if (!client_read(fd))
            return false;
    }
    return true;
}

static void client_close(int fd)
{
    close(fd);
    for (size_t i = 0; sr_grpc_server_connections(server) && i < TURNS_MAX; i++)
        turn();
    CHECK(sr_grpc_server_connections(server) == 0 && sr_grpc_server_calls(server) == 0);
    CHECK(opened == closed);
}

/* ---- frames ---- */

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"
                              "\0\0\x04\x08\0\0\0\0\0\x3f\0\0\0"; /* a large window for answers */

static void frame_append(struct sr_buf *out, unsigned type, unsigned flags, const void *p, size_t n)
{
    unsigned char head[9] = {(unsigned char)(n >> 16),
                             (unsigned char)(n >> 8),
                             (unsigned char)n,
                             (unsigned char)type,
                             (unsigned char)flags,
                             0,
                             0,
                             0,
                             1};
    CHECK(sr_buf_append(out, head, sizeof head) == SR_OK && sr_buf_append(out, p, n) == SR_OK);
}

/* HEADERS of a call to /a: POST and http from the static table, the rest as literals. */
static void head_append(struct sr_buf *out)
{
    static const char block[] = "\x83\x86\x01\x01h\x04\x02/a\x0f\x10\x10"
                                "application/grpc";
    frame_append(out, 1, 4, block, sizeof block - 1);
}

/* What a plain reading finds: messages in the log, and why the call ends. */
static int plain_reading(const uint8_t *p, size_t n)
{
    size_t at = 0;
    while (at + 5 <= n) {
        size_t length =
            (size_t)p[at + 1] << 24 | (size_t)p[at + 2] << 16 | (size_t)p[at + 3] << 8 | p[at + 4];
        if (p[at] == 1)
            return SR_EUNSUPPORTED;
        if (p[at])
            return SR_EPROTO;
        if (length > MESSAGE_MAX)
            return SR_ELIMIT;
        if (length > n - at - 5)
            return SR_EPROTO;
        log_message(sr_bytes_of(p + at + 5, length));
        at += 5 + length;
    }
    return at == n ? SR_OK : SR_EPROTO;
}

static void run_call(const uint8_t *p, size_t n, unsigned how)
{
    static const size_t frames[] = {1, 2, 3, 5, 6, 100, 4096, 16384}, steps[] = {1, 7, 64, 100000};
    size_t frame = frames[how & 7], step = steps[how >> 3 & 3];
    struct sr_buf bytes, got;
    int fd = client_open(), got_why;
    sr_buf_init(&bytes, 64 << 20);
    CHECK(sr_buf_append(&bytes, preface, sizeof preface - 1) == SR_OK);
    head_append(&bytes);
    for (size_t at = 0; at < n; at += frame)
        frame_append(&bytes, 0, 0, p + at, n - at < frame ? n - at : frame);
    frame_append(&bytes, 0, 1, "", 0);
    pause_every = how >> 5;
    client_send(fd, bytes.data, bytes.len, step);
    for (size_t i = 0; !closed && i < TURNS_MAX; i++) {
        turn();
        client_read(fd);
    }
    CHECK(opened == 1 && closed == 1);
    got_why = why;
    client_close(fd);
    got = log_bytes;
    sr_buf_init(&log_bytes, 64 << 20);
    CHECK(plain_reading(p, n) == got_why);
    CHECK(sr_bytes_eq(sr_buf_view(&got), sr_buf_view(&log_bytes)));
    sr_buf_dispose(&got);
    sr_buf_dispose(&bytes);
}

static void run_frames(const uint8_t *p, size_t n, unsigned how)
{
    static const size_t steps[] = {1, 9, 1000, 100000};
    int fd = client_open();
    pause_every = how >> 5;
    if (client_send(fd, preface, sizeof preface - 1, sizeof preface))
        client_send(fd, (const char *)p, n, steps[how >> 1 & 3]);
    turn();
    client_close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 40000)
        return 0;
    if (!loop)
        start();
    opened = closed = messages = 0;
    paused = NULL;
    why = SR_OK;
    sr_buf_clear(&log_bytes);
    if (data[0] & 1)
        run_call(data + 2, size - 2, data[1]);
    else
        run_frames(data + 2, size - 2, data[1]);
    sr_buf_dispose(&log_bytes);
    return 0;
}
