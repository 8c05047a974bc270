/*
 * The requests of a group that wait for a worker with room: a bounded queue, by priority and then by age.
 *
 * A thread that ends a request gives the place to the first one that waits and can use it, and posts a
 * message to that one's thread; no thread waits. The ticket of a request in the queue belongs to the
 * thread that holds the group's lock. Private to this folder; sr_ticket_wait and sr_ticket_leave are in
 * ticket.h.
 */
#ifndef SR_POOL_QUEUE_H
#define SR_POOL_QUEUE_H

#include "pool/private.h"

/* The members of the group have changed: all that wait are told. The group's lock is held. */
void sr_pool_queue_renew(struct sr_pool_group *group);

#endif
