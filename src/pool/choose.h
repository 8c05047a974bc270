/*
 * Chooses a candidate of a ticket and claims a place at its worker. Private to this folder.
 *
 * A place is one of the requests that the worker may have at once; a worker that is half open has one, the
 * trial. The request keeps both until it ends or gives them back.
 */
#ifndef SR_POOL_CHOOSE_H
#define SR_POOL_CHOOSE_H

#include "pool/ticket.h"

/* The index of a candidate that was not tried, for which `allows` (NULL: any) returns true, and whose worker
 * has room; it counts as tried, and the worker is the ticket's `claimed`, which was NULL. -1: there is none;
 * `full` says whether some have no room. */
int sr_pool_choose(struct sr_ticket *ticket, bool (*allows)(void *ctx, size_t candidate), void *ctx);

#endif
