#include "bench/paper_http.h"

#include "base/clock.h"
#include "base/json_write.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BODY_MAX ((size_t)16 << 20)

int sr_paper_request(struct sr_buf *out, struct sr_bytes prompt)
{
    struct sr_buf body;
    sr_buf_init(&body, BODY_MAX);
    struct sr_json_writer w = sr_json_writer_of(&body);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "model", "auto");
    sr_json_array(&w, "messages");
    sr_json_object(&w, NULL);
    sr_json_text(&w, "role", "user");
    sr_json_bytes(&w, "content", prompt);
    sr_json_object_end(&w);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    int rc = w.rc;
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

/* The whole answer into `answer` where one is given. */
static int exchange(int fd, struct sr_bytes request, struct sr_buf *answer)
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
        if (answer && sr_buf_append(answer, block, (size_t)n))
            return SR_ENOMEM;
    }
    return n < 0 ? SR_EIO : strncmp(start, "HTTP/1.1 200", 12) == 0 ? SR_OK : SR_EPROTO;
}

static int ask(int port, struct sr_bytes request, struct sr_buf *answer)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return SR_EIO;
    int rc =
        connect(fd, (struct sockaddr *)&address, sizeof address) ? SR_EIO : exchange(fd, request, answer);
    close(fd);
    return rc;
}

int sr_paper_ask(int port, struct sr_bytes request, double *ms)
{
    uint64_t start = sr_clock_ns();
    int rc = ask(port, request, NULL);
    *ms = (double)(sr_clock_ns() - start) / 1e6;
    return rc;
}

int sr_paper_metric(int port, const char *name, double *sum)
{
    struct sr_buf text;
    size_t length = strlen(name);
    sr_buf_init(&text, BODY_MAX);
    *sum = 0;
    int rc =
        ask(port, SR_LIT("GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"), &text);
    if (rc == SR_OK)
        rc = sr_buf_append(&text, "", 1); /* a string */
    for (char *line = rc == SR_OK ? text.data : NULL; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        bool of = strncmp(line, name, length) == 0 && (line[length] == ' ' || line[length] == '{');
        size_t n = strcspn(line, "\n"), value = n;
        while (of && value > 0 && line[value - 1] != ' ')
            value--;
        *sum += of ? strtod(line + value, NULL) : 0;
    }
    sr_buf_dispose(&text);
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
