/*
 * One connection to a Redis: AUTH, SELECT, commands in order with their replies, and what is published.
 *
 * A reply that takes longer than the limit ends the connection, and so does whatever is not the protocol. An
 * idle connection is asked now and then whether it is there. Loop's thread only.
 */
#ifndef SR_STORE_REDIS_WIRE_H
#define SR_STORE_REDIS_WIRE_H

#include "net/loop/sock.h"
#include "store/redis/resp.h"

struct sr_redis_wire;

/* The reply, borrowed; NULL: the connection is closed, and nothing but cleaning up is allowed. */
typedef void sr_redis_done(void *ctx, void *arg, const struct sr_resp *reply);

struct sr_redis_wire_events {
    /* AUTH and SELECT were accepted. */
    void (*up)(void *ctx);
    /* The connection failed, once; the owner closes it. `why` is borrowed. */
    void (*down)(void *ctx, const char *why);
    /* A message of a channel. */
    void (*published)(void *ctx, struct sr_bytes message);
};

struct sr_redis_wire_options {
    const char *host, *server_name, *user, *password; /* as in redis.h; must outlive the connection */
    uint16_t port;
    unsigned database;
    sr_tls_context *tls; /* NULL: plain */
    uint32_t connect_ms, command_ms;
};

/* SR_ENOMEM, SR_EINVAL. No callback runs within this call. */
int sr_redis_wire_open(struct sr_redis_wire **out, struct sr_loop *loop,
                       const struct sr_redis_wire_options *options, const struct sr_redis_wire_events *events,
                       void *ctx) SR_WARN_UNUSED;

/* Closes at once: `done` is called with NULL for what waits. *wire becomes NULL; from any callback too. */
void sr_redis_wire_close(struct sr_redis_wire **wire);

/* Sends a command; `done(ctx of the wire, arg, reply)` is called exactly once, never within this call, but
 * not when this fails. SR_ENOMEM, SR_ELIMIT, SR_ECLOSED. */
int sr_redis_wire_send(struct sr_redis_wire *wire, sr_redis_done *done, void *arg,
                       const struct sr_bytes *argv, size_t argc) SR_WARN_UNUSED;

/* Bytes that wait to be sent. */
size_t sr_redis_wire_queued(const struct sr_redis_wire *wire);

#endif
