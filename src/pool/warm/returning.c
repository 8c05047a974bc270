/* A small table for each worker, looked through as a whole. */
#include "pool/warm/returning.h"

#include "pool/clock.h"

#include <math.h>

#define FIRST_NS   2e9  /* a pause, before any is known */
#define LONGEST_NS 60e9 /* a longer one is no pause but another visit */
#define TIMES      1.25 /* of the mean pause, that a next turn is waited for at least */

static bool goes_on(const struct sr_returning_turn *turn, const struct sr_pool_ask *ask)
{
    return turn->blocks && turn->blocks <= ask->n_blocks && ask->blocks[turn->blocks - 1] == turn->last;
}

/* The longest turn before this one that has ended; NULL: none is known. */
static struct sr_returning_turn *before(struct sr_returning_seat *seat, const struct sr_pool_ask *ask)
{
    struct sr_returning_turn *best = NULL;
    for (size_t i = 0; i < SR_RETURNING_MOST; i++) {
        struct sr_returning_turn *turn = &seat->turns[i];
        if (turn->ended_ns && goes_on(turn, ask) && (!best || turn->blocks > best->blocks))
            best = turn;
    }
    return best;
}

/* A free entry, or the one that ended first; NULL: all are in progress. */
static struct sr_returning_turn *free_one(struct sr_returning_seat *seat)
{
    struct sr_returning_turn *oldest = NULL;
    for (size_t i = 0; i < SR_RETURNING_MOST; i++) {
        struct sr_returning_turn *turn = &seat->turns[i];
        if (!turn->blocks)
            return turn;
        if (turn->ended_ns && (!oldest || turn->ended_ns < oldest->ended_ns))
            oldest = turn;
    }
    return oldest;
}

static void learn(struct sr_returning *returning, double pause_ns)
{
    if (pause_ns > LONGEST_NS)
        return;
    if (!returning->known) {
        *returning = (struct sr_returning){.pause_ns = pause_ns, .deviation_ns = pause_ns / 2, .known = true};
        return;
    }
    returning->deviation_ns += (fabs(pause_ns - returning->pause_ns) - returning->deviation_ns) / 4;
    returning->pause_ns += (pause_ns - returning->pause_ns) / 8;
}

void sr_returning_placed(struct sr_returning *returning, struct sr_returning_seat *seat,
                         const struct sr_pool_ask *ask, uint32_t overlap)
{
    struct sr_returning_turn *turn = ask->n_blocks ? before(seat, ask) : NULL;
    uint32_t base = turn ? turn->base : overlap < ask->n_blocks ? overlap : (uint32_t)ask->n_blocks;
    if (turn)
        learn(returning, (double)(sr_pool_clock_ns() - turn->ended_ns));
    else if (ask->n_blocks)
        turn = free_one(seat);
    if (turn)
        *turn = (struct sr_returning_turn){
            .last = ask->blocks[ask->n_blocks - 1], .blocks = (uint32_t)ask->n_blocks, .base = base};
}

void sr_returning_ended(struct sr_returning_seat *seat, const struct sr_pool_ask *ask)
{
    for (size_t i = 0; i < SR_RETURNING_MOST; i++) {
        struct sr_returning_turn *turn = &seat->turns[i];
        if (!turn->ended_ns && turn->blocks == ask->n_blocks && goes_on(turn, ask)) {
            turn->ended_ns = sr_pool_clock_ns();
            return;
        }
    }
}

double sr_returning_blocks(const struct sr_returning *returning, const struct sr_returning_seat *seat,
                           const struct sr_pool_ask *ask, uint64_t now_ns)
{
    double least = TIMES * returning->pause_ns, usual = returning->pause_ns + 4 * returning->deviation_ns;
    uint64_t until = (uint64_t)(!returning->known ? FIRST_NS : least > usual ? least : usual), sum = 0;
    for (size_t i = 0; i < SR_RETURNING_MOST; i++) {
        const struct sr_returning_turn *turn = &seat->turns[i];
        bool awaited = turn->blocks && (!turn->ended_ns || now_ns - turn->ended_ns <= until);
        if (awaited && !(turn->ended_ns && goes_on(turn, ask)))
            sum += turn->blocks - turn->base;
    }
    return (double)sum;
}
