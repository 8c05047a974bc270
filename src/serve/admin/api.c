/* The admin listeners: who may ask, pages that are answered at once, and requests that are read completely
 * and given to their call. */
#include "serve/admin/api.h"

#include "base/mem.h"
#include "router/runtime.h"
#include "serve/access.h"
#include "serve/admin/call.h"
#include "serve/admin/calls.h"
#include "serve/admin/draft.h"
#include "serve/admin/explain.h"
#include "serve/admin/ui.h"
#include "serve/local.h"

#include <unistd.h>

#define MAX_CONNECTIONS 48 /* of each admin listener; within the reserve of descriptors */

/* Replies to a request that may not use this listener. Probes may always. */
static bool reply_refusal(struct sr_api *api, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_access_refusal refusal;
    if (sr_bytes_eq(head->path, SR_LIT("/health")) || sr_bytes_eq(head->path, SR_LIT("/ready")))
        return false;
    const struct sr_config *config = sr_runtime_config(api->options.runtime);
    bool admitted = sr_access_admits(&config->global.access, head, api->options.loopback, &refusal);
    sr_config_unref(config);
    if (!admitted)
        sr_api_reply_error(request, refusal.status, refusal.message);
    return !admitted;
}

static bool metrics_wanted(struct sr_api *api)
{
    const struct sr_config *config = sr_runtime_config(api->options.runtime);
    bool wanted = config->global.metrics;
    sr_config_unref(config);
    return wanted;
}

static bool reply_page(struct sr_api *api, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    bool is_metrics = api->options.kind == SR_API_METRICS;
    struct sr_local_state state = {.runtime = api->options.runtime,
                                   .service = is_metrics ? "semroute" : "classification-api",
                                   .draining = atomic_load(api->options.draining),
                                   .names = true,
                                   .accept = sr_http_head_value(head, SR_LIT("accept")),
                                   .metrics = is_metrics && metrics_wanted(api)};
    struct sr_local_page page;
    struct sr_buf body;
    sr_buf_init(&body, SR_LOCAL_METRICS_MAX);
    bool mine = sr_local_answer(&state, head->method, head->path, &page, &body);
    if (mine)
        sr_api_reply(request, page.status, page.content_type, sr_buf_view(&body));
    sr_buf_dispose(&body);
    return mine;
}

/* The files of the page have no secrets: where a token is asked for, they come without it, and ask for it. */
static bool reply_ui(struct sr_api *api, struct sr_http_request *request)
{
    const struct sr_ui_file *file = sr_ui_find(sr_http_request_head(request)->path);
    if (!file || api->options.kind != SR_API_MAIN)
        return false;
    const struct sr_config *config = sr_runtime_config(api->options.runtime);
    bool token = sr_access_needs_token(&config->global.access);
    sr_config_unref(config);
    if (token || !reply_refusal(api, request))
        sr_ui_reply(file, request);
    return true;
}

/* ---- the server's events ---- */

static void on_request(void *ctx, struct sr_http_request *request)
{
    struct sr_api *api = ctx;
    const struct sr_http_head *head = sr_http_request_head(request);
    if (reply_ui(api, request) || reply_refusal(api, request) || reply_page(api, request))
        return;
    const struct sr_api_path *path = sr_api_path_find(head->path);
    if (api->options.kind != SR_API_MAIN || !path) {
        sr_api_reply_error(request, 404, "There is no such path.");
        return;
    }
    bool post = sr_bytes_eq(head->method, SR_LIT("POST"));
    bool reads = sr_bytes_eq(head->method, SR_LIT("GET")) || sr_bytes_eq(head->method, SR_LIT("HEAD"));
    bool sets = path->set && (post || sr_bytes_eq(head->method, SR_LIT("PUT")));
    if (path->get ? !reads && !sets : !post) {
        sr_api_reply_error(request, 405, path->get ? "Use GET." : "Use POST.");
        return;
    }
    struct sr_api_call *call = sr_arena_calloc(sr_http_request_arena(request), 1, sizeof *call);
    if (!call) {
        sr_api_reply_error(request, 503, "The server is out of memory.");
        return;
    }
    call->api = api;
    call->request = request;
    call->path = path;
    sr_buf_init(&call->body, SR_API_BODY_MAX);
    sr_api_explain_init(call);
    sr_http_request_set_ctx(request, call);
    sr_http_request_continue(request);
}

static void on_body(void *ctx, struct sr_http_request *request, struct sr_bytes slice)
{
    struct sr_api_call *call = ctx;
    if (call && !call->answered && sr_buf_append_bytes(&call->body, slice) != SR_OK) {
        call->answered = true;
        sr_api_reply_error(request, 413, "The body is too large.");
    }
}

static void on_body_end(void *ctx, struct sr_http_request *request)
{
    struct sr_api_call *call = ctx;
    (void)request;
    if (call && !call->answered)
        call->path->answer(call);
}

static void on_done(void *ctx, struct sr_http_request *request, bool complete)
{
    struct sr_api_call *call = ctx;
    (void)request;
    if (call) {
        sr_api_call_cancel(call);
        sr_api_explain_end(call, complete);
        sr_buf_dispose(&call->body);
    }
}

static struct sr_bytes on_error_body(void *ctx, int status, const char *reason, const char *peer,
                                     const struct sr_http_head *head, struct sr_buf *body)
{
    (void)ctx;
    (void)peer;
    (void)head;
    return sr_local_error(body, status, NULL, NULL, reason);
}

static const struct sr_http_handler HANDLER = {
    .request = on_request,
    .error_body = on_error_body,
    .body = on_body,
    .body_end = on_body_end,
    .done = on_done,
};

int sr_api_new(struct sr_api **out, int fd, const struct sr_api_options *options)
{
    struct sr_api *api = sr_mem_calloc(1, sizeof *api);
    *out = api;
    if (!api) {
        close(fd);
        return SR_ENOMEM;
    }
    api->options = *options;
    if (sr_drafts_new(&api->drafts, options->runtime, options->loop)) {
        close(fd);
        sr_mem_free(api);
        *out = NULL;
        return SR_ENOMEM;
    }
    struct sr_http_server_settings settings = sr_http_server_settings_defaults();
    settings.limits.body_bytes = SR_API_BODY_MAX;
    settings.max_connections = MAX_CONNECTIONS;
    settings.use_reserve = true;
    int rc = sr_http_server_new(&api->server, options->loop, fd, NULL, &settings, &HANDLER, api);
    if (rc != SR_OK) {
        sr_drafts_free(api->drafts);
        sr_mem_free(api);
        *out = NULL;
    }
    return rc;
}

void sr_api_free(struct sr_api *api)
{
    if (api) {
        sr_http_server_free(api->server);
        sr_drafts_free(api->drafts);
        sr_mem_free(api);
    }
}
