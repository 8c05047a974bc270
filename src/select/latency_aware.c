/*
 * latency_aware: the fastest candidate by percentiles of its latest times. Each kind of time that counts is
 * taken relative to the best candidate's, and the mean of these decides. A candidate without one of the
 * times is passed over; when none has them the first candidate is taken.
 */
#include "select/select.h"

#include <math.h>

struct kind {
    enum sr_tally_time time;
    int percentile; /* 0: it does not count */
    const char *name;
};

/* The times of one kind into `ms[n]`; NAN: not known. The best of them. */
static double times_of(const struct kind *kind, const struct sr_select_candidate *candidates, size_t n,
                       double *ms)
{
    double best = HUGE_VAL;
    for (size_t i = 0; i < n; i++)
        if (!sr_pool_tally_percentile(candidates[i].tally, kind->time, kind->percentile, &ms[i]))
            ms[i] = NAN;
        else if (ms[i] < best)
            best = ms[i];
    return best > 0 && best < HUGE_VAL ? best : 1;
}

static int rank(const void *state, const struct sr_config_algorithm *algorithm,
                const struct sr_select_ask *ask, const struct sr_select_candidate *candidates, size_t n,
                struct sr_ranking *out)
{
    const struct kind kinds[] = {
        {SR_TALLY_TPOT, algorithm->latency_aware.tpot_percentile, "tpot_ms"},
        {SR_TALLY_TTFT, algorithm->latency_aware.ttft_percentile, "ttft_ms"},
    };
    double sums[SR_SELECT_CANDIDATES_MAX] = {0}, ms[SR_SELECT_CANDIDATES_MAX];
    int counted = 0;
    bool known = false;
    (void)state;
    (void)ask;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (!kinds[k].percentile)
            continue;
        counted++;
        double best = times_of(&kinds[k], candidates, n, ms);
        for (size_t i = 0; i < n; i++) {
            if (!isnan(ms[i]))
                sr_select_note(&out->items[i], kinds[k].name, ms[i]);
            sums[i] += ms[i] / best;
        }
    }
    for (size_t i = 0; i < n && counted; i++) {
        bool mine = !isnan(sums[i]);
        out->items[i].score = mine ? -sums[i] / counted : -HUGE_VAL;
        out->items[i].excluded = mine ? NULL : "no times yet";
        known |= mine;
    }
    out->why = "the fastest by its latest times";
    if (known)
        return SR_OK;
    out->fallback = counted ? "no_statistics" : "no_percentile";
    return SR_ENOENT;
}

const struct sr_select_ops sr_select_latency_aware = {.name = "latency_aware", .rank = rank};
