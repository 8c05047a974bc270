/*
 * The facts of a request that signals read beside its text: messages by role, tools, images, metadata,
 * earlier turns of the user.
 *
 * Pure functions over spans and bytes; who sends the request is added by the caller.
 */
#ifndef SR_ROUTER_REQUEST_FACTS_H
#define SR_ROUTER_REQUEST_FACTS_H

#include "router/request/walk.h"

/* Reads the facts of a complete body; `turns`: earlier turns of the user, too. What they point to borrows
 * from the body or lives in `arena`. SR_ENOMEM. */
int sr_facts_read(struct sr_signal_facts *out, const struct sr_request *doc, bool turns,
                  struct sr_arena *arena) SR_WARN_UNUSED;

#endif
