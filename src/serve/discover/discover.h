/*
 * Discovers the workers of pools with `endpoints`, and tells the pool: a file that is read every second, or a
 * name in DNS that is asked again when its TTL is over.
 *
 * One thread of its own, which may block; loops do not. Bad content, a name that is not there and a server
 * that does not answer leave the workers as they were, for `endpoints.keep`.
 */
#ifndef SR_SERVE_DISCOVER_DISCOVER_H
#define SR_SERVE_DISCOVER_DISCOVER_H

#include "config/config.h"
#include "pool/pool.h"

struct sr_discover;

/* Begins with the pools of `config`, to which it takes a reference. `pool` must outlive it. SR_ENOMEM,
 * SR_EIO. */
int sr_discover_start(struct sr_discover **out, struct sr_pool *pool,
                      const struct sr_config *config) SR_WARN_UNUSED;

/* The pools are those of `config` from now on. Any thread. */
void sr_discover_configure(struct sr_discover *discover, const struct sr_config *config);

/* Nothing is told to the pool any more. Does not wait for a query in progress. NULL is allowed. */
void sr_discover_stop(struct sr_discover *discover);

#endif
