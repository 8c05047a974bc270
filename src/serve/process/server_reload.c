/* The reload of the process: the runtime swaps its snapshot, then every loop gets limits and certificates. */
#include "base/log.h"
#include "base/mem.h"
#include "config/load.h"
#include "probe/probe.h"
#include "router/runtime.h"
#include "serve/discover/discover.h"
#include "serve/kv/events.h"
#include "serve/process/certificates.h"
#include "serve/process/limits.h"
#include "serve/process/private.h"
#include "serve/process/records.h"
#include "serve/process/stores.h"

#include <string.h>

struct news {
    struct sr_message message; /* first: the message is the object */
    struct sr_server_loop *loop;
    const struct sr_config *config;
    sr_tls_context *tls, *extproc_tls;
};

static void deliver(struct sr_message *self, bool closed)
{
    struct news *news = (struct news *)(void *)self;
    if (!closed) {
        sr_gateway_configure(news->loop->gateway, news->config, news->tls);
        if (news->loop->extproc)
            sr_extproc_configure(news->loop->extproc, news->config, news->extproc_tls);
    }
    sr_config_unref(news->config);
    sr_tls_context_unref(news->tls);
    sr_tls_context_unref(news->extproc_tls);
    sr_mem_free(news);
}

static void tell_loops(struct sr_server *server, const struct sr_config *config, sr_tls_context *tls,
                       sr_tls_context *extproc_tls)
{
    for (int i = 0; i < server->n_loops; i++) {
        struct news *news = sr_mem_calloc(1, sizeof *news);
        if (!news) {
            sr_log(SR_LOG_ERROR, "config_reload", "out of memory: limits of loop %d stay as they were", i);
            continue;
        }
        news->message.run = deliver;
        news->loop = &server->loops[i];
        news->config = sr_config_ref(config);
        news->tls = tls ? sr_tls_context_ref(tls) : NULL;
        news->extproc_tls = extproc_tls ? sr_tls_context_ref(extproc_tls) : NULL;
        if (sr_loop_post(server->loops[i].loop, &news->message) != SR_OK)
            deliver(&news->message, true);
    }
}

static bool same_listeners(const struct sr_config *a, const struct sr_config *b)
{
    if (a->n_listeners != b->n_listeners)
        return false;
    for (size_t i = 0; i < a->n_listeners; i++)
        if (strcmp(a->listeners[i].address, b->listeners[i].address) != 0 ||
            a->listeners[i].port != b->listeners[i].port ||
            a->listeners[i].timeout_ms != b->listeners[i].timeout_ms)
            return false;
    return true;
}

static void tell_restart(const char *what)
{
    sr_log(SR_LOG_WARN, "config_restart", "the change of %s takes effect at the next start", what);
}

static void tell_what_waits(const struct sr_config *old, const struct sr_config *now)
{
    if (!same_listeners(old, now))
        tell_restart("listeners");
    if (old->global.loops != now->global.loops)
        tell_restart("loops");
    if (old->global.workers != now->global.workers)
        tell_restart("workers");
    if ((old->global.gateway.tls_cert_file[0] == '\0') != (now->global.gateway.tls_cert_file[0] == '\0') ||
        (old->global.extproc.tls_cert_file[0] == '\0') != (now->global.extproc.tls_cert_file[0] == '\0'))
        tell_restart("plain to TLS or back");
    if (old->global.gateway.upstream.max_idle != now->global.gateway.upstream.max_idle ||
        old->global.gateway.upstream.keepalive_ms != now->global.gateway.upstream.keepalive_ms)
        tell_restart("the upstream connection pool");
}

/* Reads TLS files before the swap, so that a reload without them changes nothing. The runtime reports a
 * configuration file that does not load. */
static int load_tls(struct sr_server *server, sr_tls_context **tls, sr_tls_context **extproc_tls,
                    struct sr_err *err)
{
    struct sr_problems problems = {0};
    struct sr_load_options options = {
        .lenient = server->options->lenient, .files = true, .probe = sr_probe_models};
    const struct sr_config *config = NULL;
    *tls = *extproc_tls = NULL;
    const char *path = server->options->config;
    int rc = path ? sr_config_load_file(&config, path, options, &problems)
                  : sr_config_load_text(&config, sr_config_builtin_text(), "(built-in)", options, &problems);
    sr_problems_dispose(&problems);
    if (rc != SR_OK)
        return SR_OK;
    rc = sr_server_tls(config, tls, err);
    if (rc == SR_OK)
        rc = sr_extproc_tls(config, extproc_tls, err);
    if (rc == SR_OK)
        rc = sr_upstream_tls_load(server->upstream_tls, config, err);
    sr_config_unref(config);
    return rc;
}

/* Another text, or one that stands for other values. */
static bool differs(const struct sr_config *a, const struct sr_config *b)
{
    return strcmp(a->revision, b->revision) != 0 || strcmp(a->epoch, b->epoch) != 0;
}

void sr_server_reload(void *ctx)
{
    struct sr_server *server = ctx;
    struct sr_err err = {0};
    char error[1024] = "";
    sr_tls_context *tls, *extproc_tls;
    if (load_tls(server, &tls, &extproc_tls, &err) != SR_OK) {
        sr_log(SR_LOG_ERROR, "config_reload", "kept revision %s: %s", server->config->revision, err.message);
    } else if (!sr_runtime_reload(server->runtime, error, sizeof error)) {
        sr_log(SR_LOG_ERROR, "config_reload", "kept revision %s: %s", server->config->revision, error);
    } else {
        const struct sr_config *fresh = sr_runtime_config(server->runtime);
        sr_runtime_open_ahead(server->runtime);
        sr_stores_open(server->runtime, fresh, server->config);
        sr_conversations_open(server->runtime, fresh, server->config);
        sr_limits_open(server->runtime, &server->spent, fresh, server->config);
        sr_records_open(server->runtime, &server->records, fresh, server->config);
        if (fresh->global.metrics)
            sr_certificates_measure(fresh, server->runtime);
        sr_log(SR_LOG_INFO, "config_reload", "revision %s%s", fresh->revision,
               strcmp(fresh->revision, server->config->revision) == 0
                   ? " (the file as before; files that it names were read again)"
                   : "");
        tell_what_waits(server->config, fresh);
        sr_server_limit(server, fresh);
        tell_loops(server, fresh, tls, extproc_tls);
        if (fresh->global.cache.warm_file[0] && differs(fresh, server->config))
            sr_warm_file(server->warm, fresh->global.cache.warm_file);
        if (server->discover)
            sr_discover_configure(server->discover, fresh);
        if (server->kv_events)
            sr_kv_events_configure(server->kv_events, fresh);
        if (server->otlp)
            sr_otlp_configure(server->otlp, fresh);
        if (server->consulter)
            sr_consulter_configure(server->consulter, fresh);
        sr_reload_also(server->reload, fresh->watched.items, fresh->watched.count);
        sr_config_unref(server->config);
        server->config = fresh;
    }
    sr_tls_context_unref(tls);
    sr_tls_context_unref(extproc_tls);
}
