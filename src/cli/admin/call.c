/* A fetch of the HTTP client, and a loop that runs until it has ended. */
#include "cli/admin/call.h"

#include "net/client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HERE       "127.0.0.1"
#define PORT       8080
#define CONNECT_MS 5000
#define ANSWER_MS  60000

struct call {
    struct sr_loop *loop;
    struct sr_fetch *fetch; /* NULL once it has ended */
    struct sr_buf *answer;
    bool (*slice)(void *ctx, struct sr_bytes bytes); /* of a stream; NULL: it is none */
    void *ctx;
    bool stopped;
    int status, rc;
    char why[160];
};

static void on_head(void *ctx, const struct sr_http_head *head)
{
    struct call *call = ctx;
    call->status = head->status;
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct call *call = ctx;
    if (call->slice && call->status == 200 && !call->stopped) {
        call->stopped = !call->slice(call->ctx, slice);
        if (call->stopped) {
            sr_fetch_cancel(&call->fetch);
            sr_loop_stop(call->loop);
        }
    } else if (!call->rc && !call->stopped) {
        call->rc = sr_buf_append_bytes(call->answer, slice);
    }
}

static void on_end(void *ctx)
{
    struct call *call = ctx;
    call->fetch = NULL;
    sr_loop_stop(call->loop);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    struct call *call = ctx;
    call->fetch = NULL;
    call->rc = error->code;
    snprintf(call->why, sizeof call->why, "%s", error->text);
    sr_loop_stop(call->loop);
}

static const struct sr_fetch_events events = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

/* Splits "ADDR:PORT", "[IPv6]:PORT", ":PORT" or "PORT". False: it is none. */
static bool split(const char *text, char host[128], uint16_t *port)
{
    const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
    size_t n = colon ? (size_t)(colon - text) : 0;
    char *end;
    unsigned long value = strtoul(number, &end, 10);
    if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (end == number || *end || value == 0 || value > UINT16_MAX || n >= 128)
        return false;
    snprintf(host, 128, "%.*s", n ? (int)n : (int)strlen(HERE), n ? text : HERE);
    *port = (uint16_t)value;
    return true;
}

static int run(struct call *call, const struct sr_origin *origin, const struct sr_client_request *request)
{
    struct sr_client_settings settings = sr_client_settings_defaults();
    struct sr_client *client = NULL;
    int rc = sr_loop_new(&call->loop);
    if (rc)
        return rc;
    rc = sr_client_new(&client, call->loop, &settings);
    if (!rc)
        rc = sr_client_start(&call->fetch, client, origin, request, &events, call);
    if (!rc)
        sr_loop_run(call->loop);
    sr_client_free(client);
    sr_loop_free(call->loop);
    return rc ? rc : call->rc;
}

static int ask(struct call *call, const struct sr_admin_where *where, const char *path, struct sr_bytes body,
               int *status, struct sr_err *err)
{
    char host[128] = HERE, bearer[512];
    const char *token = where->token ? where->token : getenv("SEMROUTE_ADMIN_TOKEN");
    struct sr_origin origin = {.host = host, .port = PORT};
    if (where->api && !split(where->api, host, &origin.port))
        return sr_err_set(err, SR_EINVAL, "`--api %.80s` is no ADDR:PORT", where->api);
    if (token && (size_t)snprintf(bearer, sizeof bearer, "Bearer %s", token) >= sizeof bearer)
        return sr_err_set(err, SR_EINVAL, "the token is too long");
    struct sr_header headers[] = {{SR_LIT("content-type"), SR_LIT("application/json")},
                                  {SR_LIT("authorization"), sr_bytes_str(token ? bearer : "")}};
    struct sr_client_request request = {
        .method = body.n ? SR_LIT("POST") : SR_LIT("GET"),
        .target = sr_bytes_str(path),
        .headers = headers,
        .header_count = token ? 2 : 1,
        .content_length = (int64_t)body.n,
        .body = &body,
        .body_count = body.n ? 1 : 0,
        .body_complete = true,
        .timeouts = {.connect_ms = CONNECT_MS, .head_ms = ANSWER_MS, .idle_ms = ANSWER_MS},
    };
    int rc = run(call, &origin, &request);
    *status = call->status;
    if (!rc)
        return SR_OK;
    if (call->slice && call->status == 200)
        return sr_err_set(err, rc, "the router at %s:%u has ended the stream (%s)", host,
                          (unsigned)origin.port, call->why[0] ? call->why : sr_strerror(rc));
    return sr_err_set(err, rc,
                      "no answer from %s:%u (%s): is `semroute serve` running, and is this its `--api`?",
                      host, (unsigned)origin.port, call->why[0] ? call->why : sr_strerror(rc));
}

int sr_admin_call(const struct sr_admin_where *where, const char *path, struct sr_bytes body,
                  struct sr_buf *answer, int *status, struct sr_err *err)
{
    struct call call = {.answer = answer};
    return ask(&call, where, path, body, status, err);
}

int sr_admin_stream(const struct sr_admin_where *where, const char *path,
                    bool (*slice)(void *ctx, struct sr_bytes bytes), void *ctx, struct sr_buf *answer,
                    int *status, struct sr_err *err)
{
    struct call call = {.answer = answer, .slice = slice, .ctx = ctx};
    return ask(&call, where, path, SR_LIT(""), status, err);
}
