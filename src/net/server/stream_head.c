/*
 * The head of an HTTP/2 stream as the head of a request of HTTP/1.1.
 *
 * Written out as text and read by http1, so that both protocols have one reading of a request: the same
 * limits, the same refusals, and no field that HTTP/1.1 could not carry to the upstream. nghttp2 has refused
 * what RFC 9113 calls malformed (order and number of pseudo headers, names in upper case).
 */
#include "net/http1/chars.h"
#include "net/server/private.h"

#define LINE_SLACK 64 /* bytes of a request line and a host line besides what the client sent */

struct refusal {
    int status;
    const char *reason;
};

static const struct refusal MALFORMED_METHOD = {400, "invalid method"};
static const struct refusal MALFORMED_PATH = {400, "invalid byte in the request target"};
static const struct refusal NO_CONNECT = {501, "CONNECT is not supported"};
static const struct refusal BAD_SCHEME = {400, "the scheme is neither http nor https"};
static const struct refusal TWO_HOSTS = {400, ":authority and Host differ"};
static const struct refusal BAD_FIELD = {400, "invalid header field"};
static const struct refusal OF_CONNECTION = {400, "a header of HTTP/1.1 connections"};
static const struct refusal TOO_LARGE = {431, "header fields too large"};

static bool is_named(const struct sr_http2_header *field, const char *name)
{
    return sr_bytes_eq(field->name, sr_bytes_str(name));
}

/* NULL: the pseudo headers make a request line. */
static const struct refusal *line_check(const struct sr_http2_head *head)
{
    if (!head->method.n)
        return &MALFORMED_METHOD;
    for (size_t i = 0; i < head->method.n; i++)
        if (!sr_http1_is_token((unsigned char)head->method.p[i]))
            return &MALFORMED_METHOD;
    if (sr_bytes_eq(head->method, SR_LIT("CONNECT")))
        return &NO_CONNECT;
    if (!head->path.n)
        return &MALFORMED_PATH;
    for (size_t i = 0; i < head->path.n; i++)
        if (head->path.p[i] <= ' ' || head->path.p[i] > '~')
            return &MALFORMED_PATH;
    if (!sr_bytes_eq_nocase(head->scheme, SR_LIT("http")) &&
        !sr_bytes_eq_nocase(head->scheme, SR_LIT("https")))
        return &BAD_SCHEME;
    return NULL;
}

/* NULL: the field may be in a request of HTTP/2. `te: trailers` may, and goes no further than this server. */
static const struct refusal *field_check(const struct sr_http2_head *head,
                                         const struct sr_http2_header *field)
{
    if (!sr_http1_header_ok(field->name, field->value))
        return &BAD_FIELD;
    if (is_named(field, "te") && !sr_bytes_eq_nocase(field->value, SR_LIT("trailers")))
        return &OF_CONNECTION;
    if (is_named(field, "connection") || is_named(field, "keep-alive") || is_named(field, "upgrade") ||
        is_named(field, "proxy-connection") || is_named(field, "transfer-encoding"))
        return &OF_CONNECTION;
    if (is_named(field, "host") && head->authority.n && !sr_bytes_eq_nocase(field->value, head->authority))
        return &TWO_HOSTS;
    return NULL;
}

/* All fields of this name from `from` on, as one: cookies may come in pieces (RFC 9113, 8.2.3). */
static int cookies_write(struct sr_buf *out, const struct sr_http2_head *head, size_t from)
{
    int rc = sr_buf_append_bytes(out, SR_LIT("cookie: "));
    for (size_t i = from; i < head->header_count && rc == SR_OK; i++) {
        if (!is_named(&head->headers[i], "cookie"))
            continue;
        if (i > from)
            rc = sr_buf_append_bytes(out, SR_LIT("; "));
        if (rc == SR_OK)
            rc = sr_buf_append_bytes(out, head->headers[i].value);
    }
    return rc == SR_OK ? sr_buf_append_bytes(out, SR_LIT("\r\n")) : rc;
}

/* NULL: `out` has the whole head. */
static const struct refusal *head_write(struct sr_buf *out, const struct sr_http2_head *head)
{
    bool cookies = false;
    const struct refusal *wrong = line_check(head);
    if (wrong)
        return wrong;
    int rc = sr_http1_write_request_line(out, head->method, head->path);
    if (rc == SR_OK && head->authority.n)
        rc = sr_http1_write_header(out, SR_LIT("host"), head->authority);
    for (size_t i = 0; i < head->header_count && rc == SR_OK; i++) {
        const struct sr_http2_header *field = &head->headers[i];
        wrong = field_check(head, field);
        if (wrong)
            return wrong;
        if (is_named(field, "host") && head->authority.n)
            continue;
        if (!is_named(field, "cookie"))
            rc = sr_http1_write_header(out, field->name, field->value);
        else if (!cookies)
            rc = cookies_write(out, head, i);
        cookies = cookies || is_named(field, "cookie");
    }
    if (rc == SR_OK)
        rc = sr_http1_write_end(out);
    return rc == SR_OK ? NULL : rc == SR_EINVAL ? &BAD_FIELD : &TOO_LARGE;
}

int sr_http_stream_head(struct sr_http_head *out, const struct sr_http2_head *head,
                        const struct sr_http1_limits *limits, struct sr_arena *arena, int *status,
                        const char **reason)
{
    struct sr_buf text;
    struct sr_http1 parser;
    struct sr_bytes body;
    size_t used;
    sr_buf_init(&text, limits->head_bytes + LINE_SLACK);
    const struct refusal *wrong = head_write(&text, head);
    sr_http1_init(&parser, SR_HTTP1_REQUEST, limits);
    sr_http1_begin(&parser, arena, false);
    int rc = SR_EPROTO;
    if (wrong) {
        *status = wrong->status;
        *reason = wrong->reason;
        parser.head.method = head->method;
    } else if (sr_http1_next(&parser, text.data, text.len, &used, &body) == SR_HTTP1_HEAD) {
        rc = SR_OK;
    } else {
        *status = parser.status ? parser.status : 400;
        *reason = parser.reason ? parser.reason : "malformed message head";
    }
    *out = parser.head;
    out->has_body = !head->end && out->content_length != 0;
    out->keep_alive = true;
    out->upgrade = false;
    sr_http1_dispose(&parser);
    sr_buf_dispose(&text);
    return rc;
}
