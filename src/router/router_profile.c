/* The part of a router that a routing block makes: signals, plans, algorithms, tools. */
#include "router/router_profile.h"

#include "base/mem.h"
#include "router/toolbox/toolbox.h"

static bool is_shadow(const struct sr_config_decision *decision)
{
    return decision->mode == SR_MODE_SHADOW;
}

/* What holds in every recipe goes before the recipe's decisions, so it is among the guards there. */
static bool is_guard(const struct sr_config_decision *decision)
{
    return !is_shadow(decision) && (decision->plugins.guard.set || decision->everywhere);
}

static bool is_no_guard(const struct sr_config_decision *decision)
{
    return !is_shadow(decision) && !decision->plugins.guard.set && !decision->everywhere;
}

static bool is_for_named(const struct sr_config_decision *decision)
{
    return !is_shadow(decision) && sr_config_holds_everywhere(decision);
}

static bool is_shadow_for_named(const struct sr_config_decision *decision)
{
    return is_shadow(decision) && sr_config_holds_everywhere(decision);
}

static bool is_partial(const struct sr_config_decision *decision)
{
    return decision->share < 1;
}

static bool reads_answers(const struct sr_config_decision *decision)
{
    return decision->plugins.response_jailbreak.set;
}

static bool any_decision(const struct sr_config *config, bool (*takes)(const struct sr_config_decision *))
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (takes(&config->decisions[i]))
            return true;
    return false;
}

static int plans_prepare(struct sr_router *router, struct sr_err *err)
{
    const struct sr_config *config = router->config;
    router->guarded = sr_config_protects(config);
    int rc = sr_plan_new_of(&router->plan, config, router->signals, is_no_guard, err);
    if (!rc && any_decision(config, is_guard))
        rc = sr_plan_new_of(&router->guards, config, router->signals, is_guard, err);
    if (!rc && config->global.guards.explicit_models && any_decision(config, is_for_named))
        rc = sr_plan_new_of(&router->named, config, router->signals, is_for_named, err);
    if (!rc && any_decision(config, is_shadow))
        rc = sr_plan_new_of(&router->shadow, config, router->signals, is_shadow, err);
    router->shadow_named = config->global.guards.explicit_models && any_decision(config, is_shadow_for_named);
    router->partial = any_decision(config, is_partial);
    return rc;
}

/* Prepares the jailbreak signal's models for answers, also when no rule uses them. */
static int readers_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    if (!any_decision(router->config, reads_answers))
        return SR_OK;
    int rc = sr_readers_new(&router->readers, router->config, models, SR_READERS_SHIPPED,
                            1u << SR_SIGNAL_JAILBREAK, err);
    const char *why = rc ? NULL : sr_readers_missing(router->readers, SR_SIGNAL_JAILBREAK);
    return why ? sr_err_set(err, SR_EUNSUPPORTED, "plugin `response_jailbreak`: %s", why) : rc;
}

/* The name of the encoder, as files that were fitted to its vectors have it. */
static const char *encoder_name(const struct sr_config *config)
{
    const struct sr_config_inference *inference = &config->global.inference;
    const char *named = inference->embedding_model && *inference->embedding_model ? inference->embedding_model
                                                                                  : inference->encoder;
    const char *name = named && *named ? named : SR_LOCATE_DEFAULT;
    const char *slash = strrchr(name, '/');
    return slash && slash[1] ? slash + 1 : name;
}

/* Opens the algorithms of decisions that have something to choose. */
static int selectors_prepare(struct sr_router *router, struct sr_err *err)
{
    const struct sr_config *config = router->config;
    struct sr_err why = {0};
    router->selectors = sr_arena_calloc(&router->arena, config->n_decisions + 1, sizeof *router->selectors);
    if (!router->selectors)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->n_decisions; i++) {
        const struct sr_config_decision *decision = &config->decisions[i];
        struct sr_select_setup setup = {&decision->algorithm, encoder_name(config),
                                        (size_t)config->global.inference.dimensions};
        if (decision->n_refs < 2 || !decision->algorithm.type || !decision->algorithm.type[0])
            continue;
        int rc = sr_selector_open(&router->selectors[i], &setup, &why);
        if (rc)
            return sr_err_set(err, rc, "decision `%.60s`: %s", decision->name,
                              why.message[0] ? why.message : sr_strerror(rc));
    }
    return SR_OK;
}

int sr_profile_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    int rc = sr_signals_new(&router->signals, router->config, models, err);
    if (!rc)
        rc = readers_prepare(router, models, err);
    if (!rc)
        rc = plans_prepare(router, err);
    if (!rc)
        rc = selectors_prepare(router, err);
    return rc ? rc : sr_toolbox_new(&router->tools, router->config, models, err);
}

int sr_profile_new(struct sr_router **out, struct sr_router *whole, const struct sr_config *config,
                   const char *profile, const char *recipe, struct sr_model_store *models, struct sr_err *err)
{
    struct sr_router *router = sr_mem_calloc(1, sizeof *router);
    if (!router)
        return SR_ENOMEM;
    *out = router;
    sr_ref_init(&router->ref);
    sr_arena_init(&router->arena, SR_ROUTER_ARENA_MAX);
    router->config = sr_config_ref(config);
    router->whole = whole;
    router->profile = profile;
    router->recipe = recipe;
    router->may_see = whole->may_see;
    router->pool = whole->pool;
    router->paths = whole->paths;
    router->caches = whole->caches;
    router->cache_semantic = whole->cache_semantic;
    router->cache_reader = whole->cache_reader;
    router->pick_reader = whole->pick_reader;
    router->models = whole->models;
    router->created = whole->created;
    router->max_body = whole->max_body;
    return sr_profile_prepare(router, models, err);
}

void sr_profile_dispose(struct sr_router *router)
{
    sr_plan_free(router->plan);
    sr_plan_free(router->guards);
    sr_plan_free(router->named);
    sr_plan_free(router->shadow);
    for (size_t i = 0; router->selectors && i < router->config->n_decisions; i++)
        sr_selector_close(&router->selectors[i]);
    sr_signals_unref(router->signals);
    sr_readers_free(router->readers);
    sr_toolbox_free(router->tools);
}

void sr_profile_free(struct sr_router *router)
{
    if (!router)
        return;
    sr_profile_dispose(router);
    sr_arena_dispose(&router->arena);
    sr_config_unref(router->config);
    sr_mem_free(router);
}
