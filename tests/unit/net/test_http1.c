/* HTTP/1 messages, good and hostile: each one whole, byte by byte, and cut at every position, always with the
 * same result. */
#include "tests/unit/cmocka_all.h"

#include "net/http1/http1.h"

#include <stdio.h>
#include <stdlib.h>

/* A transcript of what the parser said, the same for every split: heads, body bytes, ends, the failure. */
struct reading {
    struct sr_http1 parser;
    struct sr_arena arena;
    struct sr_buf log;
    bool head_request;
    bool failed;
};

static void reading_begin(struct reading *r, enum sr_http1_kind kind, const struct sr_http1_limits *limits,
                          bool head)
{
    *r = (struct reading){.head_request = head};
    sr_arena_init(&r->arena, 1 << 20);
    sr_buf_init(&r->log, 1 << 20);
    sr_http1_init(&r->parser, kind, limits);
    sr_http1_begin(&r->parser, &r->arena, head);
}

static void reading_end(struct reading *r)
{
    sr_http1_dispose(&r->parser);
    sr_arena_dispose(&r->arena);
    sr_buf_dispose(&r->log);
}

static void log_head(struct reading *r)
{
    const struct sr_http_head *h = &r->parser.head;
    if (h->method.n)
        assert_int_equal(
            sr_buf_printf(&r->log, "[%.*s %.*s", (int)h->method.n, h->method.p, (int)h->path.n, h->path.p),
            SR_OK);
    else
        assert_int_equal(sr_buf_printf(&r->log, "[%d", h->status), SR_OK);
    if (h->query.n)
        assert_int_equal(sr_buf_printf(&r->log, "?%.*s", (int)h->query.n, h->query.p), SR_OK);
    for (size_t i = 0; i < h->header_count; i++)
        assert_int_equal(sr_buf_printf(&r->log, "|%.*s=%.*s", (int)h->headers[i].name.n, h->headers[i].name.p,
                                       (int)h->headers[i].value.n, h->headers[i].value.p),
                         SR_OK);
    assert_int_equal(sr_buf_printf(&r->log, "%s%s%s]", h->keep_alive ? "" : " close",
                                   h->upgrade ? " upgrade" : "", h->expect_continue ? " expect" : ""),
                     SR_OK);
}

static void reading_feed(struct reading *r, const char *p, size_t n)
{
    while (!r->failed) {
        struct sr_bytes body;
        size_t used;
        switch (sr_http1_next(&r->parser, p, n, &used, &body)) {
        case SR_HTTP1_MORE:
            assert_int_equal(used, n);
            return;
        case SR_HTTP1_HEAD:
            log_head(r);
            break;
        case SR_HTTP1_BODY:
            assert_true(body.n > 0 && body.p >= p && body.p + body.n <= p + n);
            assert_int_equal(sr_buf_append_bytes(&r->log, body), SR_OK);
            break;
        case SR_HTTP1_END:
            assert_int_equal(sr_buf_append(&r->log, ".", 1), SR_OK);
            sr_http1_begin(&r->parser, &r->arena, r->head_request);
            break;
        case SR_HTTP1_FAIL:
            r->failed = true;
            assert_non_null(r->parser.reason);
            assert_int_equal(sr_buf_printf(&r->log, "!%d", r->parser.status), SR_OK);
            return;
        }
        assert_true(used <= n);
        p += used;
        n -= used;
    }
}

struct message {
    const char *in;
    const char *log;
    size_t n; /* 0: strlen */
};

static void read_split(const struct message *m, enum sr_http1_kind kind, const struct sr_http1_limits *limits,
                       bool head, size_t cut, size_t step)
{
    size_t n = m->n ? m->n : strlen(m->in);
    struct reading r;
    char *copy;
    reading_begin(&r, kind, limits, head);
    for (size_t at = 0; at < n;) {
        size_t size = at == 0 && cut ? cut : step;
        if (size > n - at)
            size = n - at;
        /* A copy of its own for each piece, so that a sanitizer sees every byte too far. */
        copy = malloc(size);
        memcpy(copy, m->in + at, size);
        reading_feed(&r, copy, size);
        free(copy);
        at += size;
    }
    if (!r.failed && sr_http1_eof(&r.parser) == SR_HTTP1_END)
        assert_int_equal(sr_buf_append(&r.log, ".eof", 4), SR_OK);
    if (!r.log.len || strcmp(r.log.data, m->log) != 0)
        fail_msg("cut %zu step %zu of <<%s>>\n gave <<%s>>\n not  <<%s>>", cut, step, m->in,
                 r.log.len ? r.log.data : "", m->log);
    reading_end(&r);
}

static void read_all(const struct message *m, size_t count, enum sr_http1_kind kind,
                     const struct sr_http1_limits *limits, bool head)
{
    for (size_t i = 0; i < count; i++) {
        size_t n = m[i].n ? m[i].n : strlen(m[i].in);
        read_split(&m[i], kind, limits, head, 0, 1);
        for (size_t cut = 0; cut < n; cut++)
            read_split(&m[i], kind, limits, head, cut, n);
    }
}

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define H        "Host: a\r\n"
#define WITH_NUL(in, log)                                                                                    \
    {                                                                                                        \
        in, log, sizeof(in) - 1                                                                              \
    }

static void good_requests(void **state)
{
    static const struct message messages[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "[GET /|host=a]."},
        {"GET /v1/models?limit=1&x HTTP/1.1\r\nHOST:a\r\n\r\n", "[GET /v1/models?limit=1&x|host=a]."},
        {"POST /x HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n" H "\r\n",
         "[POST /x|host=a|content-length=5]hello.[GET /|host=a]."},
        {"POST /x HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nhi\r\nGET / HTTP/1.1\r\n" H "\r\n",
         "[POST /x|host=a|content-length=2]hi.[GET /|host=a]."},
        {"POST /x HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", "[POST /x|host=a|content-length=0]."},
        {"POST /x HTTP/1.1\r\n" H
         "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;ext=1\r\n0123456789\r\n0\r\n\r\n",
         "[POST /x|host=a|transfer-encoding=chunked]abc0123456789."},
        {"POST /x HTTP/1.1\r\n" H "Transfer-Encoding: Chunked\r\n\r\n1\r\nz\r\n000\r\nX-Sum: 1\r\nY:\r\n\r\n",
         "[POST /x|host=a|transfer-encoding=Chunked]z."},
        {"GET /a HTTP/1.0\r\n\r\n", "[GET /a close]."},
        {"GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", "[GET /a|connection=Keep-Alive]."},
        {"GET /a HTTP/1.1\r\n" H "Connection: x, close\r\n\r\n",
         "[GET /a|host=a|connection=x, close close]."},
        {"GET /a HTTP/1.1\r\n" H "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
         "[GET /a|host=a|connection=Upgrade|upgrade=h2c upgrade]."},
        {"POST /a HTTP/1.1\r\n" H "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\nx",
         "[POST /a|host=a|expect=100-Continue|content-length=1 expect]x."},
        {"GET http://h:80/p?q HTTP/1.1\r\n" H "\r\n", "[GET /p?q|host=a]."},
        {"GET http://h HTTP/1.1\r\n" H "\r\n", "[GET /|host=a]."},
        {"OPTIONS * HTTP/1.1\r\n" H "\r\n", "[OPTIONS *|host=a]."},
        {"GET / HTTP/1.1\r\nHost:\r\nX-A: \t a\xC3\xA9 b \t\r\nx-a:2\r\n\r\n",
         "[GET /|host=|x-a=a\xC3\xA9 b|x-a=2]."},
    };
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    (void)state;
    read_all(messages, COUNT(messages), SR_HTTP1_REQUEST, &limits, false);
}

static void hostile_requests(void **state)
{
    static const struct message messages[] = {
        /* Which length counts? */
        {"POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 5, 5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: -1\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 0x5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 5 5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 99999999999999999999\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551617\r\n\r\n", "!400"},
        {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: identity\r\n\r\n", "!501"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip, chunked\r\n\r\n", "!501"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n", "!501"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", "!501"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: \"chunked\"\r\n\r\n", "!501"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding:\r\n\r\n", "!501"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding : chunked\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding\x0B: chunked\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n" H "Transfer-Encoding: \x0B"
         "chunked\r\n\r\n",
         "!400"},
        {"POST / HTTP/1.1\r\n" H "Content-Length : 5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "X: a\r\n Content-Length: 5\r\n\r\nhello", "!400"},
        {"POST / HTTP/1.1\r\n" H "X: a\r\n\tb\r\n\r\n", "!400"},
        {"POST / HTTP/1.1\r\n X: a\r\n" H "\r\n", "!400"},
        /* Line ends */
        {"GET / HTTP/1.1\n" H "\r\n", "!400"},
        {"GET / HTTP/1.1\r\nHost: a\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\nHost: a\n\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X: a\rContent-Length: 3\r\n\r\nabc", "!400"},
        {"GET / HTTP/1.1\r\r\n" H "\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X: a\r\r\n\r\n", "!400"},
        {"\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n", "!400"},
        {"\nGET / HTTP/1.1\r\n" H "\r\n", "!400"},
        /* Bytes that may not stand there */
        WITH_NUL("GET / HTTP/1.1\r\n" H "X: a\0b\r\n\r\n", "!400"),
        WITH_NUL("GET / HTTP/1.1\r\n" H "X\0: b\r\n\r\n", "!400"),
        WITH_NUL("GET /\0 HTTP/1.1\r\n" H "\r\n", "!400"),
        {"GET / HTTP/1.1\r\n" H "X: a\x01\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X: a\x7f\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H ": b\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X(y): b\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X\xC3\xA9: b\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\n" H "X y: b\r\n\r\n", "!400"},
        /* Start lines */
        {"GET  / HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET /  HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET / HTTP/1.1 \r\n" H "\r\n", "!400"},
        {"GET\t/ HTTP/1.1\r\n" H "\r\n", "!400"},
        {" GET / HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET /a b HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET /a\tb HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET /\xC3\xA9 HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET /a#b HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET a HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET * HTTP/1.1\r\n" H "\r\n", "!400"},
        {"GET / http/1.1\r\n" H "\r\n", "!400"},
        {"GET / HTTP/1.1.1\r\n" H "\r\n", "!400"},
        {"GET / HTTP/11\r\n" H "\r\n", "!400"},
        {"GET /\r\n" H "\r\n", "!400"},
        {"GET / HTTP/1.2\r\n" H "\r\n", "!505"},
        {"GET / HTTP/2.0\r\n" H "\r\n", "!505"},
        {"GET / HTTP/0.9\r\n" H "\r\n", "!505"},
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "!505"},
        {"BREW /pot HTTP/1.1\r\n" H "\r\n", "!501"},
        {"get / HTTP/1.1\r\n" H "\r\n", "!501"},
        {"CONNECT h:443 HTTP/1.1\r\n" H "\r\n", "!501"},
        {"\x16\x03\x01\x02", "!400"},
        {"{\"model\": 1}", "!400"},
        /* Hosts */
        {"GET / HTTP/1.1\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "!400"},
        {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "!400"},
    };
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    (void)state;
    read_all(messages, COUNT(messages), SR_HTTP1_REQUEST, &limits, false);
}

#define CHUNKED     "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define CHUNKED_LOG "[POST /|host=a|transfer-encoding=chunked]"

static void hostile_chunks(void **state)
{
    static const struct message messages[] = {
        {CHUNKED "3\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "3\r\nabc\n0\r\n\r\n", CHUNKED_LOG "abc!400"},
        {CHUNKED "3\r\nabcd\r\n0\r\n\r\n", CHUNKED_LOG "abc!400"},
        {CHUNKED "3\r\nab\r\n0\r\n\r\n", CHUNKED_LOG "ab\r!400"},
        {CHUNKED "3\r\rabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "3 \r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED " 3\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "+3\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "-3\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0x3\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED ";a\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "g\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "3;a\nX\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "3;a\rX\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "3;\x01\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "10000000000000003\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0000000000000000000003\r\nabc\r\n0\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0\r\n X: y\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0\r\nX y: z\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0\r\nX: y\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0\r\nX\r\n\r\n", CHUNKED_LOG "!400"},
        {CHUNKED "0\r\n\n", CHUNKED_LOG "!400"},
        {CHUNKED "0\r\n\rX", CHUNKED_LOG "!400"},
    };
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    (void)state;
    read_all(messages, COUNT(messages), SR_HTTP1_REQUEST, &limits, false);
}

static void limits_have_their_status(void **state)
{
    static const struct message messages[] = {
        {"GET /aaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n" H "\r\n", "[GET /aaaaaaaaaaaaaaaaaaaa|host=a]."},
        {"GET /aaaaaaaaaaaaaaaaaaaaaaaa HTTP/1.1\r\n" H "\r\n", "!414"},
        {"GET "
         "/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaa",
         "!414"},
        {"GET / HTTP/1.1\r\n" H "A: 1\r\nB: 2\r\n\r\n", "[GET /|host=a|a=1|b=2]."},
        {"GET / HTTP/1.1\r\n" H "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", "!431"},
        {"GET / HTTP/1.1\r\n" H "A: "
         "1111111111111111111111111111111111111111111111111111111111111111111111111111"
         "111111111111111\r\n\r\n",
         "!431"},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 10\r\n\r\n0123456789",
         "[POST /|host=a|content-length=10]0123456789."},
        {"POST / HTTP/1.1\r\n" H "Content-Length: 11\r\n\r\n0123456789a", "!413"},
        {CHUNKED "a\r\n0123456789\r\n0\r\n\r\n", CHUNKED_LOG "0123456789."},
        {CHUNKED "a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", CHUNKED_LOG "0123456789!413"},
        {CHUNKED "0\r\nTrailer: "
                 "ttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"
                 "ttttttttttttttttttttttttttttttttttttttttttttttttt\r\n\r\n",
         CHUNKED_LOG "!431"},
    };
    struct sr_http1_limits limits = {
        .head_bytes = 100, .header_count = 3, .target_bytes = 24, .body_bytes = 10};
    (void)state;
    read_all(messages, COUNT(messages), SR_HTTP1_REQUEST, &limits, false);
}

static void responses(void **state)
{
    static const struct message messages[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "[200|content-length=2]hi."},
        {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "[200|content-length=0]."},
        {"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "[200|content-length=0]."},
        {"HTTP/1.1 500 Bad Thing\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
         "[500|transfer-encoding=chunked]hi."},
        {"HTTP/1.1 200 OK\r\n\r\nuntil close", "[200 close]until close.eof"},
        {"HTTP/1.0 200 OK\r\n\r\n", "[200 close].eof"},
        {"HTTP/1.1 204 No Content\r\n\r\n", "[204]."},
        {"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", "[304|content-length=100]."},
        {"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
         "[204|transfer-encoding=chunked close]."},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 "
         "OK\r\nContent-Length: 1\r\n\r\nx",
         "[200|content-length=1]x."},
        {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "!400"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "!400"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", "!400"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "!501"},
        {"HTTP/1.1 99 Low\r\n\r\n", "!400"},
        {"HTTP/1.1 600 High\r\n\r\n", "!400"},
        {"HTTP/1.1 2000 Long\r\n\r\n", "!400"},
        {"HTTP/1.1  200 OK\r\n\r\n", "!400"},
        {"HTTP/2.0 200 OK\r\n\r\n", "!505"},
        {"ICY 200 OK\r\n\r\n", "!400"},
        {"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", "!400"},
        {"HTTP/1.1 200 O\x01K\r\n\r\n", "!400"},
    };
    static const struct message to_head[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "[200|content-length=1000]."},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "[200|transfer-encoding=chunked]."},
    };
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    (void)state;
    read_all(messages, COUNT(messages), SR_HTTP1_RESPONSE, &limits, false);
    read_all(to_head, COUNT(to_head), SR_HTTP1_RESPONSE, &limits, true);
}

static void an_early_end_is_a_failure(void **state)
{
    static const char request[] = "POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello";
    struct sr_http1_limits limits = sr_http1_limits_defaults();
    (void)state;
    for (size_t n = 0; n < sizeof request - 1; n++) {
        struct reading r;
        reading_begin(&r, SR_HTTP1_REQUEST, &limits, false);
        reading_feed(&r, request, n);
        assert_int_equal(sr_http1_is_idle(&r.parser), n == 0);
        assert_int_equal(sr_http1_eof(&r.parser), n == 0 ? SR_HTTP1_MORE : SR_HTTP1_FAIL);
        reading_end(&r);
    }
}

static void writers_refuse_what_splits_messages(void **state)
{
    struct sr_buf out;
    char chunk[SR_HTTP1_CHUNK_HEAD_MAX];
    (void)state;
    sr_buf_init(&out, 1000);
    assert_int_equal(sr_http1_write_request_line(&out, SR_LIT("POST"), SR_LIT("/x?y")), SR_OK);
    assert_int_equal(sr_http1_write_header(&out, SR_LIT("A"), SR_LIT("b c")), SR_OK);
    assert_int_equal(sr_http1_write_end(&out), SR_OK);
    assert_string_equal(out.data, "POST /x?y HTTP/1.1\r\nA: b c\r\n\r\n");
    sr_buf_clear(&out);
    assert_int_equal(sr_http1_write_status_line(&out, 404, SR_LIT("")), SR_OK);
    assert_int_equal(sr_http1_write_status_line(&out, 200, SR_LIT("Fine")), SR_OK);
    assert_string_equal(out.data, "HTTP/1.1 404 Not Found\r\nHTTP/1.1 200 Fine\r\n");
    assert_int_equal(sr_http1_write_status_line(&out, 200, SR_LIT("a\r\nb")), SR_EINVAL);
    assert_int_equal(sr_http1_write_status_line(&out, 99, SR_LIT("")), SR_EINVAL);
    assert_int_equal(sr_http1_write_request_line(&out, SR_LIT("GE T"), SR_LIT("/")), SR_EINVAL);
    assert_int_equal(sr_http1_write_request_line(&out, SR_LIT("GET"), SR_LIT("/ HTTP/1.1\r\nx")), SR_EINVAL);
    assert_int_equal(sr_http1_write_request_line(&out, SR_LIT("GET"), SR_LIT("")), SR_EINVAL);
    assert_int_equal(sr_http1_write_header(&out, SR_LIT("a"), SR_LIT("b\r\nc: d")), SR_EINVAL);
    assert_int_equal(sr_http1_write_header(&out, SR_LIT("a"), sr_bytes_of("b\0c", 3)), SR_EINVAL);
    assert_int_equal(sr_http1_write_header(&out, SR_LIT("a b"), SR_LIT("c")), SR_EINVAL);
    assert_int_equal(sr_http1_write_header(&out, SR_LIT(""), SR_LIT("c")), SR_EINVAL);
    assert_string_equal(out.data, "HTTP/1.1 404 Not Found\r\nHTTP/1.1 200 Fine\r\n");
    assert_true(sr_bytes_eq(sr_http1_chunk_head(chunk, 4096), SR_LIT("1000\r\n")));
    sr_buf_dispose(&out);
}

static void hop_by_hop_names(void **state)
{
    struct sr_header headers[] = {{SR_LIT("connection"), SR_LIT("close, X-Private ,,y")}};
    struct sr_http_head head = {.headers = headers, .header_count = 1};
    (void)state;
    assert_true(sr_http1_is_hop_by_hop(NULL, SR_LIT("Transfer-Encoding")));
    assert_true(sr_http1_is_hop_by_hop(NULL, SR_LIT("keep-alive")));
    assert_false(sr_http1_is_hop_by_hop(NULL, SR_LIT("x-private")));
    assert_true(sr_http1_is_hop_by_hop(&head, SR_LIT("x-private")));
    assert_true(sr_http1_is_hop_by_hop(&head, SR_LIT("Y")));
    assert_false(sr_http1_is_hop_by_hop(&head, SR_LIT("content-type")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_requests),
        cmocka_unit_test(hostile_requests),
        cmocka_unit_test(hostile_chunks),
        cmocka_unit_test(limits_have_their_status),
        cmocka_unit_test(responses),
        cmocka_unit_test(an_early_end_is_a_failure),
        cmocka_unit_test(writers_refuse_what_splits_messages),
        cmocka_unit_test(hop_by_hop_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
