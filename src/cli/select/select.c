/* Fits or loads, draws the curve, and writes what was asked for. */
#include "cli/select/select.h"

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/select/picture.h"
#include "cli/term.h"
#include "select/fit/fit.h"

#include <math.h>
#include <string.h>

static int fail(const struct sr_usage *usage, int rc, const struct sr_err *err)
{
    return sr_cmd_fail(usage,
                       rc == SR_ENOMEM || rc == SR_EIO || rc == SR_ENOENT ? SR_EXIT_FAILED : SR_EXIT_NO, "%s",
                       err->message[0] ? err->message : sr_strerror(rc));
}

static int fit(const struct sr_cli_log *log, long seed, struct sr_fitted *out, struct sr_err *err)
{
    struct sr_fit_inputs in = {.outcomes = &log->outcomes,
                               .vectors = log->vectors,
                               .dimensions = log->dimensions,
                               .encoder = log->encoder,
                               .seed = (uint64_t)seed};
    int rc = sr_fit(out, &in, sr_term_progress, err);
    sr_term_progress("fit", 1, 1);
    return rc;
}

/* The curve of these predictions [texts, models]. */
static int draw(const struct sr_cli_log *log, const float *predicted, long seed,
                struct sr_selection_curve *curve, struct sr_err *err)
{
    const struct sr_outcomes *o = &log->outcomes;
    double costs[SR_OUTCOMES_MODELS];
    float *scores = sr_mem_calloc(o->n_texts, o->n_models * sizeof *scores);
    if (!scores)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    sr_outcomes_scores(o, scores);
    sr_outcomes_costs(o, costs);
    struct sr_curve_inputs in = {.n = o->n_texts,
                                 .m = o->n_models,
                                 .predicted = predicted,
                                 .scores = scores,
                                 .costs = costs,
                                 .seed = (uint64_t)seed};
    int rc = sr_selection_curve(curve, &in, err);
    sr_mem_free(scores);
    return rc;
}

/* ---- train ---- */

static int say_fit(const struct sr_fitted *fitted, const struct sr_selection_curve *curve, const char *path,
                   struct sr_buf *out)
{
    const struct sr_predictor *p = &fitted->predictor;
    int rc = sr_buf_printf(out, "%-28s %8s %10s %8s %12s %12s\n", "model", "outcomes", "cost", "ridge",
                           "error", "of constant");
    for (size_t k = 0; k < p->n && rc == SR_OK; k++)
        rc = sr_buf_printf(out, "%-28s %8llu %10.4g %8.3g %12.4f %12.4f\n", p->models[k].name,
                           (unsigned long long)p->models[k].rows, p->models[k].cost, fitted->ridges[k],
                           fitted->losses[k], fitted->base[k]);
    if (rc == SR_OK && curve->texts)
        rc = sr_buf_printf(out, "\nby cross-validation: AIQ %.4f, a coin %.4f, the best possible %.4f\n",
                           curve->aiq_router, curve->aiq_coin, curve->aiq_oracle);
    return rc == SR_OK ? sr_buf_printf(out, "written: %s\n", path) : rc;
}

/* A log in which each text has one model's outcome has no curve; the file is written all the same. */
static int write_predictor(const struct sr_usage *usage, struct sr_train_selection_options *o,
                           const struct sr_cli_log *log, struct sr_fitted *fitted)
{
    struct sr_selection_curve *curve = sr_mem_calloc(1, sizeof *curve);
    struct sr_err err = {0};
    struct sr_buf text;
    int code = SR_EXIT_DONE;
    if (!curve)
        return sr_cmd_fail(usage, SR_EXIT_FAILED, "out of memory");
    if (draw(log, fitted->left_out, o->seed, curve, &err))
        curve->texts = 0;
    else
        sr_curve_points(curve, &fitted->predictor);
    sr_buf_init(&text, SR_PREDICTOR_FILE_MAX);
    int rc = sr_predictor_write(&fitted->predictor, &text);
    bool written = rc == SR_OK && sr_cmd_save(usage, o->out, sr_buf_view(&text), &code);
    sr_buf_clear(&text);
    if (written && !o->json)
        rc = say_fit(fitted, curve, o->out, &text);
    else if (written)
        rc = sr_buf_printf(&text, "{\"models\":%zu,\"texts\":%zu,\"outcomes\":%zu,\"aiq\":%.6f}\n",
                           fitted->predictor.n, log->outcomes.n_texts, log->outcomes.n, curve->aiq_router);
    if (rc)
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", sr_strerror(rc));
    else if (written && !sr_cmd_put(sr_buf_view(&text)))
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_buf_dispose(&text);
    sr_mem_free(curve);
    return code;
}

int sr_train_selection(const struct sr_usage *usage, struct sr_train_selection_options *o, const char *path)
{
    struct sr_cli_log log;
    struct sr_fitted fitted = {0};
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    if (!sr_cli_log_read(usage, &o->log, path, &log, &code))
        return code;
    int rc = fit(&log, o->seed, &fitted, &err);
    code = rc ? fail(usage, rc, &err) : write_predictor(usage, o, &log, &fitted);
    sr_fitted_dispose(&fitted);
    sr_cli_log_dispose(&log);
    return code;
}

/* ---- eval ---- */

/* What a file says of the log's texts. Models that it does not know are no choice for it. */
static int predict(const struct sr_cli_log *log, const char *path, float *predicted, struct sr_err *err)
{
    struct sr_predictor p;
    int rc = sr_predictor_load(&p, path, err);
    if (rc)
        return rc;
    const struct sr_outcomes *o = &log->outcomes;
    bool any = false;
    if (p.dimensions != log->dimensions || strcmp(p.encoder, log->encoder) != 0)
        rc = sr_err_set(err, SR_EMISMATCH, "%.120s was fitted to vectors of `%.60s`, not of `%.60s`", path,
                        p.encoder, log->encoder);
    for (size_t i = 0; i < o->n_texts && rc == SR_OK; i++) {
        float features[SR_FEATURES];
        sr_predictor_features(&p, o->texts[i], features);
        for (size_t k = 0; k < o->n_models; k++) {
            const struct sr_predicted_model *model = sr_predictor_find(&p, o->models[k]);
            any |= model != NULL;
            predicted[i * o->n_models + k] =
                model
                    ? (float)sr_predictor_probability(&p, model, log->vectors + i * log->dimensions, features)
                    : -1e6F;
        }
    }
    if (rc == SR_OK && !any)
        rc = sr_err_set(err, SR_EMISMATCH, "%.120s knows none of the log's models", path);
    sr_predictor_dispose(&p);
    return rc;
}

static int show(const struct sr_usage *usage, const struct sr_eval_selection_options *o,
                const struct sr_curve_view *view)
{
    struct sr_buf text;
    int code = SR_EXIT_DONE;
    sr_buf_init(&text, (size_t)16 << 20);
    int rc = o->json ? sr_curve_view_json(view, &text) : sr_curve_view_text(view, &text);
    if (rc == SR_OK && !sr_cmd_put(sr_buf_view(&text)))
        code = sr_cmd_fail(usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_buf_clear(&text);
    if (rc == SR_OK && code == SR_EXIT_DONE && o->svg && (rc = sr_curve_view_svg(view, &text)) == SR_OK)
        (void)sr_cmd_save(usage, o->svg, sr_buf_view(&text), &code);
    sr_buf_dispose(&text);
    return rc ? sr_cmd_fail(usage, SR_EXIT_FAILED, "%s", sr_strerror(rc)) : code;
}

static int measure(const struct sr_usage *usage, const struct sr_eval_selection_options *o,
                   const struct sr_cli_log *log, const float *predicted, const char *how)
{
    struct sr_selection_curve *curve = sr_mem_calloc(1, sizeof *curve);
    struct sr_err err = {0};
    if (!curve)
        return sr_cmd_fail(usage, SR_EXIT_FAILED, "out of memory");
    int rc = draw(log, predicted, o->seed, curve, &err);
    struct sr_curve_view view = {curve, log->outcomes.models, how};
    int code = rc ? fail(usage, rc, &err) : show(usage, o, &view);
    sr_mem_free(curve);
    return code;
}

int sr_eval_selection(const struct sr_usage *usage, struct sr_eval_selection_options *o, const char *path)
{
    struct sr_cli_log log;
    struct sr_fitted fitted = {0};
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    if (!sr_cli_log_read(usage, &o->log, path, &log, &code))
        return code;
    float *predicted = sr_mem_calloc(log.outcomes.n_texts, log.outcomes.n_models * sizeof *predicted);
    int rc = !predicted     ? sr_err_set(&err, SR_ENOMEM, "out of memory")
             : o->predictor ? predict(&log, o->predictor, predicted, &err)
                            : fit(&log, o->seed, &fitted, &err);
    code = rc ? fail(usage, rc, &err)
              : measure(usage, o, &log, o->predictor ? predicted : fitted.left_out,
                        o->predictor ? "by the file's predictor" : "by cross-validation on this log");
    sr_mem_free(predicted);
    sr_fitted_dispose(&fitted);
    sr_cli_log_dispose(&log);
    return code;
}
