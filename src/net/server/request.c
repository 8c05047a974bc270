/*
 * A request of either protocol: what the handler may ask of it and do with it, and the state of its answer.
 * The bytes are made by the protocol's operations.
 */
#include "base/clock.h"
#include "net/server/private.h"

#include <time.h>

/* ---- accessors ---- */

const struct sr_http_head *sr_http_request_head(const struct sr_http_request *request)
{
    return request->head;
}

struct sr_bytes sr_http_request_protocol(const struct sr_http_request *request)
{
    return request->protocol;
}

struct sr_arena *sr_http_request_arena(struct sr_http_request *request)
{
    return &request->arena;
}

const char *sr_http_request_peer(const struct sr_http_request *request)
{
    return request->ops->peer(request);
}

uint64_t sr_http_request_started_ns(const struct sr_http_request *request)
{
    return request->started_ns;
}

void sr_http_request_set_ctx(struct sr_http_request *request, void *ctx)
{
    request->ctx = ctx;
}

int sr_http_request_error_status(const struct sr_http_request *request)
{
    return request->error_status;
}

size_t sr_http_request_queued(const struct sr_http_request *request)
{
    return request->ops->queued(request);
}

/* ---- the request's body ---- */

void sr_http_request_pause(struct sr_http_request *request)
{
    request->paused = true;
}

void sr_http_request_resume(struct sr_http_request *request)
{
    if (!request->paused)
        return;
    request->paused = false;
    request->ops->resume(request);
}

void sr_http_request_continue(struct sr_http_request *request)
{
    if (!request->head->expect_continue || request->continued || request->responded || request->broken)
        return;
    request->continued = true;
    request->ops->inform(request);
}

/* ---- the server, for both protocols ---- */

void sr_http_server_left(struct sr_http_server *server)
{
    size_t open = server->connections + (server->http2 ? sr_http2_server_connections(server->http2) : 0);
    if (!server->draining || server->drained || open)
        return;
    server->drained = true;
    sr_loop_defer(server->loop, &server->task);
}

struct sr_bytes sr_http_server_date(struct sr_http_server *server)
{
    uint64_t second = sr_clock_wall_ns() / SR_NS_PER_S;
    if (second != server->date_second) {
        time_t t = (time_t)second;
        struct tm tm;
        gmtime_r(&t, &tm);
        strftime(server->date, sizeof server->date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
        server->date_second = second;
    }
    return sr_bytes_str(server->date);
}

/* ---- the response ---- */

void sr_http_request_add_headers(struct sr_http_request *request, const struct sr_header *headers, size_t n)
{
    request->added = headers;
    request->n_added = n;
}

bool sr_http_request_skips(const struct sr_http_request *request, struct sr_bytes name)
{
    for (size_t i = 0; i < request->n_added; i++)
        if (sr_bytes_eq_nocase(name, request->added[i].name) && !sr_bytes_eq_nocase(name, SR_LIT("vary")))
            return true;
    return sr_http1_is_hop_by_hop(NULL, name) || sr_bytes_eq_nocase(name, SR_LIT("content-length"));
}

/* SR_EINVAL: more than the announced length. */
static int take_length(struct sr_http_request *request, const struct sr_bytes *slices, size_t count)
{
    uint64_t size = 0;
    if (!request->counted || request->bodiless)
        return SR_OK;
    for (size_t i = 0; i < count; i++)
        size += slices[i].n;
    if (size > request->left)
        return SR_EINVAL;
    request->left -= size;
    return SR_OK;
}

static int respond(struct sr_http_request *request, const struct sr_http_response *response,
                   const struct sr_bytes *slices, size_t count, bool last)
{
    if (request->broken)
        return SR_ECLOSED;
    if (request->responded || response->status < 200)
        return SR_EINVAL;
    request->bodiless = response->status == 204 || response->status == 304 ||
                        sr_bytes_eq(request->head->method, SR_LIT("HEAD"));
    request->counted = response->content_length >= 0;
    request->left = request->counted ? (uint64_t)response->content_length : 0;
    if (take_length(request, slices, count) != SR_OK)
        return SR_EINVAL;
    return request->ops->respond(request, response, slices, request->bodiless ? 0 : count, last);
}

int sr_http_request_respond(struct sr_http_request *request, const struct sr_http_response *response,
                            const struct sr_bytes *slices, size_t count)
{
    return respond(request, response, slices, count, false);
}

int sr_http_request_write(struct sr_http_request *request, const struct sr_bytes *slices, size_t count)
{
    if (request->broken)
        return SR_ECLOSED;
    if (!request->responded || request->finished || take_length(request, slices, count) != SR_OK)
        return SR_EINVAL;
    return request->bodiless ? SR_OK : request->ops->write(request, slices, count);
}

int sr_http_request_finish(struct sr_http_request *request)
{
    if (request->broken)
        return SR_ECLOSED;
    if (!request->responded || request->finished)
        return SR_EINVAL;
    if (request->counted && !request->bodiless && request->left) {
        sr_http_request_abort(request);
        return SR_EINVAL;
    }
    return request->ops->finish(request);
}

int sr_http_request_reply(struct sr_http_request *request, const struct sr_http_response *response,
                          struct sr_bytes body)
{
    struct sr_http_response whole = *response;
    whole.content_length = (int64_t)body.n;
    return respond(request, &whole, &body, 1, true);
}

void sr_http_request_abort(struct sr_http_request *request)
{
    request->ops->abort(request);
}
