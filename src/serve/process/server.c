/*
 * Runs the process: start, signals, drain, end. The main thread only waits for signals; every loop has a
 * thread of its own.
 */
#include "serve/process/server.h"

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "base/mem.h"
#include "router/runtime.h"
#include "serve/process/drain.h"
#include "serve/process/private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
                                                 .loops = server->n_loops,
                                                 .drained = sr_server_drained,
                                                 .ctx = server};
            rc = sr_gateway_new(&self->gateway, &options);
        }
        if (rc != SR_OK)
            return sr_err_set(&server->err, rc, "cannot make event loop %d: %s", i, sr_strerror(rc));
    }
    return SR_OK;
}

static void *run_loop(void *arg)
{
    struct sr_server_loop *self = arg;
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
        char name[16];
        snprintf(name, sizeof name, "sr-loop-%u", (unsigned)i % 1000);
        pthread_setname_np(self->thread, name);
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

/* ---- signals ---- */

static int block_signals(sigset_t *set)
{
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
    return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The drain timeout, read with a reference: the watcher's thread may replace the configuration. */
static uint64_t drain_timeout_ns(struct sr_server *server)
{
    const struct sr_config *config = sr_runtime_config(server->runtime);
    uint64_t ns = config->global.gateway.drain_timeout_ms * SR_NS_PER_MS;
    sr_config_unref(config);
    return ns;
}

/* Returns when the process should end. */
static void wait_for_end(struct sr_server *server, int signals)
{
    struct pollfd fds[2] = {{.fd = signals, .events = POLLIN}, {.fd = server->done, .events = POLLIN}};
    uint64_t deadline = 0;
    for (;;) {
        uint64_t now = sr_clock_ns();
        if (deadline != 0 && now >= deadline) {
            sr_log(SR_LOG_WARN, "drain", "the drain timeout has passed: requests in progress are aborted");
            return;
        }
        int wait = deadline == 0 ? -1 : (int)((deadline - now) / SR_NS_PER_MS) + 1;
        if (poll(fds, 2, wait) < 0 && errno != EINTR)
            return;
        if (fds[1].revents & POLLIN) {
            sr_log(SR_LOG_INFO, "drain", "all requests are answered");
            return;
        }
        struct signalfd_siginfo info;
        if (!(fds[0].revents & POLLIN) || read(signals, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        if (info.ssi_signo == SIGHUP) {
            sr_reload_now(server->reload);
        } else if (deadline != 0) {
            sr_log(SR_LOG_WARN, "drain", "second signal: requests in progress are aborted");
            return;
        } else {
            sr_log(SR_LOG_INFO, "drain", "%s: requests in progress finish",
                   info.ssi_signo == SIGTERM ? "SIGTERM" : "SIGINT");
            deadline = sr_clock_ns() + drain_timeout_ns(server);
            if (!sr_server_drain(server))
                return;
        }
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
    server->config = sr_runtime_config(server->runtime);
    int rc = sr_upstream_tls_new(&server->upstream_tls);
    return rc == SR_OK ? sr_upstream_tls_load(server->upstream_tls, server->config, &server->err) : rc;
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
        rc =
            sr_reload_start(&server->reload, server->options->config, sr_server_reload, server, &server->err);
    }
    if (rc == SR_OK)
        rc = start_loops(server);
    if (rc == SR_OK)
        sr_server_announce(server);
    return rc;
}

/* Closes sockets that no door took. */
static void close_sockets(const struct sr_server *server, const struct sr_server_listener *listener)
{
    for (int at = 0; at < server->n_loops; at++)
        if (listener->fds[at] >= 0)
            close(listener->fds[at]);
}

/* Frees all. Worker threads may post to a loop until the runtime is closed, so the loops are freed last. */
static void end(struct sr_server *server)
{
    sr_reload_stop(server->reload);
    stop_loops(server);
    sr_api_free(server->api);
    sr_api_free(server->metrics);
    for (int i = 0; i < server->n_loops; i++) {
        sr_gateway_free(server->loops[i].gateway);
        sr_extproc_free(server->loops[i].extproc);
    }
    sr_config_unref(server->config);
    sr_runtime_close(server->runtime);
    for (int i = 0; i < server->n_loops; i++)
        sr_loop_free(server->loops[i].loop);
    for (size_t i = 0; i < server->n_listeners; i++)
        close_sockets(server, &server->listeners[i]);
    close_sockets(server, &server->extproc);
    sr_upstream_tls_free(server->upstream_tls);
    if (server->done >= 0)
        close(server->done);
}

int sr_server_run(const struct sr_server_options *options, char *error, size_t error_size)
{
    error[0] = '\0';
    struct sr_server *server = sr_mem_calloc(1, sizeof *server);
    if (!server) {
        snprintf(error, error_size, "out of memory");
        return SR_ENOMEM;
    }
    server->options = options;
    server->started_ns = sr_clock_ns();
    server->done = -1;
    memset(server->extproc.fds, -1, sizeof server->extproc.fds);
    sigset_t set;
    int signals = block_signals(&set);
    int rc = signals < 0 ? sr_err_set(&server->err, SR_EIO, "no file descriptors left")
                         : start(server, error, error_size);
    if (rc == SR_OK)
        wait_for_end(server, signals);
    else if (error[0] == '\0')
        snprintf(error, error_size, "%s", server->err.message[0] ? server->err.message : sr_strerror(rc));
    end(server);
    if (signals >= 0)
        close(signals);
    sr_mem_free(server);
    return rc;
}
