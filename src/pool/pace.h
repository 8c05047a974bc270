/*
 * How long the requests of a worker take, for those of its group: a worker that is slow counts as more loaded
 * than its requests say.
 *
 * Policies that keep a request where its prefix, its session or its topic is would else wait for a slow
 * worker until their guard sees a long queue there. Private to this folder; any thread.
 */
#ifndef SR_POOL_PACE_H
#define SR_POOL_PACE_H

#include "pool/private.h"

/* Groups whose requests usually take less are not looked at: there, times say more of the machine than of the
 * worker.
 */
#define SR_PACE_LEAST_NS (UINT64_C(20) * 1000 * 1000)

/* Times that of the others from which a worker is slow, and for how long that is believed without another
 * request. */
#define SR_PACE_SLOW    2.0
#define SR_PACE_HOLD_NS (UINT64_C(30) * 1000 * 1000 * 1000)

/* Notes a request of the group that this worker has answered. */
void sr_pace_note(struct sr_pool_group *group, struct sr_pool_worker *worker, uint64_t took_ns);

/* 1, or the times that a slow worker takes of what the others take. */
double sr_pace_of(const struct sr_pool_worker *worker);

#endif
