/*
 * The interface of picking policies, which choose the next of the eligible candidates.
 *
 * A policy is one file with one `struct sr_pool_policy_ops`, and one line in registry.c. It sees only
 * candidates and its own state: which of them are eligible (not tried, not in cooldown, allowed by the
 * door) is decided before.
 */
#ifndef SR_POOL_POLICY_H
#define SR_POOL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sr_pool_member;

/* One member of the group, as one request sees it. */
struct sr_pool_candidate {
    struct sr_pool_member *member;
    bool tried;    /* this request has tried it already */
    bool eligible; /* may be chosen */
    bool cooling;  /* its worker is in cooldown or down: eligible only when all remaining ones are */
};

struct sr_pool_policy_ops {
    const char *name;
    /* Bytes of state of each member, initially zero, kept over reloads. May be 0. */
    size_t member_size;
    /* Returns the index of an eligible candidate; at least one of `n` is eligible. Mandatory. Any thread,
     * with the group's lock held: short, and without allocations. */
    size_t (*choose)(const struct sr_pool_candidate *candidates, size_t n);
};

/* The weight, the requests that this process has at the worker, and the policy's own state of a member. */
double sr_pool_member_weight(const struct sr_pool_member *member);
uint32_t sr_pool_member_in_flight(const struct sr_pool_member *member);
void *sr_pool_member_state(struct sr_pool_member *member);

/* Finds a policy by name; the name NULL gives the default. NULL when there is no such policy. */
const struct sr_pool_policy_ops *sr_pool_policy_find(const char *name);

extern const struct sr_pool_policy_ops sr_pool_weighted_round_robin, sr_pool_least_request;

#endif
