/*
 * The gRPC client behind a real socket: the input is what the server sends while two calls run, cut as the
 * first byte says. Each call is answered once, with a message only when the status is OK, and no memory stays
 * behind.
 */
#include "net/grpc/client.h"

#include <errno.h>
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

#define CALLS 2

static struct sr_loop *loop;
static int listener;
static uint16_t port;
static size_t answered, polls;

static void on_done(void *ctx, const struct sr_grpc_reply *reply)
{
    size_t sum = strlen(reply->why);
    (void)ctx;
    CHECK(reply->status == SR_GRPC_OK || !reply->message.n);
    for (size_t i = 0; i < reply->message.n; i++)
        sum += (unsigned char)reply->message.p[i];
    CHECK(sum < SIZE_MAX);
    answered++;
}

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
}

static void start(void)
{
    CHECK(sr_loop_new(&loop) == SR_OK);
    CHECK(sr_listen_open("127.0.0.1", 0, 1, &listener, &port, NULL) == SR_OK);
    CHECK(listen(listener, 16) == 0);
}

/* The server's side: bytes in steps, then a reset, so that no port stays busy. */
static void serve(int fd, const uint8_t *p, size_t n, size_t step)
{
    struct linger linger = {1, 0};
    char sink[4096];
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    for (size_t at = 0; at < n && answered < CALLS;) {
        size_t part = n - at < step ? n - at : step;
        ssize_t sent = send(fd, p + at, part, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            break;
        at += sent > 0 ? (size_t)sent : 0;
        turn();
        while (recv(fd, sink, sizeof sink, MSG_DONTWAIT) > 0)
            ;
    }
    turn();
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t steps[] = {1, 9, 1000, 100000};
    struct sr_grpc_client_options options = sr_grpc_client_options_defaults();
    struct sr_grpc_client *client;
    struct sr_grpc_unary *unary;
    int fd = -1;
    if (size < 1 || size > 20000)
        return 0;
    if (!loop)
        start();
    answered = 0;
    options.host = "127.0.0.1";
    options.port = port;
    options.connections = 1;
    options.http2.answer_bytes = 5000;
    options.http2.header_list_bytes = 1000;
    CHECK(sr_grpc_client_new(&client, loop, &options) == SR_OK);
    for (size_t i = 0; i < CALLS; i++)
        CHECK(sr_grpc_client_call(&unary, client, "/a/b", SR_LIT("question"), 60000, on_done, NULL) == SR_OK);
    while (fd < 0) {
        turn();
        fd = accept(listener, NULL, NULL);
    }
    serve(fd, data + 1, size - 1, steps[data[0] & 3]);
    for (size_t i = 0; answered < CALLS && i < 1000000; i++)
        turn();
    CHECK(answered == CALLS);
    sr_grpc_client_free(client);
    turn();
    return 0;
}
