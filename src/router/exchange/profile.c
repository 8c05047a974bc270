/*
 * A profile has all that the whole router has, so that later stages do not know which one they have.
 *
 * A canary's side is the same for the same user or session as long as the canary has its name: it is a hash
 * of both, compared with the share. A larger share keeps those who had the new side.
 */
#include "router/exchange/profile.h"

#include "base/hash.h"

/* Who stays on one side. `own`: room for a number. */
static struct sr_bytes key_of(const sr_exchange *x, const struct sr_config_canary *canary, uint64_t *own)
{
    struct sr_bytes session = {NULL, 0};
    if (canary->by == SR_CANARY_SESSION)
        session = sr_head_named(&x->head, canary->session_header);
    if (session.n)
        return session;
    if (x->identity.user.n)
        return x->identity.user;
    *own = sr_identity_client(&x->identity, x->head.peer);
    return sr_bytes_of(own, sizeof *own);
}

/* In [0, 1), the same for the same canary and key. */
static double place_of(const struct sr_config_canary *canary, struct sr_bytes key)
{
    uint64_t hash = sr_hash64(key, sr_hash64(sr_bytes_str(canary->name), 0));
    return (double)(hash >> 11) * 0x1p-53;
}

/* May the client use the new models, as it may use the old ones? */
static bool may_use(const sr_exchange *x, const struct sr_config_canary *canary)
{
    const struct sr_config *config = x->router->config;
    for (size_t i = 0; i < canary->models.count; i++) {
        int model = sr_config_find_model(config, sr_bytes_str(canary->models.items[i].value));
        if (model >= 0 && !sr_identity_may_use(&x->identity, config, model))
            return false;
    }
    return true;
}

/* The new side where the request falls on it; NULL where it does not. */
static struct sr_router *take_side(sr_exchange *x, const struct sr_router_canary *canary)
{
    uint64_t own;
    if (!may_use(x, canary->entry))
        return NULL; /* it is on no side: the sides have clients alike */
    bool takes =
        canary->side && place_of(canary->entry, key_of(x, canary->entry, &own)) < canary->entry->share;
    x->record.canary = canary->entry->name;
    x->record.canary_side = takes ? SR_SIDE_CANARY : SR_SIDE_CONTROL;
    return takes ? canary->side : NULL;
}

static struct sr_router *profile_of(sr_exchange *x)
{
    struct sr_router *whole = x->router;
    int recipe = x->body.recipe;
    for (size_t i = 0; i < whole->config->global.n_canaries; i++) {
        struct sr_router *side =
            whole->canaries[i].entry->of == recipe ? take_side(x, &whole->canaries[i]) : NULL;
        if (side)
            return side;
    }
    return recipe < 0 ? whole : whole->recipes[recipe];
}

void sr_exchange_enter(sr_exchange *x)
{
    struct sr_router *profile = profile_of(x);
    x->record.recipe = profile->recipe;
    x->record.tells_recipe = x->router->config->n_recipes || x->router->config->n_entrypoints;
    if (profile == x->router)
        return;
    x->router = profile;
    if (x->head.skip)
        return;
    sr_prefetch_dispose(&x->prefetch);
    sr_prefetch_init(&x->prefetch, profile->signals, x->body.doc.dialect);
}
