#include "bench/paper_http.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX ((size_t)16 << 20)

int sr_paper_request(struct sr_buf *out, struct sr_bytes prompt)
{
    struct sr_buf body;
    sr_buf_init(&body, BODY_MAX);
    int rc = sr_buf_printf(&body, "{\"model\":\"auto\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    if (rc == SR_OK)
        rc = sr_buf_append_json(&body, prompt);
    if (rc == SR_OK)
        rc = sr_buf_printf(&body, "\"}]}");
    if (rc == SR_OK)
        rc = sr_buf_printf(out,
                           "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
                           "content-type: application/json\r\ncontent-length: %zu\r\n\r\n",
                           body.len);
    if (rc == SR_OK)
        rc = sr_buf_append_bytes(out, sr_buf_view(&body));
    sr_buf_dispose(&body);
    return rc;
}

static int exchange(int fd, struct sr_bytes request)
{
    char start[16] = "", block[16384];
    size_t have = 0;
    ssize_t n;
    for (size_t at = 0; at < request.n; at += (size_t)n) {
        n = send(fd, request.p + at, request.n - at, MSG_NOSIGNAL);
        if (n <= 0)
            return SR_EIO;
    }
    while ((n = recv(fd, block, sizeof block, 0)) > 0) {
        size_t more = sizeof start - 1 - have;
        more = (size_t)n < more ? (size_t)n : more;
        memcpy(start + have, block, more);
        have += more;
    }
    return n < 0 ? SR_EIO : strncmp(start, "HTTP/1.1 200", 12) == 0 ? SR_OK : SR_EPROTO;
}

int sr_paper_ask(int port, struct sr_bytes request, double *ms)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint64_t start = sr_clock_ns();
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return SR_EIO;
    int rc = connect(fd, (struct sockaddr *)&address, sizeof address) ? SR_EIO : exchange(fd, request);
    close(fd);
    *ms = (double)(sr_clock_ns() - start) / 1e6;
    return rc;
}

struct client {
    pthread_t thread;
    int port, rc;
    struct sr_bytes request;
    double ms;
};

static void *run(void *arg)
{
    struct client *client = arg;
    client->rc = sr_paper_ask(client->port, client->request, &client->ms);
    return NULL;
}

int sr_paper_ask_all(int port, const struct sr_bytes *requests, size_t n, double *ms)
{
    struct client clients[SR_PAPER_CLIENTS_MAX];
    size_t started = 0;
    int rc = n <= SR_PAPER_CLIENTS_MAX ? SR_OK : SR_EINVAL;
    for (; started < n && rc == SR_OK; started++) {
        clients[started] = (struct client){.port = port, .request = requests[started]};
        if (pthread_create(&clients[started].thread, NULL, run, &clients[started])) {
            rc = SR_ENOMEM;
            break;
        }
    }
    for (size_t i = 0; i < started; i++) {
        pthread_join(clients[i].thread, NULL);
        ms[i] = clients[i].ms;
        rc = rc ? rc : clients[i].rc;
    }
    return rc;
}
