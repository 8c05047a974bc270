/* Accuracy, F1, calibration and confusion of a classifier whose labels exclude each other. */
#include "cli/eval/eval.h"

#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/measure.h"

struct classes {
    struct sr_tiers_model model;
    struct sr_measure measure;
};

static bool classes_open(void **task, const struct sr_eval_options *options, int *code)
{
    struct classes *c = sr_mem_calloc(1, sizeof *c);
    *task = c;
    if (!c) {
        *code = sr_cmd_fail(options->usage, SR_EXIT_FAILED, "out of memory");
        return false;
    }
    if (!sr_tiers_open(options->usage, &options->tiers, &c->model, code))
        return false;
    c->measure.n_labels = c->model.classifier->n_labels;
    return true;
}

static void classes_close(void *task)
{
    struct classes *c = task;
    if (c)
        sr_tiers_close(&c->model);
    sr_mem_free(c);
}

static int label_index(const struct sr_classifier *model, struct sr_bytes label)
{
    for (size_t i = 0; i < model->n_labels; i++)
        if (sr_bytes_eq(sr_bytes_str(model->labels[i]), label))
            return (int)i;
    return -1;
}

static int classes_row(void *task, const struct sr_eval_row *row, struct sr_tally_row *counted,
                       struct sr_err *err)
{
    struct classes *c = task;
    float p[SR_CLASSIFIER_LABELS_MAX];
    const char *tier;
    if (!row->label.p)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: no string `label`", row->path, row->row->line);
    int gold = label_index(c->model.classifier, row->label);
    if (gold < 0)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: the model does not know the label `%.*s`", row->path,
                          row->row->line, (int)(row->label.n < 60 ? row->label.n : 60), row->label.p);
    int rc = sr_tiers_ask(&c->model, row->row->text, p, &tier);
    if (rc != SR_OK)
        return rc;
    size_t top = sr_classifier_top(p, c->model.classifier->n_labels);
    sr_measure_add(&c->measure, (size_t)gold, top, (double)p[top]);
    counted->rates[0] = (struct sr_tally_rate){.hits = top == (size_t)gold, .of = 1};
    counted->values[SR_TALLY_TIER] = sr_bytes_str(tier);
    return SR_OK;
}

static void put_text(const struct classes *c, struct sr_report *out)
{
    const struct sr_measure *m = &c->measure;
    const char *const *labels = c->model.classifier->labels;
    struct sr_interval in = sr_interval_of(m->right, m->rows);
    sr_report_put(
        out,
        "rows               %zu\naccuracy           %.2f %% (95 %%: %.2f-%.2f)\nmacro F1           %.2f %%\n",
        m->rows, 100 * sr_measure_accuracy(m), 100 * in.low, 100 * in.high, 100 * sr_measure_macro_f1(m));
    sr_report_put(out, "calibration error  %.2f %% (expected, %d bins)\n\n",
                  100 * sr_measure_calibration_error(m), SR_MEASURE_BINS);
    sr_report_put(out, "%-18s %21s  %21s %7s %6s\n", "label", "precision", "recall", "F1", "rows");
    for (size_t i = 0; i < m->n_labels; i++) {
        sr_report_put(out, "%-18s ", labels[i]);
        sr_report_percent(out, m->confusion[i][i], sr_measure_answered(m, i));
        sr_report_put(out, "  ");
        sr_report_percent(out, m->confusion[i][i], sr_measure_gold(m, i));
        sr_report_put(out, " %6.1f%% %6zu\n", 100 * sr_measure_f1(m, i), sr_measure_gold(m, i));
    }
    sr_report_put(out, "\nconfusion: a row is the true label, a column the answer\n%18s", "");
    for (size_t i = 0; i < m->n_labels; i++)
        sr_report_put(out, " %5.5s", labels[i]);
    for (size_t i = 0; i < m->n_labels; i++) {
        sr_report_put(out, "\n%-18s", labels[i]);
        for (size_t j = 0; j < m->n_labels; j++)
            if (m->confusion[i][j])
                sr_report_put(out, " %5zu", m->confusion[i][j]);
            else
                sr_report_put(out, "     .");
    }
    sr_report_put(out, "\n");
}

static void put_labels(const struct classes *c, struct sr_report *out)
{
    const struct sr_measure *m = &c->measure;
    sr_json_object(&out->json, "labels");
    for (size_t i = 0; i < m->n_labels; i++) {
        sr_json_name(&out->json, sr_bytes_str(c->model.classifier->labels[i]));
        sr_json_object(&out->json, NULL);
        sr_json_real(&out->json, "precision", "%.6f", sr_measure_precision(m, i));
        sr_json_real(&out->json, "recall", "%.6f", sr_measure_recall(m, i));
        sr_json_real(&out->json, "f1", "%.6f", sr_measure_f1(m, i));
        sr_json_uint(&out->json, "rows", sr_measure_gold(m, i));
        sr_report_interval(out, "precision_interval", m->confusion[i][i], sr_measure_answered(m, i));
        sr_report_interval(out, "recall_interval", m->confusion[i][i], sr_measure_gold(m, i));
        sr_json_object_end(&out->json);
    }
    sr_json_object_end(&out->json);
}

static void put_confusion(const struct classes *c, struct sr_report *out)
{
    const struct sr_measure *m = &c->measure;
    const char *const *labels = c->model.classifier->labels;
    sr_json_object(&out->json, "confusion");
    for (size_t i = 0; i < m->n_labels; i++) {
        sr_json_name(&out->json, sr_bytes_str(labels[i]));
        sr_json_object(&out->json, NULL);
        for (size_t j = 0; j < m->n_labels; j++) {
            if (!m->confusion[i][j])
                continue;
            sr_json_name(&out->json, sr_bytes_str(labels[j]));
            sr_json_uint(&out->json, NULL, m->confusion[i][j]);
        }
        sr_json_object_end(&out->json);
    }
    sr_json_object_end(&out->json);
}

static void classes_put(void *task, const struct sr_tally *tally, double us, bool json, struct sr_report *out)
{
    const struct classes *c = task;
    const struct sr_measure *m = &c->measure;
    if (json) {
        sr_json_object(&out->json, NULL);
        sr_json_text(&out->json, "task", c->model.classifier->task);
        sr_json_text(&out->json, "tier", c->model.tier);
        if (c->model.precision)
            sr_json_text(&out->json, "neural_precision", c->model.precision);
        sr_json_uint(&out->json, "rows", m->rows);
        sr_report_rate(out, "accuracy", m->right, m->rows);
        sr_json_real(&out->json, "macro_f1", "%.6f", sr_measure_macro_f1(m));
        sr_json_real(&out->json, "calibration_error", "%.6f", sr_measure_calibration_error(m));
        put_labels(c, out);
        put_confusion(c, out);
    } else {
        put_text(c, out);
    }
    sr_tally_put_end(tally, us, json, out);
}

const struct sr_eval_ops sr_eval_classes = {
    .name = "classes",
    .rates = {"accuracy", NULL},
    .titles = {"accuracy", NULL},
    .open = classes_open,
    .row = classes_row,
    .put = classes_put,
    .close = classes_close,
};
