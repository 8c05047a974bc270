/*
 * A team: a few threads that work on one computation together, in fork and join.
 *
 * One caller at a time; every operation of the encoder is a handful of short phases, so members spin a little
 * before they sleep. A NULL team is the calling thread alone. A team has no queue: infer/engine/engine.h
 * queues jobs.
 */
#ifndef SR_KERNEL_TEAM_H
#define SR_KERNEL_TEAM_H

#include "base/err.h"

#define SR_TEAM_MAX 64u

struct sr_team;

/* Starts `size` - 1 threads (the caller of sr_team_run is the last member); 1 <= size <= SR_TEAM_MAX. */
int sr_team_new(struct sr_team **out, unsigned size) SR_WARN_UNUSED;
void sr_team_free(struct sr_team *team); /* NULL is allowed; joins */

/* Members, 1 for NULL. */
unsigned sr_team_size(const struct sr_team *team);

/* Runs fn(ctx, part, parts) once for each part 0..parts-1, parts being the size of the team, part 0 on the
 * calling thread; returns when all are done. Memory written by a part is seen by all after the return. */
void sr_team_run(struct sr_team *team, void (*fn)(void *ctx, unsigned part, unsigned parts), void *ctx);

#endif
