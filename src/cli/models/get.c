/* A fetch of the HTTP client for each hop, and a loop that runs until it has ended. */
#include "cli/models/get.h"

#include "config/bind/value.h"
#include "net/client/client.h"

#include <stdio.h>
#include <string.h>

#define HOPS_MAX   6
#define HOST_MAX   256
#define CONNECT_MS 15000
#define ANSWER_MS  60000

/* A URL taken apart. */
struct place {
    char host[HOST_MAX], target[SR_GET_URL_MAX];
    uint16_t port;
    bool tls;
};

struct hop {
    const struct sr_get *get;
    struct sr_loop *loop;
    struct sr_fetch *fetch; /* NULL once it has ended */
    int status, rc;
    bool taken; /* the body is the caller's */
    char location[SR_GET_URL_MAX];
    char why[160];
};

/* No more of the answer is wanted. */
static void stop(struct hop *hop, int rc)
{
    hop->rc = rc;
    sr_fetch_cancel(&hop->fetch);
    sr_loop_stop(hop->loop);
}

static bool redirects(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* Where the body of a 206 begins: `bytes FROM-TO/ALL`. False: it is not said, or not where it was wanted. */
static bool begins_at(const struct sr_http_head *head, uint64_t from)
{
    struct sr_bytes range = sr_http_head_value(head, SR_LIT("content-range"));
    unsigned long long first;
    if (!sr_bytes_starts_with(range, SR_LIT("bytes ")))
        return false;
    const char *dash = memchr(range.p, '-', range.n);
    return dash && sr_bytes_to_u64(sr_bytes_of(range.p + 6, (size_t)(dash - range.p - 6)), &first) &&
           first == from;
}

static void on_head(void *ctx, const struct sr_http_head *head)
{
    struct hop *hop = ctx;
    hop->status = head->status;
    if (redirects(head->status)) {
        struct sr_bytes to = sr_http_head_value(head, SR_LIT("location"));
        snprintf(hop->location, sizeof hop->location, "%.*s", (int)to.n, to.p ? to.p : "");
        stop(hop, to.n < sizeof hop->location ? SR_OK : SR_ELIMIT);
        return;
    }
    hop->taken = head->status == 200 || head->status == 206;
    if (!hop->taken) {
        stop(hop, SR_OK);
        return;
    }
    uint64_t from = head->status == 206 ? hop->get->from : 0;
    if (head->status == 206 && !begins_at(head, from)) {
        snprintf(hop->why, sizeof hop->why, "it answered another range than was asked for");
        stop(hop, SR_EPROTO);
        return;
    }
    int rc = hop->get->begin(hop->get->ctx, from);
    if (rc)
        stop(hop, rc);
}

static void on_body(void *ctx, struct sr_bytes slice)
{
    struct hop *hop = ctx;
    int rc = hop->taken ? hop->get->body(hop->get->ctx, slice) : SR_OK;
    if (rc)
        stop(hop, rc);
}

static void on_end(void *ctx)
{
    struct hop *hop = ctx;
    hop->fetch = NULL;
    sr_loop_stop(hop->loop);
}

static void on_failed(void *ctx, const struct sr_client_error *error)
{
    struct hop *hop = ctx;
    hop->fetch = NULL;
    hop->rc = error->code;
    snprintf(hop->why, sizeof hop->why, "%s", error->text);
    sr_loop_stop(hop->loop);
}

static const struct sr_fetch_events events = {
    .head = on_head, .body = on_body, .end = on_end, .failed = on_failed};

/* Takes a URL apart; a query belongs to the target, a fragment is dropped. */
static bool take_apart(const char *url, struct place *place)
{
    struct sr_value_endpoint end;
    size_t n = strcspn(url, "#"), plain = strcspn(url, "?#");
    if (n >= SR_GET_URL_MAX || !sr_value_url(sr_bytes_of(url, plain), &end) || end.host.n >= HOST_MAX)
        return false;
    size_t path = (size_t)(end.path.n ? end.path.p - url : 0);
    snprintf(place->host, sizeof place->host, "%.*s", (int)end.host.n, end.host.p);
    snprintf(place->target, sizeof place->target, "%s%.*s", path ? "" : "/",
             (int)(path ? n - path : n - plain), url + (path ? path : plain));
    place->port = (uint16_t)end.port;
    place->tls = sr_bytes_eq(end.scheme, SR_LIT("https"));
    return true;
}

static int run(struct hop *hop, const struct place *place, const char *bearer, sr_tls_context *tls)
{
    char range[48], token[1024];
    struct sr_header headers[3] = {{SR_LIT("accept"), SR_LIT("*/*")}};
    size_t n = 1;
    if (hop->get->from) {
        snprintf(range, sizeof range, "bytes=%llu-", (unsigned long long)hop->get->from);
        headers[n++] = (struct sr_header){SR_LIT("range"), sr_bytes_str(range)};
    }
    if (bearer) {
        if (snprintf(token, sizeof token, "Bearer %s", bearer) >= (int)sizeof token)
            return SR_ELIMIT;
        headers[n++] = (struct sr_header){SR_LIT("authorization"), sr_bytes_str(token)};
    }
    struct sr_origin origin = {.host = place->host, .port = place->port, .tls = tls};
    struct sr_client_request request = {
        .method = SR_LIT("GET"),
        .target = sr_bytes_str(place->target),
        .headers = headers,
        .header_count = n,
        .body_complete = true,
        .timeouts = {.connect_ms = CONNECT_MS, .head_ms = ANSWER_MS, .idle_ms = ANSWER_MS},
    };
    struct sr_client_settings settings = sr_client_settings_defaults();
    struct sr_client *client = NULL;
    int rc = sr_loop_new(&hop->loop);
    if (rc)
        return rc;
    rc = sr_client_new(&client, hop->loop, &settings);
    if (!rc)
        rc = sr_client_start(&hop->fetch, client, &origin, &request, &events, hop);
    if (!rc)
        sr_loop_run(hop->loop);
    sr_client_free(client);
    sr_loop_free(hop->loop);
    return rc ? rc : hop->rc;
}

static int one_hop(struct hop *hop, const struct place *place, const char *bearer, struct sr_err *err)
{
    struct sr_tls_settings settings = {0};
    sr_tls_context *tls = NULL;
    int rc = place->tls ? sr_tls_context_new(&tls, &settings, err) : SR_OK;
    if (rc)
        return rc;
    rc = run(hop, place, bearer, tls);
    sr_tls_context_unref(tls);
    if (rc)
        sr_err_set(err, rc, "%.120s:%u: %s", place->host, (unsigned)place->port,
                   hop->why[0] ? hop->why : sr_strerror(rc));
    return rc;
}

/* The URL that a Location names: a whole one, or a path at the same origin. */
static int follow(const char *location, struct place *place, struct sr_err *err)
{
    bool was_tls = place->tls;
    if (location[0] == '/' && location[1] != '/') {
        snprintf(place->target, sizeof place->target, "%.*s", (int)strcspn(location, "#"), location);
        return SR_OK;
    }
    char from[HOST_MAX];
    memcpy(from, place->host, sizeof from);
    if (!take_apart(location, place) || (was_tls && !place->tls))
        return sr_err_set(err, SR_EINVAL, "%.120s redirects to %s", from,
                          was_tls ? "what is no https URL" : "what is no URL");
    return SR_OK;
}

static bool same_origin(const struct place *a, const struct place *b)
{
    return strcmp(a->host, b->host) == 0 && a->port == b->port && a->tls == b->tls;
}

int sr_get(const struct sr_get *get, int *status, struct sr_err *err)
{
    struct place first, place;
    *status = 0;
    if (!take_apart(get->url, &first))
        return sr_err_set(err, SR_EINVAL, "`%.120s` is no http or https URL", get->url);
    place = first;
    for (int i = 0; i < HOPS_MAX; i++) {
        struct hop hop = {.get = get};
        int rc = one_hop(&hop, &place, same_origin(&first, &place) ? get->bearer : NULL, err);
        *status = hop.status;
        if (rc || !redirects(hop.status))
            return rc;
        rc = follow(hop.location, &place, err);
        if (rc)
            return rc;
    }
    return sr_err_set(err, SR_EINVAL, "%.120s redirects too often", first.host);
}
