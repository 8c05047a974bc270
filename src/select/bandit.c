/*
 * bandit: the candidate whose outcomes were best, less what it costs and how long it takes. A bounded share
 * of the requests goes to any candidate by chance, so that one that was unlucky is tried again.
 *
 * Without outcomes a candidate has the quality of its card, which counts as PRIOR_WEIGHT outcomes.
 */
#include "select/select.h"

#include <math.h>

#define PRIOR_WEIGHT  4.0
#define PRIOR_QUALITY 0.5

/* A card's quality has any scale: it counts relative to the best one. */
static double prior_of(const struct sr_select_candidate *c, double best)
{
    return isnan(c->quality) || !(best > 0) ? PRIOR_QUALITY : c->quality / (best > 1 ? best : 1);
}

static double greatest(const struct sr_select_candidate *candidates, size_t n, bool of_cost)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double value = of_cost ? candidates[i].cost : candidates[i].quality;
        most = value > most ? value : most;
    }
    return most;
}

static double value_of(const struct sr_config_bandit *config, const struct sr_select_candidate *c,
                       struct sr_select_arms *arms, double best_quality, double dearest,
                       struct sr_select_score *score)
{
    struct sr_arm arm = sr_arms_get(arms, c->arm);
    double quality = (prior_of(c, best_quality) * PRIOR_WEIGHT + arm.quality * arm.quality_weight) /
                     (PRIOR_WEIGHT + arm.quality_weight);
    double slow = arm.ttft_weight > 0 ? arm.ttft_ms / config->latency_scale_ms : 0;
    double cost = !isnan(c->cost) && dearest > 0 ? c->cost / dearest : 0;
    slow = slow < 1 ? slow : 1;
    sr_select_note(score, "quality", quality);
    sr_select_note(score, "outcomes", arm.quality_weight);
    sr_select_note(score, "cost", cost);
    if (arm.ttft_weight > 0)
        sr_select_note(score, "ttft_ms", arm.ttft_ms);
    return quality - config->cost_weight * cost - config->latency_weight * slow;
}

static int rank(const void *state, const struct sr_config_algorithm *algorithm,
                const struct sr_select_ask *ask, const struct sr_select_candidate *candidates, size_t n,
                struct sr_ranking *out)
{
    const struct sr_config_bandit *config = &algorithm->bandit;
    double best_quality = greatest(candidates, n, false), dearest = greatest(candidates, n, true);
    double best = -HUGE_VAL;
    (void)state;
    if (!config->enabled || !ask->arms) {
        out->fallback = config->enabled ? "no_state" : "off";
        return SR_ENOENT;
    }
    for (size_t i = 0; i < n; i++) {
        struct sr_select_score *score = &out->items[i];
        score->score = value_of(config, &candidates[i], ask->arms, best_quality, dearest, score);
        best = score->score > best ? score->score : best;
    }
    /* The upper half of the number says whether, the lower half which. */
    out->explored = !ask->steady && (double)(ask->draw >> 32) < config->exploration * 0x1p32;
    if (out->explored)
        out->items[(ask->draw & UINT32_MAX) % n].score = best + 1;
    out->why = out->explored ? "drawn by chance, to learn" : "the best outcomes for cost and latency";
    return SR_OK;
}

const struct sr_select_ops sr_select_bandit = {.name = "bandit", .learns = true, .rank = rank};
