/* Reads, writes and asks a predictor. */
#include "select/model/predictor.h"

#include "base/json_write.h"
#include "base/read_file.h"
#include "select/model/number.h"

#include <math.h>
#include <string.h>

#define READ_MS 60000
#define FORMAT  "semroute-selection-1"

/* ---- reading ---- */

static int wrong(struct sr_err *err, const char *what)
{
    return sr_err_set(err, SR_EPARSE, "%s", what);
}

/* Exactly `n` numbers of a list. */
static bool read_floats(sr_json_view list, float *out, size_t n)
{
    sr_json_view value;
    size_t at = 0, i = 0;
    double number;
    for (; sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &value); i++) {
        if (i == n || !sr_number_read(value, &number) || fabs(number) > 1e9)
            return false;
        out[i] = (float)number;
    }
    return i == n;
}

static int read_model(struct sr_predictor *p, sr_json_view from, struct sr_predicted_model *to,
                      struct sr_err *err)
{
    struct sr_bytes name;
    int64_t rows = 0;
    size_t width = p->dimensions + SR_FEATURES;
    sr_json_view text = sr_json_view_get(from, "name");
    if (!sr_json_view_is_string(text))
        return wrong(err, "a model has no `name`");
    to->weights = sr_arena_calloc(&p->arena, width, sizeof *to->weights);
    if (!to->weights || !sr_json_view_dup(text, &p->arena, &name))
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    to->name = name.p;
    (void)sr_json_view_int(sr_json_view_get(from, "rows"), &rows);
    to->rows = rows > 0 ? (uint64_t)rows : 0;
    if (!read_floats(sr_json_view_get(from, "weights"), to->weights, width))
        return wrong(err, "`weights` of a model is not a list of as many numbers as there are dimensions and "
                          "features");
    if (!sr_number_read(sr_json_view_get(from, "cost"), &to->cost) || to->cost < 0 ||
        !sr_number_read(sr_json_view_get(from, "bias"), &to->bias) ||
        !sr_number_read(sr_json_view_get(from, "slope"), &to->slope) ||
        !sr_number_read(sr_json_view_get(from, "shift"), &to->shift))
        return wrong(err, "a model has no `cost`, `bias`, `slope` or `shift`");
    return SR_OK;
}

static int read_models(struct sr_predictor *p, sr_json_view list, struct sr_err *err)
{
    sr_json_view model;
    size_t at = 0;
    int rc = SR_OK;
    p->models = sr_arena_calloc(&p->arena, SR_PREDICTOR_MODELS, sizeof *p->models);
    if (!p->models)
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    while (rc == SR_OK && sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &model)) {
        if (p->n == SR_PREDICTOR_MODELS)
            return sr_err_set(err, SR_ELIMIT, "more than %d models", SR_PREDICTOR_MODELS);
        rc = read_model(p, model, &p->models[p->n++], err);
    }
    return rc || p->n ? rc : wrong(err, "`models` is missing or empty");
}

static int read_points(struct sr_predictor *p, sr_json_view list, struct sr_err *err)
{
    sr_json_view point;
    size_t at = 0;
    while (sr_json_view_is_array(list) && sr_json_view_next(list, &at, NULL, &point)) {
        float numbers[3];
        if (p->n_points == SR_PREDICTOR_CURVE || !read_floats(point, numbers, 3))
            return wrong(err, "`curve` is not a list of [cost_weight, cost, quality]");
        p->points[p->n_points++] =
            (struct sr_predictor_point){(double)numbers[0], (double)numbers[1], (double)numbers[2]};
    }
    return SR_OK;
}

static int read_root(struct sr_predictor *p, sr_json_view root, struct sr_err *err)
{
    struct sr_bytes encoder;
    int64_t dimensions = 0;
    sr_json_view name = sr_json_view_get(root, "encoder");
    if (!sr_json_view_eq(sr_json_view_get(root, "format"), FORMAT))
        return wrong(err, "no file of `semroute train selection` (`format` is not " FORMAT ")");
    if (!sr_json_view_int(sr_json_view_get(root, "dimensions"), &dimensions) || dimensions < 1 ||
        dimensions > SR_PREDICTOR_WIDE)
        return wrong(err, "`dimensions` is not from 1 to 4096");
    if (!sr_json_view_is_string(name))
        return wrong(err, "`encoder` is missing");
    if (!sr_json_view_dup(name, &p->arena, &encoder))
        return sr_err_set(err, SR_ENOMEM, "out of memory");
    p->encoder = encoder.p;
    p->dimensions = (size_t)dimensions;
    if (!read_floats(sr_json_view_get(root, "mean"), p->mean, SR_FEATURES) ||
        !read_floats(sr_json_view_get(root, "scale"), p->scale, SR_FEATURES))
        return wrong(err, "`mean` or `scale` has not one number for each feature");
    int rc = read_models(p, sr_json_view_get(root, "models"), err);
    return rc ? rc : read_points(p, sr_json_view_get(root, "curve"), err);
}

int sr_predictor_parse(struct sr_predictor *out, struct sr_bytes text, struct sr_err *err)
{
    sr_json_view root;
    *out = (struct sr_predictor){0};
    sr_arena_init(&out->arena, SR_PREDICTOR_FILE_MAX * 2);
    int rc = sr_json_view_open(&root, text, err);
    if (rc == SR_OK)
        rc = read_root(out, root, err);
    if (rc)
        sr_predictor_dispose(out);
    return rc;
}

int sr_predictor_load(struct sr_predictor *out, const char *path, struct sr_err *err)
{
    struct sr_buf file;
    struct sr_err why = {0};
    *out = (struct sr_predictor){0};
    sr_buf_init(&file, SR_PREDICTOR_FILE_MAX);
    int rc = sr_read_file(&file, path, READ_MS, &why);
    if (rc == SR_OK)
        rc = sr_predictor_parse(out, sr_buf_view(&file), &why);
    if (rc)
        sr_err_set(err, rc, "%.120s: %.180s", path, why.message[0] ? why.message : sr_strerror(rc));
    sr_buf_dispose(&file);
    return rc;
}

void sr_predictor_dispose(struct sr_predictor *predictor)
{
    sr_arena_dispose(&predictor->arena);
    *predictor = (struct sr_predictor){0};
}

/* ---- writing ---- */

static void put_floats(struct sr_json_writer *w, const char *key, const float *values, size_t n)
{
    sr_json_array(w, key);
    for (size_t i = 0; i < n; i++)
        sr_json_real(w, NULL, "%.6g", (double)values[i]);
    sr_json_array_end(w);
}

static void put_model(struct sr_json_writer *w, const struct sr_predictor *p,
                      const struct sr_predicted_model *model)
{
    sr_json_line(w, 2);
    sr_json_object(w, NULL);
    sr_json_text(w, "name", model->name);
    sr_json_uint(w, "rows", model->rows);
    sr_json_real(w, "cost", "%.9g", model->cost);
    sr_json_real(w, "bias", "%.9g", model->bias);
    sr_json_real(w, "slope", "%.9g", model->slope);
    sr_json_real(w, "shift", "%.9g", model->shift);
    put_floats(w, "weights", model->weights, p->dimensions + SR_FEATURES);
    sr_json_object_end(w);
}

int sr_predictor_write(const struct sr_predictor *p, struct sr_buf *out)
{
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    sr_json_text(&w, "format", FORMAT);
    sr_json_text(&w, "encoder", p->encoder);
    sr_json_uint(&w, "dimensions", p->dimensions);
    sr_json_array(&w, "features");
    for (size_t i = 0; i < SR_FEATURES; i++)
        sr_json_text(&w, NULL, sr_feature_names[i]);
    sr_json_array_end(&w);
    put_floats(&w, "mean", p->mean, SR_FEATURES);
    put_floats(&w, "scale", p->scale, SR_FEATURES);
    sr_json_array(&w, "curve");
    for (size_t i = 0; i < p->n_points; i++) {
        sr_json_array(&w, NULL);
        sr_json_real(&w, NULL, "%.6g", p->points[i].cost_weight);
        sr_json_real(&w, NULL, "%.6g", p->points[i].cost);
        sr_json_real(&w, NULL, "%.6g", p->points[i].quality);
        sr_json_array_end(&w);
    }
    sr_json_array_end(&w);
    sr_json_array(&w, "models");
    for (size_t i = 0; i < p->n; i++)
        put_model(&w, p, &p->models[i]);
    sr_json_array_end(&w);
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}

/* ---- asking ---- */

const struct sr_predicted_model *sr_predictor_find(const struct sr_predictor *predictor, const char *name)
{
    for (size_t i = 0; i < predictor->n; i++)
        if (strcmp(predictor->models[i].name, name) == 0)
            return &predictor->models[i];
    return NULL;
}

void sr_predictor_features(const struct sr_predictor *predictor, struct sr_bytes text, float out[SR_FEATURES])
{
    sr_features_of(text, out);
    for (size_t i = 0; i < SR_FEATURES; i++) {
        float z = (out[i] - predictor->mean[i]) * predictor->scale[i];
        out[i] = z;
    }
}

double sr_predictor_probability(const struct sr_predictor *predictor, const struct sr_predicted_model *model,
                                const float *vector, const float features[SR_FEATURES])
{
    double sum = model->bias;
    for (size_t i = 0; i < predictor->dimensions; i++)
        sum += (double)(model->weights[i] * vector[i]);
    for (size_t i = 0; i < SR_FEATURES; i++)
        sum += (double)(model->weights[predictor->dimensions + i] * features[i]);
    return 1 / (1 + exp(-(model->slope * sum + model->shift)));
}

double sr_predictor_weight_of(const struct sr_predictor *predictor, double budget)
{
    for (size_t i = 0; i < predictor->n_points; i++)
        if (predictor->points[i].cost <= budget)
            return predictor->points[i].cost_weight;
    return predictor->n_points ? predictor->points[predictor->n_points - 1].cost_weight : 0;
}

double sr_predictor_dearest(const struct sr_predictor *predictor)
{
    double most = 0;
    for (size_t i = 0; i < predictor->n; i++)
        most = predictor->models[i].cost > most ? predictor->models[i].cost : most;
    return most > 0 ? most : 1;
}
