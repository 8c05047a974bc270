/*
 * Models whose outcomes are of the same texts share their sums and factors. Sums are made for each fold once;
 * what a fold is left out of is the total less that fold.
 */
#include "select/fit/fit.h"

#include "base/hash.h"
#include "base/mem.h"
#include "select/fit/platt.h"
#include "select/fit/solve.h"

#include <math.h>
#include <string.h>

/* Share of a feature's spread that counts, all features together: half of the vector's length. */
#define FEATURE_SHARE 0.5

static const double ridges[] = {1, 3, 10, 30, 100};
#define RIDGES (sizeof ridges / sizeof ridges[0])

struct work {
    const struct sr_fit_inputs *in;
    struct sr_fitted *out;
    size_t n, m, width; /* texts, models, columns with the constant */
    float *x;           /* [n, width] */
    float *scores;      /* [n, m]; NAN: no outcome */
    uint8_t *folds;     /* [n] */
    double *grams;      /* [SR_FIT_FOLDS + 1, width, width]: of each fold, then of all */
    double *factor;     /* [width, width] */
    double *b;          /* [width] */
    float *linear;      /* [RIDGES, n, m]: predictions of what is left out */
    bool *done;         /* [m] */
    void (*progress)(const char *what, size_t done, size_t total);
};

static void work_dispose(struct work *w)
{
    sr_mem_free(w->x);
    sr_mem_free(w->scores);
    sr_mem_free(w->folds);
    sr_mem_free(w->grams);
    sr_mem_free(w->factor);
    sr_mem_free(w->b);
    sr_mem_free(w->linear);
    sr_mem_free(w->done);
}

static bool work_init(struct work *w)
{
    size_t square = w->width * w->width;
    w->x = sr_mem_calloc(w->n, w->width * sizeof *w->x);
    w->scores = sr_mem_calloc(w->n, w->m * sizeof *w->scores);
    w->folds = sr_mem_calloc(w->n, 1);
    w->grams = sr_mem_calloc(SR_FIT_FOLDS + 1, square * sizeof *w->grams);
    w->factor = sr_mem_calloc(square, sizeof *w->factor);
    w->b = sr_mem_calloc(w->width, sizeof *w->b);
    w->linear = sr_mem_calloc(RIDGES * w->n, w->m * sizeof *w->linear);
    w->done = sr_mem_calloc(w->m, sizeof *w->done);
    return w->x && w->scores && w->folds && w->grams && w->factor && w->b && w->linear && w->done;
}

/* ---- the columns ---- */

static void scale_features(struct work *w)
{
    struct sr_predictor *p = &w->out->predictor;
    float features[SR_FEATURES];
    double sums[SR_FEATURES] = {0}, squares[SR_FEATURES] = {0};
    for (size_t i = 0; i < w->n; i++) {
        sr_features_of(w->in->outcomes->texts[i], features);
        for (size_t k = 0; k < SR_FEATURES; k++) {
            sums[k] += (double)features[k];
            squares[k] += (double)features[k] * (double)features[k];
        }
    }
    for (size_t k = 0; k < SR_FEATURES; k++) {
        double mean = sums[k] / (double)w->n, variance = squares[k] / (double)w->n - mean * mean;
        double spread = variance > 1e-12 ? sqrt(variance) : 0;
        p->mean[k] = (float)mean;
        p->scale[k] = spread > 0 ? (float)(FEATURE_SHARE / sqrt(SR_FEATURES) / spread) : 0;
    }
}

static void fill_columns(struct work *w)
{
    size_t d = w->in->dimensions;
    for (size_t i = 0; i < w->n; i++) {
        struct sr_bytes text = w->in->outcomes->texts[i];
        float *row = w->x + i * w->width;
        memcpy(row, w->in->vectors + i * d, d * sizeof *row);
        sr_predictor_features(&w->out->predictor, text, row + d);
        row[w->width - 1] = 1;
        w->folds[i] = (uint8_t)(sr_hash64(text, w->in->seed) % SR_FIT_FOLDS);
    }
}

/* ---- sums and solutions ---- */

static bool answers(const struct work *w, size_t text, size_t model)
{
    return !isnan(w->scores[text * w->m + model]);
}

static bool same_texts(const struct work *w, size_t a, size_t b)
{
    for (size_t i = 0; i < w->n; i++)
        if (answers(w, i, a) != answers(w, i, b))
            return false;
    return true;
}

static void sum_texts(struct work *w, size_t model)
{
    size_t square = w->width * w->width;
    double *all = w->grams + SR_FIT_FOLDS * square;
    memset(w->grams, 0, (SR_FIT_FOLDS + 1) * square * sizeof *w->grams);
    for (size_t i = 0; i < w->n; i++) {
        if (answers(w, i, model))
            sr_gram_add(w->grams + w->folds[i] * square, w->width, w->x + i * w->width);
        if (w->progress && i % 256 == 0)
            w->progress("sums", i, w->n);
    }
    for (size_t f = 0; f < SR_FIT_FOLDS; f++)
        for (size_t k = 0; k < square; k++)
            all[k] += w->grams[f * square + k];
}

/* The weights of a model into `b`, without the texts of a fold (SR_FIT_FOLDS: with all). */
static void solve(struct work *w, size_t model, size_t fold)
{
    memset(w->b, 0, w->width * sizeof *w->b);
    for (size_t i = 0; i < w->n; i++) {
        if (!answers(w, i, model) || w->folds[i] == fold)
            continue;
        double score = (double)w->scores[i * w->m + model];
        for (size_t k = 0; k < w->width; k++)
            w->b[k] += score * (double)w->x[i * w->width + k];
    }
    sr_gram_solve(w->factor, w->width, w->b);
}

static int factor(struct work *w, size_t fold, double ridge, struct sr_err *err)
{
    size_t square = w->width * w->width;
    const double *all = w->grams + SR_FIT_FOLDS * square, *less = w->grams + fold * square;
    for (size_t k = 0; k < square; k++)
        w->factor[k] = fold < SR_FIT_FOLDS ? all[k] - less[k] : all[k];
    int rc = sr_gram_factor(w->factor, w->width, ridge);
    return rc ? sr_err_set(err, rc, "the outcomes do not determine a predictor") : SR_OK;
}

static float predict(const struct work *w, size_t text)
{
    double sum = 0;
    for (size_t k = 0; k < w->width; k++)
        sum += w->b[k] * (double)w->x[text * w->width + k];
    return (float)sum;
}

/* Predictions of a fold's texts by the others, for a model and a ridge. */
static void leave_out(struct work *w, size_t model, size_t r, size_t fold)
{
    solve(w, model, fold);
    for (size_t i = 0; i < w->n; i++)
        if (w->folds[i] == fold)
            w->linear[(r * w->n + i) * w->m + model] = predict(w, i);
}

/* ---- one model ---- */

/* The ridge with the least error on what is left out, among folds other than `but`. */
static size_t best_ridge(const struct work *w, size_t model, size_t but, double *loss)
{
    size_t best = 0, counted = 0;
    double least = HUGE_VAL;
    for (size_t r = 0; r < RIDGES; r++) {
        double sum = 0;
        counted = 0;
        for (size_t i = 0; i < w->n; i++) {
            if (!answers(w, i, model) || w->folds[i] == but)
                continue;
            double d = (double)(w->linear[(r * w->n + i) * w->m + model] - w->scores[i * w->m + model]);
            sum += d * d;
            counted++;
        }
        if (sum < least) {
            least = sum;
            best = r;
        }
    }
    *loss = counted ? least / (double)counted : 0;
    return best;
}

/* The sigmoid of a model's predictions with ridge `r`, from folds other than `but`. SR_ENOMEM. */
static int calibrate(const struct work *w, size_t model, size_t r, size_t but, struct sr_platt *out)
{
    float *linear = sr_mem_calloc(w->n, 2 * sizeof *linear), *scores = linear ? linear + w->n : NULL;
    size_t n = 0;
    if (!linear)
        return SR_ENOMEM;
    for (size_t i = 0; i < w->n; i++) {
        if (!answers(w, i, model) || w->folds[i] == but)
            continue;
        linear[n] = w->linear[(r * w->n + i) * w->m + model];
        scores[n++] = w->scores[i * w->m + model];
    }
    *out = sr_platt_fit(linear, scores, NULL, n);
    sr_mem_free(linear);
    return SR_OK;
}

static double constant_loss(const struct work *w, size_t model, uint64_t *rows)
{
    double sum = 0, squares = 0, n = 0;
    for (size_t i = 0; i < w->n; i++) {
        if (!answers(w, i, model))
            continue;
        double score = (double)w->scores[i * w->m + model];
        sum += score;
        squares += score * score;
        n++;
    }
    *rows = (uint64_t)n;
    return n > 0 ? squares / n - sum / n * (sum / n) : 0;
}

/* What was predicted of each fold by the others alone. */
static int judge_folds(struct work *w, size_t model)
{
    for (size_t f = 0; f < SR_FIT_FOLDS; f++) {
        struct sr_platt platt;
        double loss;
        size_t r = best_ridge(w, model, f, &loss);
        int rc = calibrate(w, model, r, f, &platt);
        if (rc)
            return rc;
        for (size_t i = 0; i < w->n; i++)
            if (w->folds[i] == f)
                w->out->left_out[i * w->m + model] =
                    (float)sr_platt_probability(platt, (double)w->linear[(r * w->n + i) * w->m + model]);
    }
    return SR_OK;
}

/* The final weights, of all texts. The factor is of the chosen ridge. */
static int finish_model(struct work *w, size_t model, size_t r)
{
    struct sr_predictor *p = &w->out->predictor;
    struct sr_predicted_model *to = &p->models[model];
    struct sr_platt platt;
    int rc = calibrate(w, model, r, SR_FIT_FOLDS, &platt);
    if (rc)
        return rc;
    solve(w, model, SR_FIT_FOLDS);
    for (size_t k = 0; k + 1 < w->width; k++)
        to->weights[k] = (float)w->b[k];
    to->bias = w->b[w->width - 1];
    to->slope = platt.slope;
    to->shift = platt.shift;
    return SR_OK;
}

/* ---- models of the same texts ---- */

static int leave_out_all(struct work *w, size_t first, const bool *group, struct sr_err *err)
{
    for (size_t r = 0; r < RIDGES; r++) {
        for (size_t f = 0; f < SR_FIT_FOLDS; f++) {
            int rc = factor(w, f, ridges[r], err);
            if (rc)
                return rc;
            for (size_t model = first; model < w->m; model++)
                if (group[model])
                    leave_out(w, model, r, f);
            if (w->progress)
                w->progress("folds", r * SR_FIT_FOLDS + f, RIDGES * SR_FIT_FOLDS);
        }
    }
    return SR_OK;
}

static int fit_group(struct work *w, size_t first, struct sr_err *err)
{
    bool group[SR_OUTCOMES_MODELS] = {false};
    size_t chosen[SR_OUTCOMES_MODELS] = {0};
    for (size_t model = first; model < w->m; model++)
        group[model] = !w->done[model] && same_texts(w, first, model);
    sum_texts(w, first);
    int rc = leave_out_all(w, first, group, err);
    for (size_t model = first; model < w->m && rc == SR_OK; model++) {
        if (!group[model])
            continue;
        chosen[model] = best_ridge(w, model, SR_FIT_FOLDS, &w->out->losses[model]);
        w->out->ridges[model] = ridges[chosen[model]];
        w->done[model] = true;
        rc = judge_folds(w, model);
    }
    for (size_t r = 0; r < RIDGES && rc == SR_OK; r++) {
        bool factored = false;
        for (size_t model = first; model < w->m && rc == SR_OK; model++) {
            if (!group[model] || chosen[model] != r)
                continue;
            if (!factored)
                rc = factor(w, SR_FIT_FOLDS, ridges[r], err);
            factored = true;
            if (rc == SR_OK)
                rc = finish_model(w, model, r);
        }
    }
    return rc;
}

/* ---- all ---- */

static int check_models(struct work *w, struct sr_err *err)
{
    struct sr_predictor *p = &w->out->predictor;
    for (size_t model = 0; model < w->m; model++) {
        w->out->base[model] = constant_loss(w, model, &p->models[model].rows);
        if (p->models[model].rows < SR_FIT_ROWS_MIN)
            return sr_err_set(err, SR_EINVAL, "model `%.60s` has %llu outcomes: it needs at least %d",
                              p->models[model].name, (unsigned long long)p->models[model].rows,
                              SR_FIT_ROWS_MIN);
        if (!(w->out->base[model] > 1e-9))
            return sr_err_set(err, SR_EINVAL, "all outcomes of model `%.60s` are the same",
                              p->models[model].name);
    }
    return SR_OK;
}

static int begin_predictor(struct work *w)
{
    const struct sr_outcomes *o = w->in->outcomes;
    struct sr_predictor *p = &w->out->predictor;
    double costs[SR_OUTCOMES_MODELS];
    sr_arena_init(&p->arena, SR_PREDICTOR_FILE_MAX * 2);
    p->encoder = sr_arena_dup(&p->arena, sr_bytes_str(w->in->encoder)).p;
    p->dimensions = w->in->dimensions;
    p->models = sr_arena_calloc(&p->arena, w->m, sizeof *p->models);
    if (!p->encoder || !p->models)
        return SR_ENOMEM;
    sr_outcomes_costs(o, costs);
    for (p->n = 0; p->n < w->m; p->n++) {
        struct sr_predicted_model *model = &p->models[p->n];
        model->name = sr_arena_dup(&p->arena, sr_bytes_str(o->models[p->n])).p;
        model->weights = sr_arena_calloc(&p->arena, w->width - 1, sizeof *model->weights);
        model->cost = costs[p->n];
        if (!model->name || !model->weights)
            return SR_ENOMEM;
    }
    return SR_OK;
}

int sr_fit(struct sr_fitted *out, const struct sr_fit_inputs *in,
           void (*progress)(const char *what, size_t done, size_t total), struct sr_err *err)
{
    struct work w = {.in = in,
                     .out = out,
                     .n = in->outcomes->n_texts,
                     .m = in->outcomes->n_models,
                     .width = in->dimensions + SR_FEATURES + 1,
                     .progress = progress};
    *out = (struct sr_fitted){0};
    out->left_out = sr_mem_calloc(w.n, w.m * sizeof *out->left_out);
    int rc = work_init(&w) && out->left_out ? begin_predictor(&w) : SR_ENOMEM;
    if (rc == SR_OK) {
        sr_outcomes_scores(in->outcomes, w.scores);
        scale_features(&w);
        fill_columns(&w);
        rc = check_models(&w, err);
    }
    for (size_t model = 0; model < w.m && rc == SR_OK; model++)
        if (!w.done[model])
            rc = fit_group(&w, model, err);
    work_dispose(&w);
    if (rc) {
        sr_fitted_dispose(out);
        return rc == SR_ENOMEM ? sr_err_set(err, rc, "out of memory") : rc;
    }
    return SR_OK;
}

void sr_fitted_dispose(struct sr_fitted *fitted)
{
    sr_predictor_dispose(&fitted->predictor);
    sr_mem_free(fitted->left_out);
    *fitted = (struct sr_fitted){0};
}
