/*
 * Active health checks: asks the workers of models that configure a path whether they are well, at an
 * interval, and tells the pool.
 *
 * Workers are asked as poll.h says, configured and discovered ones. A worker is down after
 * SR_HEALTH_FAILURES checks in a row without a status from 200 to 399, and up again after one. A worker that
 * is down is chosen last. Loop's thread only.
 */
#ifndef SR_SERVE_GATEWAY_HEALTH_H
#define SR_SERVE_GATEWAY_HEALTH_H

#include "config/config.h"
#include "net/client/client.h"
#include "semroute/semroute.h"
#include "serve/gateway/upstream_tls.h"

#define SR_HEALTH_FAILURES 2

struct sr_health;

/* Checks nothing yet. All must outlive it. SR_ENOMEM. */
int sr_health_new(struct sr_health **out, struct sr_loop *loop, struct sr_client *client, sr_runtime *runtime,
                  struct sr_upstream_tls *tls) SR_WARN_UNUSED;

/* Checks the workers of `config`, to which it takes a reference, from now on; what is known of a worker that
 * was checked before stays. SR_ENOMEM: some are not checked until later. */
int sr_health_configure(struct sr_health *health, const struct sr_config *config) SR_WARN_UNUSED;

/* Cancels checks in progress; workers that are down count as up. NULL is allowed. */
void sr_health_free(struct sr_health *health);

#endif
