/* Creates, drains and frees the ext_proc door of one loop. */
#include "serve/extproc/extproc.h"

#include "base/mem.h"
#include "net/grpc/health.h"
#include "router/runtime.h"
#include "serve/extproc/stream.h"
#include "serve/readiness.h"

#include <unistd.h>

#define SERVICE "envoy.service.ext_proc.v3.ExternalProcessor"

#define LOOK_MS 500 /* between looks at what health says */

static const char *const SERVICES[] = {SERVICE};

struct sr_extproc {
    struct sr_extproc_options options;
    struct sr_extproc_streams streams;
    struct sr_grpc_method methods[1 + SR_GRPC_HEALTH_METHODS];
    struct sr_grpc_health *health;
    struct sr_grpc_server *server;
    struct sr_timer look;
    bool draining;
};

static void look(void *ctx)
{
    struct sr_extproc *door = ctx;
    bool serves = !door->draining && sr_readiness_has_workers(door->options.runtime);
    sr_grpc_health_set(door->health, serves ? SR_GRPC_HEALTH_SERVING : SR_GRPC_HEALTH_NOT_SERVING, false);
    sr_timer_start(&door->look, LOOK_MS);
}

static void on_open(void *ctx, struct sr_grpc_call *call)
{
    struct sr_extproc *door = ctx;
    sr_extproc_stream_open(&door->streams, call);
}

static void on_drained(void *ctx)
{
    struct sr_extproc *door = ctx;
    door->options.drained(door->options.ctx);
}

static struct sr_grpc_settings settings_of(const struct sr_config *config)
{
    const struct sr_config_extproc *limits = &config->global.extproc;
    struct sr_grpc_settings settings = sr_grpc_settings_defaults();
    settings.message_bytes = limits->max_message_bytes;
    settings.http2.send_bytes = limits->max_message_bytes + ((size_t)16 << 20);
    return settings;
}

static void share(struct sr_extproc *door, const struct sr_config *config)
{
    size_t loops = (size_t)door->options.loops;
    door->streams.config = sr_config_ref(config);
    door->streams.metrics = config->global.metrics ? sr_runtime_metrics_table(door->options.runtime) : NULL;
    door->streams.max = (config->global.extproc.max_streams + loops - 1) / loops;
}

int sr_extproc_new(struct sr_extproc **out, int fd, sr_tls_context *tls,
                   const struct sr_extproc_options *options)
{
    struct sr_extproc *door = sr_mem_calloc(1, sizeof *door);
    *out = door;
    if (!door) {
        close(fd);
        return SR_ENOMEM;
    }
    door->options = *options;
    door->streams.runtime = options->runtime;
    share(door, options->config);
    int rc = sr_grpc_health_new(&door->health, SERVICES, 1);
    if (rc != SR_OK) {
        close(fd);
    } else {
        struct sr_grpc_settings settings = settings_of(options->config);
        door->methods[0] =
            (struct sr_grpc_method){.path = "/" SERVICE "/Process", .open = on_open, .ctx = door};
        sr_grpc_health_methods(door->health, &door->methods[1]);
        rc = sr_grpc_server_new(&door->server, options->loop, fd, tls, &settings, door->methods,
                                1 + SR_GRPC_HEALTH_METHODS, on_drained, door);
    }
    if (rc != SR_OK) {
        door->server = NULL;
        sr_extproc_free(door);
        *out = NULL;
        return rc;
    }
    sr_timer_init(&door->look, options->loop, look, door);
    sr_timer_start(&door->look, LOOK_MS);
    return SR_OK;
}

void sr_extproc_configure(struct sr_extproc *door, const struct sr_config *config, sr_tls_context *tls)
{
    struct sr_grpc_settings settings = settings_of(config);
    sr_config_unref(door->streams.config);
    share(door, config);
    sr_grpc_server_set(door->server, &settings);
    sr_grpc_server_set_tls(door->server, tls);
}

void sr_extproc_drain(struct sr_extproc *door)
{
    door->draining = true;
    sr_grpc_health_set(door->health, SR_GRPC_HEALTH_NOT_SERVING, true);
    sr_grpc_server_drain(door->server);
}

void sr_extproc_free(struct sr_extproc *door)
{
    if (!door)
        return;
    sr_timer_stop(&door->look);
    sr_grpc_server_free(door->server);
    sr_grpc_health_free(door->health);
    sr_config_unref(door->streams.config);
    sr_mem_free(door);
}

int sr_extproc_tls(const struct sr_config *config, sr_tls_context **out, struct sr_err *err)
{
    const struct sr_config_extproc *extproc = &config->global.extproc;
    *out = NULL;
    if (extproc->tls_cert_file[0] == '\0')
        return SR_OK;
    struct sr_tls_settings settings = {.server = true,
                                       .cert_file = extproc->tls_cert_file,
                                       .key_file = extproc->tls_key_file,
                                       .ca_file = extproc->tls_client_ca_file[0] ? extproc->tls_client_ca_file
                                                                                 : NULL,
                                       .alpn = "h2"};
    return sr_tls_context_new(out, &settings, err);
}
