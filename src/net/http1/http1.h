/*
 * HTTP/1.0 and 1.1 messages: bytes in, events out, and the writers for the other direction. No I/O.
 *
 * http-parser reads the head; this layer adds strict rules against request smuggling and frames all bodies:
 * it refuses a message that two implementations could interpret differently. Bodies are never copied: they
 * come as slices of the input.
 */
#ifndef SR_NET_HTTP1_HTTP1_H
#define SR_NET_HTTP1_HTTP1_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/header.h"

#include <stdbool.h>
#include <stdint.h>

/* The head of a message; all its pointers are valid as long as the arena of its message. */
struct sr_http_head {
    struct sr_bytes method;    /* request */
    struct sr_bytes target;    /* request: as received, "/v1/models?x=1" or "*" or absolute form */
    struct sr_bytes path;      /* request: the target without scheme, authority and query */
    struct sr_bytes query;     /* request: after '?', may be empty */
    int status;                /* response: 200..599 (1xx are skipped) */
    struct sr_bytes reason;    /* response */
    int minor;                 /* HTTP/1.minor: 0 or 1 */
    struct sr_header *headers; /* in order of arrival, duplicates kept */
    size_t header_count;
    int64_t content_length; /* -1: unknown */
    bool chunked;
    bool has_body;        /* a body follows (its length may be 0 when chunked or until close) */
    bool keep_alive;      /* both version and Connection allow another message after this one */
    bool expect_continue; /* request: the peer waits for 100 before its body */
    bool upgrade; /* request: an Upgrade was asked for; the server does not upgrade and answers in HTTP/1.1 */
};

/* The first header with that lower-case name, or NULL. */
const struct sr_header *sr_http_head_find(const struct sr_http_head *head, struct sr_bytes name);
/* Its value; an empty run with p == NULL when the header is missing. */
struct sr_bytes sr_http_head_value(const struct sr_http_head *head, struct sr_bytes name);

/* ---- parsing ---- */

enum sr_http1_kind { SR_HTTP1_REQUEST, SR_HTTP1_RESPONSE };

enum sr_http1_event {
    SR_HTTP1_MORE, /* all input was used; more is needed */
    SR_HTTP1_HEAD, /* `head` is complete */
    SR_HTTP1_BODY, /* a slice of the body */
    SR_HTTP1_END,  /* the message is complete; nothing after it was used */
    SR_HTTP1_FAIL, /* see status, code and reason; the connection cannot be used further */
};

struct sr_http1_limits {
    size_t head_bytes;   /* start line and headers, and again trailers: 431; default 65536 */
    size_t header_count; /* 431; default 128 */
    size_t target_bytes; /* 414; default 8192 */
    uint64_t body_bytes; /* decoded body: 413; default no limit (UINT64_MAX) */
};
struct sr_http1_limits sr_http1_limits_defaults(void);

struct sr_http1 {
    enum sr_http1_kind kind;
    struct sr_http1_limits limits;
    struct sr_arena *arena;
    struct sr_http_head head; /* valid from HEAD on until the arena is disposed */
    int status;               /* after FAIL: the HTTP status to answer with: 400, 413, 414, 431, 501, 505 */
    const char *reason;       /* after FAIL: constant text for people */
    /* private */
    int state;
    bool head_request;
    bool blank_skipped;
    unsigned interim;
    uint64_t left;
    uint64_t body_total;
    size_t line_bytes;
    size_t trailer_bytes;
    size_t scan_from;
    struct sr_buf partial; /* a head that arrived in pieces */
};

/* Allocates nothing. */
void sr_http1_init(struct sr_http1 *parser, enum sr_http1_kind kind, const struct sr_http1_limits *limits);
void sr_http1_dispose(struct sr_http1 *parser);

/* Prepares for the next message, whose head is allocated in `arena` (owned by the caller). For a response,
 * `head_request` tells whether the request was a HEAD. */
void sr_http1_begin(struct sr_http1 *parser, struct sr_arena *arena, bool head_request);

/* Returns the next event and how many input bytes were used up to it. Call again with the remaining bytes
 * until MORE, END or FAIL. After END call sr_http1_begin before the next message. `body` is set with BODY: a
 * slice of `data`. An unexpected 101 fails; other 1xx responses are skipped. */
enum sr_http1_event sr_http1_next(struct sr_http1 *parser, const char *data, size_t n, size_t *used,
                                  struct sr_bytes *body);

/* The peer closed: END when the body was read until close, MORE when no byte of the message had come, else
 * FAIL. */
enum sr_http1_event sr_http1_eof(struct sr_http1 *parser);

/* True before the first byte of a message (a close at this point is not an error). */
bool sr_http1_is_idle(const struct sr_http1 *parser);

/* ---- writing ---- */

/* True for the names that must not be forwarded: Connection, Keep-Alive, Proxy-Connection,
 * Proxy-Authenticate, Proxy-Authorization, TE, Trailer, Transfer-Encoding, Upgrade, and every name listed in
 * a Connection header of `head` (NULL: none). */
bool sr_http1_is_hop_by_hop(const struct sr_http_head *head, struct sr_bytes name);

/* True when it may be part of a head: token name, value without CR, LF, NUL and other controls. */
bool sr_http1_header_ok(struct sr_bytes name, struct sr_bytes value);

/* "POST /x HTTP/1.1\r\n" and "HTTP/1.1 200 OK\r\n" (the reason is taken from the status when `reason` is
 * empty). SR_EINVAL for bytes that are not allowed there; SR_ELIMIT, SR_ENOMEM. */
int sr_http1_write_request_line(struct sr_buf *out, struct sr_bytes method,
                                struct sr_bytes target) SR_WARN_UNUSED;
int sr_http1_write_status_line(struct sr_buf *out, int status, struct sr_bytes reason) SR_WARN_UNUSED;

/* "name: value\r\n". SR_EINVAL when sr_http1_header_ok returns false. */
int sr_http1_write_header(struct sr_buf *out, struct sr_bytes name, struct sr_bytes value) SR_WARN_UNUSED;
/* "content-length: N\r\n". */
int sr_http1_write_length(struct sr_buf *out, uint64_t length) SR_WARN_UNUSED;
int sr_http1_write_end(struct sr_buf *out) SR_WARN_UNUSED;

/* Framing of one chunk of `size` > 0 bytes: send this head, the body bytes and SR_HTTP1_CHUNK_TAIL; after the
 * last chunk SR_HTTP1_CHUNK_END. */
#define SR_HTTP1_CHUNK_HEAD_MAX 20
#define SR_HTTP1_CHUNK_TAIL     SR_LIT("\r\n")
#define SR_HTTP1_CHUNK_END      SR_LIT("0\r\n\r\n")
struct sr_bytes sr_http1_chunk_head(char out[SR_HTTP1_CHUNK_HEAD_MAX], size_t size);

#endif
