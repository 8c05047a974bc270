/* Poll over few sockets; a byte in a pipe ends a thread. */
#include "bench/observe_peers.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS_MAX 16
#define HEAD_MAX  8192
#define READ_MAX  ((size_t)256 << 10)

/* ---- the collector ---- */

struct peer {
    int fd;
    size_t head, left; /* bytes of the head that are here; of the body that are not */
    char text[HEAD_MAX];
};

struct sr_bench_collector {
    int listener, port, n_peers, stop[2];
    pthread_t thread;
    _Atomic uint64_t exports, bytes;
    struct peer peers[PEERS_MAX];
    char buffer[READ_MAX];
};

static bool answer(struct sr_bench_collector *c, struct peer *peer)
{
    static const char text[] =
        "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
    peer->head = 0;
    atomic_fetch_add(&c->exports, 1);
    return send(peer->fd, text, sizeof text - 1, MSG_NOSIGNAL) == (ssize_t)sizeof text - 1;
}

/* Takes bytes of the head; returns how many, or -1: it is none. */
static ssize_t take_head(struct peer *peer, const char *bytes, size_t n)
{
    size_t room = sizeof peer->text - 1 - peer->head, take = n < room ? n : room, before = peer->head;
    memcpy(peer->text + before, bytes, take);
    peer->text[before + take] = '\0';
    const char *end = strstr(peer->text, "\r\n\r\n");
    if (!end) {
        peer->head += take;
        return take == n ? (ssize_t)n : -1;
    }
    const char *length = strcasestr(peer->text, "\r\ncontent-length:");
    peer->head = (size_t)(end + 4 - peer->text);
    peer->left = length && length < end ? (size_t)strtoull(length + 17, NULL, 10) : 0;
    return (ssize_t)(peer->head - before);
}

/* False: the connection is closed. */
static bool read_peer(struct sr_bench_collector *c, struct peer *peer)
{
    ssize_t got = recv(peer->fd, c->buffer, sizeof c->buffer, 0);
    if (got <= 0)
        return false;
    atomic_fetch_add(&c->bytes, (uint64_t)got);
    for (size_t at = 0, n = (size_t)got; at < n;) {
        if (peer->left) {
            size_t take = peer->left < n - at ? peer->left : n - at;
            peer->left -= take;
            at += take;
        } else {
            ssize_t took = take_head(peer, c->buffer + at, n - at);
            if (took < 0)
                return false;
            at += (size_t)took;
            if (!peer->left && at == n && !strstr(peer->text, "\r\n\r\n"))
                return true; /* the head goes on */
        }
        if (!peer->left && !answer(c, peer))
            return false;
    }
    return true;
}

static void *collect(void *arg)
{
    struct sr_bench_collector *c = arg;
    for (;;) {
        struct pollfd polls[2 + PEERS_MAX] = {{.fd = c->stop[0], .events = POLLIN},
                                              {.fd = c->listener, .events = POLLIN}};
        int n = c->n_peers;
        for (int i = 0; i < n; i++)
            polls[2 + i] = (struct pollfd){.fd = c->peers[i].fd, .events = POLLIN};
        if (poll(polls, 2 + (nfds_t)n, -1) < 0 || polls[0].revents)
            return NULL;
        for (int i = n - 1; i >= 0; i--)
            if (polls[2 + i].revents && !read_peer(c, &c->peers[i])) {
                close(c->peers[i].fd);
                c->peers[i] = c->peers[--c->n_peers];
            }
        int fd = polls[1].revents ? accept4(c->listener, NULL, NULL, SOCK_CLOEXEC) : -1;
        if (fd >= 0 && c->n_peers < PEERS_MAX)
            c->peers[c->n_peers++] = (struct peer){.fd = fd};
        else if (fd >= 0)
            close(fd);
    }
}

int sr_bench_collector_new(struct sr_bench_collector **out)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct sr_bench_collector *c = sr_mem_calloc(1, sizeof *c);
    *out = NULL;
    if (!c)
        return SR_ENOMEM;
    c->stop[0] = c->stop[1] = -1;
    c->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->listener >= 0 && bind(c->listener, (struct sockaddr *)&address, size) == 0 &&
        getsockname(c->listener, (struct sockaddr *)&address, &size) == 0 && listen(c->listener, 64) == 0 &&
        pipe2(c->stop, O_CLOEXEC) == 0 && pthread_create(&c->thread, NULL, collect, c) == 0) {
        c->port = ntohs(address.sin_port);
        *out = c;
        return SR_OK;
    }
    close(c->stop[0]);
    close(c->stop[1]);
    close(c->listener);
    sr_mem_free(c);
    return SR_EIO;
}

int sr_bench_collector_port(const struct sr_bench_collector *c)
{
    return c->port;
}

uint64_t sr_bench_collector_exports(struct sr_bench_collector *c, uint64_t *bytes)
{
    *bytes = atomic_load(&c->bytes);
    return atomic_load(&c->exports);
}

/* Ends the thread. */
static void stop_thread(int stop[2], pthread_t thread)
{
    while (write(stop[1], "", 1) < 0)
        ;
    pthread_join(thread, NULL);
    close(stop[0]);
    close(stop[1]);
}

void sr_bench_collector_free(struct sr_bench_collector *c)
{
    if (!c)
        return;
    stop_thread(c->stop, c->thread);
    for (int i = 0; i < c->n_peers; i++)
        close(c->peers[i].fd);
    close(c->listener);
    sr_mem_free(c);
}

/* ---- the page ---- */

struct sr_bench_page {
    int fd, stop[2];
    pthread_t thread;
    _Atomic uint64_t bytes;
    char buffer[READ_MAX];
};

static void *follow(void *arg)
{
    struct sr_bench_page *page = arg;
    for (;;) {
        struct pollfd polls[2] = {{.fd = page->stop[0], .events = POLLIN},
                                  {.fd = page->fd, .events = POLLIN}};
        if (poll(polls, 2, -1) < 0 || polls[0].revents)
            return NULL;
        ssize_t n = recv(page->fd, page->buffer, sizeof page->buffer, 0);
        if (n <= 0)
            return NULL;
        atomic_fetch_add(&page->bytes, (uint64_t)n);
    }
}

/* Asks for the stream; true if it begins. */
static bool ask(struct sr_bench_page *page, int port)
{
    static const char good[] = "HTTP/1.1 200";
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[256];
    int length = snprintf(text, sizeof text,
                          "GET /api/v1/requests/events?why=1 HTTP/1.1\r\nhost: 127.0.0.1:%d\r\n"
                          "accept: text/event-stream\r\n\r\n",
                          port);
    if (connect(page->fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        send(page->fd, text, (size_t)length, MSG_NOSIGNAL) != length)
        return false;
    return recv(page->fd, page->buffer, sizeof good - 1, MSG_WAITALL) == (ssize_t)sizeof good - 1 &&
           memcmp(page->buffer, good, sizeof good - 1) == 0;
}

int sr_bench_page_new(struct sr_bench_page **out, int port)
{
    struct sr_bench_page *page = sr_mem_calloc(1, sizeof *page);
    *out = NULL;
    if (!page)
        return SR_ENOMEM;
    page->stop[0] = page->stop[1] = -1;
    page->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (page->fd >= 0 && ask(page, port) && pipe2(page->stop, O_CLOEXEC) == 0 &&
        pthread_create(&page->thread, NULL, follow, page) == 0) {
        *out = page;
        return SR_OK;
    }
    close(page->stop[0]);
    close(page->stop[1]);
    close(page->fd);
    sr_mem_free(page);
    return SR_EIO;
}

uint64_t sr_bench_page_bytes(struct sr_bench_page *page)
{
    return atomic_load(&page->bytes);
}

void sr_bench_page_free(struct sr_bench_page *page)
{
    if (!page)
        return;
    stop_thread(page->stop, page->thread);
    close(page->fd);
    sr_mem_free(page);
}
