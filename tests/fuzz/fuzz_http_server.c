/*
 * The bytes of a client's connection, at the server of both protocols behind a real socket. First byte: how
 * they are cut, and whether the preface of HTTP/2 and a large window stand before them. Whatever comes, each
 * request that began ends once, no callback finds its request in an impossible state, and the connection
 * goes.
 */
#include "base/buf.h"
#include "net/server/server.h"

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

#define BODY_MAX  5000
#define HELD_MAX  64
#define TURNS_MAX 1000000

static struct sr_loop *loop;
static struct sr_http_server *server;
static uint16_t port;
static size_t begun, ended;

/* A request as the handler sees it; in its arena. */
struct seen {
    struct sr_http_request *request;
    uint64_t bytes;
    bool whole, held, answered;
};

static struct seen *held[HELD_MAX]; /* paused, until the next turn */
static size_t n_held;

/* ---- the handler: /p pauses, /a aborts inside its answer, /l is late; others echo ---- */

static bool is_at(struct sr_http_request *request, const char *path)
{
    return sr_bytes_eq(sr_http_request_head(request)->path, sr_bytes_str(path));
}

static const struct sr_http_response OK = {.status = 200, .content_length = -1};

static void on_request(void *ctx, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    struct seen *seen = sr_arena_calloc(sr_http_request_arena(request), 1, sizeof *seen);
    struct sr_bytes part = SR_LIT("part");
    CHECK(ctx == &begun && seen && head->method.n && head->path.n);
    for (size_t i = 0; i < head->header_count; i++)
        CHECK(sr_http1_header_ok(head->headers[i].name, head->headers[i].value));
    begun++;
    seen->request = request;
    sr_http_request_set_ctx(request, seen);
    sr_http_request_continue(request);
    if (is_at(request, "/p") && n_held < HELD_MAX) {
        sr_http_request_pause(request);
        held[n_held++] = seen;
        seen->held = true;
    } else if (!is_at(request, "/l")) {
        int rc = sr_http_request_respond(request, &OK, &part, 1);
        CHECK(rc == SR_OK || rc == SR_ECLOSED);
        seen->answered = true;
        if (is_at(request, "/a"))
            sr_http_request_abort(request);
    }
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct seen *seen = ctx;
    seen->bytes += slice.n;
    CHECK(!seen->held && !seen->whole && seen->bytes <= BODY_MAX);
    if (seen->answered) {
        int rc = sr_http_request_write(request, &slice, 1);
        CHECK(rc == SR_OK || rc == SR_ECLOSED);
    }
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct seen *seen = ctx;
    int rc;
    CHECK(!seen->held && !seen->whole);
    seen->whole = true;
    rc = seen->answered ? sr_http_request_finish(request)
                        : sr_http_request_reply(request, &OK, SR_LIT("late"));
    CHECK(rc == SR_OK || rc == SR_ECLOSED);
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct seen *seen = ctx;
    CHECK(!complete || seen->whole);
    CHECK(!complete || sr_http_request_error_status(request) == 0);
    ended++;
    for (size_t i = 0; i < n_held; i++)
        if (held[i] == seen)
            held[i--] = held[--n_held];
}

static const struct sr_http_handler handler = {
    .request = on_request, .body = on_body, .body_end = on_body_end, .done = on_done};

static void start(void)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    int fd;
    settings.limits.body_bytes = BODY_MAX;
    settings.limits.head_bytes = 4096;
    settings.http2.enabled = true;
    CHECK(sr_loop_new(&loop) == SR_OK);
    CHECK(sr_listen_open("127.0.0.1", 0, 1, &fd, &port, NULL) == SR_OK);
    CHECK(sr_http_server_new(&server, loop, fd, NULL, &settings, &handler, &begun) == SR_OK);
}

/* ---- the client: a plain socket, reset at the end so that no port stays busy ---- */

static size_t polls;

static void turn_message(struct sr_message *message, bool gone)
{
    (void)gone;
    if (polls--)
        CHECK(sr_loop_post(loop, message) == SR_OK);
    else
        sr_loop_stop(loop);
}

/* Goes round a few times, so that the loop has looked at its sockets; then the paused requests go on. */
static void turn(void)
{
    static struct sr_message message = {.run = turn_message};
    polls = 2;
    CHECK(sr_loop_post(loop, &message) == SR_OK);
    sr_loop_run(loop);
    while (n_held) {
        struct seen *seen = held[--n_held];
        struct sr_bytes part = SR_LIT("part");
        int rc = sr_http_request_respond(seen->request, &OK, &part, 1);
        CHECK(rc == SR_OK || rc == SR_ECLOSED);
        seen->held = false;
        seen->answered = true;
        sr_http_request_resume(seen->request);
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

/* Sends all of it, `step` bytes in a turn of the loop, and drops what comes back. False: the server closed.
 */
static bool client_send(int fd, const char *p, size_t n, size_t step)
{
    char sink[4096];
    for (size_t at = 0; at < n;) {
        size_t part = n - at < step ? n - at : step;
        ssize_t sent = send(fd, p + at, part, MSG_NOSIGNAL | MSG_DONTWAIT), got;
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return false;
        at += sent > 0 ? (size_t)sent : 0;
        turn();
        while ((got = recv(fd, sink, sizeof sink, MSG_DONTWAIT)) > 0)
            ;
        if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return false;
    }
    return true;
}

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"
                              "\0\0\x04\x08\0\0\0\0\0\x3f\0\0\0"; /* a large window for answers */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 9, 1000, 100000};
    if (size < 1 || size > 20000)
        return 0;
    if (!loop)
        start();
    size_t step = size < 300 ? steps[data[0] >> 1 & 3] : steps[2 + (data[0] >> 1 & 1)];
    int fd = client_open();
    begun = ended = n_held = 0;
    if (data[0] & 1 || client_send(fd, preface, sizeof preface - 1, sizeof preface))
        client_send(fd, (const char *)data + 1, size - 1, step);
    turn();
    close(fd);
    for (size_t i = 0; sr_http_server_connections(server) && i < TURNS_MAX; i++)
        turn();
    CHECK(sr_http_server_connections(server) == 0 && sr_http_server_counts(server).busy == 0);
    CHECK(begun == ended && n_held == 0);
    return 0;
}
