/* Asks DNS for the workers of a pool. Blocks for seconds: for the thread of discovery only. */
#ifndef SR_SERVE_DISCOVER_LOOKUP_H
#define SR_SERVE_DISCOVER_LOOKUP_H

#include "serve/discover/list.h"

/* The addresses of `name`, with `port`; where `srv`, the ports and targets of its SRV records, and the
 * addresses of those. `server`: `address:port` of a name server, "" = the system's. `ttl_s`: for how long the
 * answer holds. SR_ENOENT: the name is not there, or has no such records; SR_ETIMEOUT: no answer; others: the
 * answer is bad. */
int sr_lookup(struct sr_discovered_list *out, const char *name, int port, bool srv, const char *server,
              uint32_t *ttl_s) SR_WARN_UNUSED;

#endif
