/*
 * The process-wide pool: the state of each worker, shared by all models and configurations that name it.
 *
 * Owns the workers' health (cooldowns, requests in flight) and the running state of the picking policies.
 * It lives outside of configuration snapshots: a snapshot holds groups, and a group whose configuration
 * did not change is the same one before and after a reload. A request uses a group through a ticket
 * (pool/ticket.h). Thread-safe. Opens no sockets and knows no HTTP: the doors connect, send, and report.
 *
 * The identity of a worker is its scheme, host (without case), port and base path, written as
 * `http://host:8000/base`. Backends that agree in all four are one worker, in any model: they share their
 * health. The running state of a policy belongs to the group, so that models do not share it.
 */
#ifndef SR_POOL_POOL_H
#define SR_POOL_POOL_H

#include "base/bytes.h"
#include "base/err.h"
#include "pool/settings.h"

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds for which a worker is chosen last after a failed connect; doubled for each further one in a
 * row, up to the maximum. */
#define SR_POOL_COOLDOWN_NS     (UINT64_C(5) * 1000 * 1000 * 1000)
#define SR_POOL_COOLDOWN_MAX_NS (UINT64_C(60) * 1000 * 1000 * 1000)

/* The retry budget: so many retries may be in progress at once, or this share of all requests in progress, or
 * one and a half times the share that one of the group's workers has, at most half. A worker that fails at
 * once gets more than its share from policies that look at what is in progress. */
#define SR_POOL_RETRIES_MIN     32u
#define SR_POOL_RETRIES_PERCENT 20u

/* Most endpoints outside the configuration that one group keeps (sr_ticket_offer): as many as one request
 * of Envoy may offer. A group's configured members have no limit. */
#define SR_POOL_OFFERED_MAX 65536

struct sr_pool;
struct sr_pool_group;

/* A configured member of a group. Copied. */
struct sr_pool_backend {
    const char *scheme, *host, *base_path; /* with the port: the worker's identity */
    int port;
    double weight; /* relative share; <= 0 or not finite: never chosen while another may be */
    bool backup;   /* chosen only when no other member can take a request */
};

/* What `slow_times` and `recovery_ns` below are by default. */
#define SR_POOL_SLOW_TIMES  2.5
#define SR_POOL_RECOVERY_NS (UINT64_C(30) * 1000 * 1000 * 1000)

/* When a worker that answers with errors is ejected: it is in cooldown for a while. */
struct sr_pool_ejection {
    uint32_t failures;    /* in a row: statuses from 500, lost answers; 0: never */
    uint64_t base_ns;     /* times the number of ejections in a row, at most 10 */
    uint32_t max_percent; /* of the group's members at once; one always may be */
    /* A worker is ejected as well when its requests wait so many times as long for their first byte as those
     * of its group's median worker; 0: never. Then it gets from a tenth to all of its requests in the time
     * of its recovery. */
    double slow_times;
    uint64_t recovery_ns;
};

/* How many requests the workers of a group take, and how they come and go. All zero: no limit. */
struct sr_pool_limits {
    uint32_t max_in_flight; /* requests of this process at one worker, of all models; 0: no limit */
    uint32_t queue_max;     /* requests that wait for a worker that has room, at most SR_POOL_QUEUE_MAX */
    uint64_t queue_ns;      /* the longest wait; the door keeps it */
    uint64_t
        slow_start_ns; /* in which the weight of a worker that joins grows to its full share; 0: at once */
    bool discovered;   /* the members are those of sr_pool_set_members */
};

#define SR_POOL_QUEUE_MAX 10000

/* What a health check says of the worker with this identity (`weight` does not count): a worker that is down
 * is chosen last. No effect on a worker that no group has. SR_ENOMEM. */
int sr_pool_set_down(struct sr_pool *pool, const struct sr_pool_backend *worker, bool down) SR_WARN_UNUSED;

int sr_pool_new(struct sr_pool **out) SR_WARN_UNUSED;

/* Frees the pool. All group references must have been released. NULL is allowed. */
void sr_pool_free(struct sr_pool *pool);

/* A reference to the group `name` with these members, in this order, which is the order of a ticket's
 * candidates. `policy` and `settings` NULL: the default ones; `ejection` NULL: no worker is ejected; `limits`
 * NULL: there are none. Where the members are discovered, `backends` are the first ones of a new group. An
 * equal group that is in use is shared; with the same policy and settings as the previous group of this name,
 * it shares that one's running state. SR_ENOENT: there is no such policy; SR_ENOMEM. */
int sr_pool_group_get(struct sr_pool *pool, struct sr_pool_group **out, const char *name, const char *policy,
                      const struct sr_pool_settings *settings, const struct sr_pool_ejection *ejection,
                      const struct sr_pool_limits *limits, const struct sr_pool_backend *backends, size_t n,
                      struct sr_err *err) SR_WARN_UNUSED;

/* What the group's policy needs of a request: enum sr_pool_needs. */
uint32_t sr_pool_group_needs(const struct sr_pool_group *group);
/* The name of its policy, and its settings. */
const char *sr_pool_group_policy(const struct sr_pool_group *group);
const struct sr_pool_settings *sr_pool_group_settings(const struct sr_pool_group *group);

/* What a group's workers are now. */
struct sr_pool_group_count {
    size_t workers, down; /* all; those that a health check found down */
    size_t well;          /* those that are neither down nor in cooldown */
};
void sr_pool_group_count(struct sr_pool_group *group, struct sr_pool_group_count *out);

/* A worker of the group is not in cooldown or down, with room or without. */
bool sr_pool_group_is_well(struct sr_pool_group *group);

/* Tokens of a block of the KV events that its policy has; 0: it has none. */
uint32_t sr_pool_group_kv_block(const struct sr_pool_group *group);

const struct sr_pool_limits *sr_pool_group_limits(const struct sr_pool_group *group);

/* The members of the groups of this name whose members are discovered, from now on. Requests in progress at a
 * worker that is removed go on. Any thread. SR_ENOMEM: nothing has changed in some of them. */
int sr_pool_set_members(struct sr_pool *pool, const char *name, const struct sr_pool_backend *backends,
                        size_t n) SR_WARN_UNUSED;

/* Calls `fn` with the identity of each member that each group has now, configured or discovered; of several
 * groups of one name, those of the latest. No lock is held: `fn` may take its time. Any thread. */
void sr_pool_each_listed(struct sr_pool *pool,
                         void (*fn)(void *ctx, const char *group, struct sr_bytes worker), void *ctx);

/* Gives room that was found without a request that ended (a cooldown is over, a worker is up) to requests
 * that wait. Call it now and then. Any thread. */
void sr_pool_serve_waiting(struct sr_pool *pool);

/* What a worker is doing. */
struct sr_pool_worker_count {
    struct sr_bytes worker; /* its identity */
    uint32_t in_flight;
    uint32_t ejections; /* since the worker is known */
    uint32_t slowed;    /* those for its slowness */
    bool slow;          /* ejected for it now */
    bool open;          /* chosen after all others (docs/internals/pool.md) */
    bool down;          /* by a health check */
    bool draining;      /* no group has it any more, and it has requests */
};

/* Tells of each worker and of each group's queue, with the pool's lock held: short, and without a call of the
 * pool. Any thread. */
void sr_pool_count(struct sr_pool *pool, void (*worker)(void *ctx, const struct sr_pool_worker_count *count),
                   void (*queue)(void *ctx, const char *group, uint32_t waiting), void *ctx);

/* Releases a reference. No ticket that uses it may be open. NULL is allowed. */
void sr_pool_group_unref(struct sr_pool_group *group);

#endif
