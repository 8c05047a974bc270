/*
 * learned: the predicted quality of each candidate less what it costs. `cost_weight` is the quality that the
 * dearest model's price must bring; a `budget` finds it by the curve in the file.
 */
#include "select/model/predictor.h"
#include "select/select.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

struct learned {
    struct sr_predictor predictor;
    double cost_weight, dearest;
};

static int open(void **state, const struct sr_select_setup *setup, struct sr_err *err)
{
    const struct sr_config_learned *config = &setup->config->learned;
    struct learned *learned = sr_mem_calloc(1, sizeof *learned);
    if (!learned)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    int rc = sr_predictor_load(&learned->predictor, config->path, err);
    if (rc == SR_OK && strcmp(learned->predictor.encoder, setup->encoder) != 0)
        rc = sr_err_set(err, SR_EMISMATCH, "%.120s: it was fitted to vectors of `%.60s`, not of `%.60s`",
                        config->path, learned->predictor.encoder, setup->encoder);
    if (rc) {
        sr_predictor_dispose(&learned->predictor);
        sr_mem_free(learned);
        return rc;
    }
    learned->dearest = sr_predictor_dearest(&learned->predictor);
    learned->cost_weight = config->budget > 0 ? sr_predictor_weight_of(&learned->predictor, config->budget)
                                              : config->cost_weight;
    *state = learned;
    return SR_OK;
}

static void close(void *state)
{
    struct learned *learned = state;
    sr_predictor_dispose(&learned->predictor);
    sr_mem_free(learned);
}

static int rank(const void *state, const struct sr_config_algorithm *algorithm,
                const struct sr_select_ask *ask, const struct sr_select_candidate *candidates, size_t n,
                struct sr_ranking *out)
{
    const struct learned *learned = state;
    const struct sr_predictor *predictor = &learned->predictor;
    float features[SR_FEATURES];
    bool known = false;
    (void)algorithm;
    if (!ask->vector || ask->dimensions != predictor->dimensions) {
        out->fallback = ask->vector ? "other_dimensions" : "no_vector";
        return SR_ENOENT;
    }
    sr_predictor_features(predictor, ask->text, features);
    for (size_t i = 0; i < n; i++) {
        const struct sr_predicted_model *model = sr_predictor_find(predictor, candidates[i].model);
        struct sr_select_score *score = &out->items[i];
        score->score = -HUGE_VAL;
        score->excluded = model ? NULL : "not in the file";
        if (!model)
            continue;
        double quality = sr_predictor_probability(predictor, model, ask->vector, features);
        double cost = model->cost / learned->dearest;
        score->score = quality - learned->cost_weight * cost;
        sr_select_note(score, "quality", quality);
        sr_select_note(score, "cost", cost);
        known = true;
    }
    out->why = "the best predicted quality for its cost";
    out->fallback = known ? NULL : "no_known_model";
    return known ? SR_OK : SR_ENOENT;
}

const struct sr_select_ops sr_select_learned = {
    .name = "learned", .open = open, .close = close, .rank = rank};
