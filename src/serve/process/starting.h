/*
 * The admin listeners while the process starts: /health and /ready are answered, all else with 503.
 *
 * A thread and a loop of its own, for the configuration is loaded on the main thread and the other loops do
 * not run yet. It accepts on duplicates of the listening sockets, so no connection is refused when the admin
 * listeners follow.
 */
#ifndef SR_SERVE_PROCESS_STARTING_H
#define SR_SERVE_PROCESS_STARTING_H

#include "base/err.h"

struct sr_starting;

/* Answers on these listening sockets, which stay the caller's; -1: none. SR_ENOMEM, SR_EIO. */
int sr_starting_new(struct sr_starting **out, int metrics_fd, int api_fd) SR_WARN_UNUSED;

/* Ends the thread; connections to it are closed. NULL is allowed. */
void sr_starting_end(struct sr_starting *starting);

#endif
