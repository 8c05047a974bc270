/*
 * The backend: options, connections, lookups.
 *
 * Ready is: both connections are greeted, the channel is subscribed to, and the removals that were missed
 * are read.
 */
#include "store/redis/redis.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/redis/private.h"

#include <stdio.h>

#define PORT 6379

struct sr_redis_options sr_redis_options_defaults(void)
{
    return (struct sr_redis_options){
        .port = PORT, .prefix = "semroute:", .load_max = 100000, .limits = sr_remote_limits_defaults()};
}

static struct sr_redis *redis_of(struct sr_remote *remote)
{
    return (struct sr_redis *)((char *)remote - offsetof(struct sr_redis, remote));
}

/* ---- connections ---- */

static void caught_up(struct sr_redis *redis)
{
    if (!redis->remote.ready) {
        sr_remote_ready(&redis->remote);
        if (redis->remote.ready)
            sr_redis_news_load(redis);
    }
    sr_redis_write_prove(redis);
}

static void subscribed(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    (void)arg;
    if (!reply)
        return;
    if (reply->type != SR_RESP_ARRAY)
        sr_redis_refused(redis, reply);
    else
        sr_redis_news_catch_up(redis);
}

/* No news is missed between this and the reading of removals. */
static void subscribe(struct sr_redis *redis)
{
    struct sr_redis_name channel;
    struct sr_bytes argv[] = {SR_LIT("SUBSCRIBE"), {NULL, 0}};
    sr_redis_name_of(&channel, redis->prefix, "news");
    argv[1] = channel.bytes;
    if (sr_redis_wire_send(redis->listener, subscribed, NULL, argv, 2) != SR_OK)
        sr_remote_away(&redis->remote, "out of memory");
}

/* A member of a cluster has a part of the keys only, and none of those that others have. */
static void informed(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    (void)arg;
    if (!reply)
        return;
    if (reply->type == SR_RESP_TEXT && sr_bytes_contains(reply->text, SR_LIT("cluster_enabled:1")))
        sr_remote_away(&redis->remote,
                       "the server belongs to a Redis Cluster, which is not supported: name a "
                       "server without cluster-enabled, of which replicas may exist");
    else
        subscribe(redis); /* also when INFO is not allowed */
}

/* Both connections are up. */
static void wire_up(void *ctx)
{
    static const struct sr_bytes argv[] = {{"INFO", 4}, {"cluster", 7}};
    struct sr_redis *redis = ctx;
    if (++redis->up == 2)
        (void)sr_redis_send(redis, informed, NULL, argv, 2);
}

static void wire_down(void *ctx, const char *why)
{
    struct sr_redis *redis = ctx;
    sr_remote_away(&redis->remote, why);
}

static void wire_published(void *ctx, struct sr_bytes message)
{
    sr_redis_news_published(ctx, message);
}

static const struct sr_redis_wire_events wire_events = {
    .up = wire_up, .down = wire_down, .published = wire_published};

static void redis_connect(struct sr_remote *remote)
{
    struct sr_redis *redis = redis_of(remote);
    int rc = sr_redis_wire_open(&redis->commands, remote->loop, &redis->to, &wire_events, redis);
    if (rc == SR_OK)
        rc = sr_redis_wire_open(&redis->listener, remote->loop, &redis->to, &wire_events, redis);
    if (rc != SR_OK)
        sr_remote_away(remote, sr_strerror(rc));
}

static void redis_disconnect(struct sr_remote *remote)
{
    struct sr_redis *redis = redis_of(remote);
    sr_redis_wire_close(&redis->listener);
    sr_redis_wire_close(&redis->commands);
    redis->up = 0;
    sr_redis_write_reset(redis);
    sr_redis_news_reset(redis);
}

/* ---- lookups ---- */

/* Of one question: under the exact key, and by way of the request key. */
struct find {
    struct sr_remote_lookup *lookup;
    struct sr_cache_key exact;
    bool alias; /* the record came by way of the request key */
};

static void find_record(void *ctx, void *arg, const struct sr_resp *reply);

static bool find_ask(struct sr_redis *redis, struct sr_remote_lookup *lookup, enum sr_redis_kind kind,
                     const struct sr_cache_key *key, bool alias, sr_redis_done *done)
{
    struct find *find = sr_mem_calloc(1, sizeof *find);
    struct sr_redis_name name;
    struct sr_bytes argv[] = {SR_LIT("GET"), {NULL, 0}};
    if (!find) {
        sr_remote_found(lookup, SR_ENOMEM, NULL, 0);
        return false;
    }
    *find = (struct find){.lookup = lookup, .exact = *key, .alias = alias};
    sr_redis_name_key(&name, redis->prefix, kind, key);
    argv[1] = name.bytes;
    sr_remote_lookup_hold(lookup);
    if (sr_redis_send(redis, done, find, argv, 2))
        return true;
    sr_remote_lookup_drop(lookup);
    sr_mem_free(find);
    return false;
}

/* Answers when this was the last question of the lookup. */
static void find_end(struct find *find)
{
    struct sr_remote_lookup *lookup = find->lookup;
    if (lookup->commands == 1)
        sr_remote_found(lookup, SR_OK, NULL, 0);
    sr_remote_lookup_drop(lookup);
    sr_mem_free(find);
}

static void find_alias(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    struct find *find = arg;
    struct sr_cache_key exact;
    if (!reply) {
        sr_remote_found(find->lookup, SR_ECLOSED, NULL, 0);
    } else if (reply->type == SR_RESP_TEXT && reply->text.n == sizeof exact && !find->lookup->ended) {
        memcpy(&exact, reply->text.p, sizeof exact);
        (void)find_ask(redis, find->lookup, SR_REDIS_RECORD, &exact, true, find_record);
    } else if (reply->type == SR_RESP_ERROR) {
        sr_remote_found(find->lookup, SR_EIO, NULL, 0);
    }
    find_end(find);
}

static void find_record(void *ctx, void *arg, const struct sr_resp *reply)
{
    struct sr_redis *redis = ctx;
    struct find *find = arg;
    struct sr_cache_candidate candidate = {.similarity = 1};
    if (!reply) {
        sr_remote_found(find->lookup, SR_ECLOSED, NULL, 0);
    } else if (reply->type == SR_RESP_ERROR) {
        sr_remote_found(find->lookup, SR_EIO, NULL, 0);
    } else if (reply->type == SR_RESP_TEXT && !find->lookup->ended &&
               sr_redis_value_read(&candidate.record, reply->text, &find->exact) == SR_OK) {
        const struct sr_cache_fields *f = &candidate.record->f;
        if (sr_remote_is_removed(&redis->remote, f) ||
            (find->alias && memcmp(&f->request, &find->lookup->key, sizeof f->request) != 0))
            sr_cache_record_unref(candidate.record);
        else
            sr_remote_found(find->lookup, SR_OK, &candidate, 1);
    }
    find_end(find);
}

static void redis_lookup(struct sr_remote *remote, struct sr_remote_lookup *lookup)
{
    struct sr_redis *redis = redis_of(remote);
    if (lookup->k) {
        sr_remote_found(lookup, SR_EUNSUPPORTED, NULL, 0);
        return;
    }
    if (find_ask(redis, lookup, SR_REDIS_RECORD, &lookup->key, false, find_record))
        (void)find_ask(redis, lookup, SR_REDIS_REQUEST, &lookup->key, false, find_alias);
}

static const struct sr_remote_ops remote_ops = {.connect = redis_connect,
                                                .writes = sr_redis_write,
                                                .lookup = redis_lookup,
                                                .disconnect = redis_disconnect};

/* ---- the cache's interface ---- */

static struct sr_redis *backend_of(struct sr_cache_backend *backend)
{
    return (struct sr_redis *)backend;
}

static void redis_free(struct sr_redis *redis)
{
    sr_tls_context_unref(redis->to.tls);
    sr_mem_free(redis->host);
    sr_mem_free(redis->server_name);
    sr_mem_free(redis->user);
    sr_mem_free(redis->password);
    sr_mem_free(redis->prefix);
    sr_mem_free(redis);
}

static void backend_close(struct sr_cache_backend *backend)
{
    struct sr_redis *redis = backend_of(backend);
    sr_remote_stop(&redis->remote);
    redis_free(redis);
}

static int backend_put(struct sr_cache_backend *backend, struct sr_cache_record *record)
{
    return sr_remote_put(&backend_of(backend)->remote, record);
}

static int backend_remove(struct sr_cache_backend *backend, const struct sr_cache_selector *selector)
{
    return sr_remote_remove(&backend_of(backend)->remote, selector);
}

static int backend_get(struct sr_cache_backend *backend, const struct sr_cache_key *key, uint64_t deadline_ns,
                       sr_cache_found *found, void *ctx)
{
    return sr_remote_get(&backend_of(backend)->remote, key, deadline_ns, found, ctx);
}

static void backend_health(struct sr_cache_backend *backend, struct sr_cache_backend_health *out)
{
    sr_remote_health(&backend_of(backend)->remote, out);
}

static const struct sr_cache_backend_ops backend_ops = {.name = "redis",
                                                        .close = backend_close,
                                                        .put = backend_put,
                                                        .remove = backend_remove,
                                                        .get = backend_get,
                                                        .health = backend_health};

static char *text_dup(const char *text)
{
    return sr_mem_dup(text, strlen(text));
}

/* Copies of all texts; false: out of memory. */
static bool options_copy(struct sr_redis *redis, const struct sr_redis_options *options)
{
    bool whole = (redis->host = text_dup(options->host)) != NULL;
    if (options->server_name)
        whole &= (redis->server_name = text_dup(options->server_name)) != NULL;
    if (options->user)
        whole &= (redis->user = text_dup(options->user)) != NULL;
    if (options->password)
        whole &= (redis->password = text_dup(options->password)) != NULL;
    whole &= (redis->prefix = text_dup(options->prefix)) != NULL;
    redis->to = (struct sr_redis_wire_options){.host = redis->host,
                                               .server_name = redis->server_name,
                                               .user = redis->user,
                                               .password = redis->password,
                                               .port = options->port ? options->port : PORT,
                                               .database = options->database,
                                               .connect_ms = options->limits.connect_ms,
                                               .command_ms = options->limits.command_ms};
    redis->load_max = options->load_max;
    return whole;
}

static int options_check(const struct sr_redis_options *options, struct sr_err *err)
{
    if (!options->host || !*options->host)
        return sr_err_set(err, SR_EINVAL, "redis: no host");
    if (!options->prefix || strlen(options->prefix) > SR_REDIS_PREFIX_MAX)
        return sr_err_set(err, SR_EINVAL, "redis: a prefix of at most %d bytes is needed",
                          SR_REDIS_PREFIX_MAX);
    if (options->user && !options->password)
        return sr_err_set(err, SR_EINVAL, "redis: a user without a password");
    return SR_OK;
}

int sr_redis_backend(struct sr_cache_backend **out, const struct sr_redis_options *options,
                     const struct sr_cache_backend_events *events, void *ctx, struct sr_err *err)
{
    struct sr_redis *redis;
    int rc = options_check(options, err);
    *out = NULL;
    if (rc != SR_OK)
        return rc;
    redis = sr_mem_calloc(1, sizeof *redis);
    if (!redis)
        return sr_err_set(err, SR_ENOMEM, "redis: out of memory");
    redis->head.ops = &backend_ops;
    redis->caught_up = caught_up;
    redis->began_ms = sr_clock_wall_ns() / SR_NS_PER_MS;
    rc = options_copy(redis, options) ? sr_random(redis->who, sizeof redis->who) : SR_ENOMEM;
    if (rc != SR_OK)
        (void)sr_err_set(err, rc, "redis: %s", sr_strerror(rc));
    if (rc == SR_OK && options->tls)
        rc = sr_tls_context_new(&redis->to.tls, options->tls, err);
    if (rc == SR_OK) {
        rc = sr_remote_start(&redis->remote, &remote_ops, &options->limits, events, ctx);
        if (rc != SR_OK)
            (void)sr_err_set(err, rc, "redis: no thread: %s", sr_strerror(rc));
    }
    if (rc != SR_OK) {
        redis_free(redis);
        return rc;
    }
    *out = &redis->head;
    return SR_OK;
}
