/*
 * Which blocks at a worker will be asked for again: those of conversations whose next turn is due.
 *
 * A prompt that begins with the whole of an earlier one is its next turn. From the pauses between the end of
 * a turn and the next one this unit learns until when a conversation may go on; after that its blocks may be
 * pushed out. What conversations begin with in common does not count: the cache has it once. A worker's
 * latest conversations are known, SR_RETURNING_MOST of them. The picker's lock is held. Private to this
 * layer.
 */
#ifndef SR_POOL_WARM_RETURNING_H
#define SR_POOL_WARM_RETURNING_H

#include "pool/policy.h"

#define SR_RETURNING_MOST 32

/* Of all workers: the pauses, as TCP has round trips (RFC 6298). */
struct sr_returning {
    double pause_ns, deviation_ns;
    bool known;
};

/* Of one worker; all zero at first. */
struct sr_returning_seat {
    struct sr_returning_turn {
        uint64_t last;         /* hash of the prompt's last block */
        uint64_t ended_ns;     /* 0: the request is there */
        uint32_t blocks, base; /* of the prompt; of it what others begin with too. blocks 0: free */
    } turns[SR_RETURNING_MOST];
};

/* A request begins at the worker, which was expected to have `overlap` blocks of its prompt; it ends there.
 */
void sr_returning_placed(struct sr_returning *returning, struct sr_returning_seat *seat,
                         const struct sr_pool_ask *ask, uint32_t overlap);
void sr_returning_ended(struct sr_returning_seat *seat, const struct sr_pool_ask *ask);

/* Blocks of other conversations than that of this request, which are in progress there or go on, it seems. */
double sr_returning_blocks(const struct sr_returning *returning, const struct sr_returning_seat *seat,
                           const struct sr_pool_ask *ask, uint64_t now_ns);

#endif
