/* Compares the loads of candidates. */
#include "pool/rank.h"

#include <math.h>

/* Requests over the mean that a worker may have in any case. */
#define SLACK 2.0

bool sr_pool_rank_before(const struct sr_pool_candidate *a, const struct sr_pool_candidate *b)
{
    const struct sr_pool_turn *of_a = sr_pool_member_seat(a->member), *of_b = sr_pool_member_seat(b->member);
    return of_a->last < of_b->last;
}

size_t sr_pool_rank_least(const struct sr_pool_candidate *candidates, size_t n)
{
    size_t best = n;
    double least = 0;
    for (size_t i = 0; i < n; i++) {
        if (!candidates[i].eligible)
            continue;
        double load = sr_pool_member_load(candidates[i].member);
        if (best < n &&
            (load > least || (!(load < least) && !sr_pool_rank_before(&candidates[i], &candidates[best]))))
            continue;
        best = i;
        least = load;
    }
    return best;
}

double sr_pool_rank_limit(const struct sr_pool_candidate *candidates, size_t n, double guard)
{
    double sum = 0, count = 0;
    for (size_t i = 0; i < n; i++) {
        double load = candidates[i].eligible ? sr_pool_member_load(candidates[i].member) : HUGE_VAL;
        if (isinf(load))
            continue;
        sum += load;
        count++;
    }
    return count > 0 ? guard * sum / count + SLACK : HUGE_VAL;
}

void sr_pool_rank_take(const struct sr_pool_candidate *candidate, uint64_t *turn)
{
    struct sr_pool_turn *seat = sr_pool_member_seat(candidate->member);
    seat->last = ++*turn;
}
