/*
 * Whole requests over one HTTP/2 connection to a server: a request's bytes out, its answer's bytes in.
 *
 * Clear text with prior knowledge, or TLS with ALPN "h2" (the context's). Calls share the connection; the
 * owner opens another when this one drains or fails, and keeps deadlines. Answers are bounded. Loop's thread
 * only. No callback runs inside a call of the owner.
 */
#ifndef SR_NET_HTTP2_CLIENT_H
#define SR_NET_HTTP2_CLIENT_H

#include "net/http2/http2.h"

struct sr_http2_client;
struct sr_http2_call;

struct sr_http2_client_settings {
    uint32_t connect_ms;        /* name, TCP and TLS; default 5000 */
    uint32_t window;            /* bytes of an answer, and of the connection times four; default 1 MiB */
    uint32_t header_list_bytes; /* of heads and trailers of an answer together; default 16384 */
    size_t answer_bytes;        /* of a body; default 64 MiB */
    size_t answers_bytes;       /* of all bodies that are incomplete on the connection; default 256 MiB */
    uint32_t ping_interval_ms;  /* time without bytes after which a PING is sent; 0: never; default 20000 */
    uint32_t ping_timeout_ms;   /* no byte after the PING: the connection failed; default 10000 */
};
struct sr_http2_client_settings sr_http2_client_settings_defaults(void);

struct sr_http2_client_events {
    /* No new call: the server drains the connection (SR_OK; calls go on, and the owner closes it when none is
     * left), or it failed (its calls end with SR_ECLOSED after this; the owner closes it later). At most once
     * each. */
    void (*down)(void *ctx, int code, const char *why);
};

/* `to->timeout_ms` is not read. SR_ENOMEM, SR_EINVAL. */
int sr_http2_client_open(struct sr_http2_client **out, struct sr_loop *loop, const struct sr_connect *to,
                         const struct sr_http2_client_settings *settings,
                         const struct sr_http2_client_events *events, void *ctx) SR_WARN_UNUSED;
/* Drops calls that run: their `done` is not called. *client becomes NULL (NULL is allowed). From any callback
 * too. */
void sr_http2_client_close(struct sr_http2_client **client);
size_t sr_http2_client_calls(const struct sr_http2_client *client);

/* Borrowed for the call of `done`. */
struct sr_http2_answer {
    int status; /* 0: none came */
    const struct sr_http2_header *headers, *trailers;
    size_t header_count, trailer_count;
    struct sr_bytes body;
    bool unread; /* the server has surely not acted on the request */
};

/* SR_OK: the answer is whole. SR_ECLOSED: the connection failed, or the server refused the stream.
 * SR_ECANCELED: the server reset it. SR_ELIMIT: headers or body are too large. SR_EPROTO. What came so far is
 * in the answer. The call is freed afterwards. */
typedef void sr_http2_done(void *ctx, int status, const struct sr_http2_answer *answer);

struct sr_http2_request {
    struct sr_bytes method, path, scheme, authority;
    const struct sr_http2_header *headers; /* lower case */
    size_t header_count;
    struct sr_bytes body;
};

/* All of the request is copied. SR_ECLOSED: the connection drains or failed; SR_EINVAL: a header that may not
 * be sent; SR_ENOMEM. */
int sr_http2_client_start(struct sr_http2_call **out, struct sr_http2_client *client,
                          const struct sr_http2_request *request, sr_http2_done *done,
                          void *ctx) SR_WARN_UNUSED;

/* Resets the stream; `done` is not called. *call becomes NULL (NULL is allowed). */
void sr_http2_call_cancel(struct sr_http2_call **call);

#endif
