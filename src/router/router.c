/* Builds the router: computes everything that depends only on the configuration. */
#include "router/router.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "pool/policy.h"
#include "router/router_pools.h"
#include "router/toolbox/toolbox.h"
#include "translate/translate.h"

#include <pthread.h>

/* Memory limit for the targets and headers of a large configuration. */
#define ROUTER_ARENA_MAX ((size_t)64 << 20)

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

static int model_prepare(struct sr_router_model *out, const struct sr_config_model *model,
                         struct sr_arena *arena, struct sr_err *err)
{
    struct sr_target *targets = sr_arena_calloc(arena, model->n_backends, sizeof *targets);
    if (!targets)
        return SR_ENOMEM;
    _Static_assert(SR_TRANSLATE_MESSAGES - SR_TRANSLATE_CHAT == SR_SPEAKS_MESSAGES - SR_SPEAKS_CHAT,
                   "one order");
    out->api = model->api_format == SR_SPEAKS_ANY ? -1 : model->api_format - SR_SPEAKS_CHAT;
    out->chat_path = sr_bytes_str(model->n_backends ? model->backends[0].chat_path : "");
    for (size_t i = 0; i < model->n_backends; i++) {
        const struct sr_config_backend *backend = &model->backends[i];
        targets[i] = (struct sr_target){
            .struct_size = sizeof *targets,
            .name = backend->name,
            .scheme = backend->scheme,
            .host = backend->host,
            .port = backend->port,
            .base_path = backend->base_path,
            .unversioned = backend->unversioned,
            .query = backend->query,
            .tls_ca_file = backend->tls_ca_file,
            .tls_verify = backend->tls_verify,
            .weight = backend->weight,
        };
        if (target_headers(&targets[i], backend, arena))
            return SR_ENOMEM;
        out->has_key |= sr_config_backend_has_key(backend);
        out->top_level_effort |= host_takes_effort(backend->host);
        if (!sr_bytes_eq(out->chat_path, sr_bytes_str(backend->chat_path)))
            return sr_err_set(err, SR_EINVAL, "model `%s`: its backends must have the same chat_path",
                              model->name);
    }
    out->targets = targets;
    out->n_targets = model->n_backends;
    return SR_OK;
}

/* True when a rule asks for an attack or private data. */
static bool asks_guards(const struct sr_config_rule *rule)
{
    if (rule->op == SR_RULE_LEAF || rule->op == SR_RULE_UNKNOWN)
        return strcmp(rule->type, "jailbreak") == 0 || strcmp(rule->type, "pii") == 0;
    for (size_t i = 0; rule->op != SR_RULE_NOT && i < rule->n_children; i++)
        if (asks_guards(&rule->children[i]))
            return true;
    return false;
}

static bool is_shadow(const struct sr_config_decision *decision)
{
    return decision->mode == SR_MODE_SHADOW;
}

static bool is_guard(const struct sr_config_decision *decision)
{
    return !is_shadow(decision) && decision->plugins.guard.set;
}

static bool is_no_guard(const struct sr_config_decision *decision)
{
    return !is_shadow(decision) && !decision->plugins.guard.set;
}

bool sr_router_is_for_named(const struct sr_config_decision *decision)
{
    return decision->plugins.guard.set ||
           (decision->plugins.fast_response.set && decision->has_rules && asks_guards(&decision->rules));
}

static bool is_for_named(const struct sr_config_decision *decision)
{
    return !is_shadow(decision) && sr_router_is_for_named(decision);
}

static bool is_shadow_for_named(const struct sr_config_decision *decision)
{
    return is_shadow(decision) && sr_router_is_for_named(decision);
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

/* Prepares the jailbreak signal's models for answers, also when no rule uses them. What only the API reads
 * is opened when it does. */
static int readers_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    router->alone = sr_arena_calloc(&router->arena, 1, sizeof *router->alone);
    if (!router->alone)
        return SR_ENOMEM;
    pthread_mutex_init(&router->alone->lock, NULL);
    router->alone->models = models;
    if (!any_decision(router->config, reads_answers))
        return SR_OK;
    int rc = sr_readers_new(&router->readers, router->config, models, SR_READERS_SHIPPED,
                            1u << SR_SIGNAL_JAILBREAK, err);
    const char *why = rc ? NULL : sr_readers_missing(router->readers, SR_SIGNAL_JAILBREAK);
    return why ? sr_err_set(err, SR_EUNSUPPORTED, "plugin `response_jailbreak`: %s", why) : rc;
}

/* The encoder of questions. Where the default one is missing, the cache has exact hits only. */
static int cache_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_err *err)
{
    const char *named = router->config->global.inference.encoder;
    struct sr_err why = {0};
    router->caches = sr_config_caches(router->config, false);
    if (!models || !sr_config_caches(router->config, true))
        return SR_OK;
    int rc = sr_embedding_reader_new(&router->cache_reader, router->config, models, &why);
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
    if (router->cache_reader) {
        router->pick_reader = sr_embedding_reader_ref(router->cache_reader);
        return SR_OK;
    }
    int rc = sr_embedding_reader_new(&router->pick_reader, router->config, models, &why);
    if (rc == SR_ENOENT) {
        sr_log(SR_LOG_WARN, "encoder_missing", "%s; workers are picked without the meaning of requests",
               why.message);
        return SR_OK;
    }
    return rc ? sr_err_set(err, rc, "pools: %s", why.message) : SR_OK;
}

/* The name of the encoder, as files that were fitted to its vectors have it. */
static const char *encoder_name(const struct sr_config *config)
{
    const char *named = config->global.inference.encoder;
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

static int router_prepare(struct sr_router *router, struct sr_model_store *models, struct sr_pool *pool,
                          struct sr_err *err)
{
    const struct sr_config *config = router->config;
    if (models)
        sr_memo_resize(sr_model_store_memo(models), config->global.guards.memo_bytes);
    int rc = sr_signals_new(&router->signals, config, models, err);
    if (!rc)
        rc = readers_prepare(router, models, err);
    if (!rc)
        rc = cache_prepare(router, models, err);
    if (!rc)
        rc = plans_prepare(router, err);
    if (!rc)
        rc = policies_prepare(router);
    if (!rc)
        rc = sr_dialect_paths_new(&router->paths, err);
    if (!rc)
        rc = selectors_prepare(router, err);
    if (rc)
        return rc;
    router->models = sr_arena_calloc(&router->arena, config->n_models, sizeof *router->models);
    if (!router->models)
        return SR_ENOMEM;
    for (size_t i = 0; i < config->n_models; i++) {
        rc = model_prepare(&router->models[i], &config->models[i], &router->arena, err);
        if (!rc && pool)
            rc = sr_router_pools_open(&router->models[i], config, &config->models[i], pool, &router->arena,
                                      err);
        if (!rc && pool)
            router->models[i].tally = sr_pool_tally_get(pool, config->models[i].name);
        if (rc)
            return rc;
    }
    rc = sr_toolbox_new(&router->tools, config, models, err);
    return rc ? rc : pick_prepare(router, models, err);
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
    sr_arena_init(&router->arena, ROUTER_ARENA_MAX);
    router->config = config;
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
    sr_ref_get(&router->ref);
    return router;
}

void sr_router_unref(struct sr_router *router)
{
    if (!router || !sr_ref_put(&router->ref))
        return;
    sr_plan_free(router->plan);
    sr_plan_free(router->guards);
    sr_plan_free(router->named);
    sr_plan_free(router->shadow);
    for (size_t i = 0; router->selectors && i < router->config->n_decisions; i++)
        sr_selector_close(&router->selectors[i]);
    sr_signals_unref(router->signals);
    sr_dialect_paths_free(router->paths);
    sr_readers_free(router->readers);
    sr_embedding_reader_unref(router->cache_reader);
    sr_embedding_reader_unref(router->pick_reader);
    sr_toolbox_free(router->tools);
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
