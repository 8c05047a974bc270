/* The end of a process: requests in progress may finish. */
#ifndef SR_SERVE_PROCESS_DRAIN_H
#define SR_SERVE_PROCESS_DRAIN_H

#include <stdbool.h>

struct sr_server;

/* Asks every loop to drain its doors. False when there is nothing to wait for. Main thread only. */
bool sr_server_drain(struct sr_server *server);

/* Called when a door of a loop has no connections any more; `server` is a struct sr_server. Any loop's
 * thread. */
void sr_server_drained(void *server);

#endif
