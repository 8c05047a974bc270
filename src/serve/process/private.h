/*
 * The server's parts, shared by server.c (life), listeners.c (addresses and listeners), drain.c and
 * server_reload.c.
 */
#ifndef SR_SERVE_PROCESS_PRIVATE_H
#define SR_SERVE_PROCESS_PRIVATE_H

#include "serve/admin/api.h"
#include "serve/consult/consulter.h"
#include "serve/extproc/extproc.h"
#include "serve/gateway/gateway.h"
#include "serve/otlp/exporter.h"
#include "serve/process/address.h"
#include "serve/process/lag.h"
#include "serve/process/reload.h"
#include "serve/process/server.h"
#include "serve/process/starting.h"
#include "serve/warm/warm.h"

#include <pthread.h>

#define SR_SERVER_LOOPS_MAX 256

struct sr_server_listener {
    char name[64]; /* of the listener; may be empty */
    struct sr_address address;
    uint64_t timeout_ms;
    int fds[SR_SERVER_LOOPS_MAX]; /* one listening socket for each loop; -1 after a door took it */
};

struct sr_server_admin {
    struct sr_address address;
    int fd; /* its listening socket; -1: not open, or the listener took it */
};

struct sr_server_loop {
    struct sr_server *server;
    struct sr_loop *loop;
    struct sr_gateway *gateway;
    struct sr_extproc *extproc; /* NULL: the door is off */
    struct sr_loop_lag lag;
    pthread_t thread;
    bool started;
};

struct sr_history_file;

struct sr_server {
    const struct sr_server_options *options;
    uint64_t started_ns;
    sr_runtime *runtime;
    const struct sr_config *config; /* current; used only by the watcher's thread once it runs */
    struct sr_upstream_tls *upstream_tls;
    struct sr_census *census; /* connections of the gateway, over all loops */
    struct sr_server_loop loops[SR_SERVER_LOOPS_MAX];
    int n_loops;
    struct sr_server_listener listeners[SR_GATEWAY_LISTENERS_MAX];
    size_t n_listeners;
    struct sr_server_listener extproc;
    bool tls, extproc_tls; /* the doors use TLS */
    struct sr_server_admin api_at, metrics_at;
    struct sr_starting *starting; /* answers there until `api` and `metrics` do; NULL: they do */
    struct sr_api *api, *metrics;
    struct sr_warm *warm;
    struct sr_spent_file *spent;     /* of budgets; NULL: none */
    struct sr_history_file *records; /* of requests, for replay; NULL: none */
    struct sr_reload *reload;
    struct sr_discover *discover;
    struct sr_kv_events *kv_events;
    struct sr_consulter *consulter; /* questions of signals to models */
    struct sr_otlp *otlp;           /* spans, on their way to a collector */
    atomic_bool draining;
    atomic_int undrained; /* doors of loops that still have connections */
    int done;             /* eventfd: all gateways are drained */
    struct sr_err err;
};

/* Opens the sockets of the admin listeners and answers /ready on them, before the configuration is loaded.
 * SR_EINVAL: a flag is no address. */
int sr_server_open_admin(struct sr_server *server) SR_WARN_UNUSED;

/* Opens every other listening socket and makes the doors and admin listeners on the loops, which must not run
 * yet.
 */
int sr_server_listen(struct sr_server *server) SR_WARN_UNUSED;

/* Limits the connections of the gateway as `config` says, as far as the descriptors reach. */
void sr_server_limit(struct sr_server *server, const struct sr_config *config);

/* One log line for each listener. */
void sr_server_announce(struct sr_server *server);

/* The server's TLS context by `config`: *out is NULL without TLS. */
int sr_server_tls(const struct sr_config *config, sr_tls_context **out, struct sr_err *err) SR_WARN_UNUSED;

/* The watcher's callback: loads the file again and notifies the loops. */
void sr_server_reload(void *server);

#endif
