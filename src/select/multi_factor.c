/*
 * multi_factor: quality, latency, cost and load in one score. Each factor is brought to 0..1 among the
 * candidates that are within the limits; the best has 1, and candidates that do not differ have 0.5. A factor
 * that is not known of a candidate does not count for it.
 */
#include "select/select.h"

#include <math.h>

enum factor { QUALITY, LATENCY, COST, LOAD, FACTORS };

static const char *const names[FACTORS] = {"quality", "latency", "cost", "load"};
static const bool lower_is_better[FACTORS] = {false, true, true, true};

struct measured {
    double values[FACTORS]; /* NAN: not known */
    double ttft, tpot;
};

static double time_of(const struct sr_select_candidate *c, enum sr_tally_time kind, int percentile)
{
    double ms;
    return sr_pool_tally_percentile(c->tally, kind, percentile, &ms) ? ms : NAN;
}

static const char *beyond(const struct sr_config_multi_factor *config, const struct measured *m)
{
    if (config->slo.max_tpot_ms > 0 && m->tpot > config->slo.max_tpot_ms)
        return "max_tpot_ms";
    if (config->slo.max_ttft_ms > 0 && m->ttft > config->slo.max_ttft_ms)
        return "max_ttft_ms";
    if (config->slo.max_cost_per_1m > 0 && m->values[COST] > config->slo.max_cost_per_1m)
        return "max_cost_per_1m";
    if (config->slo.max_inflight > 0 && m->values[LOAD] > config->slo.max_inflight)
        return "max_inflight";
    return NULL;
}

/* The time a token where it is known of all that have any time, else the time to the first one: two kinds of
 * times do not compare. */
static bool compares_tokens(const struct measured *all, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (isnan(all[i].tpot) && !isnan(all[i].ttft))
            return false;
        any |= !isnan(all[i].tpot);
    }
    return any;
}

static struct measured measure(const struct sr_config_multi_factor *config,
                               const struct sr_select_candidate *c)
{
    return (struct measured){
        .values = {[QUALITY] = c->quality, [LATENCY] = NAN, [COST] = c->cost, [LOAD] = c->load},
        .ttft = time_of(c, SR_TALLY_TTFT, config->latency_percentile),
        .tpot = time_of(c, SR_TALLY_TPOT, config->latency_percentile),
    };
}

struct range {
    double low, high;
};

static struct range range_of(const struct measured *all, const struct sr_select_score *scores, size_t n,
                             int factor)
{
    struct range range = {HUGE_VAL, -HUGE_VAL};
    for (size_t i = 0; i < n; i++) {
        double value = all[i].values[factor];
        if (scores[i].excluded || isnan(value))
            continue;
        range.low = value < range.low ? value : range.low;
        range.high = value > range.high ? value : range.high;
    }
    return range;
}

static double share(double value, struct range range, bool lower)
{
    double width = range.high - range.low;
    double at = width > 0 ? (value - range.low) / width : 0.5;
    return width > 0 && lower ? 1 - at : at;
}

static void score_all(const struct sr_config_multi_factor *config, const struct measured *all,
                      struct sr_select_score *scores, size_t n)
{
    const double weights[FACTORS] = {config->weights.quality, config->weights.latency, config->weights.cost,
                                     config->weights.load};
    bool none = weights[QUALITY] + weights[LATENCY] + weights[COST] + weights[LOAD] <= 0;
    struct range ranges[FACTORS];
    for (int f = 0; f < FACTORS; f++)
        ranges[f] = range_of(all, scores, n, f);
    for (size_t i = 0; i < n; i++) {
        double sum = 0, of = 0;
        for (int f = 0; f < FACTORS; f++) {
            double value = all[i].values[f], weight = none ? 1 : weights[f];
            if (!isnan(value))
                sr_select_note(&scores[i], names[f], value);
            if (isnan(value) || scores[i].excluded)
                continue;
            sum += weight * share(value, ranges[f], lower_is_better[f]);
            of += weight;
        }
        scores[i].score = scores[i].excluded ? -HUGE_VAL : of > 0 ? sum / of : 0;
    }
}

/* All are beyond a limit. */
static void choose_anyway(const struct sr_config_multi_factor *config, const struct measured *all, size_t n,
                          struct sr_ranking *out)
{
    size_t best = 0;
    out->why = config->on_no_candidates == SR_NO_CANDIDATES_FIRST ? "all are beyond a limit: the first"
                                                                  : "all are beyond a limit: the cheapest";
    out->refused = config->on_no_candidates == SR_NO_CANDIDATES_FAIL;
    if (out->refused)
        out->why = "all are beyond a limit";
    for (size_t i = 1; i < n && config->on_no_candidates == SR_NO_CANDIDATES_CHEAPEST; i++)
        if (all[i].values[COST] < all[best].values[COST] ||
            (isnan(all[best].values[COST]) && !isnan(all[i].values[COST])))
            best = i;
    out->items[best].score = 0;
}

static int rank(const void *state, const struct sr_config_algorithm *algorithm,
                const struct sr_select_ask *ask, const struct sr_select_candidate *candidates, size_t n,
                struct sr_ranking *out)
{
    const struct sr_config_multi_factor *config = &algorithm->multi_factor;
    struct measured all[SR_SELECT_CANDIDATES_MAX];
    size_t kept = 0;
    (void)state;
    (void)ask;
    for (size_t i = 0; i < n; i++)
        all[i] = measure(config, &candidates[i]);
    bool tokens = compares_tokens(all, n);
    for (size_t i = 0; i < n; i++) {
        all[i].values[LATENCY] = tokens ? all[i].tpot : all[i].ttft;
        out->items[i].excluded = beyond(config, &all[i]);
        kept += out->items[i].excluded == NULL;
    }
    score_all(config, all, out->items, n);
    out->why = "the best of its weighted factors";
    if (kept == 0)
        choose_anyway(config, all, n, out);
    return SR_OK;
}

const struct sr_select_ops sr_select_multi_factor = {.name = "multi_factor", .rank = rank};
