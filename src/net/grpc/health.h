/*
 * The service grpc.health.v1.Health: Check and Watch.
 *
 * Owns one status per service name and the watching calls; the owner sets the status. One per loop and
 * server. Loop's thread only.
 */
#ifndef SR_NET_GRPC_HEALTH_H
#define SR_NET_GRPC_HEALTH_H

#include "net/grpc/grpc.h"

#define SR_GRPC_HEALTH_METHODS 2

enum sr_grpc_health_status {
    SR_GRPC_HEALTH_UNKNOWN = 0,
    SR_GRPC_HEALTH_SERVING = 1,
    SR_GRPC_HEALTH_NOT_SERVING = 2,
    SR_GRPC_HEALTH_SERVICE_UNKNOWN = 3, /* Watch only */
};

struct sr_grpc_health;

/* `services` are full names ("envoy.service.ext_proc.v3.ExternalProcessor") and must outlive the object; the
 * empty name, the whole server, is always known. Every service starts as SERVING. SR_ENOMEM. */
int sr_grpc_health_new(struct sr_grpc_health **out, const char *const *services, size_t count) SR_WARN_UNUSED;

/* Call it after the server was freed, so that no watcher is left. NULL is allowed. */
void sr_grpc_health_free(struct sr_grpc_health *health);

/* Writes the two methods for sr_grpc_server_new. */
void sr_grpc_health_methods(struct sr_grpc_health *health,
                            struct sr_grpc_method methods[SR_GRPC_HEALTH_METHODS]);

/* Sets the status of every service and notifies watchers of a change. `last` also ends the watchers' calls
 * (status 14): during a drain they would hold their connections open. */
void sr_grpc_health_set(struct sr_grpc_health *health, enum sr_grpc_health_status status, bool last);

#endif
