/* One connection blocks on its socket, as a single caller would; several share an epoll. */
#include "bench/load.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bench/bench.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SAMPLES_MAX ((size_t)1 << 20)
#define ANSWER_MAX  65536
#define PATIENCE_NS (10 * SR_NS_PER_S) /* after the end, for a first answer */
#define RETRY_NS    SR_NS_PER_S        /* of a connection that was refused */
#define WARM_UP     20                 /* answers of a lone connection that are not counted */

struct connection {
    int fd;
    uint64_t sent_at, resume_at; /* resume_at: it was refused and waits; 0: it does not */
    bool asked;                  /* it waits for an answer */
    size_t len;                  /* of what `answer` holds */
    char answer[ANSWER_MAX];
};

struct run {
    struct sr_bench_load *load;
    struct connection *connections;
    double *samples;
    size_t n_samples;
    uint32_t stamp;
};

static int open_connection(int port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 60};
    int one = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void put_stamps(struct run *run)
{
    char digits[16];
    snprintf(digits, sizeof digits, "%08u", ++run->stamp % 100000000);
    for (size_t i = 0; i < run->load->n_stamps; i++)
        memcpy(run->load->stamps[i], digits, 8);
}

static bool send_request(struct run *run, struct connection *c)
{
    put_stamps(run);
    c->len = 0;
    c->asked = true;
    c->sent_at = sr_clock_ns();
    return send(c->fd, run->load->request.p, run->load->request.n, MSG_NOSIGNAL) ==
           (ssize_t)run->load->request.n;
}

/* 1: the answer is whole, 0: more to come, -1: not understood. */
static int neural(const struct connection *c)
{
    struct sr_bytes text = {c->answer, c->len};
    const char *end = memmem(text.p, text.n, "\r\n\r\n", 4);
    if (!end)
        return text.n == ANSWER_MAX ? -1 : 0;
    for (const char *line = text.p; line < end;) {
        const char *eol = memmem(line, (size_t)(end + 2 - line), "\r\n", 2);
        static const char name[] = "content-length:";
        size_t n = sizeof name - 1;
        if ((size_t)(eol - line) > n && sr_bytes_eq_nocase(sr_bytes_of(line, n), sr_bytes_of(name, n))) {
            size_t want = (size_t)(end + 4 - text.p) + strtoul(line + n, NULL, 10);
            return want > ANSWER_MAX ? -1 : text.n >= want;
        }
        line = eol + 2;
    }
    return -1;
}

static void count_error(struct run *run, const struct connection *c)
{
    run->load->errors++;
    if (run->load->failed)
        run->load->failed(run->load->ctx, sr_bytes_of(c->answer, c->len));
}

/* Reads once; 1 after a whole answer, which is counted, 0 before, -1 when the connection is of no use any
 * more. */
static int receive(struct run *run, struct connection *c)
{
    ssize_t n = recv(c->fd, c->answer + c->len, ANSWER_MAX - c->len, 0);
    if (n <= 0)
        return -1;
    c->len += (size_t)n;
    int whole = neural(c);
    if (whole != 1)
        return whole;
    c->asked = false;
    static const char good[] = "HTTP/1.1 200", busy[] = "HTTP/1.1 503", large[] = "HTTP/1.1 413";
    bool refused =
        memcmp(c->answer, busy, sizeof busy - 1) == 0 || memcmp(c->answer, large, sizeof large - 1) == 0;
    if (refused)
        run->load->refused++;
    else if (memcmp(c->answer, good, sizeof good - 1) != 0)
        count_error(run, c);
    run->load->answers++;
    if (!refused && run->n_samples < SAMPLES_MAX)
        run->samples[run->n_samples++] = (double)(sr_clock_ns() - c->sent_at) / 1e3;
    return 1;
}

static bool is_stopped(const struct run *run)
{
    return run->load->stop && atomic_load(run->load->stop);
}

static int run_one(struct run *run)
{
    struct connection *c = &run->connections[0];
    uint64_t warm = sr_clock_ns() + (uint64_t)(run->load->seconds * 1e9);
    for (int i = 0; i < WARM_UP && (i == 0 || sr_clock_ns() < warm); i++) {
        int got = 0;
        if (!send_request(run, c))
            return SR_EIO;
        while ((got = receive(run, c)) == 0)
            ;
        if (got < 0)
            return SR_EPROTO;
    }
    run->load->answers = run->load->errors = run->load->refused = 0;
    run->n_samples = 0;
    uint64_t start = sr_clock_ns(), end = start + (uint64_t)(run->load->seconds * 1e9), now;
    while (!is_stopped(run) &&
           ((now = sr_clock_ns()) < end || (run->n_samples == 0 && now < end + PATIENCE_NS))) {
        int got = 0;
        if (!send_request(run, c))
            return SR_EIO;
        while ((got = receive(run, c)) == 0)
            ;
        if (got < 0)
            return SR_EPROTO;
    }
    run->load->elapsed = (double)(sr_clock_ns() - start) / 1e9;
    return SR_OK;
}

/* Another connection instead of one that was lost: an error, unless it was idle, which a server may close. */
static bool reopen(struct run *run, int epoll, struct connection *c)
{
    if (c->asked)
        count_error(run, c);
    c->asked = false;
    close(c->fd);
    c->fd = open_connection(run->load->port);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
    return c->fd >= 0 && epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) == 0;
}

/* The same, and it asks. */
static bool ask_again(struct run *run, int epoll, struct connection *c)
{
    return reopen(run, epoll, c) && send_request(run, c);
}

/* Connections that were refused ask again. */
static bool resume(struct run *run, int epoll)
{
    uint64_t now = sr_clock_ns();
    for (int i = 0; i < run->load->connections; i++) {
        struct connection *c = &run->connections[i];
        if (!c->resume_at || now < c->resume_at)
            continue;
        c->resume_at = 0;
        if (!send_request(run, c) && !ask_again(run, epoll, c))
            return false;
    }
    return true;
}

static int run_many(struct run *run)
{
    struct epoll_event events[64];
    int rc = SR_EIO;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return SR_EIO;
    uint64_t start = sr_clock_ns(), end = start + (uint64_t)(run->load->seconds * 1e9), now;
    for (int i = 0; i < run->load->connections; i++) {
        struct connection *c = &run->connections[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = c};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event) != 0 || !send_request(run, c))
            goto out;
    }
    while (!is_stopped(run) &&
           ((now = sr_clock_ns()) < end || (run->n_samples == 0 && now < end + PATIENCE_NS))) {
        int n = epoll_wait(epoll, events, 64, 100);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            uint64_t refused = run->load->refused;
            int got = receive(run, c);
            if (got == 1 && run->load->refused != refused)
                c->resume_at = sr_clock_ns() + (run->load->stubborn ? 0 : RETRY_NS);
            else if ((got < 0 || (got == 1 && !send_request(run, c))) && !ask_again(run, epoll, c))
                goto out;
        }
        if (!resume(run, epoll))
            goto out;
    }
    run->load->elapsed = (double)(sr_clock_ns() - start) / 1e9;
    rc = SR_OK;
out:
    close(epoll);
    return rc;
}

/* Sends the requests that are due while a connection is free. */
static bool send_due(struct run *run, int epoll, struct connection **idle, int *n_idle, uint64_t *due)
{
    uint64_t now = sr_clock_ns();
    while (*due <= now && *n_idle > 0) {
        struct connection *c = idle[--*n_idle];
        if (!send_request(run, c) && !ask_again(run, epoll, c))
            return false;
        c->sent_at = *due;
        *due += (uint64_t)(1e9 / run->load->rate);
    }
    return true;
}

static int run_paced(struct run *run)
{
    struct connection *idle[SR_BENCH_LOAD_CONNECTIONS_MAX];
    struct epoll_event events[64];
    int n_idle = 0, rc = SR_EIO;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    if (epoll < 0)
        return SR_EIO;
    for (; n_idle < run->load->connections; n_idle++) {
        idle[n_idle] = &run->connections[n_idle];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = idle[n_idle]};
        if (epoll_ctl(epoll, EPOLL_CTL_ADD, idle[n_idle]->fd, &event) != 0)
            goto out;
    }
    uint64_t start = sr_clock_ns(), end = start + (uint64_t)(run->load->seconds * 1e9), due = start, now;
    while (!is_stopped(run) &&
           ((now = sr_clock_ns()) < end || (run->n_samples == 0 && now < end + PATIENCE_NS))) {
        if (!send_due(run, epoll, idle, &n_idle, &due))
            goto out;
        uint64_t wait = n_idle > 0 && due > now ? due - now : 0;
        struct timespec patience = {.tv_nsec = n_idle == 0 ? 100000000 : (long)wait};
        int n = epoll_pwait2(epoll, events, 64, &patience, NULL);
        for (int i = 0; i < n; i++) {
            struct connection *c = events[i].data.ptr;
            bool asked = c->asked;
            int got = receive(run, c);
            if (got < 0 && !reopen(run, epoll, c))
                goto out;
            if (got != 0 && asked)
                idle[n_idle++] = c;
        }
    }
    run->load->elapsed = (double)(sr_clock_ns() - start) / 1e9;
    rc = SR_OK;
out:
    close(epoll);
    return rc;
}

int sr_bench_load_run(struct sr_bench_load *load)
{
    /* Of no earlier run, so that no cache has seen the requests. */
    struct run run = {.load = load, .stamp = (uint32_t)(sr_clock_ns() / 1000 % 50000000)};
    int n = load->connections, opened = 0;
    int rc = SR_ENOMEM;
    load->answers = load->errors = load->refused = 0;
    load->elapsed = load->p10_us = load->p50_us = load->p99_us = 0;
    run.connections = sr_mem_calloc((size_t)n, sizeof *run.connections);
    run.samples = sr_mem_alloc(SAMPLES_MAX * sizeof *run.samples);
    if (!run.connections || !run.samples)
        goto out;
    rc = SR_EIO;
    for (; opened < n; opened++) {
        run.connections[opened].fd = open_connection(load->port);
        if (run.connections[opened].fd < 0)
            goto out;
    }
    rc = load->rate > 0 ? run_paced(&run) : n == 1 ? run_one(&run) : run_many(&run);
    if (rc == SR_OK && run.n_samples == 0 && !load->refused && !is_stopped(&run))
        rc = SR_EPROTO;
    if (rc == SR_OK && run.n_samples) {
        load->p10_us = sr_bench_percentile(run.samples, run.n_samples, 0.1);
        load->p50_us = sr_bench_percentile(run.samples, run.n_samples, 0.5);
        load->p99_us = sr_bench_percentile(run.samples, run.n_samples, 0.99);
    }
out:
    for (int i = 0; i < opened; i++)
        if (run.connections[i].fd >= 0)
            close(run.connections[i].fd);
    sr_mem_free(run.connections);
    sr_mem_free(run.samples);
    return rc;
}
