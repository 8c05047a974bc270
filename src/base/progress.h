/*
 * Long work of the process for which others wait (a start, a reload): what it is, and how far.
 *
 * A step is in its caller's memory, in one list of the process. Where it is wanted the log has a line when a
 * step with parts begins, every five seconds, and at the end of a long one; readiness shows the list. Names
 * have nothing of what users write. Any thread.
 */
#ifndef SR_BASE_PROGRESS_H
#define SR_BASE_PROGRESS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SR_PROGRESS_NAME_SIZE 96

struct sr_progress {
    struct sr_progress *next, **pprev;
    char name[SR_PROGRESS_NAME_SIZE];
    uint64_t began_ns, said_ns; /* sr_clock_ns; `said_ns`: of the last line in the log, 0: none */
    uint64_t done, total;       /* parts; `total` 0: it has none */
};

/* Whether the log has lines about steps: of a server, not of a command. Off at first. */
void sr_progress_log(bool on);

/* Begins a step; to be ended on every way. */
void sr_progress_begin(struct sr_progress *step, const char *fmt, ...) SR_PRINTF(2, 3);

/* `done` of `total` parts are done. */
void sr_progress_set(struct sr_progress *step, uint64_t done, uint64_t total);

void sr_progress_end(struct sr_progress *step);

struct sr_progress_view {
    char name[SR_PROGRESS_NAME_SIZE];
    uint64_t done, total, took_ns;
};

/* Copies the steps in progress, the one that began first first: views[max]. Returns how many were copied. */
size_t sr_progress_now(struct sr_progress_view *views, size_t max);

#endif
