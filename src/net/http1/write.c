/* Writing HTTP/1 heads and chunk framing. Refuses bytes that could split a message. */
#include "net/http1/http1.h"

#include "net/http1/chars.h"

#include <stdio.h>

static const struct {
    int status;
    const char *reason;
} reasons[] = {
    {100, "Continue"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {499, "Client Closed Request"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
};

/* Standard reason of a status; "Unknown" when it has none. */
static struct sr_bytes reason_of(int status)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return sr_bytes_str(reasons[i].reason);
    return SR_LIT("Unknown");
}

static bool is_connection_name(struct sr_bytes name)
{
    switch (name.n) {
    case 2:
        return sr_bytes_eq_nocase(name, SR_LIT("te"));
    case 7:
        return sr_bytes_eq_nocase(name, SR_LIT("trailer")) || sr_bytes_eq_nocase(name, SR_LIT("upgrade"));
    case 10:
        return sr_bytes_eq_nocase(name, SR_LIT("connection")) ||
               sr_bytes_eq_nocase(name, SR_LIT("keep-alive"));
    case 16:
        return sr_bytes_eq_nocase(name, SR_LIT("proxy-connection"));
    case 17:
        return sr_bytes_eq_nocase(name, SR_LIT("transfer-encoding"));
    case 18:
        return sr_bytes_eq_nocase(name, SR_LIT("proxy-authenticate"));
    case 19:
        return sr_bytes_eq_nocase(name, SR_LIT("proxy-authorization"));
    default:
        return false;
    }
}

bool sr_http1_is_hop_by_hop(const struct sr_http_head *head, struct sr_bytes name)
{
    if (is_connection_name(name))
        return true;
    for (size_t i = 0; head && i < head->header_count; i++) {
        struct sr_bytes rest = head->headers[i].value, token;
        if (!sr_bytes_eq(head->headers[i].name, SR_LIT("connection")))
            continue;
        while (sr_http1_list_next(&rest, &token))
            if (sr_bytes_eq_nocase(token, name))
                return true;
    }
    return false;
}

bool sr_http1_header_ok(struct sr_bytes name, struct sr_bytes value)
{
    for (size_t i = 0; i < name.n; i++)
        if (!sr_http1_is_token((unsigned char)name.p[i]))
            return false;
    for (size_t i = 0; i < value.n; i++)
        if (!sr_http1_is_value((unsigned char)value.p[i]))
            return false;
    return name.n > 0;
}

/* Reserves room for all parts at once, so that a failure leaves `out` unchanged. */
static int append_parts(struct sr_buf *out, const struct sr_bytes *parts, size_t count)
{
    size_t size = 0;
    int rc;
    for (size_t i = 0; i < count; i++)
        size += parts[i].n;
    rc = sr_buf_reserve(out, size);
    for (size_t i = 0; i < count && rc == SR_OK; i++)
        rc = sr_buf_append_bytes(out, parts[i]);
    return rc;
}

int sr_http1_write_request_line(struct sr_buf *out, struct sr_bytes method, struct sr_bytes target)
{
    const struct sr_bytes parts[] = {method, SR_LIT(" "), target, SR_LIT(" HTTP/1.1\r\n")};
    for (size_t i = 0; i < target.n; i++)
        if (target.p[i] <= ' ' || target.p[i] > '~')
            return SR_EINVAL;
    if (!target.n || !sr_http1_header_ok(method, SR_LIT("")))
        return SR_EINVAL;
    return append_parts(out, parts, 4);
}

int sr_http1_write_status_line(struct sr_buf *out, int status, struct sr_bytes reason)
{
    const char code[] = {(char)('0' + status / 100 % 10), (char)('0' + status / 10 % 10),
                         (char)('0' + status % 10)};
    struct sr_bytes parts[] = {SR_LIT("HTTP/1.1 "), {code, 3}, SR_LIT(" "), reason, SR_LIT("\r\n")};
    if (status < 100 || status > 599 || !sr_http1_header_ok(SR_LIT("x"), reason))
        return SR_EINVAL;
    if (!reason.n)
        parts[3] = reason_of(status);
    return append_parts(out, parts, 5);
}

int sr_http1_write_header(struct sr_buf *out, struct sr_bytes name, struct sr_bytes value)
{
    const struct sr_bytes parts[] = {name, SR_LIT(": "), value, SR_LIT("\r\n")};
    return sr_http1_header_ok(name, value) ? append_parts(out, parts, 4) : SR_EINVAL;
}

int sr_http1_write_end(struct sr_buf *out)
{
    return sr_buf_append(out, "\r\n", 2);
}

int sr_http1_write_length(struct sr_buf *out, uint64_t length)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + length % 10);
        length /= 10;
    } while (length);
    return sr_http1_write_header(out, SR_LIT("content-length"), sr_bytes_of(digits + at, sizeof digits - at));
}

struct sr_bytes sr_http1_chunk_head(char out[SR_HTTP1_CHUNK_HEAD_MAX], size_t size)
{
    size_t at = SR_HTTP1_CHUNK_HEAD_MAX;
    out[--at] = '\n';
    out[--at] = '\r';
    do {
        out[--at] = "0123456789abcdef"[size & 15];
        size >>= 4;
    } while (size);
    return sr_bytes_of(out + at, SR_HTTP1_CHUNK_HEAD_MAX - at);
}
