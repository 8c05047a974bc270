/*
 * Private to net/client: the structures of the client, its pooled connections and its fetches.
 */
#ifndef SR_NET_CLIENT_PRIVATE_H
#define SR_NET_CLIENT_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/client/client.h"

#define SR_FETCH_PARTS 8

struct sr_pool_origin;

/* A connection to an origin: in use by one fetch, or idle in the pool. */
struct sr_upstream {
    struct sr_client *client;
    struct sr_pool_origin *origin;
    struct sr_conn *sock;
    struct sr_fetch *fetch; /* NULL: idle */
    struct sr_buf pending;  /* input that a paused fetch has not consumed */
    uint64_t idle_since;
    bool idle;
    struct sr_upstream *older, *newer;               /* in the idle list of its origin */
    struct sr_upstream *older_of_all, *newer_of_all; /* in the list of all idle connections */
};

struct sr_fetch {
    struct sr_client *client;
    struct sr_upstream *up;
    const struct sr_fetch_events *events;
    void *ctx;
    struct sr_client_timeouts timeouts;
    struct sr_http1 parser;
    struct sr_arena arena; /* the response head */
    struct sr_buf prefix;  /* the request head, when it could not be sent at once */
    struct sr_bytes
        *parts; /* prefix, first body slices and framing that are not sent yet, from offset `at` */
    struct sr_bytes parts_inline[SR_FETCH_PARTS];
    size_t at, count;
    struct sr_buf backlog; /* body bytes to send after `parts` */
    uint64_t left;         /* rest of content_length that the caller has not supplied */
    uint64_t sent_before;  /* bytes that the connection had sent before this fetch */
    struct sr_timer timer;
    struct sr_deferred task;
    struct sr_client_error error;
    char text[200];
    bool chunked;
    bool body_complete; /* the caller has supplied the whole body */
    bool reused;
    bool opened;
    bool dropped;   /* the rest of the request cannot be sent */
    bool answering; /* a byte of the response was received */
    bool head_told;
    bool paused;
    bool eof;
    bool busy;     /* a callback is on the stack */
    bool ending;   /* `end` or `failed` is pending */
    bool complete; /* it is `end` */
    bool cancelled;
};

struct sr_client {
    struct sr_loop *loop;
    struct sr_client_settings settings;
    struct sr_pool_origin *origins;
    struct sr_upstream *oldest, *newest; /* idle */
    size_t idle;
    uint64_t opened;
    struct sr_timer reaper;
    struct sr_buf scratch; /* buffer for request heads */
};

/* Returns an idle connection that is still open, the most recently used one first, or NULL. The caller sets
 * its fetch. */
struct sr_upstream *sr_upstream_take(struct sr_client *client, const struct sr_origin *origin);

/* Opens a new connection for `fetch`; `events` are called with the struct sr_upstream. */
int sr_upstream_connect(struct sr_upstream **out, struct sr_client *client, const struct sr_origin *origin,
                        struct sr_fetch *fetch, const struct sr_conn_events *events,
                        uint32_t timeout_ms) SR_WARN_UNUSED;

/* Returns a connection to the pool, which may close it or others to stay within its limits. */
void sr_upstream_release(struct sr_upstream *up);

/* Closes and frees; *up becomes NULL. *up may be NULL. */
void sr_upstream_close(struct sr_upstream **up);

#endif
