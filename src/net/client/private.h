/*
 * Private to client*.c: the shapes of the client, its pooled connections and its fetches.
 */
#ifndef SR_NET_CLIENT_PRIVATE_H
#define SR_NET_CLIENT_PRIVATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "net/client/client.h"

#define SR_FETCH_PARTS 8

struct sr_pool_origin;

/* A connection to an origin: lent to one fetch, or idle in the pool. */
struct sr_upstream {
    struct sr_client *client;
    struct sr_pool_origin *origin;
    struct sr_conn *sock;
    struct sr_fetch *fetch; /* NULL: idle */
    struct sr_buf pending;  /* input that a paused fetch has not taken */
    uint64_t idle_since;
    bool idle;
    struct sr_upstream *older, *newer;               /* among the idle ones of its origin */
    struct sr_upstream *older_of_all, *newer_of_all; /* among all idle ones */
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
        *parts; /* prefix, first body slices and framing that are still to be sent, from `at` on */
    struct sr_bytes parts_inline[SR_FETCH_PARTS];
    size_t at, count;
    struct sr_buf backlog; /* body written behind `parts` */
    uint64_t left;         /* of content_length, not yet given by the caller */
    uint64_t sent_before;  /* bytes that the connection had sent before this fetch */
    struct sr_timer timer;
    struct sr_deferred task;
    struct sr_client_error error;
    char text[200];
    bool chunked;
    bool body_complete; /* the caller has given all of it */
    bool reused;
    bool opened;
    bool dropped;   /* the rest of the request cannot be sent */
    bool answering; /* a byte of the response came */
    bool head_told;
    bool paused;
    bool eof;
    bool busy;     /* a callback is on the stack */
    bool ending;   /* `end` or `failed` is due */
    bool complete; /* ... and it is `end` */
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
    struct sr_buf scratch; /* request heads are built here */
};

/* An idle connection that is still alive, most recently used first; NULL. Its fetch is for the caller to
 * set. */
struct sr_upstream *sr_upstream_take(struct sr_client *client, const struct sr_origin *origin);

/* Begins a new connection for `fetch`; `events` are called with the struct sr_upstream. */
int sr_upstream_connect(struct sr_upstream **out, struct sr_client *client, const struct sr_origin *origin,
                        struct sr_fetch *fetch, const struct sr_conn_events *events,
                        uint32_t timeout_ms) SR_WARN_UNUSED;

/* Back to the pool, which may close it or others to stay within its limits. */
void sr_upstream_release(struct sr_upstream *up);

/* Closes and frees; *up becomes NULL; NULL inside is allowed. */
void sr_upstream_close(struct sr_upstream **up);

#endif
