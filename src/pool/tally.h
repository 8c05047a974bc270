/*
 * What a model's requests have taken lately, and how many are in progress: for algorithms that choose among
 * models.
 *
 * A tally has a model's name and lives as long as the pool, so configurations that name the model share it
 * and it outlives a reload. Times are kept as the latest SR_TALLY_TIMES of each kind, of the last
 * SR_TALLY_AGE_NS. Any thread; a lock that is held for a copy of a few hundred numbers at most.
 */
#ifndef SR_POOL_TALLY_H
#define SR_POOL_TALLY_H

#include "pool/pool.h"

#define SR_TALLY_TIMES  256
#define SR_TALLY_AGE_NS (UINT64_C(600) * 1000 * 1000 * 1000)
/* Most names in the life of a pool. */
#define SR_TALLY_MAX 16384

enum sr_tally_time {
    SR_TALLY_TTFT, /* until the first token, or until the answer where it was not streamed */
    SR_TALLY_TPOT, /* for each token after the first of a stream */
    SR_TALLY_KINDS,
};

struct sr_pool_tally;

/* The tally of this name, which is made where there is none. NULL: SR_TALLY_MAX names, or no memory. */
struct sr_pool_tally *sr_pool_tally_get(struct sr_pool *pool, const char *name);

/* A request of the model begins and ends. NULL is allowed, in all functions. */
void sr_pool_tally_begin(struct sr_pool_tally *tally);
void sr_pool_tally_end(struct sr_pool_tally *tally);
uint32_t sr_pool_tally_in_flight(const struct sr_pool_tally *tally);

/* A request took so long, in milliseconds. */
void sr_pool_tally_note(struct sr_pool_tally *tally, enum sr_tally_time kind, double ms);

/* A percentile (1 to 100, nearest rank) of the latest times in milliseconds. False: none is known. */
bool sr_pool_tally_percentile(struct sr_pool_tally *tally, enum sr_tally_time kind, int percentile,
                              double *ms);

/* Requests that the workers of a group have beyond those of this process, as they report it. */
double sr_pool_group_reported(struct sr_pool_group *group);

/* Frees the tallies of a pool that ends. */
void sr_pool_tallies_free(struct sr_pool *pool);

#endif
