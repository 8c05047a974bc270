/* The members of a group: a worker, its weight there, and its seat at the picking policy. Offered members
 * live as long as the requests that offer them. */
#include "base/hash.h"
#include "base/mem.h"
#include "pool/clock.h"
#include "pool/outlier.h"

#include <math.h>

#define SLOW_START_LEAST 0.1 /* share of its weight with which a worker begins */

/* The share of its weight that a worker gets: it grows in the time of the slow start. */
static double ramp_of(const struct sr_pool_member *member)
{
    if (!member->joined_ns || !member->slow_start_ns)
        return 1;
    uint64_t age = sr_pool_clock_ns() - member->joined_ns;
    double share = (double)age / (double)member->slow_start_ns;
    return share >= 1 ? 1 : share > SLOW_START_LEAST ? share : SLOW_START_LEAST;
}

/* Share of a KV cache from which a worker counts as more loaded, up to twice. */
#define KV_NEARLY_FULL 0.9

double sr_pool_member_weight(const struct sr_pool_member *member)
{
    return member->weight * ramp_of(member);
}

uint32_t sr_pool_member_in_flight(const struct sr_pool_member *member)
{
    return atomic_load_explicit(&member->worker->in_flight, memory_order_relaxed);
}

uint64_t sr_pool_member_hash(const struct sr_pool_member *member)
{
    return member->worker->hash;
}

void *sr_pool_member_seat(const struct sr_pool_member *member)
{
    return member->seat->state;
}

uint32_t sr_pool_member_slot(const struct sr_pool_member *member)
{
    return member->seat->slot;
}

double sr_pool_member_reported(const struct sr_pool_member *member)
{
    const struct sr_pool_load *load = &member->worker->load;
    if (!atomic_load_explicit(&load->at_ns, memory_order_acquire))
        return 0;
    double all = (double)atomic_load_explicit(&load->running, memory_order_relaxed) +
                 (double)atomic_load_explicit(&load->waiting, memory_order_relaxed);
    double others = all - (double)atomic_load_explicit(&load->own, memory_order_relaxed);
    return others > 0 ? others : 0;
}

/* Share of the worker's KV cache that is in use, 0..1; negative: unknown. */
static double kv_usage(const struct sr_pool_member *member)
{
    const struct sr_pool_load *load = &member->worker->load;
    if (!atomic_load_explicit(&load->at_ns, memory_order_acquire))
        return -1;
    return atomic_load_explicit(&load->kv_permille, memory_order_relaxed) / 1000.0;
}

double sr_pool_member_load(const struct sr_pool_member *member)
{
    double weight = sr_pool_member_weight(member);
    if (!isfinite(weight) || weight <= 0)
        return HUGE_VAL;
    double usage = kv_usage(member);
    double full = usage > KV_NEARLY_FULL ? (usage - KV_NEARLY_FULL) / (1 - KV_NEARLY_FULL) : 0;
    return (sr_pool_member_in_flight(member) + sr_pool_member_reported(member) + 1) * (1 + full) *
           sr_outlier_times(member->worker, sr_pool_clock_ns()) / weight;
}

struct sr_pool_member *sr_pool_member_new(struct sr_pool_group *group, struct sr_bytes key, double weight)
{
    struct sr_pool_member *member = sr_mem_calloc(1, sizeof *member);
    if (!member)
        return NULL;
    member->weight = weight;
    member->slow_start_ns = group->limits.slow_start_ns;
    member->worker = sr_pool_worker_get(group->pool, key);
    if (member->worker)
        member->seat = sr_pool_seat_get(group->picker, member->worker);
    if (!member->seat) {
        sr_pool_member_free(group, member);
        return NULL;
    }
    return member;
}

void sr_pool_member_free(struct sr_pool_group *group, struct sr_pool_member *member)
{
    sr_pool_seat_put(group->picker, member->seat);
    if (member->worker)
        sr_pool_worker_put(group->pool, member->worker);
    sr_mem_free(member);
}

void sr_pool_offered_sweep(struct sr_pool_group *group)
{
    for (size_t b = 0; group->offered && b < SR_POOL_BUCKETS; b++) {
        struct sr_pool_member **at = &group->offered[b];
        while (*at) {
            struct sr_pool_member *member = *at;
            if (member->tickets > 0) {
                at = &member->next;
                continue;
            }
            *at = member->next;
            sr_pool_member_free(group, member);
            group->n_offered--;
        }
    }
}

int sr_pool_offered_hold(struct sr_pool_group *group, struct sr_pool_member **out, struct sr_bytes address)
{
    if (!group->offered) {
        group->offered = sr_mem_calloc(SR_POOL_BUCKETS, sizeof(struct sr_pool_member *));
        if (!group->offered)
            return SR_ENOMEM;
    }
    uint64_t hash = sr_hash64(address, 0);
    struct sr_pool_member **bucket = &group->offered[hash % SR_POOL_BUCKETS], *member = *bucket;
    while (member && !sr_bytes_eq(member->worker->key, address))
        member = member->next;
    if (!member) {
        if (group->n_offered == SR_POOL_OFFERED_MAX)
            sr_pool_offered_sweep(group);
        if (group->n_offered == SR_POOL_OFFERED_MAX)
            return SR_ELIMIT;
        member = sr_pool_member_new(group, address, 1);
        if (!member)
            return SR_ENOMEM;
        member->next = *bucket;
        *bucket = member;
        group->n_offered++;
    }
    member->tickets++;
    *out = member;
    return SR_OK;
}
