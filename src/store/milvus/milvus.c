/*
 * The backend: options, the gRPC client of the thread, the cache's interface.
 */
#include "store/milvus/milvus.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cache/index/pack.h"
#include "store/milvus/private.h"

#include <stdio.h>

#define PORT           19530
#define NAME_MAX_BYTES 255
#define CALLS_MAX      2000
#define ANSWER_BYTES   ((size_t)8 << 20)
#define ANSWERS_BYTES  ((size_t)64 << 20)

struct sr_milvus_options sr_milvus_options_defaults(void)
{
    struct sr_milvus_options options = {.port = PORT,
                                        .collection = "semroute_cache",
                                        .dimensions = SR_VECTOR_DIMENSION,
                                        .m = 16,
                                        .ef_construction = 64,
                                        .ef = 64,
                                        .consistency = SR_MILVUS_SESSION,
                                        .cleanup_ms = 300000,
                                        .purge_ms = 1000,
                                        .limits = sr_remote_limits_defaults()};
    return options;
}

/* ---- the thread's side ---- */

static void caught_up(struct sr_milvus *milvus)
{
    if (!milvus->remote.ready)
        sr_remote_ready(&milvus->remote);
    if (milvus->remote.ready)
        sr_milvus_write_proven(milvus);
}

static void milvus_disconnect(struct sr_remote *remote)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    remote->ready = false;
    sr_milvus_setup_reset(milvus);
    sr_milvus_news_reset(milvus);
    sr_milvus_write_reset(milvus);
    sr_milvus_calls_cancel(milvus);
}

static int milvus_open(struct sr_remote *remote)
{
    struct sr_milvus *milvus = sr_milvus_of(remote);
    struct sr_grpc_client_options grpc = sr_grpc_client_options_defaults();
    struct sr_http2_header metadata[2];
    size_t n = 0;
    if (milvus->authorization)
        metadata[n++] =
            (struct sr_http2_header){SR_LIT("authorization"), sr_bytes_str(milvus->authorization)};
    if (*milvus->database)
        metadata[n++] = (struct sr_http2_header){SR_LIT("dbname"), sr_bytes_str(milvus->database)};
    grpc.host = milvus->host;
    grpc.port = milvus->port;
    grpc.tls = milvus->tls;
    grpc.server_name = milvus->server_name;
    grpc.metadata = metadata;
    grpc.metadata_count = n;
    grpc.calls = CALLS_MAX;
    grpc.http2.connect_ms = remote->limits.connect_ms;
    grpc.http2.answer_bytes = ANSWER_BYTES;
    grpc.http2.answers_bytes = ANSWERS_BYTES;
    sr_timer_init(&milvus->cleanup, remote->loop, sr_milvus_cleanup_due, milvus);
    sr_timer_init(&milvus->look, remote->loop, sr_milvus_look_due, milvus);
    return sr_grpc_client_new(&milvus->client, remote->loop, &grpc);
}

static void milvus_dispose(struct sr_remote *remote)
{
    sr_grpc_client_free(sr_milvus_of(remote)->client);
}

static const struct sr_remote_ops remote_ops = {.open = milvus_open,
                                                .dispose = milvus_dispose,
                                                .connect = sr_milvus_connect,
                                                .writes = sr_milvus_write,
                                                .lookup = sr_milvus_lookup,
                                                .disconnect = milvus_disconnect};

/* ---- the cache's interface ---- */

static struct sr_milvus *backend_of(struct sr_cache_backend *backend)
{
    return (struct sr_milvus *)backend;
}

static void milvus_free(struct sr_milvus *milvus)
{
    sr_mem_free(milvus->purges);
    sr_tls_context_unref(milvus->tls);
    sr_mem_free(milvus->host);
    sr_mem_free(milvus->server_name);
    sr_mem_free(milvus->database);
    sr_mem_free(milvus->collection);
    sr_mem_free(milvus->authorization);
    sr_mem_free(milvus);
}

static void backend_close(struct sr_cache_backend *backend)
{
    struct sr_milvus *milvus = backend_of(backend);
    sr_remote_stop(&milvus->remote);
    milvus_free(milvus);
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

static int backend_search(struct sr_cache_backend *backend, const struct sr_cache_key *partition,
                          const float *unit, size_t dimensions, size_t k, uint64_t deadline_ns,
                          sr_cache_found *found, void *ctx)
{
    return sr_remote_search(&backend_of(backend)->remote, partition, unit, dimensions, k, deadline_ns, found,
                            ctx);
}

static void backend_health(struct sr_cache_backend *backend, struct sr_cache_backend_health *out)
{
    sr_remote_health(&backend_of(backend)->remote, out);
}

static const struct sr_cache_backend_ops backend_ops = {.name = "milvus",
                                                        .close = backend_close,
                                                        .put = backend_put,
                                                        .remove = backend_remove,
                                                        .get = backend_get,
                                                        .search = backend_search,
                                                        .health = backend_health};

/* ---- opening ---- */

/* A copy; "" for NULL. NULL: out of memory. */
static char *text_dup(const char *text)
{
    return sr_mem_dup(text ? text : "", text ? strlen(text) : 0);
}

/* The value of `authorization`: base64 of the token, or of "user:password". *out stays NULL without. */
static int authorization_make(char **out, const struct sr_milvus_options *options)
{
    const char *user = options->token ? options->token : options->user;
    const char *password = options->token ? NULL : options->password;
    size_t n = user ? strlen(user) + (password ? 1 + strlen(password) : 0) : 0;
    char *plain;
    if (!user)
        return SR_OK;
    plain = sr_mem_alloc(n + 1);
    *out = sr_mem_alloc(SR_BASE64_SIZE(n) + 1);
    if (plain && *out) {
        snprintf(plain, n + 1, password ? "%s:%s" : "%s", user, password);
        sr_base64_write((const uint8_t *)plain, n, *out);
    }
    sr_mem_free(plain);
    return plain && *out ? SR_OK : SR_ENOMEM;
}

static int options_copy(struct sr_milvus *milvus, const struct sr_milvus_options *options)
{
    milvus->host = text_dup(options->host);
    milvus->server_name = text_dup(options->server_name ? options->server_name : options->host);
    milvus->database = text_dup(options->database);
    milvus->collection = text_dup(options->collection);
    milvus->port = options->port ? options->port : PORT;
    milvus->cleanup_ms = options->cleanup_ms;
    milvus->purge_ms = options->purge_ms;
    milvus->place = (struct sr_milvus_place){.database = milvus->database,
                                             .collection = milvus->collection,
                                             .dimensions = options->dimensions,
                                             .metric = options->metric,
                                             .m = options->m,
                                             .ef_construction = options->ef_construction,
                                             .ef = options->ef,
                                             .consistency = options->consistency};
    if (!milvus->host || !milvus->server_name || !milvus->database || !milvus->collection)
        return SR_ENOMEM;
    return authorization_make(&milvus->authorization, options);
}

static bool name_is_valid(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    return n && n <= NAME_MAX_BYTES && !(*name >= '0' && *name <= '9') &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

static int options_check(const struct sr_milvus_options *options, struct sr_err *err)
{
    if (!options->host || !*options->host)
        return sr_err_set(err, SR_EINVAL, "milvus: no host");
    if (!name_is_valid(options->collection) || (options->database && !name_is_valid(options->database)))
        return sr_err_set(err, SR_EINVAL,
                          "milvus: names of database and collection are letters, digits and _");
    if (!options->dimensions || options->dimensions > SR_VECTOR_DIMENSION_MAX)
        return sr_err_set(err, SR_EINVAL, "milvus: 1 to %d dimensions", (int)SR_VECTOR_DIMENSION_MAX);
    if (options->user && !options->password && !options->token)
        return sr_err_set(err, SR_EINVAL, "milvus: a user without a password");
    return SR_OK;
}

int sr_milvus_backend(struct sr_cache_backend **out, const struct sr_milvus_options *options,
                      const struct sr_cache_backend_events *events, void *ctx, struct sr_err *err)
{
    struct sr_tls_settings tls = options->tls ? *options->tls : (struct sr_tls_settings){0};
    struct sr_milvus *milvus;
    int rc = options_check(options, err);
    *out = NULL;
    if (rc != SR_OK)
        return rc;
    milvus = sr_mem_calloc(1, sizeof *milvus);
    if (!milvus)
        return sr_err_set(err, SR_ENOMEM, "milvus: out of memory");
    milvus->head.ops = &backend_ops;
    milvus->began_ms = (int64_t)(sr_clock_wall_ns() / SR_NS_PER_MS);
    milvus->looked_ns = sr_clock_ns();
    milvus->caught_up = caught_up;
    rc = sr_random(milvus->who.bytes, sizeof milvus->who.bytes);
    if (rc == SR_OK)
        rc = options_copy(milvus, options);
    if (rc != SR_OK)
        (void)sr_err_set(err, rc, "milvus: %s", sr_strerror(rc));
    tls.alpn = "h2";
    if (rc == SR_OK && options->tls)
        rc = sr_tls_context_new(&milvus->tls, &tls, err);
    if (rc == SR_OK) {
        rc = sr_remote_start(&milvus->remote, &remote_ops, &options->limits, events, ctx);
        if (rc != SR_OK)
            (void)sr_err_set(err, rc, "milvus: no thread: %s", sr_strerror(rc));
    }
    if (rc != SR_OK) {
        milvus_free(milvus);
        return rc;
    }
    *out = &milvus->head;
    return SR_OK;
}
