/* Ports, files, and scopes without an identity. */
#include "config/link/cache.h"

#include "config/link/names.h"

#define REDIS_PORT  6379
#define MILVUS_PORT 19530

/* A scope, and what gives a client its identity there. */
struct source {
    const char *scope;  /* also the member of API keys */
    const char *header; /* the name in force; "": none */
    const char *key;    /* of the configuration, that names the header */
};

static struct source source_of(const struct sr_config_global *global, enum sr_cache_scope scope)
{
    switch (scope) {
    case SR_SCOPE_USER:
        return (struct source){"user", global->user_header, "global.services.authz.identity.user_id_header"};
    case SR_SCOPE_TEAM:
        return (struct source){"team", global->cache.team_header, "global.semroute.cache.team_header"};
    case SR_SCOPE_TENANT:
        return (struct source){"tenant", global->guards.tenant_header,
                               "global.semroute.guards.tenant_header"};
    case SR_SCOPE_GLOBAL:
        break;
    }
    return (struct source){"global", "", ""};
}

static const char *member_of(const struct sr_config_key *key, enum sr_cache_scope scope)
{
    return scope == SR_SCOPE_USER ? key->user : scope == SR_SCOPE_TEAM ? key->team : key->tenant;
}

/* Does an API key say it? Those of a file may, which is read later, and again while the router runs. */
static bool keys_say(const struct sr_config_identity *identity, enum sr_cache_scope scope)
{
    for (size_t i = 0; i < identity->n_keys; i++)
        if (member_of(&identity->keys[i], scope)[0])
            return true;
    return identity->keys_file[0];
}

static void check_use(struct sr_binder *b, const struct sr_yaml_node *node, const struct sr_config *config,
                      const struct sr_config_cache_use *use)
{
    struct source source = source_of(&config->global, use->scope);
    if (use->set && use->scope != SR_SCOPE_GLOBAL && !source.header[0] &&
        !keys_say(&config->global.identity, use->scope))
        sr_bind_warning(b, node,
                        "nothing is cached here: `scope: %s` needs a header of a trusted proxy in `%s`, or "
                        "`%s` in keys of global.semroute.identity; `scope: global` shares answers among all "
                        "clients",
                        source.scope, source.key, source.scope);
}

static void check_files(struct sr_binder *b, const struct sr_yaml_node *node,
                        const struct sr_config_cache *cache)
{
    if (cache->path[0] && cache->store != SR_STORE_MEMORY)
        sr_bind_error(b, sr_bind_at(node, "path"), "`path` needs `backend_type: memory`");
    if (cache->key_file[0] && !cache->path[0])
        sr_bind_error(b, sr_bind_at(node, "key_file"),
                      "`key_file` encrypts the file of `path`, which is missing");
    if (cache->max_entry_bytes > cache->max_bytes)
        sr_bind_error(b, sr_bind_at(node, "max_entry_bytes"), "`max_entry_bytes` is over `max_bytes`");
}

static void check_tls(struct sr_binder *b, const struct sr_yaml_node *node,
                      const struct sr_config_store_server *server)
{
    if (!server->cert_file[0] != !server->key_file[0])
        sr_bind_error(b, node, "`cert_file` and `key_file` belong together");
}

static bool uses_cache(const struct sr_config *config)
{
    for (size_t i = 0; i < config->n_decisions; i++)
        if (config->decisions[i].plugins.response_cache.set)
            return true;
    for (size_t i = 0; i < config->n_recipes; i++)
        if (uses_cache(&config->recipes[i].config))
            return true;
    return config->global.cache.use.set;
}

/* A store that is not there is refused where something is cached; memory takes its place. */
static void choose_store(struct sr_binder *b, const struct sr_yaml_node *store, struct sr_config *config)
{
    struct sr_config_cache *cache = &config->global.cache;
    const struct sr_yaml_node *type = sr_yaml_get(store, "backend_type");
    if (cache->store == SR_STORE_ELSEWHERE) {
        if (cache->enabled && uses_cache(config))
            sr_bind_unsupported(b, type ? type : store,
                                "`backend_type: %.20s` is not supported by this version of semroute: stores "
                                "are memory, redis, valkey and milvus",
                                type ? type->text.p : "");
        cache->store = SR_STORE_MEMORY;
    }
}

void sr_link_cache(struct sr_binder *b, const struct sr_yaml_node *root, struct sr_config *config)
{
    const struct sr_yaml_node *global = sr_yaml_get(root, "global");
    const struct sr_yaml_node *own = sr_yaml_get(sr_yaml_get(global, "semroute"), "cache");
    const struct sr_yaml_node *stores = sr_yaml_get(global, "stores");
    const struct sr_yaml_node *store = sr_yaml_get(stores, "response_cache");
    struct sr_config_cache *cache = &config->global.cache;
    if (!store)
        store = sr_yaml_get(stores, "semantic_cache");
    choose_store(b, store, config);
    if (!cache->redis.server.port)
        cache->redis.server.port = REDIS_PORT;
    if (!cache->milvus.server.port)
        cache->milvus.server.port = MILVUS_PORT;
    check_files(b, own, cache);
    check_tls(b, sr_yaml_get(store, sr_yaml_get(store, "valkey") ? "valkey" : "redis"), &cache->redis.server);
    check_tls(b, sr_yaml_get(store, "milvus"), &cache->milvus.server);
    if (cache->enabled)
        check_use(b, sr_yaml_get(own, "default"), config, &cache->use);
}

void sr_link_cache_uses(struct sr_binder *b, const struct sr_yaml_node *decisions,
                        const struct sr_config *config)
{
    for (size_t i = 0; config->global.cache.enabled && i < config->n_decisions; i++)
        check_use(b, sr_link_item(decisions, i), config, &config->decisions[i].plugins.response_cache);
}
