/*
 * The plug point of picking policies: which of the candidates that may be chosen is next.
 *
 * A policy is one file with one `struct sr_pool_policy_ops`, and one line in registry.c. It sees candidates
 * and its own state and nothing else: who may be chosen (not tried, not in cooldown, allowed by the door) is
 * settled before it is asked.
 */
#ifndef SR_POOL_POLICY_H
#define SR_POOL_POLICY_H

#include <stdbool.h>
#include <stddef.h>

struct sr_pool_member;

/* One member of the group, as one request sees it. */
struct sr_pool_candidate {
    struct sr_pool_member *member;
    bool tried;    /* this request has tried it already */
    bool eligible; /* may be chosen now */
    bool cooling;  /* its worker is in cooldown: eligible only when all that are left are */
};

struct sr_pool_policy_ops {
    const char *name;
    /* Bytes of running state that each member has, zeroed at first, kept over reloads. May be 0. */
    size_t member_size;
    /* The index of an eligible candidate; at least one of `n` is. Mandatory. Any thread, with the group's
     * lock held: short, and without allocations. */
    size_t (*choose)(const struct sr_pool_candidate *candidates, size_t n);
};

/* The weight and the policy's own state of a member. */
double sr_pool_member_weight(const struct sr_pool_member *member);
void *sr_pool_member_state(struct sr_pool_member *member);

/* By name; NULL names the default. NULL when there is none of that name. */
const struct sr_pool_policy_ops *sr_pool_policy_find(const char *name);

extern const struct sr_pool_policy_ops sr_pool_weighted_round_robin;

#endif
