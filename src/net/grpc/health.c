/*
 * grpc.health.v1.Health over net/grpc/grpc.h. A watcher gets its status when that differs from the last one
 * sent; a watcher that does not read gets only the latest status when it reads again.
 */
#include "net/grpc/health.h"

#include "base/mem.h"
#include "net/grpc/protobuf_arena.h"

#include <health.pb-c.h>

#define REQUEST_ARENA  ((size_t)16 << 10)
#define RESPONSE_BYTES 16

struct watcher {
    struct sr_grpc_health *health;
    struct watcher *next, **pprev;
    struct sr_grpc_call *call;
    bool watch;
    bool asked; /* the request was received */
    bool known; /* the service of the request */
    bool told;
    enum sr_grpc_health_status last;
};

struct sr_grpc_health {
    const char *const *services;
    size_t count;
    enum sr_grpc_health_status status;
    struct watcher *watchers;
};

static bool service_is_known(const struct sr_grpc_health *health, const char *name)
{
    if (!*name)
        return true;
    for (size_t i = 0; i < health->count; i++)
        if (strcmp(health->services[i], name) == 0)
            return true;
    return false;
}

static int status_send(struct sr_grpc_call *call, enum sr_grpc_health_status status)
{
    Grpc__Health__V1__HealthCheckResponse response = GRPC__HEALTH__V1__HEALTH_CHECK_RESPONSE__INIT;
    uint8_t packed[RESPONSE_BYTES];
    struct sr_bytes slice;
    response.status = (Grpc__Health__V1__HealthCheckResponse__ServingStatus)status;
    slice = sr_bytes_of(packed, grpc__health__v1__health_check_response__pack(&response, packed));
    return sr_grpc_call_send(call, &slice, 1);
}

static void watcher_tell(struct watcher *watcher)
{
    enum sr_grpc_health_status now =
        watcher->known ? watcher->health->status : SR_GRPC_HEALTH_SERVICE_UNKNOWN;
    if (!watcher->asked || !watcher->watch || (watcher->told && watcher->last == now) ||
        sr_grpc_call_queued(watcher->call))
        return;
    watcher->told = true;
    watcher->last = now;
    if (status_send(watcher->call, now) != SR_OK)
        sr_grpc_call_finish(watcher->call, SR_GRPC_RESOURCE_EXHAUSTED, NULL);
}

static void call_message(void *ctx, struct sr_grpc_call *call, struct sr_bytes message)
{
    struct watcher *watcher = ctx;
    ProtobufCMessage *request;
    struct sr_arena arena;
    sr_arena_init(&arena, REQUEST_ARENA);
    if (watcher->asked || message.n > REQUEST_ARENA / 4 ||
        sr_protobuf_unpack(&request, &grpc__health__v1__health_check_request__descriptor, &arena, message) !=
            SR_OK) {
        sr_grpc_call_finish(call, SR_GRPC_INVALID_ARGUMENT,
                            "one HealthCheckRequest within the size limit is expected");
        goto out;
    }
    watcher->asked = true;
    watcher->known =
        service_is_known(watcher->health, ((Grpc__Health__V1__HealthCheckRequest *)request)->service);
    if (watcher->watch)
        watcher_tell(watcher);
    else if (!watcher->known)
        sr_grpc_call_finish(call, SR_GRPC_NOT_FOUND, "unknown service");
    else
        sr_grpc_call_finish(call,
                            status_send(call, watcher->health->status) == SR_OK ? SR_GRPC_OK
                                                                                : SR_GRPC_RESOURCE_EXHAUSTED,
                            NULL);
out:
    sr_arena_dispose(&arena);
}

static void call_half_closed(void *ctx, struct sr_grpc_call *call)
{
    struct watcher *watcher = ctx;
    if (!watcher->asked)
        sr_grpc_call_finish(call, SR_GRPC_INVALID_ARGUMENT, "a HealthCheckRequest is expected");
}

static void call_writable(void *ctx, struct sr_grpc_call *call)
{
    (void)call;
    watcher_tell(ctx);
}

static void call_closed(void *ctx, struct sr_grpc_call *call, int why)
{
    struct watcher *watcher = ctx;
    (void)call, (void)why;
    *watcher->pprev = watcher->next;
    if (watcher->next)
        watcher->next->pprev = watcher->pprev;
    sr_mem_free(watcher);
}

static const struct sr_grpc_call_events call_events = {.message = call_message,
                                                       .half_closed = call_half_closed,
                                                       .writable = call_writable,
                                                       .closed = call_closed};

static void call_open(struct sr_grpc_health *health, struct sr_grpc_call *call, bool watch)
{
    struct watcher *watcher = sr_mem_calloc(1, sizeof *watcher);
    if (!watcher) {
        sr_grpc_call_finish(call, SR_GRPC_RESOURCE_EXHAUSTED, NULL);
        return;
    }
    *watcher = (struct watcher){.health = health, .call = call, .watch = watch, .next = health->watchers};
    watcher->pprev = &health->watchers;
    if (health->watchers)
        health->watchers->pprev = &watcher->next;
    health->watchers = watcher;
    sr_grpc_call_accept(call, &call_events, watcher);
}

static void check_open(void *ctx, struct sr_grpc_call *call)
{
    call_open(ctx, call, false);
}

static void watch_open(void *ctx, struct sr_grpc_call *call)
{
    call_open(ctx, call, true);
}

int sr_grpc_health_new(struct sr_grpc_health **out, const char *const *services, size_t count)
{
    struct sr_grpc_health *health = sr_mem_calloc(1, sizeof *health);
    if (!health)
        return SR_ENOMEM;
    health->services = services;
    health->count = count;
    health->status = SR_GRPC_HEALTH_SERVING;
    *out = health;
    return SR_OK;
}

void sr_grpc_health_free(struct sr_grpc_health *health)
{
    sr_mem_free(health);
}

void sr_grpc_health_methods(struct sr_grpc_health *health,
                            struct sr_grpc_method methods[SR_GRPC_HEALTH_METHODS])
{
    methods[0] = (struct sr_grpc_method){"/grpc.health.v1.Health/Check", check_open, health};
    methods[1] = (struct sr_grpc_method){"/grpc.health.v1.Health/Watch", watch_open, health};
}

void sr_grpc_health_set(struct sr_grpc_health *health, enum sr_grpc_health_status status, bool last)
{
    health->status = status;
    for (struct watcher *watcher = health->watchers; watcher; watcher = watcher->next) {
        watcher_tell(watcher);
        if (last && watcher->watch)
            sr_grpc_call_finish(watcher->call, SR_GRPC_UNAVAILABLE, "shutting down");
    }
}
