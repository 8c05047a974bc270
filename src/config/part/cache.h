/*
 * The cache of answers: its store, and what a decision wants of it.
 *
 * Plain data of a snapshot, as config.h.
 */
#ifndef SR_CONFIG_PART_CACHE_H
#define SR_CONFIG_PART_CACHE_H

#include "config/part/store_server.h"
#include "config/part/strings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Who shares cached answers. */
enum sr_cache_scope { SR_SCOPE_USER, SR_SCOPE_TEAM, SR_SCOPE_TENANT, SR_SCOPE_GLOBAL };

enum sr_cache_mode {
    SR_CACHE_EXACT,
    SR_CACHE_SEMANTIC, /* and exact before it */
};

/* What a client may say in the header of request controls: bits. */
enum sr_cache_control {
    SR_CONTROL_NO_CACHE = 1, /* do not look */
    SR_CONTROL_NO_STORE = 2,
    SR_CONTROL_BYPASS = 4, /* both */
    SR_CONTROL_MAX_AGE = 8,
    SR_CONTROL_TTL = 16,
    SR_CONTROL_DEFAULT = 7,
};

/* The plugin response_cache, and global.semroute.cache.default. */
struct sr_config_cache_use {
    bool set;
    enum sr_cache_mode mode;
    enum sr_cache_scope scope;
    double threshold; /* least similarity of a semantic hit */
    int64_t ttl_s;    /* -1: the store's; 0: nothing is stored */
    bool controls;    /* `header` counts */
    const char *header;
    struct sr_strings allowed_words;
    uint32_t allowed;  /* the same as bits of enum sr_cache_control */
    int64_t max_ttl_s; /* of a client's `ttl`; 0: any */
    const char *cache_epoch, *model_revision, *prompt_revision, *policy_revision; /* parts of every key */
};

/* SR_STORE_ELSEWHERE: one that is not there; linking takes memory in its place, or refuses it. */
enum sr_cache_store { SR_STORE_MEMORY, SR_STORE_REDIS, SR_STORE_MILVUS, SR_STORE_ELSEWHERE };
enum sr_cache_order { SR_ORDER_FIFO, SR_ORDER_LRU, SR_ORDER_LFU };

struct sr_config_cache_redis {
    struct sr_config_store_server server;
    const char *prefix;
};

/* global.stores.response_cache, global.semroute.cache */
struct sr_config_cache {
    bool enabled;
    enum sr_cache_store store;
    size_t max_entries;
    int64_t ttl_s; /* 0: for ever */
    enum sr_cache_order eviction;
    struct sr_config_cache_redis redis;
    struct {
        struct sr_config_store_server server;
        const char *collection, *consistency;
        int m, ef_construction, ef;
    } milvus;
    const char *path, *key_file; /* of the file that keeps entries over a restart; "" = none */
    size_t max_bytes, max_entry_bytes, max_request_bytes;
    uint64_t lookup_timeout_ms; /* of a store */
    uint64_t wait_ms;           /* for an identical request in progress; 0: none waits */
    const char *team_header;
    struct sr_config_cache_use use; /* of requests whose decision has no plugin */
    const char *warm_file;          /* of known answers, filed at the start; "" = none */
};

#endif
