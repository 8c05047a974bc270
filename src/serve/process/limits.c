/* From keys of the configuration to the options of the store. */
#include "serve/process/limits.h"

#include "base/log.h"
#include "limit/limiter.h"
#include "store/redis/counters.h"
#include "store/sqlite/spent.h"

#include <stdlib.h>
#include <string.h>

static bool same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool same_redis(const struct sr_config_limits *a, const struct sr_config_limits *b)
{
    const struct sr_config_store_server *x = &a->redis, *y = &b->redis;
    return same(x->host, y->host) && x->port == y->port && same(x->database, y->database) &&
           same(x->user, y->user) && same(x->password, y->password) && x->tls == y->tls &&
           same(x->ca_file, y->ca_file) && same(x->cert_file, y->cert_file) &&
           same(x->key_file, y->key_file) && same(a->prefix, b->prefix) && a->timeout_ms == b->timeout_ms;
}

static const char *or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static bool uses_redis(const struct sr_config *config)
{
    return config && config->global.limits.n_all && config->global.limits.store == SR_LIMITS_REDIS;
}

static int open_redis(struct sr_limit_remote **out, const struct sr_config_limits *limits, struct sr_err *err)
{
    const struct sr_config_store_server *server = &limits->redis;
    struct sr_tls_settings tls = {.ca_file = or_null(server->ca_file),
                                  .cert_file = or_null(server->cert_file),
                                  .key_file = or_null(server->key_file)};
    struct sr_redis_counters_options options = {.host = server->host,
                                                .port = (uint16_t)server->port,
                                                .user = or_null(server->user),
                                                .password = or_null(server->password),
                                                .database = (unsigned)strtoul(server->database, NULL, 10),
                                                .tls = server->tls ? &tls : NULL,
                                                .prefix = limits->prefix,
                                                .timeout_ms = (uint32_t)limits->timeout_ms};
    return sr_redis_counters(out, &options, err);
}

/* The file of budgets; a Redis keeps them itself. */
static const char *path_of(const struct sr_config *config)
{
    const struct sr_config_limits *limits = config ? &config->global.limits : NULL;
    return limits && limits->n_budgets && limits->store == SR_LIMITS_MEMORY ? limits->path : "";
}

static void open_file(sr_runtime *runtime, struct sr_spent_file **file, const char *path, const char *before)
{
    struct sr_err err = {0};
    if (same(path, before))
        return;
    sr_limits_close(file);
    if (path[0] && sr_spent_file_open(file, path, sr_limiter_table(sr_runtime_limiter(runtime)), &err))
        sr_log(SR_LOG_ERROR, "budgets", "what is spent is kept in memory only: %s", err.message);
}

void sr_limits_close(struct sr_spent_file **file)
{
    sr_spent_file_close(*file);
    *file = NULL;
}

void sr_limits_open(sr_runtime *runtime, struct sr_spent_file **file, const struct sr_config *config,
                    const struct sr_config *before)
{
    const struct sr_config_limits *limits = &config->global.limits;
    struct sr_limit_remote *remote = NULL;
    struct sr_err err = {0};
    bool used = uses_redis(config), was = uses_redis(before);
    open_file(runtime, file, path_of(config), path_of(before));
    if (used && was && same_redis(limits, &before->global.limits))
        return;
    if (used && open_redis(&remote, limits, &err))
        sr_log(SR_LOG_ERROR, "limit_store", "limits are counted in this process only: %s", err.message);
    if (used || was)
        sr_limiter_set_remote(sr_runtime_limiter(runtime), remote);
}
