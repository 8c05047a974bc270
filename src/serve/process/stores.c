/* From keys of the configuration to the options of each store. */
#include "serve/process/stores.h"

#include "base/log.h"
#include "cache/index/pack.h"
#include "store/milvus/milvus.h"
#include "store/redis/redis.h"
#include "store/sqlite/sqlite.h"

#include <stdlib.h>
#include <string.h>

/* ---- is it the same ---- */

static bool same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool same_server(const struct sr_config_store_server *a, const struct sr_config_store_server *b)
{
    return same(a->host, b->host) && a->port == b->port && same(a->database, b->database) &&
           same(a->user, b->user) && same(a->password, b->password) && a->tls == b->tls &&
           same(a->ca_file, b->ca_file) && same(a->cert_file, b->cert_file) && same(a->key_file, b->key_file);
}

static bool same_store(const struct sr_config_cache *a, const struct sr_config_cache *b)
{
    if (a->store != b->store)
        return false;
    switch (a->store) {
    case SR_STORE_MEMORY:
        return same(a->path, b->path) && same(a->key_file, b->key_file) && a->max_entries == b->max_entries &&
               a->max_bytes == b->max_bytes;
    case SR_STORE_REDIS:
        return same_server(&a->redis.server, &b->redis.server) && same(a->redis.prefix, b->redis.prefix);
    case SR_STORE_MILVUS:
    case SR_STORE_ELSEWHERE:
        break;
    }
    return same_server(&a->milvus.server, &b->milvus.server) &&
           same(a->milvus.collection, b->milvus.collection) &&
           same(a->milvus.consistency, b->milvus.consistency) && a->milvus.m == b->milvus.m &&
           a->milvus.ef_construction == b->milvus.ef_construction && a->milvus.ef == b->milvus.ef;
}

/* ---- opening ---- */

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static const struct sr_tls_settings *tls_of(const struct sr_config_store_server *server, const char *alpn,
                                            struct sr_tls_settings *out)
{
    *out = (struct sr_tls_settings){.ca_file = or_null(server->ca_file),
                                    .cert_file = or_null(server->cert_file),
                                    .key_file = or_null(server->key_file),
                                    .alpn = alpn};
    return server->tls ? out : NULL;
}

/* `load_max`: records that are loaded at the start. */
static int open_redis(struct sr_cache_backend **out, const struct sr_config_store_server *server,
                      const char *prefix, size_t load_max, void *ctx, struct sr_err *err)
{
    struct sr_tls_settings tls;
    struct sr_redis_options options = sr_redis_options_defaults();
    options.host = server->host;
    options.port = (uint16_t)server->port;
    options.user = or_null(server->user);
    options.password = or_null(server->password);
    options.database = (unsigned)strtoul(server->database, NULL, 10);
    options.tls = tls_of(server, NULL, &tls);
    options.prefix = prefix;
    options.load_max = load_max;
    return sr_redis_backend(out, &options, sr_cache_events(), ctx, err);
}

static enum sr_milvus_consistency consistency_of(const char *word)
{
    static const char *const words[] = {[SR_MILVUS_STRONG] = "Strong",
                                        [SR_MILVUS_SESSION] = "Session",
                                        [SR_MILVUS_BOUNDED] = "Bounded",
                                        [SR_MILVUS_EVENTUALLY] = "Eventually"};
    for (int i = 0; i < 4; i++)
        if (same(word, words[i]))
            return (enum sr_milvus_consistency)i;
    return SR_MILVUS_SESSION;
}

static int open_milvus(struct sr_cache_backend **out, const struct sr_config_cache *cache, size_t dimensions,
                       void *ctx, struct sr_err *err)
{
    const struct sr_config_store_server *server = &cache->milvus.server;
    struct sr_tls_settings tls;
    struct sr_milvus_options options = sr_milvus_options_defaults();
    options.host = server->host;
    options.port = (uint16_t)server->port;
    options.user = or_null(server->user);
    options.password = options.user ? or_null(server->password) : NULL;
    options.token = options.user ? NULL : or_null(server->password);
    options.database = or_null(server->database);
    options.tls = tls_of(server, "h2", &tls);
    options.collection = cache->milvus.collection;
    options.dimensions = dimensions;
    options.m = (unsigned)cache->milvus.m;
    options.ef_construction = (unsigned)cache->milvus.ef_construction;
    options.ef = (unsigned)cache->milvus.ef;
    options.consistency = consistency_of(cache->milvus.consistency);
    return sr_milvus_backend(out, &options, sr_cache_events(), ctx, err);
}

static int open_file(struct sr_cache_backend **out, const struct sr_config_cache *cache, void *ctx,
                     struct sr_err *err)
{
    static const enum sr_cache_eviction evictions[] = {
        [SR_ORDER_FIFO] = SR_CACHE_FIFO, [SR_ORDER_LRU] = SR_CACHE_LRU, [SR_ORDER_LFU] = SR_CACHE_LFU};
    struct sr_sqlite_options options = {.path = cache->path,
                                        .eviction = evictions[cache->eviction],
                                        .key_file = or_null(cache->key_file),
                                        .max_entries = cache->max_entries,
                                        .max_bytes = cache->max_bytes};
    return sr_sqlite_backend(out, &options, sr_cache_events(), ctx, err);
}

static int open_store(struct sr_cache_backend **out, sr_runtime *runtime, const struct sr_config_cache *cache,
                      struct sr_err *err)
{
    struct sr_cache *ctx = sr_runtime_cache(runtime);
    if (cache->store == SR_STORE_REDIS)
        return open_redis(out, &cache->redis.server, cache->redis.prefix, cache->max_entries, ctx, err);
    if (cache->store == SR_STORE_MEMORY)
        return cache->path[0] ? open_file(out, cache, ctx, err) : SR_OK;
    struct sr_router *router = sr_runtime_router(runtime);
    size_t dimensions =
        router->cache_reader ? sr_embedding_reader_dimensions(router->cache_reader) : SR_VECTOR_DIMENSION;
    sr_router_unref(router);
    return open_milvus(out, cache, dimensions, ctx, err);
}

void sr_stores_open(sr_runtime *runtime, const struct sr_config *config, const struct sr_config *before)
{
    struct sr_cache_backend *backend = NULL;
    struct sr_err err = {0};
    bool used = sr_config_caches(config, false), was = before && sr_config_caches(before, false);
    if (!used && !was)
        return;
    if (used && was && same_store(&config->global.cache, &before->global.cache))
        return;
    sr_cache_set_backend(sr_runtime_cache(runtime), NULL); /* a file is closed before it is opened again */
    if (!used)
        return;
    if (open_store(&backend, runtime, &config->global.cache, &err))
        sr_log(SR_LOG_ERROR, "cache_store", "the response cache is in memory only: %s", err.message);
    else if (backend)
        sr_cache_set_backend(sr_runtime_cache(runtime), backend);
}

/* ---- conversations of Responses ---- */

static bool same_conversations(const struct sr_config_responses *a, const struct sr_config_responses *b)
{
    if (a->enabled != b->enabled || a->store != b->store)
        return false;
    if (a->store == SR_RESPONSES_REDIS)
        return same_server(&a->redis, &b->redis) && same(a->prefix, b->prefix);
    return same(a->path, b->path) && same(a->key_file, b->key_file) && a->max_entries == b->max_entries &&
           a->max_bytes == b->max_bytes;
}

/* In Redis records are found when they are asked for. */
static int open_conversations(struct sr_cache_backend **out, const struct sr_config_responses *responses,
                              void *ctx, struct sr_err *err)
{
    if (responses->store == SR_RESPONSES_REDIS)
        return open_redis(out, &responses->redis, responses->prefix, 0, ctx, err);
    struct sr_sqlite_options options = {.path = responses->path,
                                        .eviction = SR_CACHE_LRU,
                                        .key_file = or_null(responses->key_file),
                                        .max_entries = responses->max_entries,
                                        .max_bytes = responses->max_bytes};
    return responses->path[0] ? sr_sqlite_backend(out, &options, sr_cache_events(), ctx, err) : SR_OK;
}

void sr_conversations_open(sr_runtime *runtime, const struct sr_config *config,
                           const struct sr_config *before)
{
    const struct sr_config_responses *responses = &config->global.responses;
    struct sr_cache *cache = sr_runtime_responses(runtime);
    struct sr_cache_backend *backend = NULL;
    struct sr_err err = {0};
    if (before && same_conversations(responses, &before->global.responses))
        return;
    sr_cache_set_backend(cache, NULL);
    if (!responses->enabled)
        return;
    if (open_conversations(&backend, responses, cache, &err))
        sr_log(SR_LOG_ERROR, "responses_store", "conversations are in memory only: %s", err.message);
    else if (backend)
        sr_cache_set_backend(cache, backend);
}
