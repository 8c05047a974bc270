/*
 * A gRPC client of one server: unary calls over a few HTTP/2 connections.
 *
 * Knows no protobuf: a message is a run of bytes. Connections are opened when there are calls for them, and
 * again after they failed or the server drained them; pauses between attempts are the caller's. Every call
 * has a deadline, which the server is told. Compression is not offered. Loop's thread only; no callback runs
 * inside a call of the owner.
 */
#ifndef SR_NET_GRPC_CLIENT_H
#define SR_NET_GRPC_CLIENT_H

#include "net/grpc/grpc.h"
#include "net/http2/client.h"

struct sr_grpc_client;
struct sr_grpc_unary;

struct sr_grpc_client_options {
    const char *host; /* name or IP literal */
    uint16_t port;
    sr_tls_context *tls;     /* NULL: clear text. Its ALPN must be "h2" */
    const char *server_name; /* optional, as in sr_connect */
    /* Metadata of every call, lower case; "authorization" for example. Copied. */
    const struct sr_http2_header *metadata;
    size_t metadata_count;                 /* at most SR_GRPC_METADATA_MAX */
    size_t connections;                    /* default 2 */
    size_t calls;                          /* at once; above it SR_EBUSY; default 1000 */
    struct sr_http2_client_settings http2; /* answer_bytes bounds messages */
};
#define SR_GRPC_METADATA_MAX 16
struct sr_grpc_client_options sr_grpc_client_options_defaults(void);

/* All options are copied, the context is referenced. Opens nothing yet. SR_EINVAL, SR_ENOMEM. */
int sr_grpc_client_new(struct sr_grpc_client **out, struct sr_loop *loop,
                       const struct sr_grpc_client_options *options) SR_WARN_UNUSED;
/* Drops all calls without their callbacks. NULL is allowed. Not from a callback of the client. */
void sr_grpc_client_free(struct sr_grpc_client *client);

struct sr_grpc_reply {
    enum sr_grpc_status status; /* SR_GRPC_UNAVAILABLE: no connection, or it was lost */
    const char *why;            /* for people; "" with SR_GRPC_OK; borrowed */
    struct sr_bytes message;    /* with SR_GRPC_OK; borrowed */
    bool unread;                /* the server has surely not acted on the call */
};
typedef void sr_grpc_done(void *ctx, const struct sr_grpc_reply *reply);

/* Sends one message to `path` ("/package.Service/Method"); `done` is called once, at the latest after
 * `timeout_ms`. The message is copied. SR_EBUSY, SR_ELIMIT (4 GiB), SR_ENOMEM. */
int sr_grpc_client_call(struct sr_grpc_unary **out, struct sr_grpc_client *client, const char *path,
                        struct sr_bytes message, uint32_t timeout_ms, sr_grpc_done *done,
                        void *ctx) SR_WARN_UNUSED;

/* `done` is not called. *unary becomes NULL (NULL is allowed). */
void sr_grpc_unary_cancel(struct sr_grpc_unary **unary);

#endif
