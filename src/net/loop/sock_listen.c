/*
 * Listening sockets: opened for all loops at start-up (so that a port in use is reported before anything
 * starts), then served by one loop each.
 */
#include "base/mem.h"
#include "net/loop/sock_private.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_BACKLOG  1024
#define ACCEPTS_AT_ONCE 64 /* then other events get their turn */
#define REST_MS         50 /* pause when file descriptors or memory run short */

struct sr_listener {
    uv_poll_t poll;
    int fd;
    struct sr_loop *loop;
    sr_tls_context *tls;
    const struct sr_listener_events *events;
    void *ctx;
    struct sr_timer rest;
    bool closed, use_reserve;
};

static atomic_int reserved_from = INT_MAX;

/* ---- opening ---- */

static int bind_one(const struct addrinfo *address, bool share, int *out)
{
    int one = 1, saved;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno ? errno : EIO;
    /* Lets a restart bind while old connections still exist; it does not let two servers share a port. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        (!share || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) == 0) &&
        bind(fd, address->ai_addr, address->ai_addrlen) == 0) {
        *out = fd;
        return 0;
    }
    saved = errno;
    close(fd);
    return saved ? saved : EIO;
}

/* Fails when another socket listens there, with SO_REUSEPORT or without. */
static int probe(const struct addrinfo *address)
{
    int fd = -1, status = bind_one(address, false, &fd);
    if (status)
        return status;
    if (listen(fd, 1) != 0)
        status = errno;
    close(fd);
    return status;
}

static int open_all(struct addrinfo *address, size_t count, int *fds, uint16_t *port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound;
    memset(&bound, 0, sizeof bound);
    socklen_t size = sizeof bound;
    int status = *port ? probe(address) : 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        struct sockaddr_in *v4 = (struct sockaddr_in *)address->ai_addr;
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address->ai_addr;
        status = bind_one(address, true, &fds[i]);
        if (status || i > 0)
            continue;
        if (getsockname(fds[0], &bound.any, &size) != 0)
            return errno;
        if (address->ai_family == AF_INET6)
            v6->sin6_port = bound.v6.sin6_port;
        else
            v4->sin_port = bound.v4.sin_port;
        *port = ntohs(address->ai_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
    }
    return status;
}

int sr_listen_open(const char *host, uint16_t port, size_t count, int *fds, uint16_t *port_out,
                   struct sr_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *list = NULL;
    char service[8];
    int status;
    for (size_t i = 0; i < count; i++)
        fds[i] = -1;
    snprintf(service, sizeof service, "%u", port);
    status = getaddrinfo(host && *host ? host : NULL, service, &hints, &list);
    if (status)
        return sr_err_set(err, SR_EINVAL, "cannot listen on `%s`: %s", host ? host : "",
                          gai_strerror(status));
    for (struct addrinfo *address = list; address; address = address->ai_next) {
        status = open_all(address, count, fds, &port);
        if (status != EADDRNOTAVAIL && status != EAFNOSUPPORT)
            break;
    }
    freeaddrinfo(list);
    if (status == 0) {
        if (port_out)
            *port_out = port;
        return SR_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
        fds[i] = -1;
    }
    return sr_err_set(err,
                      status == EADDRINUSE      ? SR_EBUSY
                      : status == EADDRNOTAVAIL ? SR_EINVAL
                                                : SR_EIO,
                      "cannot listen on %s:%u: %s", host && *host ? host : "*", port, uv_strerror(-status));
}

/* ---- serving ---- */

void sr_sock_reserve(int number)
{
    atomic_store(&reserved_from, number);
}

int sr_sock_reserved(void)
{
    return atomic_load_explicit(&reserved_from, memory_order_relaxed);
}

void sr_listener_use_reserve(struct sr_listener *listener)
{
    listener->use_reserve = true;
}

static void rest(struct sr_listener *listener)
{
    uv_poll_stop(&listener->poll);
    sr_timer_start(&listener->rest, REST_MS);
}

/* This file calls accept itself: libuv's accept loop retries without end when the process is out of file
 * descriptors, so that the connections that hold them could never finish. Here, waiting connections stay in
 * the kernel's queue for a while. */
static void take_waiting(struct sr_listener *listener)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE && !listener->closed; i++) {
        struct sr_conn *conn;
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
            rest(listener);
        /* The kernel gives the lowest free number, so this one says how many are in use. */
        if (fd >= sr_sock_reserved() && !listener->use_reserve) {
            close(fd);
            rest(listener);
            return;
        }
        if (fd < 0 && errno != ECONNABORTED && errno != EINTR)
            return;
        if (fd < 0 || sr_conn_accept(&conn, listener->loop, fd, listener->tls) != SR_OK)
            continue;
        listener->events->accepted(listener->ctx, conn);
        /* If the callback closes it, it stays allocated until the stack unwinds and does not start to
         * read. */
        sr_conn_accept_begin(conn);
    }
}

static void readable(uv_poll_t *poll, int status, int events)
{
    (void)events;
    if (status == 0)
        take_waiting(poll->data);
}

static void rested(void *ctx)
{
    struct sr_listener *listener = ctx;
    uv_poll_start(&listener->poll, UV_READABLE, readable);
}

static void listener_closed(uv_handle_t *handle)
{
    sr_mem_free(handle->data);
}

int sr_listener_start(struct sr_listener **out, struct sr_loop *loop, int fd, sr_tls_context *tls,
                      const struct sr_listener_events *events, void *ctx)
{
    struct sr_listener *listener = sr_mem_calloc(1, sizeof *listener);
    int status = listener ? 0 : UV_ENOMEM;
    if (status == 0 && listen(fd, LISTEN_BACKLOG) != 0)
        status = uv_translate_sys_error(errno);
    if (status == 0)
        status = uv_poll_init(&loop->uv, &listener->poll, fd);
    if (status != 0) {
        close(fd);
        sr_mem_free(listener);
        return sr_uv_code(status);
    }
    listener->poll.data = listener;
    listener->fd = fd;
    listener->loop = loop;
    listener->events = events;
    listener->ctx = ctx;
    listener->tls = sr_tls_context_ref(tls);
    sr_timer_init(&listener->rest, loop, rested, listener);
    status = uv_poll_start(&listener->poll, UV_READABLE, readable);
    if (status != 0) {
        sr_listener_close(&listener);
        return sr_uv_code(status);
    }
    *out = listener;
    return SR_OK;
}

void sr_listener_set_tls(struct sr_listener *listener, sr_tls_context *tls)
{
    sr_tls_context *old = listener->tls;
    listener->tls = sr_tls_context_ref(tls);
    sr_tls_context_unref(old);
}

void sr_listener_close(struct sr_listener **slot)
{
    struct sr_listener *listener = *slot;
    *slot = NULL;
    if (!listener || listener->closed)
        return;
    listener->closed = true;
    sr_timer_stop(&listener->rest);
    sr_tls_context_unref(listener->tls);
    listener->tls = NULL;
    uv_close((uv_handle_t *)&listener->poll, listener_closed);
    close(listener->fd);
}
