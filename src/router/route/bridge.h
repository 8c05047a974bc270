/*
 * The bridge over which results of worker threads reach the thread that owns an exchange.
 *
 * A mailbox whose wake posts a task to the owner. It is counted: one reference for the exchange, one for
 * every message that is still to come, so a client may disconnect at any time. Once detached nothing is
 * posted any more; late messages are then dropped on the thread that sends them.
 */
#ifndef SR_ROUTER_ROUTE_BRIDGE_H
#define SR_ROUTER_ROUTE_BRIDGE_H

#include "base/mailbox.h"
#include "semroute/semroute.h"

struct sr_bridge;

int sr_bridge_new(struct sr_bridge **out, const struct sr_exchange_env *env) SR_WARN_UNUSED;

/* Lives as long as a reference does. */
struct sr_mailbox *sr_bridge_mailbox(struct sr_bridge *bridge);

/* One more message will be sent; its delivery drops the reference. Call it before the sender can run, and
 * sr_bridge_unexpect when there will be none after all. */
void sr_bridge_expect(struct sr_bridge *bridge);
void sr_bridge_unexpect(struct sr_bridge *bridge);

/* The owner detaches; receivers of messages must have been detached before. NULL is allowed. */
void sr_bridge_detach(struct sr_bridge *bridge);

#endif
