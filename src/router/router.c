/* Builds the router: computes everything that depends only on the configuration. */
#include "router/router.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/policy.h"
#include "router/router_pools.h"
#include "router/router_profile.h"
#include "translate/translate.h"

#include <pthread.h>

/* Hosts whose API has `reasoning_effort` at the top level; others take it inside chat_template_kwargs. */
static const char *const effort_hosts[] = {"api.openai.com", "api.deepseek.com", "openrouter.ai"};

static bool host_takes_effort(const char *host)
{
    for (size_t i = 0; i < sizeof effort_hosts / sizeof effort_hosts[0]; i++)
        if (sr_bytes_eq_nocase(sr_bytes_str(host), sr_bytes_str(effort_hosts[i])))
            return true;
    return false;
}

static struct sr_bytes lower_name(struct sr_arena *arena, const char *name)
{
    struct sr_bytes copy = sr_arena_dup(arena, sr_bytes_str(name));
    for (size_t i = 0; copy.p && i < copy.n; i++)
        ((char *)copy.p)[i] = sr_ascii_lower(copy.p[i]);
    return copy;
}

/* Sets the target's credentials, then its extra headers. */
static int target_headers(struct sr_target *target, const struct sr_config_backend *backend,
                          struct sr_arena *arena)
{
    struct sr_header *headers = sr_arena_calloc(arena, backend->extra_headers.count + 1, sizeof *headers);
    if (!headers)
        return SR_ENOMEM;
    size_t n = 0;
    if (backend->api_key[0]) {
        const char *value = backend->auth_prefix[0]
                                ? sr_arena_printf(arena, "%s %s", backend->auth_prefix, backend->api_key)
                                : backend->api_key;
        headers[n++] = (struct sr_header){lower_name(arena, backend->auth_header), sr_bytes_str(value)};
        if (!value)
            return SR_ENOMEM;
    }
    for (size_t i = 0; i < backend->extra_headers.count; i++) {
        const struct sr_name_value *extra = &backend->extra_headers.items[i];
        headers[n++] = (struct sr_header){lower_name(arena, extra->name), sr_bytes_str(extra->value)};
    }
    for (size_t i = 0; i < n; i++)
        if (!headers[i].name.p)
            return SR_ENOMEM;
    target->headers = headers;
    target->n_headers = n;
    return SR_OK;
}

/* The names that dialects have for what a backend speaks. NULL: it takes each request as it is. */
static const char *const api_names[] = {[SR_SPEAKS_CHAT] = "chat",
                                        [SR_SPEAKS_RESPONSES] = "responses",
                                        [SR_SPEAKS_MESSAGES] = "messages",
                                        [SR_SPEAKS_ANY] = NULL};

static bool may_get_chats(int speaks)
{
    return speaks == SR_SPEAKS_ANY || speaks == SR_SPEAKS_CHAT;
}

/* What the model's backends speak, and the one path that chats have there. */
static int model_apis(struct sr_router_model *out, const struct sr_config_model *model, struct sr_err *err)
{
    const struct sr_config_backend *first = NULL;
    int speaks = model->n_backends ? model->backends[0].api_format : model->api_format;
    for (size_t i = 0; i < model->n_backends; i++) {
        const struct sr_config_backend *backend = &model->backends[i];
        out->mixed |= backend->api_format != speaks;
        if (!may_get_chats(backend->api_format))
            continue;
        first = first ? first : backend;
        if (strcmp(first->chat_path, backend->chat_path) != 0)
            return sr_err_set(err, SR_EINVAL, "model `%s`: its backends must have the same chat_path",
                              model->name);
    }
    out->chat_path = sr_bytes_str(first ? first->chat_path : "");
    out->api = out->mixed || !api_names[speaks] ? -1 : sr_translate_api_named(api_names[speaks]);
    return SR_OK;
}

/* NULL: out of memory. */
static const char *name_of(const struct sr_config_backend *backend, struct sr_arena *arena)
{
    if (backend->name[0])
        return backend->name;
    return strchr(backend->host, ':') ? sr_arena_printf(arena, "[%s]:%d", backend->host, backend->port)
                                      : sr_arena_printf(arena, "%s:%d", backend->host, backend->port);
}

static int model_prepare(struct sr_router_model *out, const struct sr_config_model *model,
                         struct sr_arena *arena, struct sr_err *err)
{
    struct sr_target *targets = sr_arena_calloc(arena, model->n_backends, sizeof *targets);
    if (!targets)
        return SR_ENOMEM;
    for (size_t i = 0; i < model->n_backends; i++) {
        const struct sr_config_backend *backend = &model->backends[i];
        targets[i] = (struct sr_target){
            .struct_size = sizeof *targets,
            .name = name_of(backend, arena),
            .scheme = backend->scheme,
            .host = backend->host,
            .port = backend->port,
            .base_path = backend->base_path,
            .unversioned = backend->unversioned,
            .query = backend->query,
            .tls_ca_file = backend->tls_ca_file,
            .tls_verify = backend->tls_verify,
            .weight = backend->weight,
            .api = api_names[backend->api_format],
        };
        if (!targets[i].name || target_headers(&targets[i], backend, arena))
            return SR_ENOMEM;
        out->has_key |= sr_config_backend_has_key(backend);
        out->top_level_effort |= host_takes_effort(backend->host);
    }
    out->targets = targets;
    out->n_targets = model->n_backends;
    return model_apis(out, model, err);
}

static int policies_prepare(struct sr_router *router)
{
    const struct sr_config *config = router->config;
    if (config->global.n_policies == 0)
        return SR_OK;
    uint32_t *may_see = sr_arena_alloc(&router->arena, config->n_models * sizeof *may_see);
    if (!may_see)
        return SR_ENOMEM;
    memset(may_see, 0xff, config->n_models * sizeof *may_see);
    for (size_t i = 0; i < config->global.n_policies; i++)
        if (config->global.policies[i].index >= 0)
            may_see[config->global.policies[i].index] = config->global.policies[i].allowed;
    router->may_see = may_see;
    return SR_OK;
}

struct sr_router_alone {
    pthread_mutex_t lock;
    struct sr_model_store *models; /* outlives the router; NULL: no API */
    struct sr_readers *readers;    /* NULL until they are asked for */
};

const struct sr_readers *sr_router_readers(const struct sr_router *router)
{
    struct sr_router_alone *alone = router->alone;
    struct sr_err err = {0};
    pthread_mutex_lock(&alone->lock);
    if (!alone->readers && alone->models &&
        sr_readers_new(&alone->readers, router->config, alone->models, SR_READERS_SHIPPED, sr_readers_types(),
                       &err)) {
        sr_log(SR_LOG_WARN, "readers_failed", "%s", err.message);
        alone->readers = NULL;
    }
    const struct sr_readers *readers = alone->readers;
    pthread_mutex_unlock(&alone->lock);
    return readers;
}

bool sr_router_has_readers(const struct sr_router *router)
{
    pthread_mutex_lock(&router->alone->lock);
    bool has = router->alone->readers != NULL;
    pthread_mutex_unlock(&router->alone->lock);
    return has;
}

static void profile_open_ahead(const struct sr_router *profile)
{
    struct sr_signals *of_answers =
        profile->readers ? sr_readers_signals(profile->readers, SR_SIGNAL_JAILBREAK) : NULL;
    sr_signals_open_ahead(profile->signals);
    if (of_answers)
        sr_signals_open_ahead(of_answers);
}

void sr_router_open_ahead(const struct sr_router *router)
{
    profile_open_ahead(router);
    for (size_t i = 0; i < router->config->n_recipes; i++)
        profile_open_ahead(router->recipes[i]);
    for (size_t i = 0; i < router->config->global.n_canaries; i++)
        if (router->canaries[i].side)
            profile_open_ahead(router->canaries[i].side);
}

/* What only the API reads is opened when it does. */
static int alone_prepare(struct sr_router *router, struct sr_model_store *models)
{
    router->alone = sr_arena_calloc(&router->arena, 1, sizeof *router->alone);
    if (!router->alone)
        return SR_ENOMEM;
    pthread_mutex_init(&router->alone->lock, NULL);
    router->alone->models = models;
    return SR_OK;
}

/* The model of the cache's questions; "": the configured encoder. */
static const char *cache_model(const struct sr_config *config)
{
    const struct sr_config_inference *inference = &config->global.inference;
    const char *own = inference->cache_model && *inference->cache_model ? inference->cache_model : NULL;
    const char *common = inference->embedding_model ? inference->embedding_model : "";
    return own ? own : common;
}

/* The encoder of questions. Where the default one is missing, the cache has exact hits only. */
static int cache_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    const char *named = router->config->global.inference.encoder;
    struct sr_err why = {0};
    router->caches = sr_config_caches(router->config, false);
    if (!models || !sr_config_caches(router->config, true))
        return SR_OK;
    int rc = sr_embedding_reader_new(&router->cache_reader, router->config, cache_model(router->config),
                                     models, &why);
    router->cache_semantic = rc == SR_OK;
    if (rc == SR_ENOENT && (!named || !*named)) {
        sr_log(SR_LOG_WARN, "encoder_missing", "%s; the response cache has exact hits only", why.message);
        return SR_OK;
    }
    return rc ? sr_err_set(err, rc, "response_cache: %s", why.message) : SR_OK;
}

/* The encoder of requests for policies that compare meanings. Without it they do without. */
static int pick_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    struct sr_err why = {0};
    bool needed = false;
    for (size_t i = 0; i < router->config->n_models; i++)
        for (size_t k = 0; k < router->models[i].n_pools; k++)
            needed |= sr_pool_group_needs(router->models[i].pools[k].group) & SR_POOL_NEEDS_VECTOR;
    if (!models || !needed)
        return SR_OK;
    const char *model = router->config->global.inference.embedding_model;
    if (router->cache_reader && strcmp(cache_model(router->config), model ? model : "") == 0) {
        router->pick_reader = sr_embedding_reader_ref(router->cache_reader);
        return SR_OK;
    }
    int rc = sr_embedding_reader_new(&router->pick_reader, router->config, model, models, &why);
    if (rc == SR_ENOENT) {
        sr_log(SR_LOG_WARN, "encoder_missing", "%s; workers are picked without the meaning of requests",
               why.message);
        return SR_OK;
    }
    return rc ? sr_err_set(err, rc, "pools: %s", why.message) : SR_OK;
}

static int recipes_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    const struct sr_config *config = router->config;
    int rc = SR_OK;
    router->recipes = sr_arena_calloc(&router->arena, config->n_recipes + 1, sizeof *router->recipes);
    if (!router->recipes)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->n_recipes && !rc; i++) {
        const struct sr_config_recipe *recipe = &config->recipes[i];
        rc = sr_profile_new(&router->recipes[i], router, &recipe->config, recipe->name, recipe->name, models,
                            err);
    }
    return rc;
}

static int canaries_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    const struct sr_config *config = router->config;
    size_t n = config->global.n_canaries;
    int rc = SR_OK;
    router->canaries = sr_arena_calloc(&router->arena, n + 1, sizeof *router->canaries);
    if (!router->canaries)
        return SR_ENOMEM;
    for (size_t i = 0; i < n && !rc; i++) {
        const struct sr_config_canary *canary = &config->global.canaries[i];
        router->canaries[i].entry = canary;
        if (!canary->config)
            continue;
        const char *profile = sr_arena_printf(&router->arena, "canary %s", canary->name);
        rc = profile ? sr_profile_new(&router->canaries[i].side, router, canary->config, profile,
                                      sr_config_recipe_name(config, canary->recipe), models, err)
                     : SR_ENOMEM;
        if (rc && err && err->message[0]) {
            struct sr_err why = *err;
            sr_err_set(err, rc, "canary `%.60s`: %s", canary->name, why.message);
        }
    }
    return rc;
}

static int router_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_pool *pool,
                          struct sr_err *err)
{
    const struct sr_config *config = router->config;
    int rc = alone_prepare(router, models);
    if (!rc)
        rc = sr_profile_prepare(router, models, err);
    if (!rc)
        rc = cache_prepare(router, models, err);
    if (!rc)
        rc = policies_prepare(router);
    if (!rc)
        rc = sr_dialect_paths_new(&router->paths, err);
    if (rc)
        return rc;
    router->models = sr_arena_calloc(&router->arena, config->n_models, sizeof *router->models);
    if (!router->models)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->n_models; i++) {
        rc = model_prepare(&router->models[i], &config->models[i], &router->arena, err);
        if (!rc && pool)
            rc = sr_router_pools_open(&router->models[i], config, &config->models[i], models, pool,
                                      &router->arena, err);
        if (!rc && pool)
            router->models[i].tally = sr_pool_tally_get(pool, config->models[i].name);
        if (rc)
            return rc;
    }
    rc = pool ? SR_OK : sr_router_pools_check(config, err);
    if (!rc)
        rc = pick_prepare(router, models, err);
    if (!rc)
        rc = recipes_prepare(router, models, err);
    return rc ? rc : canaries_prepare(router, models, err);
}

int sr_router_new(struct sr_router **out, const struct sr_config *config, struct sr_model_store *models,
                  struct sr_pool *pool, struct sr_err *err)
{
    struct sr_router *router = sr_mem_calloc(1, sizeof *router);
    if (!router) {
        sr_config_unref(config);
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    }
    sr_ref_init(&router->ref);
    sr_arena_init(&router->arena, SR_ROUTER_ARENA_MAX);
    router->config = config;
    router->profile = "";
    router->recipe = SR_RECIPE_DEFAULT;
    router->pool = pool;
    router->created = sr_clock_wall_ns() / SR_NS_PER_S;
    router->max_body = config->global.gateway.max_body_bytes;
    int rc = router_prepare(router, models, pool, err);
    if (rc) {
        if (err && !err->message[0])
            sr_err_set(err, rc, "%s", sr_strerror(rc));
        sr_router_unref(router);
        return rc;
    }
    *out = router;
    return SR_OK;
}

struct sr_router *sr_router_ref(struct sr_router *router)
{
    struct sr_router *whole = router->whole ? router->whole : router;
    sr_ref_get(&whole->ref);
    return router;
}

const struct sr_router *sr_router_profile(const struct sr_router *router, int recipe)
{
    return recipe < 0 ? router : router->recipes[recipe];
}

int sr_router_set_embeds(struct sr_router *router, const char *folder)
{
    const char *slash = strrchr(folder, '/');
    router->embeds = sr_arena_dup(&router->arena, sr_bytes_str(slash && slash[1] ? slash + 1 : folder)).p;
    return router->embeds ? SR_OK : SR_ENOMEM;
}

static void set_learned(struct sr_router *profile, struct sr_select_arms *arms, struct sr_holds *holds)
{
    profile->arms = arms;
    profile->holds = holds;
}

void sr_router_set_learned(struct sr_router *router, struct sr_select_arms *arms, struct sr_holds *holds)
{
    set_learned(router, arms, holds);
    for (size_t i = 0; i < router->config->n_recipes; i++)
        set_learned(router->recipes[i], arms, holds);
    for (size_t i = 0; i < router->config->global.n_canaries; i++)
        if (router->canaries[i].side)
            set_learned(router->canaries[i].side, arms, holds);
}

void sr_router_unref(struct sr_router *router)
{
    router = router && router->whole ? router->whole : router;
    if (!router || !sr_ref_put(&router->ref))
        return;
    for (size_t i = 0; router->recipes && i < router->config->n_recipes; i++)
        sr_profile_free(router->recipes[i]);
    for (size_t i = 0; router->canaries && i < router->config->global.n_canaries; i++)
        sr_profile_free(router->canaries[i].side);
    sr_profile_dispose(router);
    sr_dialect_paths_free(router->paths);
    sr_embedding_reader_unref(router->cache_reader);
    sr_embedding_reader_unref(router->pick_reader);
    if (router->alone) {
        sr_readers_free(router->alone->readers);
        pthread_mutex_destroy(&router->alone->lock);
    }
    for (size_t i = 0; router->models && i < router->config->n_models; i++)
        sr_router_pools_close(&router->models[i], router->pool);
    sr_arena_dispose(&router->arena);
    sr_config_unref(router->config);
    sr_mem_free(router);
}
