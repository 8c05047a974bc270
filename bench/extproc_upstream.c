/* poll over the client's socket, the listener and the connections that the proxy keeps. */
#include "bench/extproc_upstream.h"

#include "base/clock.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PEERS_MAX  32
#define READ_MAX   ((size_t)256 << 10)
#define TIMEOUT_NS (10 * SR_NS_PER_S)

struct peer {
    int fd;
    size_t got; /* of the request at hand */
    char tail[5];
};

struct sr_bench_upstream {
    int listener, port, n_peers;
    bool listens;
    struct peer peers[PEERS_MAX];
    char bytes[READ_MAX];
};

/* One request on its way. */
struct pass {
    int fd;
    struct sr_bytes left; /* to be sent */
    size_t body;
    uint64_t start, first, whole; /* 0: not yet */
    bool answered;
};

int sr_bench_upstream_new(struct sr_bench_upstream **out)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct sr_bench_upstream *upstream = sr_mem_calloc(1, sizeof *upstream);
    if (!upstream)
        return SR_ENOMEM;
    upstream->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (upstream->listener < 0 || bind(upstream->listener, (struct sockaddr *)&address, size) != 0 ||
        getsockname(upstream->listener, (struct sockaddr *)&address, &size) != 0) {
        sr_bench_upstream_free(upstream);
        return SR_EIO;
    }
    upstream->port = ntohs(address.sin_port);
    *out = upstream;
    return SR_OK;
}

int sr_bench_upstream_port(const struct sr_bench_upstream *upstream)
{
    return upstream->port;
}

void sr_bench_upstream_free(struct sr_bench_upstream *upstream)
{
    if (!upstream)
        return;
    for (int i = 0; i < upstream->n_peers; i++)
        close(upstream->peers[i].fd);
    if (upstream->listener >= 0)
        close(upstream->listener);
    sr_mem_free(upstream);
}

static void accept_peers(struct sr_bench_upstream *upstream)
{
    int fd;
    while ((fd = accept4(upstream->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        if (upstream->n_peers == PEERS_MAX) {
            close(fd);
            continue;
        }
        upstream->peers[upstream->n_peers++] = (struct peer){.fd = fd};
    }
}

static void keep_tail(struct peer *peer, const char *bytes, size_t n)
{
    size_t take = n < sizeof peer->tail ? n : sizeof peer->tail;
    memmove(peer->tail, peer->tail + take, sizeof peer->tail - take);
    memcpy(peer->tail + sizeof peer->tail - take, bytes + n - take, take);
}

/* The body is larger than the head, or ends as JSON or as its last chunk does. */
static bool is_whole(const struct peer *peer, const struct pass *pass)
{
    static const char last_chunk[5] = {'0', '\r', '\n', '\r', '\n'};
    return pass->left.n == 0 && peer->got > pass->body &&
           (memcmp(peer->tail, last_chunk, sizeof last_chunk) == 0 || memcmp(peer->tail + 2, "}]}", 3) == 0);
}

/* False: the connection is closed. */
static bool read_peer(struct sr_bench_upstream *upstream, struct peer *peer, struct pass *pass)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    ssize_t n;
    while ((n = recv(peer->fd, upstream->bytes, sizeof upstream->bytes, 0)) > 0) {
        if (pass->first == 0)
            pass->first = sr_clock_ns();
        peer->got += (size_t)n;
        keep_tail(peer, upstream->bytes, (size_t)n);
    }
    if (n == 0 || errno != EAGAIN)
        return false;
    if (pass->whole == 0 && is_whole(peer, pass)) {
        pass->whole = sr_clock_ns();
        peer->got = 0;
        return send(peer->fd, answer, sizeof answer - 1, MSG_NOSIGNAL) == (ssize_t)sizeof answer - 1;
    }
    return true;
}

static int send_some(struct pass *pass)
{
    ssize_t n = send(pass->fd, pass->left.p, pass->left.n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN)
        return SR_EIO;
    if (n > 0)
        pass->left = sr_bytes_of(pass->left.p + n, pass->left.n - (size_t)n);
    return SR_OK;
}

static int read_answer(struct pass *pass)
{
    static const char good[] = "HTTP/1.1 200";
    char text[4096];
    ssize_t n = recv(pass->fd, text, sizeof text, MSG_DONTWAIT);
    if (n == 0)
        return SR_EIO;
    if (n > 0 && (n < (ssize_t)sizeof good || memcmp(text, good, sizeof good - 1) != 0))
        return SR_EPROTO;
    pass->answered = n > 0;
    return SR_OK;
}

static int turn(struct sr_bench_upstream *upstream, struct pass *pass)
{
    struct pollfd polls[2 + PEERS_MAX];
    int peers = upstream->n_peers, rc = SR_OK;
    polls[0] = (struct pollfd){.fd = pass->fd, .events = POLLIN | (pass->left.n ? POLLOUT : 0)};
    polls[1] = (struct pollfd){.fd = upstream->listener, .events = POLLIN};
    for (int i = 0; i < peers; i++)
        polls[2 + i] = (struct pollfd){.fd = upstream->peers[i].fd, .events = POLLIN};
    if (poll(polls, 2 + (nfds_t)peers, 100) < 0)
        return SR_EIO;
    if (polls[0].revents & POLLOUT)
        rc = send_some(pass);
    if (polls[1].revents)
        accept_peers(upstream);
    for (int i = peers - 1; i >= 0; i--) {
        if (polls[2 + i].revents && !read_peer(upstream, &upstream->peers[i], pass)) {
            close(upstream->peers[i].fd);
            upstream->peers[i] = upstream->peers[--upstream->n_peers];
        }
    }
    if (rc == SR_OK && polls[0].revents & ~POLLOUT)
        rc = read_answer(pass);
    return rc;
}

int sr_bench_upstream_time(struct sr_bench_upstream *upstream, int port, struct sr_bytes request, size_t body,
                           double *first, double *whole)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct pass pass = {.left = request, .body = body};
    int one = 1, rc = SR_OK;
    for (int i = 0; i < upstream->n_peers; i++)
        upstream->peers[i].got = 0;
    if (!upstream->listens && listen(upstream->listener, 64) != 0)
        return SR_EIO;
    upstream->listens = true;
    pass.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (pass.fd < 0)
        return SR_EIO;
    setsockopt(pass.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(pass.fd, (struct sockaddr *)&address, sizeof address) != 0)
        rc = SR_EIO;
    pass.start = sr_clock_ns();
    while (rc == SR_OK && !pass.answered) {
        rc = turn(upstream, &pass);
        if (rc == SR_OK && sr_clock_ns() - pass.start > TIMEOUT_NS)
            rc = SR_ETIMEOUT;
    }
    close(pass.fd);
    if (rc == SR_OK && (pass.first == 0 || pass.whole == 0))
        rc = SR_EPROTO;
    *first = (double)(pass.first - pass.start) / 1e3;
    *whole = (double)(pass.whole - pass.start) / 1e3;
    return rc;
}
