/*
 * The `semantic_cache` of a flat file becomes the response cache: its store, and a policy for all requests. A
 * plugin `semantic-cache` becomes a decision's own policy.
 *
 * The old cache gave one client's answers to all others. The new one never does unless it is told to, so the
 * policy has the strictest scope, and notes say what is different.
 */
#include "config/migrate/cache.h"

static const struct sr_yaml_node *old_cache(const struct sr_migration *m)
{
    const struct sr_yaml_node *cache = sr_yaml_get(m->old, "semantic_cache");
    return cache && cache->kind == SR_YAML_MAP ? cache : NULL;
}

static bool is_off(const struct sr_yaml_node *map)
{
    bool on;
    const struct sr_yaml_node *enabled = sr_yaml_get(map, "enabled");
    return !enabled || sr_yaml_type(enabled) == SR_YAML_NULL || (sr_yaml_to_bool(enabled, &on) && !on);
}

static bool uses_policy(const struct sr_migration *m)
{
    return old_cache(m) && !is_off(old_cache(m));
}

/* ---- the store ---- */

static void put_kind(struct sr_migration *m, const struct sr_yaml_node *cache)
{
    static const char *const servers[] = {"milvus", "redis", "hybrid", NULL}, *const memory[] = {"memory", NULL};
    const struct sr_yaml_node *kind = sr_migrate_scalar(m, cache, "backend_type");
    const struct sr_yaml_node *path = sr_migrate_scalar(m, cache, "backend_config_path");
    if (!kind || sr_migrate_is_word(kind, memory))
        return;
    if (!sr_migrate_is_word(kind, servers)) {
        sr_migrate_note(m, kind, "`backend_type: %.40s`: this version has no such store; entries are in memory",
                        kind->text.p);
        return;
    }
    bool hybrid = sr_bytes_eq(kind->text, SR_LIT("hybrid"));
    sr_migrate_put(m, "      backend_type: ");
    sr_migrate_string(m, hybrid ? SR_LIT("milvus") : kind->text);
    sr_migrate_put(m, "\n");
    if (hybrid)
        sr_migrate_note(m, kind, "`backend_type: hybrid` is `milvus`: memory is in front of every store");
    sr_migrate_note(m, path ? path : kind,
                    "the settings of %s stand in this file: copy `connection` and `%s` of `%.120s` to "
                    "global.stores.response_cache.%s; entries of the old cache are not read",
                    hybrid ? "milvus" : kind->text.p, sr_bytes_eq(kind->text, SR_LIT("redis")) ? "index" : "collection",
                    path ? path->text.p : "backend_config_path", hybrid ? "milvus" : kind->text.p);
}

/* An entry without a time to live stayed for ever, and any number below 1 meant that. */
static void put_ttl(struct sr_migration *m, const struct sr_yaml_node *cache)
{
    const struct sr_yaml_node *node = sr_migrate_scalar(m, cache, "ttl_seconds");
    double seconds;
    if (!node)
        return;
    if (sr_yaml_to_double(node, &seconds) && seconds <= 0)
        sr_migrate_put(m, "      ttl_seconds: 0\n");
    else
        sr_migrate_copy(m, cache, "ttl_seconds", "      ", "ttl_seconds");
    sr_migrate_note(m, node, "`ttl_seconds` counts from when an answer was kept, not from when it was used last");
}

static void note_rest(struct sr_migration *m, const struct sr_yaml_node *cache)
{
    static const char *const index[] = {"use_hnsw", "hnsw_m", "hnsw_ef_construction", NULL};
    static const char *const known[] = {"enabled", "backend_type", "similarity_threshold", "max_entries", "ttl_seconds",
                                        "eviction_policy", "backend_config_path", "use_hnsw", "hnsw_m",
                                        "hnsw_ef_construction", "embedding_model", "max_memory_entries", NULL};
    for (const char *const *key = index; *key; key++)
        if (sr_yaml_get(cache, *key))
            sr_migrate_note(m, sr_yaml_get(cache, *key), "`%s`: the index in memory needs no settings", *key);
    if (sr_yaml_get(cache, "embedding_model"))
        sr_migrate_note(m, sr_yaml_get(cache, "embedding_model"),
                        "`embedding_model`: questions are embedded by the router's one encoder");
    sr_migrate_rest(m, cache, known, "semantic_cache");
}

void sr_migrate_cache_store(struct sr_migration *m)
{
    static const char *const orders[] = {"fifo", "lru", "lfu", NULL};
    const struct sr_yaml_node *cache = sr_migrate_map(m, m->old, "semantic_cache");
    const struct sr_yaml_node *order = sr_migrate_scalar(m, cache, "eviction_policy");
    const struct sr_yaml_node *most = sr_migrate_scalar(m, cache, "max_memory_entries");
    if (!cache)
        return;
    sr_migrate_put(m, "  stores:\n    response_cache:\n");
    if (is_off(cache))
        sr_migrate_put(m, "      enabled: false\n");
    else
        sr_migrate_copy(m, cache, "enabled", "      ", "enabled");
    put_kind(m, cache);
    if (most)
        sr_migrate_copy(m, cache, "max_memory_entries", "      ", "max_entries");
    else
        sr_migrate_copy(m, cache, "max_entries", "      ", "max_entries");
    put_ttl(m, cache);
    if (order && sr_migrate_is_word(order, orders))
        sr_migrate_copy(m, cache, "eviction_policy", "      ", "eviction_policy");
    else if (order)
        sr_migrate_note(m, order, "unknown `eviction_policy`: lru applies");
    note_rest(m, cache);
}

/* ---- policies ---- */

/* "INDENTsimilarity_threshold: value\n": the map's, else the one that applied to all; false: none was given. */
static bool put_threshold(struct sr_migration *m, const struct sr_yaml_node *map, const char *indent)
{
    const struct sr_yaml_node *node = sr_migrate_scalar(m, map, "similarity_threshold");
    double value;
    if (!node)
        return false;
    if (sr_yaml_to_double(node, &value) && (value <= 0 || value > 1)) {
        sr_migrate_note(m, node, "`similarity_threshold`: `%.40s` is not above 0 and at most 1: 0.85 applies",
                        node->text.p);
        return true;
    }
    sr_migrate_copy(m, map, "similarity_threshold", indent, "similarity_threshold");
    return true;
}

bool sr_migrate_has_cache_policy(const struct sr_migration *m)
{
    return uses_policy(m);
}

void sr_migrate_cache_policy(struct sr_migration *m)
{
    const struct sr_yaml_node *cache = old_cache(m);
    const struct sr_yaml_node *bert = sr_migrate_map(m, m->old, "bert_model");
    if (!uses_policy(m))
        return;
    sr_migrate_put(m, "    cache:\n      # Before, all clients shared answers; `scope: global` shares them again.\n"
                      "      default:\n        scope: user\n");
    if (!put_threshold(m, cache, "        "))
        sr_migrate_note(m, cache,
                        "`semantic_cache` had the threshold of `bert_model`%s%.20s: it is 0.85 now, for another "
                        "model; `semroute cache calibrate` proposes one",
                        sr_yaml_get(bert, "threshold") ? ", " : "",
                        sr_yaml_get(bert, "threshold") && sr_yaml_get(bert, "threshold")->kind == SR_YAML_SCALAR
                            ? sr_yaml_get(bert, "threshold")->text.p
                            : "");
    sr_migrate_note(m, cache,
                    "`semantic_cache` gave answers of one client to all others, whatever the system prompt, history "
                    "and parameters: now all of these must be equal, and `scope: user` caches nothing until "
                    "global.services.authz.identity.user_id_header names a trusted header");
    sr_migrate_note(m, cache,
                    "requests that name their model are cached, too; errors and answers to private data are not");
}

bool sr_migrate_cache_plugin(struct sr_migration *m, const struct sr_yaml_node *type,
                             const struct sr_yaml_node *configuration)
{
    static const char *const names[] = {"semantic-cache", "semantic_cache", NULL};
    static const char *const known[] = {"enabled", "similarity_threshold", NULL};
    bool on;
    if (!type || !sr_migrate_is_word(type, names))
        return false;
    const struct sr_yaml_node *enabled = sr_yaml_get(configuration, "enabled");
    sr_migrate_put(m, "        - type: response_cache\n          configuration:\n            scope: user\n");
    if (enabled && sr_yaml_to_bool(enabled, &on))
        sr_migrate_put(m, "            enabled: %s\n", on ? "true" : "false");
    if (!put_threshold(m, configuration, "            "))
        (void)put_threshold(m, old_cache(m), "            ");
    sr_migrate_rest(m, configuration, known, "semantic-cache");
    return true;
}
