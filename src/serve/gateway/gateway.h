/*
 * The gateway door of one event loop: OpenAI-compatible HTTP/1.1 in, the model's upstream out.
 *
 * Every request becomes an sr_exchange; this folder's files move its bytes between the client, the
 * exchange and the upstream, with bounded memory both ways. The exchange's verdict decides about models.
 * Loop's thread only.
 */
#ifndef SR_SERVE_GATEWAY_GATEWAY_H
#define SR_SERVE_GATEWAY_GATEWAY_H

#include "config/config.h"
#include "net/loop/loop.h"
#include "net/server/server.h"
#include "semroute/semroute.h"
#include "serve/gateway/upstream_tls.h"

struct sr_gateway;

struct sr_gateway_options {
    struct sr_loop *loop;
    sr_runtime *runtime;
    struct sr_upstream_tls *tls; /* contexts for https targets */
    const struct sr_config *config;
    bool checks_health;         /* this one checks the workers' health for all */
    struct sr_census *census;   /* of the process; NULL: its connections are not counted */
    void (*drained)(void *ctx); /* after sr_gateway_drain: no connection remains. Never within that call */
    void *ctx;
};

/* Everything in `options` must outlive the gateway, except `config`, to which it takes a reference. */
int sr_gateway_new(struct sr_gateway **out, const struct sr_gateway_options *options) SR_WARN_UNUSED;

/* Closes all remaining connections and frees; exchanges end as "client gone". Not from a callback of the
 * gateway. NULL is allowed. */
void sr_gateway_free(struct sr_gateway *gateway);

#define SR_GATEWAY_LISTENERS_MAX 16

/* Serves `fd` (from sr_listen_open; owned from now on, also on failure). `tls` NULL: plain. `timeout_ms`
 * bounds a whole exchange, 0 = no bound. At most SR_GATEWAY_LISTENERS_MAX. */
int sr_gateway_listen(struct sr_gateway *gateway, int fd, sr_tls_context *tls,
                      uint64_t timeout_ms) SR_WARN_UNUSED;

/* Sets a new configuration, whose limits apply from the next request on. Takes a reference. New
 * connections of TLS listeners use `tls`; plain ones stay plain. */
void sr_gateway_configure(struct sr_gateway *gateway, const struct sr_config *config, sr_tls_context *tls);

/* Stops accepting, lets requests in progress finish; /ready says 503 from now on. */
void sr_gateway_drain(struct sr_gateway *gateway);

/* Requests in progress. */
size_t sr_gateway_active(const struct sr_gateway *gateway);

#endif
