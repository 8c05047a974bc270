/*
 * Subscribes to the KV events of workers whose pool has `kv_events`, and tells the pool what is in their
 * caches.
 *
 * One thread of its own, which polls; no request waits for it. Workers that are discovered are followed as
 * those that are configured: the pool is asked every second which there are.
 */
#ifndef SR_SERVE_KV_EVENTS_H
#define SR_SERVE_KV_EVENTS_H

#include "config/config.h"
#include "pool/pool.h"

struct sr_kv_events;

/* Begins with the pools of `config`, to which it takes a reference. `pool` must outlive it. SR_ENOMEM,
 * SR_EIO. */
int sr_kv_events_start(struct sr_kv_events **out, struct sr_pool *pool,
                       const struct sr_config *config) SR_WARN_UNUSED;

/* The pools are those of `config` from now on. Any thread. */
void sr_kv_events_configure(struct sr_kv_events *events, const struct sr_config *config);

/* Nothing is told to the pool any more. NULL is allowed. */
void sr_kv_events_stop(struct sr_kv_events *events);

#endif
