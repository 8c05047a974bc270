/* Shares by hash, and shadows by their own plan. */
#include "router/route/trial.h"

#include "base/hash.h"

#include <string.h>

/* In [0, 1), the same for the same decision and key. */
static double place_of(const struct sr_config_decision *decision, struct sr_bytes key)
{
    uint64_t hash = sr_hash64(key, sr_hash64(sr_bytes_str(decision->name), 0));
    return (double)(hash >> 11) * 0x1p-53;
}

static bool lists(const struct sr_strings *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

/* Does the tenant of a request, NULL for one without rules, have this decision? */
static bool is_of(const struct sr_config_tenant *tenant, const struct sr_config_decision *decision)
{
    if (decision->of_tenants && !(tenant && lists(&tenant->guards, decision->name)))
        return false;
    return !tenant || !lists(&tenant->without_guards, decision->name);
}

void sr_trial_leave_out(const struct sr_router *router, bool automatic, struct sr_bytes key,
                        const struct sr_config_tenant *tenant, bool *without)
{
    const struct sr_config *config = router->config;
    if (!router->partial && !router->shadow && !config->global.identity.n_tenants)
        return;
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        bool other = !automatic && decision->mode == SR_MODE_SHADOW &&
                     !(router->shadow_named && sr_config_holds_everywhere(decision));
        without[i] = other || !is_of(tenant, decision) ||
                     (decision->share < 1 && place_of(decision, key) >= decision->share);
    }
}

int sr_trial_shadows(const struct sr_router *router, const bool *without,
                     const struct sr_signal_result *const results[SR_SIGNAL_TYPES], struct sr_arena *arena,
                     struct sr_shadows *out, uint32_t *needed)
{
    if (!router->shadow)
        return SR_OK;
    if (!out->matches)
        out->matches = sr_arena_calloc(arena, sr_plan_size(router->shadow), sizeof *out->matches);
    if (!out->matches)
        return SR_ENOMEM;
    return sr_plan_matches(router->shadow, without, results, out->matches, &out->n, needed);
}
