/* Every answer depends on the origin, so it says so: a shared cache must not give it to another page. */
#include "serve/gateway/cors.h"

#define ASKED_MAX 4096 /* bytes of a list of header names that is repeated */

static bool is_allowed(const struct sr_strings *origins, struct sr_bytes origin)
{
    for (size_t i = 0; i < origins->count; i++)
        if (strcmp(origins->items[i], "*") == 0 || sr_bytes_eq(sr_bytes_str(origins->items[i]), origin))
            return true;
    return false;
}

/* The answer to the question whether a request may be sent. */
static void answer_preflight(struct sr_http_request *request, struct sr_bytes asked)
{
    struct sr_header headers[] = {
        {SR_LIT("access-control-allow-methods"), SR_LIT("GET, HEAD, POST, DELETE")},
        {SR_LIT("access-control-max-age"), SR_LIT("600")},
        {SR_LIT("access-control-allow-headers"), asked},
    };
    bool repeats = asked.n && asked.n <= ASKED_MAX;
    struct sr_http_response response = {
        .status = 204, .headers = headers, .header_count = repeats ? 3 : 2, .content_length = -1};
    if (sr_http_request_reply(request, &response, SR_LIT("")) != SR_OK)
        sr_http_request_abort(request);
}

bool sr_cors_answer(const struct sr_config_gateway *config, struct sr_http_request *request)
{
    const struct sr_http_head *head = sr_http_request_head(request);
    struct sr_bytes origin = sr_http_head_value(head, SR_LIT("origin"));
    if (!origin.n || !is_allowed(&config->cors_origins, origin))
        return false;
    struct sr_header *headers = sr_arena_calloc(sr_http_request_arena(request), 3, sizeof *headers);
    if (!headers) {
        sr_http_request_abort(request);
        return true;
    }
    headers[0] = (struct sr_header){SR_LIT("access-control-allow-origin"), origin};
    headers[1] = (struct sr_header){SR_LIT("access-control-expose-headers"), SR_LIT("*")};
    headers[2] = (struct sr_header){SR_LIT("vary"), SR_LIT("origin")};
    sr_http_request_add_headers(request, headers, 3);
    if (!sr_bytes_eq(head->method, SR_LIT("OPTIONS")) ||
        !sr_http_head_value(head, SR_LIT("access-control-request-method")).n)
        return false;
    answer_preflight(request, sr_http_head_value(head, SR_LIT("access-control-request-headers")));
    return true;
}
