/* Policies and what clients may change of them. */
#include "router/cache/control.h"

#define MS 1000

static bool is_control(const struct sr_config_cache_use *use, struct sr_bytes name)
{
    return use->set && use->controls && sr_bytes_eq_nocase(name, sr_bytes_str(use->header));
}

/* Of a decision of this routing block? */
static bool is_control_of(const struct sr_config *config, struct sr_bytes name)
{
    bool found = false;
    for (size_t i = 0; !found && i < config->n_decisions; i++)
        found = is_control(&config->decisions[i].plugins.response_cache, name);
    return found;
}

/* Is a header of this name the request controls of some policy? */
static bool is_any_control(const struct sr_config *config, struct sr_bytes name)
{
    bool found = is_control(&config->global.cache.use, name) || is_control_of(config, name);
    for (size_t i = 0; !found && i < config->n_recipes; i++)
        found = is_control_of(&config->recipes[i].config, name);
    return found;
}

int sr_cache_controls_read(struct sr_cache_controls *out, const struct sr_header *headers, size_t n,
                           const struct sr_config *config, struct sr_arena *arena)
{
    *out = (struct sr_cache_controls){0};
    struct sr_header *kept = NULL;
    for (size_t i = 0; i < n; i++) {
        if (!is_any_control(config, headers[i].name))
            continue;
        if (!kept)
            kept = sr_arena_calloc(arena, n, sizeof *kept);
        if (!kept)
            return SR_ENOMEM;
        kept[out->n] =
            (struct sr_header){sr_arena_dup(arena, headers[i].name), sr_arena_dup(arena, headers[i].value)};
        if (!kept[out->n].name.p || !kept[out->n].value.p)
            return SR_ENOMEM;
        out->n++;
    }
    out->headers = kept;
    return SR_OK;
}

/* ---- the plan ---- */

/* One directive: `no-cache`, `max-age=60`. */
static void obey(struct sr_cache_plan *plan, struct sr_bytes word)
{
    const struct sr_config_cache_use *use = plan->use;
    const char *equals = memchr(word.p, '=', word.n);
    struct sr_bytes name = equals ? sr_bytes_of(word.p, (size_t)(equals - word.p)) : word;
    struct sr_bytes value = equals ? sr_bytes_of(equals + 1, word.n - name.n - 1) : SR_LIT("");
    unsigned long long seconds = 0;
    bool valued = sr_bytes_to_u64(value, &seconds) && seconds <= INT64_MAX / MS;
    bool bypass = sr_bytes_eq_nocase(name, SR_LIT("bypass")) && use->allowed & SR_CONTROL_BYPASS;
    if (bypass || (sr_bytes_eq_nocase(name, SR_LIT("no-cache")) && use->allowed & SR_CONTROL_NO_CACHE)) {
        plan->looks = false;
        plan->unasked = "no_cache";
    }
    if (bypass || (sr_bytes_eq_nocase(name, SR_LIT("no-store")) && use->allowed & SR_CONTROL_NO_STORE)) {
        plan->stores = false;
        plan->why_not = "no_store";
    }
    if (valued && sr_bytes_eq_nocase(name, SR_LIT("max-age")) && use->allowed & SR_CONTROL_MAX_AGE) {
        plan->max_age_ms = (int64_t)seconds * MS;
        plan->looks &= seconds > 0;
        plan->unasked = seconds > 0 ? plan->unasked : "max_age";
    }
    if (valued && sr_bytes_eq_nocase(name, SR_LIT("ttl")) && use->allowed & SR_CONTROL_TTL) {
        int64_t ttl = (int64_t)seconds;
        if (use->max_ttl_s && ttl > use->max_ttl_s)
            ttl = use->max_ttl_s;
        plan->ttl_ms = ttl * MS;
        plan->stores &= ttl > 0;
        plan->why_not = ttl > 0 ? plan->why_not : "ttl";
    }
}

static void obey_all(struct sr_cache_plan *plan, struct sr_bytes value)
{
    for (size_t at = 0; at < value.n;) {
        const char *comma = memchr(value.p + at, ',', value.n - at);
        size_t end = comma ? (size_t)(comma - value.p) : value.n;
        struct sr_bytes word = sr_bytes_trim(sr_bytes_of(value.p + at, end - at));
        if (word.n)
            obey(plan, word);
        at = end + 1;
    }
}

static struct sr_bytes owner_of(enum sr_cache_scope scope, const struct sr_identity *identity)
{
    switch (scope) {
    case SR_SCOPE_USER:
        return identity->user;
    case SR_SCOPE_TEAM:
        return identity->team;
    case SR_SCOPE_TENANT:
        return identity->tenant;
    case SR_SCOPE_GLOBAL:
        break;
    }
    return SR_LIT("*");
}

/* What the decision wants kept; after it, a client can only keep less. */
static void retain(struct sr_cache_plan *plan, const struct sr_config_retention *retention)
{
    if (retention->drop) {
        plan->stores = false;
        plan->why_not = "retention";
    }
    if (retention->ttl_turns > 0 && plan->stores)
        plan->ttl_ms = retention->ttl_turns * SR_TURN_SECONDS * MS;
}

void sr_cache_plan(struct sr_cache_plan *out, const struct sr_config *config,
                   const struct sr_config_decision *decision, const struct sr_cache_controls *controls,
                   const struct sr_identity *identity)
{
    const struct sr_config_cache *cache = &config->global.cache;
    const struct sr_config_cache_use *use =
        decision && decision->plugins.response_cache.set ? &decision->plugins.response_cache : &cache->use;
    *out = (struct sr_cache_plan){.owner = SR_LIT(""), .unused = cache->enabled ? "no_policy" : "disabled"};
    if (!cache->enabled || !use->set)
        return;
    out->policy = use;
    out->owner = owner_of(use->scope, identity);
    out->unused = out->owner.n ? NULL : "no_identity";
    if (!out->owner.n)
        return;
    int64_t ttl = use->ttl_s < 0 ? cache->ttl_s : use->ttl_s;
    out->use = use;
    out->looks = true;
    out->stores = use->ttl_s != 0;
    out->why_not = out->stores ? NULL : "ttl";
    out->ttl_ms = ttl * MS;
    if (decision && decision->n_emits)
        retain(out, &decision->emits[0].retention);
    for (size_t i = 0; use->controls && i < controls->n; i++)
        if (sr_bytes_eq_nocase(controls->headers[i].name, sr_bytes_str(use->header)))
            obey_all(out, controls->headers[i].value);
}
