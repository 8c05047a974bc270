/*
 * The HTTP/1.1 client of a loop: fetches, each one request to an origin and its response, over pooled
 * keep-alive connections.
 *
 * Streams both ways with back-pressure, and a failure reports how much was sent; the caller decides whether
 * to retry. Does not follow redirects, decode content or keep cookies. Loop's thread only.
 */
#ifndef SR_NET_CLIENT_CLIENT_H
#define SR_NET_CLIENT_CLIENT_H

#include "net/http1/http1.h"
#include "net/loop/loop.h"
#include "net/loop/sock.h"

struct sr_client;
struct sr_fetch;

struct sr_client_settings {
    size_t max_idle;            /* idle connections in all; the least recently used is closed; default 512 */
    size_t max_idle_per_origin; /* default 128 */
    uint32_t keepalive_ms;      /* how long an idle connection is kept; default 30000 */
    size_t response_head_bytes; /* default 65536 */
};
struct sr_client_settings sr_client_settings_defaults(void);

int sr_client_new(struct sr_client **out, struct sr_loop *loop,
                  const struct sr_client_settings *settings) SR_WARN_UNUSED;

/* Closes idle connections; fetches that still run must have been cancelled. NULL is allowed. */
void sr_client_free(struct sr_client *client);

/* Idle connections now, and connections opened since the start (for metrics and tests). */
size_t sr_client_idle(const struct sr_client *client);
uint64_t sr_client_opened(const struct sr_client *client);

struct sr_origin {
    const char *host; /* copied */
    uint16_t port;
    sr_tls_context *tls;     /* NULL: plain HTTP. Part of the pool's key, compared by address */
    const char *server_name; /* optional, as in sr_connect */
};

struct sr_client_timeouts {
    uint32_t connect_ms; /* DNS, TCP and TLS; 0: no timeout, as for the others */
    uint32_t head_ms;    /* from the end of the request to the response head; while the request body is being
                            sent, from the last progress */
    uint32_t idle_ms;    /* between two pieces of the response body; stopped while paused */
};

/* sr_client_start reads all members and keeps only references into `body`. */
struct sr_client_request {
    struct sr_bytes method, target;
    const struct sr_header *headers; /* sent as they are, in any case. Content-Length, Transfer-Encoding,
                                        Connection and hop-by-hop names are not allowed (they are skipped).
                                        Host is added from the origin when it is missing */
    size_t header_count;
    int64_t content_length; /* of the whole body; 0 none; -1 chunked */
    /* The first part of the body, sent in one system call with the head. The array is copied; the bytes must
     * stay until `writable` or the end of the fetch. */
    const struct sr_bytes *body;
    size_t body_count;  /* at most SR_CLIENT_SLICES_MAX */
    bool body_complete; /* `body` is the whole body */
    bool fresh;         /* do not use a pooled connection */
    struct sr_client_timeouts timeouts;
};
#define SR_CLIENT_SLICES_MAX 64

enum sr_client_stage {
    SR_CLIENT_CONNECTING, /* name, TCP, TLS */
    SR_CLIENT_SENDING,
    SR_CLIENT_WAITING, /* the request was sent, no byte of the response was received */
    SR_CLIENT_HEAD,    /* inside the response head */
    SR_CLIENT_BODY,
};

struct sr_client_error {
    int code; /* SR_ENOENT dns, SR_ECLOSED refused or closed early, SR_ETIMEOUT, SR_EMISMATCH certificate,
                 SR_EPROTO, SR_EIO, SR_ELIMIT */
    enum sr_client_stage stage;
    bool sent;        /* at least one byte of the request was written to the socket */
    bool reused;      /* on a pooled connection */
    const char *text; /* for people; holds no data of the request; borrowed for the call */
};

/* Every callback may cancel the fetch. Exactly one of `end` and `failed` is called, as the last callback,
 * unless the fetch is cancelled; the fetch is freed when that callback returns. No callback runs inside
 * sr_client_start. */
struct sr_fetch_events {
    /* The request body given so far was sent (or is queued below the mark): more may be written. Optional
     * when body_complete. */
    void (*writable)(void *ctx);
    /* Borrowed until the fetch is freed. Mandatory. */
    void (*head)(void *ctx, const struct sr_http_head *head);
    /* A slice of the body without chunk framing; borrowed for the call. Mandatory. */
    void (*body)(void *ctx, struct sr_bytes slice);
    /* The response is complete. Mandatory. */
    void (*end)(void *ctx);
    /* Mandatory. */
    void (*failed)(void *ctx, const struct sr_client_error *error);
};

/* SR_EINVAL (a header or the target may not be sent), SR_ENOMEM. If a pooled connection is found closed
 * before a byte of the request was written to it, the fetch uses another connection. */
int sr_client_start(struct sr_fetch **out, struct sr_client *client, const struct sr_origin *origin,
                    const struct sr_client_request *request, const struct sr_fetch_events *events,
                    void *ctx) SR_WARN_UNUSED;

/* Streams the body. SR_OK: accepted (bytes that the kernel does not take are copied). Stop while
 * sr_fetch_queued is above the caller's mark and continue at `writable`. Body and response may overlap; when
 * the response ends first, the rest of the body is dropped and the connection closed. SR_ECLOSED: the
 * upstream accepts no more or the fetch fails: drop the rest and wait, because an answer may still arrive.
 * SR_EINVAL: over content_length. SR_ELIMIT, SR_ENOMEM. */
int sr_fetch_write(struct sr_fetch *fetch, struct sr_bytes slice) SR_WARN_UNUSED;
/* The body is complete. SR_EINVAL when it is short of content_length. */
int sr_fetch_write_end(struct sr_fetch *fetch) SR_WARN_UNUSED;
size_t sr_fetch_queued(const struct sr_fetch *fetch);

/* Back-pressure on the response: neither `body` nor `end` is called while paused. */
void sr_fetch_pause(struct sr_fetch *fetch);
void sr_fetch_resume(struct sr_fetch *fetch);

/* Closes the connection, so that the upstream stops; no callback is called after it; *fetch becomes NULL
 * (NULL is allowed). */
void sr_fetch_cancel(struct sr_fetch **fetch);

#endif
