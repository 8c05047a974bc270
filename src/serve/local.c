/* Pages and errors that need no routing. */
#include "serve/local.h"

#include "dialect/openai.h"
#include "router/runtime.h"
#include "router/runtime_metrics.h"
#include "serve/readiness.h"

static const struct sr_bytes JSON = {"application/json", sizeof "application/json" - 1};

static bool health(const struct sr_local_state *state, struct sr_local_page *page, struct sr_buf *body)
{
    *page = (struct sr_local_page){200, JSON};
    return sr_buf_printf(body, "{\"status\": \"healthy\", \"service\": \"%s\"}", state->service) == SR_OK;
}

static bool ready(const struct sr_local_state *state, struct sr_local_page *page, struct sr_buf *body)
{
    struct sr_readiness_of of = {.runtime = state->runtime,
                                 .service = state->service,
                                 .draining = state->draining,
                                 .names = state->names};
    *page = (struct sr_local_page){sr_readiness(&of, body), JSON};
    return page->status != 500;
}

static bool metrics(const struct sr_local_state *state, struct sr_local_page *page, struct sr_buf *body)
{
    enum sr_exposition form = sr_exposition_of(state->accept);
    *page = (struct sr_local_page){200, sr_exposition_type(form)};
    return sr_expose_process(form, body) == SR_OK && sr_runtime_expose(state->runtime, form, body) == SR_OK &&
           sr_expose_end(form, body) == SR_OK;
}

static bool reads(struct sr_bytes method)
{
    return sr_bytes_eq(method, SR_LIT("GET")) || sr_bytes_eq(method, SR_LIT("HEAD"));
}

bool sr_local_is_metrics(struct sr_bytes method, struct sr_bytes path)
{
    return reads(method) && sr_bytes_eq(path, SR_LIT("/metrics"));
}

bool sr_local_answer(const struct sr_local_state *state, struct sr_bytes method, struct sr_bytes path,
                     struct sr_local_page *page, struct sr_buf *body)
{
    if (path.n < 6 || path.n > 8 || !reads(method))
        return false;
    if (sr_bytes_eq(path, SR_LIT("/health")))
        return health(state, page, body);
    if (sr_bytes_eq(path, SR_LIT("/ready")))
        return ready(state, page, body);
    return state->metrics && sr_local_is_metrics(method, path) && metrics(state, page, body);
}

static const char *code_of(int status)
{
    switch (status) {
    case 401:
        return "token_required";
    case 403:
        return "forbidden";
    case 404:
        return "not_found";
    case 405:
        return "method_not_allowed";
    case 408:
        return "request_timeout";
    case 413:
        return "request_too_large";
    case 415:
        return "unsupported_content_type";
    case 414:
        return "uri_too_long";
    case 431:
        return "headers_too_large";
    case 501:
        return "not_implemented";
    case 503:
        return "overloaded";
    case 505:
        return "http_version_not_supported";
    default:
        return status < 500 ? "bad_request" : "internal_error";
    }
}

struct sr_bytes sr_local_error(struct sr_buf *body, int status, const char *type, const char *code,
                               const char *message)
{
    if (!type) {
        bool by_client = status < 500 || status == 501 || status == 505;
        type = by_client ? "invalid_request_error" : "server_error";
    }
    size_t start = body->len;
    struct sr_dialect_error error = {sr_bytes_str(message), type, code ? code : code_of(status), NULL};
    if (sr_openai_error(&error, body) != SR_OK)
        body->len = start;
    return JSON;
}
