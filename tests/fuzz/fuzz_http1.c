/*
 * The HTTP/1 reader: the result must not depend on how the bytes are cut, slices stay inside the input, and a
 * message that is accepted leaves no two ways to read it. First byte: kind and HEAD; second: where to cut.
 */
#include "net/http1/http1.h"

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)

static void check_text(struct sr_bytes text)
{
    for (size_t i = 0; i < text.n; i++)
        CHECK(text.p[i] == '\t' || (unsigned char)text.p[i] >= ' ');
}

static void check_head(const struct sr_http_head *head, enum sr_http1_kind kind)
{
    unsigned lengths = 0, codings = 0, hosts = 0;
    for (size_t i = 0; i < head->header_count; i++) {
        const struct sr_header *h = &head->headers[i];
        CHECK(sr_http1_header_ok(h->name, h->value));
        check_text(h->value);
        lengths += sr_bytes_eq(h->name, SR_LIT("content-length"));
        codings += sr_bytes_eq(h->name, SR_LIT("transfer-encoding"));
        hosts += sr_bytes_eq(h->name, SR_LIT("host"));
    }
    CHECK(lengths <= 1 && codings <= 1 && lengths + codings <= 1);
    CHECK(head->chunked == (codings == 1) && (head->content_length >= 0) == (lengths == 1));
    if (kind == SR_HTTP1_REQUEST) {
        struct sr_buf line;
        sr_buf_init(&line, 1 << 20);
        CHECK(head->minor == 0 || hosts == 1);
        CHECK(head->path.n > 0);
        CHECK(sr_http1_write_request_line(&line, head->method, head->target) == SR_OK);
        sr_buf_dispose(&line);
    } else {
        CHECK(head->status >= 200 && head->status < 600);
        check_text(head->reason);
    }
}

/* Reads all of it in pieces of `step` bytes and writes down what came. */
static void read_in_steps(const uint8_t *data, size_t n, size_t step, enum sr_http1_kind kind, bool to_head,
                          struct sr_buf *log)
{
    struct sr_http1_limits limits = {
        .head_bytes = 512, .header_count = 12, .target_bytes = 100, .body_bytes = 300};
    struct sr_http1 parser;
    struct sr_arena arena;
    bool failed = false;
    sr_arena_init(&arena, 1 << 20);
    sr_http1_init(&parser, kind, &limits);
    sr_http1_begin(&parser, &arena, to_head);
    for (size_t at = 0; at < n && !failed; at += step) {
        size_t left = step < n - at ? step : n - at;
        char *piece = malloc(left), *p = piece;
        memcpy(piece, data + at, left);
        for (bool more = false; !more && !failed;) {
            struct sr_bytes body;
            size_t used;
            switch (sr_http1_next(&parser, p, left, &used, &body)) {
            case SR_HTTP1_MORE:
                CHECK(used == left);
                more = true;
                break;
            case SR_HTTP1_HEAD:
                check_head(&parser.head, kind);
                CHECK(sr_buf_printf(log, "[%d %.*s %zu %d]", parser.head.status, (int)parser.head.path.n,
                                    parser.head.path.n ? parser.head.path.p : "", parser.head.header_count,
                                    parser.head.keep_alive) == SR_OK);
                break;
            case SR_HTTP1_BODY:
                CHECK(body.n && body.p >= p && body.p + body.n <= p + left);
                CHECK(sr_buf_append_bytes(log, body) == SR_OK);
                break;
            case SR_HTTP1_END:
                CHECK(sr_buf_append(log, "<end>", 5) == SR_OK);
                sr_http1_begin(&parser, &arena, to_head);
                break;
            case SR_HTTP1_FAIL:
                CHECK(parser.reason && parser.status >= 400 && parser.status <= 505);
                CHECK(sr_buf_printf(log, "!%d", parser.status) == SR_OK);
                failed = true;
                break;
            }
            if (!failed) {
                CHECK(used <= left);
                p += used;
                left -= used;
            }
        }
        free(piece);
    }
    if (!failed)
        CHECK(sr_buf_printf(log, "eof%d", (int)sr_http1_eof(&parser)) == SR_OK);
    sr_http1_dispose(&parser);
    sr_arena_dispose(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct sr_buf whole, cut;
    enum sr_http1_kind kind;
    if (n < 3 || n > 4096)
        return 0;
    kind = data[0] & 1 ? SR_HTTP1_RESPONSE : SR_HTTP1_REQUEST;
    sr_buf_init(&whole, 1 << 20);
    sr_buf_init(&cut, 1 << 20);
    read_in_steps(data + 2, n - 2, n, kind, data[0] & 2, &whole);
    read_in_steps(data + 2, n - 2, 1 + data[1] % 31, kind, data[0] & 2, &cut);
    CHECK(whole.len == cut.len && (!whole.len || memcmp(whole.data, cut.data, whole.len) == 0));
    sr_buf_dispose(&whole);
    sr_buf_dispose(&cut);
    return 0;
}
