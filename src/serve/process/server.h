/*
 * The process behind `semroute serve`: opens the doors, runs one loop per core, reloads, drains.
 *
 * Owns threads, listeners and signals from the call on until it returns; gateway.h and api.h handle
 * requests.
 */
#ifndef SR_SERVE_PROCESS_SERVER_H
#define SR_SERVE_PROCESS_SERVER_H

#include "base/err.h"

#include <stdbool.h>

#define SR_SERVER_API_DEFAULT     "127.0.0.1:8080"
#define SR_SERVER_METRICS_DEFAULT "127.0.0.1:9190"
#define SR_SERVER_EXTPROC_DEFAULT "127.0.0.1:50051"
#define SR_SERVER_GATEWAY_PORT    8801

/* Addresses are "ADDRESS:PORT", "[IPv6]:PORT", ":PORT" (every address), "PORT" (127.0.0.1), or "off". */
struct sr_server_options {
    const char *config;  /* file; NULL: the built-in configuration */
    const char *gateway; /* NULL: the configuration's listeners, else 127.0.0.1:8801 */
    const char *api;     /* NULL: SR_SERVER_API_DEFAULT */
    const char *metrics; /* NULL: SR_SERVER_METRICS_DEFAULT */
    const char *extproc; /* NULL: SR_SERVER_EXTPROC_DEFAULT */
    bool lenient;        /* unknown configuration keys are warnings */
};

/* Serves until SIGTERM or SIGINT, then drains: requests in progress finish within drain_timeout, a second
 * signal ends at once. SIGHUP and changes of the file reload. 0 after an orderly end.
 *
 * If it cannot serve, `failed` is called once, before what was begun is undone (models that are being opened
 * can take seconds): with SR_EPARSE (the configuration is invalid), SR_EINVAL (an address is wrong), SR_EBUSY
 * (a port is taken; the message names the flag), SR_EIO or SR_ENOMEM. What it returns is the exit code, also
 * of a process that has to end without its threads, and is returned.
 *
 * Main thread only; blocks SIGTERM, SIGINT and SIGHUP in it, ignores SIGPIPE and SIGXFSZ. */
int sr_server_run(const struct sr_server_options *options,
                  int (*failed)(int rc, const char *message)) SR_WARN_UNUSED;

#endif
