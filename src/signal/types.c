/* Functions that the signal types share: allocation of hits, and comparisons. */
#include "signal/types.h"

#include <math.h>

struct sr_signal_hit *sr_signal_hits(struct sr_arena *arena, size_t n)
{
    struct sr_signal_hit *hits = sr_arena_calloc(arena, n ? n : 1, sizeof *hits);
    for (size_t i = 0; hits && i < n; i++)
        hits[i].value = NAN;
    return hits;
}

bool sr_predicate_any(const struct sr_config_predicate *predicate)
{
    return !isnan(predicate->gt) || !isnan(predicate->gte) || !isnan(predicate->lt) || !isnan(predicate->lte);
}

bool sr_predicate_holds(const struct sr_config_predicate *predicate, double value)
{
    return !isnan(value) && (isnan(predicate->gt) || value > predicate->gt) &&
           (isnan(predicate->gte) || value >= predicate->gte) &&
           (isnan(predicate->lt) || value < predicate->lt) &&
           (isnan(predicate->lte) || value <= predicate->lte);
}
