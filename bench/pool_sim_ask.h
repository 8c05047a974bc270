/* What a request of a simulation brings: the engine's tokens, and what the router reads of its body for the
 * policies, token blocks included. */
#ifndef SR_BENCH_POOL_SIM_ASK_H
#define SR_BENCH_POOL_SIM_ASK_H

#include "base/arena.h"
#include "bench/pool_workload.h"
#include "mock/engine/tokens.h"
#include "pool/policy.h"

struct sr_sim_asks; /* the readers */

/* SR_ENOMEM. */
int sr_sim_asks_new(struct sr_sim_asks **out) SR_WARN_UNUSED;
void sr_sim_asks_free(struct sr_sim_asks *asks); /* NULL is allowed */

struct sr_sim_ask {
    struct sr_mock_tokens tokens;
    struct sr_pool_ask ask;
};

/* Reads a turn of session number `session`; `arena` has the ask. Dispose also after an error. The errors of
 * the readers. */
int sr_sim_ask_make(struct sr_sim_ask *out, const struct sr_sim_asks *asks, const struct sr_bench_turn *turn,
                    size_t session, struct sr_arena *arena) SR_WARN_UNUSED;
void sr_sim_ask_dispose(struct sr_sim_ask *ask);

#endif
