/*
 * Reading HTTP/1 messages. A head is collected whole, checked line by line by the strict rules of this file,
 * then parsed by http-parser: if the two disagree about its meaning, the message is refused. Bodies are
 * framed here, by a strict state machine; http-parser never sees them.
 */
#include "net/http1/http1.h"

#include "base/hex.h"
#include "net/http1/chars.h"

#include <http_parser.h>
#include <pthread.h>

#define HEAD_LINE_SLACK  64 /* bytes of a request line besides its target */
#define CHUNK_LINE_MAX   256
#define CHUNK_DIGITS_MAX 15
#define INTERIM_MAX      16

enum state {
    ST_HEAD,
    ST_LENGTH,
    ST_UNTIL_CLOSE,
    ST_CHUNK_START,
    ST_CHUNK_SIZE,
    ST_CHUNK_EXTENSION,
    ST_CHUNK_LINE_LF,
    ST_CHUNK_DATA,
    ST_CHUNK_DATA_CR,
    ST_CHUNK_DATA_LF,
    ST_TRAILER_START,
    ST_TRAILER_NAME,
    ST_TRAILER_VALUE,
    ST_TRAILER_LF,
    ST_LAST_LF,
    ST_END,
    ST_FAILED,
};

/* The result of http-parser for a head. */
struct second_opinion {
    struct sr_bytes url;
    size_t fields;
    bool complete;
};

/* Longest start line; a longer one means that the target is too long. */
static size_t line_max(const struct sr_http1 *parser)
{
    size_t most = parser->limits.target_bytes + HEAD_LINE_SLACK;
    return most < parser->limits.head_bytes ? most : parser->limits.head_bytes;
}

static enum sr_http1_event fail(struct sr_http1 *parser, int status, const char *reason)
{
    parser->state = ST_FAILED;
    parser->status = status;
    parser->reason = reason;
    return SR_HTTP1_FAIL;
}

struct sr_http1_limits sr_http1_limits_defaults(void)
{
    return (struct sr_http1_limits){
        .head_bytes = 65536, .header_count = 128, .target_bytes = 8192, .body_bytes = UINT64_MAX};
}

static void parser_setup(void)
{
    /* This limit is per parser; http-parser's own limit is per process. */
    http_parser_set_max_header_size(1u << 30);
}

void sr_http1_init(struct sr_http1 *parser, enum sr_http1_kind kind, const struct sr_http1_limits *limits)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, parser_setup);
    *parser = (struct sr_http1){.kind = kind, .limits = *limits, .state = ST_END};
    sr_buf_init(&parser->partial, limits->head_bytes + 1);
}

void sr_http1_dispose(struct sr_http1 *parser)
{
    sr_buf_dispose(&parser->partial);
}

void sr_http1_begin(struct sr_http1 *parser, struct sr_arena *arena, bool head_request)
{
    parser->arena = arena;
    parser->head = (struct sr_http_head){.content_length = -1};
    parser->state = ST_HEAD;
    parser->head_request = head_request;
    parser->blank_skipped = false;
    parser->interim = 0;
    parser->body_total = 0;
    parser->scan_from = 0;
    sr_buf_clear(&parser->partial);
    parser->partial.max = parser->limits.head_bytes + 1;
}

bool sr_http1_is_idle(const struct sr_http1 *parser)
{
    return parser->state == ST_HEAD && parser->partial.len == 0 && parser->interim == 0;
}

/* ---- headers ---- */

const struct sr_header *sr_http_head_find(const struct sr_http_head *head, struct sr_bytes name)
{
    for (size_t i = 0; i < head->header_count; i++)
        if (sr_bytes_eq(head->headers[i].name, name))
            return &head->headers[i];
    return NULL;
}

struct sr_bytes sr_http_head_value(const struct sr_http_head *head, struct sr_bytes name)
{
    const struct sr_header *header = sr_http_head_find(head, name);
    return header ? header->value : (struct sr_bytes){NULL, 0};
}

/* One "name: value" line without its CRLF; lower-cases the name in place. */
static const char *header_parse(char *line, size_t n, struct sr_header *out)
{
    size_t at = 0, end = n;
    while (at < n && sr_http1_is_token((unsigned char)line[at])) {
        line[at] = sr_ascii_lower(line[at]);
        at++;
    }
    if (at == 0 || at == n || line[at] != ':')
        return "invalid header name";
    out->name = sr_bytes_of(line, at++);
    while (at < end && (line[at] == ' ' || line[at] == '\t'))
        at++;
    while (end > at && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        end--;
    for (size_t i = at; i < end; i++)
        if (!sr_http1_is_value((unsigned char)line[i]))
            return "invalid byte in a header value";
    out->value = sr_bytes_of(line + at, end - at);
    return NULL;
}

/* Splits the lines after the start line. `mem` ends with an empty line. */
static enum sr_http1_event headers_parse(struct sr_http1 *parser, char *mem, size_t n)
{
    struct sr_http_head *head = &parser->head;
    size_t lines = 0;
    for (const char *p = mem; (p = memchr(p, '\n', (size_t)(mem + n - p))) != NULL; p++)
        lines++;
    if (lines - 1 > parser->limits.header_count)
        return fail(parser, 431, "too many header fields");
    head->headers = sr_arena_alloc(parser->arena, lines * sizeof *head->headers);
    if (!head->headers)
        return fail(parser, 431, "request header fields too large");
    for (char *p = mem, *end = mem + n; p < end;) {
        char *lf = memchr(p, '\n', (size_t)(end - p));
        size_t size = (size_t)(lf - p);
        const char *wrong;
        if (size == 0 || lf[-1] != '\r')
            return fail(parser, 400, "a line does not end with CRLF");
        if (size == 1 && lf + 1 == end)
            return SR_HTTP1_HEAD;
        if (*p == ' ' || *p == '\t')
            return fail(parser, 400, "folded header lines are not accepted");
        wrong = header_parse(p, size - 1, &head->headers[head->header_count]);
        if (wrong)
            return fail(parser, 400, wrong);
        head->header_count++;
        p = lf + 1;
    }
    return fail(parser, 400, "malformed header lines");
}

/* Reads comma-separated tokens of all Connection headers. */
static void connection_parse(struct sr_http_head *head)
{
    bool close = false, keep = false, upgrade = false;
    for (size_t i = 0; i < head->header_count; i++) {
        struct sr_bytes rest = head->headers[i].value, token;
        if (!sr_bytes_eq(head->headers[i].name, SR_LIT("connection")))
            continue;
        while (sr_http1_list_next(&rest, &token)) {
            close = close || sr_bytes_eq_nocase(token, SR_LIT("close"));
            keep = keep || sr_bytes_eq_nocase(token, SR_LIT("keep-alive"));
            upgrade = upgrade || sr_bytes_eq_nocase(token, SR_LIT("upgrade"));
        }
    }
    head->keep_alive = !close && (head->minor == 1 || keep);
    head->upgrade = upgrade && sr_http_head_find(head, SR_LIT("upgrade"));
}

/* Content-Length and Transfer-Encoding: at most one of them, at most once, and only unambiguous values. */
static enum sr_http1_event framing_parse(struct sr_http1 *parser)
{
    struct sr_http_head *head = &parser->head;
    unsigned lengths = 0, codings = 0;
    unsigned long long length = 0;
    struct sr_bytes coding = {0};
    for (size_t i = 0; i < head->header_count; i++) {
        const struct sr_header *h = &head->headers[i];
        if (sr_bytes_eq(h->name, SR_LIT("content-length"))) {
            lengths++;
            if (h->value.n > 18 || !sr_bytes_to_u64(h->value, &length))
                return fail(parser, 400, "invalid Content-Length");
        } else if (sr_bytes_eq(h->name, SR_LIT("transfer-encoding"))) {
            codings++;
            coding = h->value;
        }
    }
    if (lengths > 1)
        return fail(parser, 400, "more than one Content-Length");
    if (lengths && codings)
        return fail(parser, 400, "both Content-Length and Transfer-Encoding");
    if (codings && head->minor == 0)
        return fail(parser, 400, "Transfer-Encoding in HTTP/1.0");
    if (codings > 1)
        return fail(parser, 400, "more than one Transfer-Encoding");
    if (codings && !sr_bytes_eq_nocase(coding, SR_LIT("chunked")))
        return fail(parser, 501, "only the transfer coding `chunked` is supported");
    head->chunked = codings == 1;
    head->content_length = lengths ? (int64_t)length : -1;
    return SR_HTTP1_HEAD;
}

/* ---- http-parser's view of the same head ---- */

static int opinion_url(http_parser *hp, const char *p, size_t n)
{
    struct second_opinion *opinion = hp->data;
    opinion->url = opinion->url.p ? sr_bytes_of(opinion->url.p, opinion->url.n + n) : sr_bytes_of(p, n);
    return 0;
}

static int opinion_field(http_parser *hp, const char *p, size_t n)
{
    struct second_opinion *opinion = hp->data;
    (void)p, (void)n;
    opinion->fields++;
    return 0;
}

static int opinion_complete(http_parser *hp)
{
    struct second_opinion *opinion = hp->data;
    opinion->complete = true;
    return 1; /* this file frames the body */
}

static enum sr_http1_event opinion_check(struct sr_http1 *parser, const char *mem, size_t n)
{
    static const http_parser_settings settings = {
        .on_url = opinion_url, .on_header_field = opinion_field, .on_headers_complete = opinion_complete};
    struct sr_http_head *head = &parser->head;
    struct second_opinion opinion = {0};
    bool request = parser->kind == SR_HTTP1_REQUEST;
    uint64_t length = head->content_length < 0 ? UINT64_MAX : (uint64_t)head->content_length;
    http_parser hp;
    size_t used;
    http_parser_init(&hp, request ? HTTP_REQUEST : HTTP_RESPONSE);
    hp.data = &opinion;
    used = http_parser_execute(&hp, &settings, mem, n);
    if (HTTP_PARSER_ERRNO(&hp) == HPE_INVALID_METHOD && request)
        return fail(parser, 501, "method not implemented");
    if (HTTP_PARSER_ERRNO(&hp) != HPE_OK || !opinion.complete || used != n)
        return fail(parser, 400, "malformed message head");
    if (opinion.fields != head->header_count || hp.http_major != 1 || hp.http_minor != head->minor ||
        hp.content_length != length || ((hp.flags & F_CHUNKED) != 0) != head->chunked)
        return fail(parser, 400, "ambiguous message head");
    if (request && (!sr_bytes_eq(opinion.url, head->target) ||
                    !sr_bytes_eq(sr_bytes_str(http_method_str(hp.method)), head->method)))
        return fail(parser, 400, "ambiguous request line");
    if (request && hp.method == HTTP_CONNECT)
        return fail(parser, 501, "CONNECT is not supported");
    if (!request && hp.status_code != (unsigned)head->status)
        return fail(parser, 400, "ambiguous status line");
    return SR_HTTP1_HEAD;
}

/* ---- start lines ---- */

/* "HTTP/1.x": SR_HTTP1_HEAD, or a failure. */
static enum sr_http1_event version_parse(struct sr_http1 *parser, struct sr_bytes version)
{
    if (version.n != 8 || memcmp(version.p, "HTTP/", 5) != 0 || version.p[6] != '.' ||
        !sr_http1_is_digit((unsigned char)version.p[5]) || !sr_http1_is_digit((unsigned char)version.p[7]))
        return fail(parser, 400, "malformed start line");
    if (version.p[5] != '1' || version.p[7] > '1')
        return fail(parser, 505, "only HTTP/1.0 and HTTP/1.1 are supported");
    parser->head.minor = version.p[7] - '0';
    return SR_HTTP1_HEAD;
}

static enum sr_http1_event target_parse(struct sr_http1 *parser)
{
    struct sr_http_head *head = &parser->head;
    struct sr_bytes rest = head->target;
    const char *query;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] <= ' ' || rest.p[i] > '~' || rest.p[i] == '#')
            return fail(parser, 400, "invalid byte in the request target");
    if (sr_bytes_starts_with(rest, SR_LIT("http://")) || sr_bytes_starts_with(rest, SR_LIT("https://"))) {
        size_t at = rest.p[4] == 's' ? 8 : 7;
        while (at < rest.n && rest.p[at] != '/' && rest.p[at] != '?')
            at++;
        rest = sr_bytes_of(rest.p + at, rest.n - at);
    } else if (rest.p[0] != '/' &&
               !(sr_bytes_eq(rest, SR_LIT("*")) && sr_bytes_eq(head->method, SR_LIT("OPTIONS"))) &&
               !sr_bytes_eq(head->method, SR_LIT("CONNECT"))) {
        return fail(parser, 400, "the request target is not a path");
    }
    query = rest.n ? memchr(rest.p, '?', rest.n) : NULL;
    head->path = sr_bytes_of(rest.p, query ? (size_t)(query - rest.p) : rest.n);
    if (query)
        head->query = sr_bytes_of(query + 1, rest.n - head->path.n - 1);
    if (!head->path.n)
        head->path = SR_LIT("/");
    return SR_HTTP1_HEAD;
}

static enum sr_http1_event request_line_parse(struct sr_http1 *parser, const char *line, size_t n)
{
    struct sr_http_head *head = &parser->head;
    const char *first = memchr(line, ' ', n);
    const char *second = first ? memchr(first + 1, ' ', (size_t)(line + n - first - 1)) : NULL;
    if (!second || first == line || second == first + 1)
        return fail(parser, 400, "malformed request line");
    head->method = sr_bytes_of(line, (size_t)(first - line));
    head->target = sr_bytes_of(first + 1, (size_t)(second - first - 1));
    for (size_t i = 0; i < head->method.n; i++)
        if (!sr_http1_is_token((unsigned char)head->method.p[i]))
            return fail(parser, 400, "malformed request line");
    if (version_parse(parser, sr_bytes_of(second + 1, (size_t)(line + n - second - 1))) != SR_HTTP1_HEAD)
        return SR_HTTP1_FAIL;
    if (head->target.n > parser->limits.target_bytes)
        return fail(parser, 414, "request target too long");
    return target_parse(parser);
}

static enum sr_http1_event status_line_parse(struct sr_http1 *parser, const char *line, size_t n)
{
    struct sr_http_head *head = &parser->head;
    if (n < 12 || line[8] != ' ' || (n > 12 && line[12] != ' '))
        return fail(parser, 400, "malformed status line");
    if (version_parse(parser, sr_bytes_of(line, 8)) != SR_HTTP1_HEAD)
        return SR_HTTP1_FAIL;
    for (size_t i = 9; i < 12; i++) {
        if (!sr_http1_is_digit((unsigned char)line[i]))
            return fail(parser, 400, "malformed status line");
        head->status = head->status * 10 + (line[i] - '0');
    }
    if (n > 13)
        head->reason = sr_bytes_of(line + 13, n - 13);
    for (size_t i = 0; i < head->reason.n; i++)
        if (!sr_http1_is_value((unsigned char)head->reason.p[i]))
            return fail(parser, 400, "malformed status line");
    return head->status >= 100 && head->status < 600 ? SR_HTTP1_HEAD
                                                     : fail(parser, 400, "invalid status code");
}

/* ---- the meaning of a head ---- */

static enum sr_http1_event request_finish(struct sr_http1 *parser)
{
    struct sr_http_head *head = &parser->head;
    unsigned hosts = 0;
    for (size_t i = 0; i < head->header_count; i++) {
        const struct sr_header *h = &head->headers[i];
        if (sr_bytes_eq(h->name, SR_LIT("expect")))
            head->expect_continue = head->minor == 1 && sr_bytes_eq_nocase(h->value, SR_LIT("100-continue"));
        if (!sr_bytes_eq(h->name, SR_LIT("host")))
            continue;
        hosts++;
        for (size_t j = 0; j < h->value.n; j++)
            if (strchr(" \t,/@?#\\\"<>", h->value.p[j]))
                return fail(parser, 400, "invalid Host");
    }
    if (hosts > 1 || (hosts == 0 && head->minor == 1))
        return fail(parser, 400, hosts ? "more than one Host" : "a request of HTTP/1.1 needs a Host");
    if (head->content_length > 0 && (uint64_t)head->content_length > parser->limits.body_bytes)
        return fail(parser, 413, "request body too large");
    head->has_body = head->chunked || head->content_length > 0;
    parser->state = head->chunked ? ST_CHUNK_START : ST_LENGTH;
    parser->left = head->content_length > 0 ? (uint64_t)head->content_length : 0;
    return SR_HTTP1_HEAD;
}

static enum sr_http1_event response_finish(struct sr_http1 *parser)
{
    struct sr_http_head *head = &parser->head;
    if (head->status < 200) {
        if (head->status == 101 || ++parser->interim > INTERIM_MAX)
            return fail(parser, 400,
                        head->status == 101 ? "unexpected 101 response" : "too many interim responses");
        parser->head = (struct sr_http_head){.content_length = -1};
        return SR_HTTP1_MORE;
    }
    parser->state = ST_LENGTH;
    parser->left = 0;
    if (parser->head_request || head->status == 304)
        return SR_HTTP1_HEAD;
    if (head->status == 204) {
        /* Framing on a response that has no body: bytes that follow are not trusted. */
        head->keep_alive = head->keep_alive && !head->chunked && head->content_length <= 0;
        return SR_HTTP1_HEAD;
    }
    if (head->chunked) {
        parser->state = ST_CHUNK_START;
    } else if (head->content_length >= 0) {
        parser->left = (uint64_t)head->content_length;
    } else {
        parser->state = ST_UNTIL_CLOSE;
        head->keep_alive = false;
    }
    head->has_body = parser->state != ST_LENGTH || parser->left > 0;
    return SR_HTTP1_HEAD;
}

/* `src` is a whole head, from its start line to its empty line. MORE: it was an interim response. */
static enum sr_http1_event head_parse(struct sr_http1 *parser, const char *src, size_t n)
{
    const char *lf = memchr(src, '\n', n);
    size_t line = (size_t)(lf - src);
    bool request = parser->kind == SR_HTTP1_REQUEST;
    enum sr_http1_event event;
    char *mem;
    if (line > line_max(parser))
        return fail(parser, 414, "request target too long");
    if (n > parser->limits.head_bytes)
        return fail(parser, 431, "header fields too large");
    if (line == 0 || lf[-1] != '\r')
        return fail(parser, 400, "a line does not end with CRLF");
    mem = (char *)sr_arena_dup(parser->arena, sr_bytes_of(src, n)).p;
    if (!mem)
        return fail(parser, 431, "header fields too large");
    event = request ? request_line_parse(parser, mem, line - 1) : status_line_parse(parser, mem, line - 1);
    if (event == SR_HTTP1_HEAD)
        event = headers_parse(parser, mem + line + 1, n - line - 1);
    if (event == SR_HTTP1_HEAD)
        event = framing_parse(parser);
    if (event == SR_HTTP1_HEAD)
        event = opinion_check(parser, mem, n);
    if (event != SR_HTTP1_HEAD)
        return event;
    connection_parse(&parser->head);
    return request ? request_finish(parser) : response_finish(parser);
}

/* Length of the head in `p`, 0 when it is incomplete. An empty line without CR also ends it (header_parse
 * then refuses it). */
static size_t head_end(const char *p, size_t n, size_t from)
{
    const char *end = p + n, *at = p + from;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        size_t rest = (size_t)(end - at);
        if (rest > 1 && at[1] == '\n')
            return (size_t)(at - p) + 2;
        if (rest > 2 && at[1] == '\r' && at[2] == '\n')
            return (size_t)(at - p) + 3;
        at++;
    }
    return 0;
}

/* Fails at once for bytes that cannot become a head, without waiting for the end of the head. */
static enum sr_http1_event head_reject(struct sr_http1 *parser, const char *p, size_t n)
{
    if (n && (parser->kind == SR_HTTP1_REQUEST ? !sr_http1_is_token((unsigned char)p[0]) : p[0] != 'H'))
        return fail(parser, 400, "this is not HTTP");
    if (n > line_max(parser) && !memchr(p, '\n', line_max(parser) + 1))
        return fail(parser, 414, "request target too long");
    if (n > parser->limits.head_bytes)
        return fail(parser, 431, "header fields too large");
    return SR_HTTP1_MORE;
}

/* One empty line before a request is allowed: some clients end a body with it (RFC 9112, 2.2). True:
 * continue. */
static bool blank_skip(struct sr_http1 *parser, const char *data, size_t n, size_t *used)
{
    struct sr_buf *partial = &parser->partial;
    if (parser->blank_skipped || parser->kind != SR_HTTP1_REQUEST || partial->len > 1)
        return true;
    if (partial->len == 0 && n >= 2 && data[0] == '\r' && data[1] == '\n') {
        parser->blank_skipped = true;
        *used = 2;
    } else if (partial->len == 0 && n == 1 && data[0] == '\r') {
        *used = 1;
        return sr_buf_append(partial, "\r", 1) != SR_OK;
    } else if (partial->len == 1 && partial->data[0] == '\r' && n && data[0] == '\n') {
        parser->blank_skipped = true;
        sr_buf_clear(partial);
        *used = 1;
    }
    return true;
}

static enum sr_http1_event head_next(struct sr_http1 *parser, const char *data, size_t n, size_t *used)
{
    struct sr_buf *partial = &parser->partial;
    enum sr_http1_event event;
    size_t skipped = 0, old, end, take;
    if (!blank_skip(parser, data, n, &skipped) || skipped == n) {
        *used = skipped;
        return SR_HTTP1_MORE;
    }
    data += skipped;
    n -= skipped;
    old = partial->len;
    if (old == 0 && (end = head_end(data, n, 0)) != 0) {
        *used = skipped + end;
        event = head_reject(parser, data, 1);
        return event == SR_HTTP1_FAIL ? event : head_parse(parser, data, end);
    }
    take = n < partial->max - old ? n : partial->max - old;
    if (sr_buf_append(partial, data, take) != SR_OK)
        return fail(parser, 431, "header fields too large");
    end = head_end(partial->data, partial->len, parser->scan_from);
    *used = skipped + (end ? end - old : take);
    if (end) {
        event = head_reject(parser, partial->data, 1);
        event = event == SR_HTTP1_FAIL ? event : head_parse(parser, partial->data, end);
        sr_buf_clear(partial);
        parser->scan_from = 0;
        return event;
    }
    parser->scan_from = partial->len > 2 ? partial->len - 2 : 0;
    return head_reject(parser, partial->data, partial->len);
}

/* ---- bodies ---- */

/* One byte of a chunk's size line. False: not allowed there. */
static bool chunk_line_byte(struct sr_http1 *parser, char c)
{
    int digit = sr_hex_digit(c);
    if (++parser->line_bytes > CHUNK_LINE_MAX)
        return false;
    if (parser->state == ST_CHUNK_EXTENSION && c != '\r')
        return sr_http1_is_value((unsigned char)c);
    if (digit >= 0) {
        parser->state = ST_CHUNK_SIZE;
        parser->left = parser->left << 4 | (unsigned)digit;
        return parser->line_bytes <= CHUNK_DIGITS_MAX;
    }
    if (parser->state == ST_CHUNK_START || (c != '\r' && c != ';'))
        return false;
    parser->state = c == ';' ? ST_CHUNK_EXTENSION : ST_CHUNK_LINE_LF;
    return true;
}

/* One byte of the trailers, which are checked and dropped. */
static bool trailer_byte(struct sr_http1 *parser, char c)
{
    unsigned char u = (unsigned char)c;
    switch (parser->state) {
    case ST_TRAILER_START:
        parser->state = c == '\r' ? ST_LAST_LF : ST_TRAILER_NAME;
        return c == '\r' || sr_http1_is_token(u);
    case ST_TRAILER_NAME:
        parser->state = c == ':' ? ST_TRAILER_VALUE : ST_TRAILER_NAME;
        return c == ':' || sr_http1_is_token(u);
    case ST_TRAILER_VALUE:
        parser->state = c == '\r' ? ST_TRAILER_LF : ST_TRAILER_VALUE;
        return c == '\r' || sr_http1_is_value(u);
    default:
        parser->state = parser->state == ST_LAST_LF ? ST_END : ST_TRAILER_START;
        return c == '\n';
    }
}

/* One byte of framing. False: not allowed there. */
static bool framing_byte(struct sr_http1 *parser, char c)
{
    switch (parser->state) {
    case ST_CHUNK_START:
    case ST_CHUNK_SIZE:
    case ST_CHUNK_EXTENSION:
        return chunk_line_byte(parser, c);
    case ST_CHUNK_LINE_LF:
        parser->state = parser->left ? ST_CHUNK_DATA : ST_TRAILER_START;
        parser->line_bytes = 0;
        parser->trailer_bytes = 0;
        return c == '\n';
    case ST_CHUNK_DATA_CR:
        parser->state = ST_CHUNK_DATA_LF;
        return c == '\r';
    case ST_CHUNK_DATA_LF:
        parser->state = ST_CHUNK_START;
        return c == '\n';
    default:
        return trailer_byte(parser, c);
    }
}

/* Consumes the bytes at hand that still belong to the body. */
static enum sr_http1_event slice_take(struct sr_http1 *parser, const char *data, size_t n, size_t *used,
                                      struct sr_bytes *body)
{
    size_t take = n;
    if (parser->state != ST_UNTIL_CLOSE && take > parser->left)
        take = (size_t)parser->left;
    if (parser->body_total == parser->limits.body_bytes)
        return fail(parser, 413, "request body too large");
    if (take > parser->limits.body_bytes - parser->body_total)
        take = (size_t)(parser->limits.body_bytes - parser->body_total);
    parser->body_total += take;
    if (parser->state != ST_UNTIL_CLOSE)
        parser->left -= take;
    if (parser->state == ST_CHUNK_DATA && parser->left == 0)
        parser->state = ST_CHUNK_DATA_CR;
    *body = sr_bytes_of(data, take);
    *used += take;
    return SR_HTTP1_BODY;
}

static enum sr_http1_event body_next(struct sr_http1 *parser, const char *data, size_t n, size_t *used,
                                     struct sr_bytes *body)
{
    while (parser->state != ST_END) {
        if (parser->state == ST_LENGTH && parser->left == 0) {
            parser->state = ST_END;
            break;
        }
        if (*used == n)
            return SR_HTTP1_MORE;
        if (parser->state == ST_LENGTH || parser->state == ST_UNTIL_CLOSE || parser->state == ST_CHUNK_DATA)
            return slice_take(parser, data + *used, n - *used, used, body);
        if (parser->state >= ST_TRAILER_START && ++parser->trailer_bytes > parser->limits.head_bytes)
            return fail(parser, 431, "trailer fields too large");
        if (!framing_byte(parser, data[(*used)++]))
            return fail(parser, 400, "malformed chunked body");
    }
    return SR_HTTP1_END;
}

enum sr_http1_event sr_http1_next(struct sr_http1 *parser, const char *data, size_t n, size_t *used,
                                  struct sr_bytes *body)
{
    *used = 0;
    *body = (struct sr_bytes){NULL, 0};
    while (parser->state == ST_HEAD) {
        size_t step = 0;
        enum sr_http1_event event = head_next(parser, data + *used, n - *used, &step);
        *used += step;
        if (event != SR_HTTP1_MORE) {
            parser->line_bytes = 0;
            if (event == SR_HTTP1_HEAD && parser->head.chunked)
                parser->left = 0;
            return event;
        }
        if (*used == n)
            return SR_HTTP1_MORE;
    }
    if (parser->state == ST_FAILED)
        return SR_HTTP1_FAIL;
    return body_next(parser, data, n, used, body);
}

enum sr_http1_event sr_http1_eof(struct sr_http1 *parser)
{
    if (parser->state == ST_UNTIL_CLOSE || parser->state == ST_END)
        parser->state = ST_END;
    else if (sr_http1_is_idle(parser))
        return SR_HTTP1_MORE;
    else
        return fail(parser, 400, "closed in the middle of a message");
    return SR_HTTP1_END;
}
