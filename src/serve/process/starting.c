/* Two small servers; a request is answered as soon as its head is there. */
#include "serve/process/starting.h"

#include "base/mem.h"
#include "base/thread.h"
#include "net/server/server.h"
#include "serve/local.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#define MAX_CONNECTIONS 16
#define SERVERS         2

struct starting_server {
    struct sr_http_server *server;
    const char *service;
};

struct sr_starting {
    struct sr_loop *loop;
    struct starting_server servers[SERVERS];
    pthread_t thread;
    bool runs;
};

static void reply(struct sr_http_request *request, int status, struct sr_bytes type, struct sr_bytes body)
{
    struct sr_header header = {SR_LIT("content-type"), type};
    struct sr_http_response response = {.status = status, .headers = &header, .header_count = 1};
    if (sr_http_request_reply(request, &response, body) != SR_OK)
        sr_http_request_abort(request);
}

static void on_request(void *ctx, struct sr_http_request *request)
{
    const struct starting_server *server = ctx;
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_local_state state = {.service = server->service, .names = true};
    struct sr_local_page page = {503, SR_LIT("")};
    struct sr_buf body;
    sr_buf_init(&body, SR_LOCAL_METRICS_MAX);
    if (!sr_local_answer(&state, head->method, head->path, &page, &body)) {
        sr_buf_clear(&body);
        page.content_type =
            sr_local_error(&body, 503, NULL, "starting", "The process starts: /ready says how far it is.");
    }
    reply(request, page.status, page.content_type, sr_buf_view(&body));
    sr_buf_dispose(&body);
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    (void)ctx, (void)request, (void)slice;
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    (void)ctx, (void)request;
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    (void)ctx, (void)request, (void)complete;
}

static const struct sr_http_handler HANDLER = {
    .request = on_request, .body = on_body, .body_end = on_body_end, .done = on_done};

static int serve(struct sr_starting *starting, struct starting_server *server, int fd)
{
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    settings.max_connections = MAX_CONNECTIONS;
    settings.use_reserve = true;
    settings.limits.body_bytes = 0;
    if (fd < 0)
        return SR_OK;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return SR_EIO;
    return sr_http_server_new(&server->server, starting->loop, own, NULL, &settings, &HANDLER, server);
}

static void *run(void *arg)
{
    struct sr_starting *starting = arg;
    sr_thread_name("sr-starting");
    sr_loop_run(starting->loop);
    return NULL;
}

int sr_starting_new(struct sr_starting **out, int metrics_fd, int api_fd)
{
    struct sr_starting *starting = sr_mem_calloc(1, sizeof *starting);
    *out = NULL;
    if (!starting)
        return SR_ENOMEM;
    starting->servers[0].service = "semroute";
    starting->servers[1].service = "classification-api";
    int rc = sr_loop_new(&starting->loop);
    if (rc == SR_OK)
        rc = serve(starting, &starting->servers[0], metrics_fd);
    if (rc == SR_OK)
        rc = serve(starting, &starting->servers[1], api_fd);
    if (rc == SR_OK && pthread_create(&starting->thread, NULL, run, starting) != 0)
        rc = SR_EIO;
    starting->runs = rc == SR_OK;
    if (rc != SR_OK) {
        sr_starting_end(starting);
        return rc;
    }
    *out = starting;
    return SR_OK;
}

void sr_starting_end(struct sr_starting *starting)
{
    if (!starting)
        return;
    if (starting->runs) {
        sr_loop_stop(starting->loop);
        pthread_join(starting->thread, NULL);
    }
    for (size_t i = 0; i < SERVERS; i++)
        sr_http_server_free(starting->servers[i].server);
    sr_loop_free(starting->loop);
    sr_mem_free(starting);
}
