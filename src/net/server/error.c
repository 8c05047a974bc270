/* Error answers that the server makes itself, before a handler knows the request or instead of its answer. */
#include "net/server/private.h"

#define ERROR_MAX 16384

struct sr_bytes sr_http_error_format(struct sr_http_server *server, int status, const char *reason,
                                     const char *peer, const struct sr_http_head *head, struct sr_buf *body)
{
    struct sr_bytes type = SR_LIT("text/plain");
    if (server->handler->error_body)
        return server->handler->error_body(server->ctx, status, reason, peer, head, body);
    if (sr_buf_printf(body, "%d %s\n", status, reason) != SR_OK)
        sr_buf_clear(body);
    return type;
}

int sr_http_error_write(struct sr_http_server *server, struct sr_conn *sock, int status, const char *reason,
                        const struct sr_http_head *head)
{
    struct sr_buf body, out;
    struct sr_bytes type, slice;
    int rc;
    sr_buf_init(&body, ERROR_MAX);
    sr_buf_init(&out, 2 * ERROR_MAX);
    type = sr_http_error_format(server, status, reason, sr_conn_peer(sock), head, &body);
    rc = sr_http1_write_status_line(&out, status, SR_LIT(""));
    if (rc == SR_OK)
        rc = sr_http1_write_header(&out, SR_LIT("content-type"), type);
    if (rc == SR_OK)
        rc = sr_buf_printf(&out, "content-length: %zu\r\nconnection: close\r\n\r\n", body.len);
    if (rc == SR_OK && !(head && sr_bytes_eq(head->method, SR_LIT("HEAD"))))
        rc = sr_buf_append_bytes(&out, sr_buf_view(&body));
    slice = sr_buf_view(&out);
    if (rc == SR_OK)
        rc = sr_conn_write(sock, &slice, 1);
    sr_buf_dispose(&body);
    sr_buf_dispose(&out);
    return rc;
}
