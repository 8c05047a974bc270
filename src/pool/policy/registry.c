/* Lists the picking policies. The first is the default. */
#include "pool/policy.h"

#include <string.h>

static const struct sr_pool_policy_ops *const POLICIES[] = {
    &sr_pool_weighted_round_robin,
    &sr_pool_least_request,
    &sr_pool_least_load,
    &sr_pool_session,
    &sr_pool_prefix,
    &sr_pool_kv,
    &sr_pool_cost,
    &sr_pool_meaning,
    &sr_pool_auto,
};

const struct sr_pool_policy_ops *sr_pool_policy_find(const char *name)
{
    if (!name || !*name)
        return POLICIES[0];
    for (size_t i = 0; i < sizeof POLICIES / sizeof POLICIES[0]; i++)
        if (strcmp(POLICIES[i]->name, name) == 0)
            return POLICIES[i];
    return NULL;
}
