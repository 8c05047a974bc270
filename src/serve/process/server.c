/*
 * Runs the process: start, signals, drain, end. The main thread only waits for signals; every loop has a
 * thread of its own.
 */
#include "serve/process/server.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/thread.h"
#include "observe/process_log.h"
#include "router/runtime.h"
#include "serve/discover/discover.h"
#include "serve/kv/events.h"
#include "serve/process/certificates.h"
#include "serve/process/descriptors.h"
#include "serve/process/drain.h"
#include "serve/process/limits.h"
#include "serve/process/private.h"
#include "serve/process/records.h"
#include "serve/process/signals.h"
#include "serve/process/stores.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TICK_MS   1000  /* between summaries in the log */
#define END_MS    10000 /* for the end of all threads */
#define ERROR_MAX 2048

/* ---- loops ---- */

static int make_loops(struct sr_server *server)
{
    const struct sr_config *config = server->config;
    int workers;
    sr_cpu_split(config->global.loops, config->global.workers, &server->n_loops, &workers);
    for (int i = 0; i < server->n_loops; i++) {
        struct sr_server_loop *self = &server->loops[i];
        self->server = server;
        int rc = sr_loop_new(&self->loop);
        if (rc == SR_OK) {
            struct sr_gateway_options options = {.loop = self->loop,
                                                 .runtime = server->runtime,
                                                 .tls = server->upstream_tls,
                                                 .config = config,
                                                 .checks_health = i == 0,
                                                 .census = server->census,
                                                 .drained = sr_server_drained,
                                                 .ctx = server};
            rc = sr_gateway_new(&self->gateway, &options);
            sr_loop_lag_start(&self->lag, self->loop, sr_runtime_metrics_table(server->runtime));
        }
        if (rc != SR_OK)
            return sr_err_set(&server->err, rc, "cannot make event loop %d: %s", i, sr_strerror(rc));
    }
    return SR_OK;
}

static void *run_loop(void *arg)
{
    struct sr_server_loop *self = arg;
    char name[sizeof "sr-loop-" + 10];
    snprintf(name, sizeof name, "sr-loop-%u", (unsigned)(self - self->server->loops) % 1000);
    sr_thread_name(name);
    sr_loop_run(self->loop);
    return NULL;
}

static int start_loops(struct sr_server *server)
{
    for (int i = 0; i < server->n_loops; i++) {
        struct sr_server_loop *self = &server->loops[i];
        if (pthread_create(&self->thread, NULL, run_loop, self) != 0)
            return sr_err_set(&server->err, SR_EIO, "cannot start the thread of event loop %d", i);
        self->started = true;
    }
    return SR_OK;
}

static void stop_loops(struct sr_server *server)
{
    for (int i = 0; i < server->n_loops; i++)
        if (server->loops[i].started)
            sr_loop_stop(server->loops[i].loop);
    for (int i = 0; i < server->n_loops; i++)
        if (server->loops[i].started)
            pthread_join(server->loops[i].thread, NULL);
}

/* ---- waiting ---- */

/* The drain timeout, read with a reference: the watcher's thread may replace the configuration. */
static uint64_t drain_timeout_ns(struct sr_server *server)
{
    const struct sr_config *config = sr_runtime_config(server->runtime);
    uint64_t ns = config->global.gateway.drain_timeout_ms * SR_NS_PER_MS;
    sr_config_unref(config);
    return ns;
}

/* Begins the drain; false: there is nothing to wait for. */
static bool begin_drain(struct sr_server *server, int number, uint64_t *deadline)
{
    sr_log(SR_LOG_INFO, "drain", "%s: requests in progress finish", number == SIGTERM ? "SIGTERM" : "SIGINT");
    *deadline = sr_clock_ns() + drain_timeout_ns(server);
    return sr_server_drain(server);
}

/* Returns when the process should end. */
static void wait_for_end(struct sr_server *server)
{
    struct pollfd fds[2] = {{.fd = sr_signals_fd(), .events = POLLIN},
                            {.fd = server->done, .events = POLLIN}};
    uint64_t deadline = 0;
    for (;;) {
        uint64_t now = sr_clock_ns();
        if (deadline != 0 && now >= deadline) {
            sr_log(SR_LOG_WARN, "drain", "the drain timeout has passed: requests in progress are aborted");
            return;
        }
        uint64_t left = deadline == 0 ? TICK_MS : (deadline - now) / SR_NS_PER_MS + 1;
        if (poll(fds, 2, (int)(left < TICK_MS ? left : TICK_MS)) < 0 && errno != EINTR)
            return;
        sr_process_log_tick();
        if (fds[1].revents & POLLIN) {
            sr_log(SR_LOG_INFO, "drain", "all requests are answered");
            return;
        }
        struct sr_signals_asked asked = sr_signals_take();
        if (asked.reload)
            sr_reload_now(server->reload);
        if (asked.end != 0 && deadline == 0 && !begin_drain(server, asked.end, &deadline))
            return;
    }
}

/* ---- start and end ---- */

static int open_runtime(struct sr_server *server, char *error, size_t error_size)
{
    const char *api = server->options->api;
    struct sr_runtime_options options = {.struct_size = sizeof options,
                                         .lenient = server->options->lenient,
                                         .encoder = !api || strcmp(api, "off") != 0};
    server->runtime = sr_runtime_open(server->options->config, &options, error, error_size);
    if (!server->runtime)
        return SR_EPARSE;
    sr_process_log_count_in(sr_runtime_metrics_table(server->runtime));
    server->config = sr_runtime_config(server->runtime);
    sr_runtime_open_ahead(server->runtime);
    sr_stores_open(server->runtime, server->config, NULL);
    sr_conversations_open(server->runtime, server->config, NULL);
    sr_limits_open(server->runtime, &server->spent, server->config, NULL);
    sr_records_open(server->runtime, &server->records, server->config, NULL);
    if (server->config->global.metrics)
        sr_certificates_measure(server->config, server->runtime);
    int rc = sr_census_new(&server->census);
    if (rc == SR_OK)
        rc = sr_warm_new(&server->warm, server->runtime);
    if (rc == SR_OK) {
        sr_server_limit(server, server->config);
        rc = sr_upstream_tls_new(&server->upstream_tls);
    }
    return rc == SR_OK ? sr_upstream_tls_load(server->upstream_tls, server->config, &server->err) : rc;
}

/* The watcher's thread may replace the configuration. */
static void warm(struct sr_server *server)
{
    const struct sr_config *config = sr_runtime_config(server->runtime);
    if (config->global.cache.warm_file[0])
        sr_warm_file(server->warm, config->global.cache.warm_file);
    sr_config_unref(config);
}

/* The file is watched before any listener answers: a client of one may change it. */
static int start(struct sr_server *server, char *error, size_t error_size)
{
    int rc = open_runtime(server, error, error_size);
    if (rc == SR_OK) {
        server->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        rc = server->done < 0 ? sr_err_set(&server->err, SR_EIO, "no file descriptors left")
                              : make_loops(server);
    }
    if (rc == SR_OK)
        rc = sr_server_listen(server);
    if (rc == SR_OK) {
        const struct sr_strings *watched = &server->config->watched;
        rc = sr_reload_start(&server->reload, server->options->config, watched->items, watched->count,
                             sr_server_reload, server, &server->err);
    }
    if (rc == SR_OK)
        rc = sr_discover_start(&server->discover, sr_runtime_pool(server->runtime), server->config);
    if (rc == SR_OK)
        rc = sr_kv_events_start(&server->kv_events, sr_runtime_pool(server->runtime), server->config);
    if (rc == SR_OK)
        rc = sr_otlp_start(&server->otlp, server->runtime, server->config);
    if (rc == SR_OK)
        rc = sr_consulter_start(&server->consulter, server->runtime, server->config);
    sr_starting_end(server->starting); /* before a door says that the process is ready */
    server->starting = NULL;
    if (rc == SR_OK)
        rc = start_loops(server);
    if (rc == SR_OK) {
        sr_signals_ready();
        sr_server_announce(server);
        warm(server);
    }
    return rc;
}

/* Closes sockets that no door took. */
static void close_sockets(const struct sr_server *server, const struct sr_server_listener *listener)
{
    for (int at = 0; at < server->n_loops; at++)
        if (listener->fds[at] >= 0)
            close(listener->fds[at]);
}

/* Frees all, or ends the process with `code` if that takes too long. Worker threads may post to a loop until
 * the runtime is closed, so the loops are freed last. */
static void end(struct sr_server *server, int code)
{
    sr_signals_limit_end(END_MS, code);
    sr_starting_end(server->starting);
    sr_reload_stop(server->reload);
    sr_discover_stop(server->discover);
    sr_kv_events_stop(server->kv_events);
    stop_loops(server);
    sr_warm_stop(server->warm);
    sr_api_free(server->api);
    sr_api_free(server->metrics);
    for (int i = 0; i < server->n_loops; i++) {
        sr_loop_lag_stop(&server->loops[i].lag);
        sr_gateway_free(server->loops[i].gateway);
        sr_extproc_free(server->loops[i].extproc);
    }
    sr_consulter_stop(server->consulter);
    sr_otlp_stop(server->otlp);
    sr_config_unref(server->config);
    sr_process_log_count_in(NULL);
    sr_limits_close(&server->spent);
    sr_records_close(&server->records);
    sr_runtime_close(server->runtime);
    sr_warm_free(server->warm);
    for (int i = 0; i < server->n_loops; i++)
        sr_loop_free(server->loops[i].loop);
    for (size_t i = 0; i < server->n_listeners; i++)
        close_sockets(server, &server->listeners[i]);
    close_sockets(server, &server->extproc);
    if (server->api_at.fd >= 0)
        close(server->api_at.fd);
    if (server->metrics_at.fd >= 0)
        close(server->metrics_at.fd);
    sr_census_free(server->census);
    sr_upstream_tls_free(server->upstream_tls);
    if (server->done >= 0)
        close(server->done);
}

int sr_server_run(const struct sr_server_options *options, int (*failed)(int rc, const char *message))
{
    char error[ERROR_MAX] = "";
    int code = 0;
    sr_mem_give_back();
    struct sr_server *server = sr_mem_calloc(1, sizeof *server);
    if (!server)
        return failed(SR_ENOMEM, "out of memory");
    sr_progress_log(true);
    server->options = options;
    server->started_ns = sr_clock_ns();
    server->done = server->api_at.fd = server->metrics_at.fd = -1;
    memset(server->extproc.fds, -1, sizeof server->extproc.fds);
    int rc = sr_signals_start(&server->err);
    if (rc == SR_OK)
        rc = sr_process_log_open(&server->err);
    if (rc == SR_OK) {
        sr_descriptors_prepare();
        rc = sr_server_open_admin(server);
    }
    if (rc == SR_OK)
        rc = start(server, error, sizeof error);
    if (rc == SR_OK)
        wait_for_end(server);
    else if (error[0])
        code = failed(rc, error);
    else
        code = failed(rc, server->err.message[0] ? server->err.message : sr_strerror(rc));
    end(server, code);
    sr_process_log_close();
    sr_mem_free(server);
    return code;
}
