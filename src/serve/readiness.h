/*
 * What a process is ready for, and what it lacks: the page /ready.
 *
 * Reads the runtime, the pool and the steps in progress; holds no state. Any thread; short.
 */
#ifndef SR_SERVE_READINESS_H
#define SR_SERVE_READINESS_H

#include "base/buf.h"
#include "semroute/semroute.h"

#include <stdbool.h>

struct sr_readiness_of {
    sr_runtime *runtime; /* NULL: the process starts */
    const char *service; /* "service" of the page */
    bool draining;
    bool names; /* the listener is for operators: models and files are named */
};

/* Appends the page and returns its status: 200, or 503 with what is missing. 500: no memory. */
int sr_readiness(const struct sr_readiness_of *of, struct sr_buf *out);

/* False where `ready_needs_worker` is set and every worker of every model is down. */
bool sr_readiness_has_workers(sr_runtime *runtime);

#endif
