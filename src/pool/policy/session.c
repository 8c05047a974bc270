/*
 * The same worker for the same session: rendezvous hashing with bounded loads.
 *
 * Each worker has a score of the session and its own identity; the highest one is chosen (Thaler and
 * Ravishankar, 1998), with its weight as in Schindelhauer and Schomaker, 2005. So a worker that joins or
 * leaves moves only the sessions that go to it or were at it. One that has more than `bound` times its share
 * of the requests is passed over (Mirrokni, Thorup and Zadimoghaddam, 2016) for the next in the order of
 * scores. A request without a session goes to the least loaded worker.
 */
#include "base/hash.h"
#include "base/mem.h"
#include "pool/rank.h"

#include <math.h>

struct picking {
    const struct sr_pool_settings *settings;
    uint64_t turn;
};

static int open_state(void **state, const struct sr_pool_settings *settings)
{
    struct picking *picking = sr_mem_calloc(1, sizeof *picking);
    *state = picking;
    if (!picking)
        return SR_ENOMEM;
    picking->settings = settings;
    return SR_OK;
}

static double weight_of(const struct sr_pool_member *member)
{
    double weight = sr_pool_member_weight(member);
    return isfinite(weight) && weight > 0 ? weight : 0;
}

/* Higher is better; 0: never while another may be. */
static double score_of(uint64_t session, const struct sr_pool_member *member)
{
    uint64_t pair[2] = {session, sr_pool_member_hash(member)};
    double x = ((double)(sr_hash64(sr_bytes_of((const char *)pair, sizeof pair), 0) >> 11) + 0.5) / 0x1p53;
    return -weight_of(member) / log(x);
}

/* Requests for the weight that no worker should exceed, with the one that is to be placed. */
static double bound_of(const struct picking *picking, const struct sr_pool_candidate *candidates, size_t n)
{
    double requests = 1, weights = 0;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].eligible)
            continue;
        requests += sr_pool_member_in_flight(candidates[i].member);
        weights += weight_of(candidates[i].member);
    }
    return weights > 0 ? picking->settings->bound * requests / weights : HUGE_VAL;
}

static bool is_full(const struct sr_pool_member *member, double bound)
{
    double weight = weight_of(member), most = ceil(bound * weight);
    return weight <= 0 || sr_pool_member_in_flight(member) + 1.0 > most;
}

static size_t choose(void *state, const struct sr_pool_ask *ask, const struct sr_pool_candidate *candidates,
                     size_t n, struct sr_pool_why *why)
{
    struct picking *picking = state;
    double bound = bound_of(picking, candidates, n), best_score = -1;
    size_t best = n;
    bool passed = false;
    for (size_t i = 0; i < n && ask->session; i++) {
        if (!candidates[i].eligible)
            continue;
        double score = score_of(ask->session, candidates[i].member);
        if (is_full(candidates[i].member, bound)) {
            passed = true;
        } else if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    why->reason = best == n ? "least load" : passed ? "session, within its bound" : "session";
    if (best == n)
        best = sr_pool_rank_least(candidates, n);
    why->load = sr_pool_member_load(candidates[best].member);
    sr_pool_rank_take(&candidates[best], &picking->turn);
    return best;
}

const struct sr_pool_policy_ops sr_pool_session = {
    .name = "session",
    .needs = SR_POOL_NEEDS_SESSION,
    .seat_size = sizeof(struct sr_pool_turn),
    .open = open_state,
    .close = sr_mem_free,
    .choose = choose,
};
