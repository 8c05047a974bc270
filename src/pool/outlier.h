/*
 * Workers whose requests wait far longer for their first byte than those of the others in their group: they
 * are ejected for a while, and then get more and more of their share again.
 *
 * As for errors, an ejection only orders candidates: when no other worker can take a request, one that is
 * slow does. Atomic, without a lock. Private to this folder.
 */
#ifndef SR_POOL_OUTLIER_H
#define SR_POOL_OUTLIER_H

#include "pool/private.h"

/* Below this a wait says more of the network and of this machine than of the worker. */
#define SR_OUTLIER_LEAST_MS 20.0

/* Looks at the workers of these candidates, now and then. */
void sr_outlier_review(struct sr_pool_group *group, const struct sr_pool_candidate *candidates, size_t n,
                       uint64_t now_ns);

/* The worker is slow: a request goes past it, if another one can have it. A worker that comes back passes
 * some of the requests, more and more of them. */
bool sr_outlier_is_past(const struct sr_pool_group *group, struct sr_pool_worker *worker, uint64_t now_ns);

/* What the group's median worker takes, in milliseconds; 0: unknown. */
double sr_outlier_usual_ms(const struct sr_pool_group *group, enum sr_pool_time which);

/* For metrics: it is ejected for its slowness. */
bool sr_outlier_is_slow(const struct sr_pool_worker *worker, uint64_t now_ns);

/* 1, or the times that its requests wait of what others wait, from twice as long on. */
double sr_outlier_times(const struct sr_pool_worker *worker, uint64_t now_ns);

#endif
