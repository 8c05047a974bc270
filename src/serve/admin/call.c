/* Whole answers, and errors in their shape. */
#include "serve/admin/call.h"

#include "serve/local.h"

void sr_api_reply(struct sr_http_request *request, int status, struct sr_bytes type, struct sr_bytes body)
{
    struct sr_header header = {SR_LIT("content-type"), type};
    struct sr_http_response response = {.status = status, .headers = &header, .header_count = 1};
    if (sr_http_request_reply(request, &response, body) != SR_OK)
        sr_http_request_abort(request);
}

void sr_api_reply_error(struct sr_http_request *request, int status, const char *message)
{
    struct sr_buf body;
    sr_buf_init(&body, 8192);
    struct sr_bytes type = sr_local_error(&body, status, NULL, NULL, message);
    sr_api_reply(request, status, type, sr_buf_view(&body));
    sr_buf_dispose(&body);
}
