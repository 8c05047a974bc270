/*
 * semroute eval: a classifier on labelled texts, measured.
 */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cli/guards.h"
#include "cli/measure.h"
#include "cli/rows.h"
#include "cli/term.h"
#include "cli/tiers.h"

static struct sr_tiers tiers;
static bool json;
static const struct sr_option options[] = {
    SR_TIERS_OPTIONS(tiers),
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
};
static const struct sr_usage usage = {
    .name = "eval",
    .synopsis = "--task domain|jailbreak|pii [--tier linear|neural|both] [--json] FILE.jsonl",
    .summary = "Measures a classifier on labelled texts.",
    .text =
        "Each line of the file is {\"text\": ..., \"label\": ...}; - is standard input. For jailbreak the\n"
        "label benign is harmless and all others are attacks; for pii a line has `spans`, each with "
        "`start`,\n"
        "`end` (in characters) and `label`.\n",
    SR_OPTIONS(options),
};

struct evaluation {
    struct sr_tiers_model model;
    struct sr_measure measure;
    double us; /* sum */
    size_t bytes;
};

static int label_index(const struct sr_classifier *model, struct sr_bytes label)
{
    for (size_t i = 0; i < model->n_labels; i++)
        if (sr_bytes_eq(sr_bytes_str(model->labels[i]), label))
            return (int)i;
    return -1;
}

static int evaluate_row(struct evaluation *e, const char *path, const struct sr_row *row, struct sr_err *err)
{
    float p[SR_CLASSIFIER_LABELS_MAX];
    if (!row->label.p)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: no string `label`", path, row->line);
    int gold = label_index(e->model.classifier, row->label);
    if (gold < 0)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: the model does not know the label `%.*s`", path, row->line,
                          (int)(row->label.n < 60 ? row->label.n : 60), row->label.p);
    uint64_t start = sr_clock_ns();
    const char *tier;
    int rc = sr_tiers_ask(&e->model, row->text, p, &tier);
    if (rc != SR_OK)
        return sr_err_set(err, rc, "%s:%zu: %s", path, row->line, sr_strerror(rc));
    e->us += (double)(sr_clock_ns() - start) / 1e3;
    e->bytes += row->text.n;
    size_t top = sr_classifier_top(p, e->model.classifier->n_labels);
    sr_measure_add(&e->measure, (size_t)gold, top, (double)p[top]);
    return SR_OK;
}

static int evaluate(struct evaluation *e, const char *path, struct sr_err *err)
{
    struct sr_rows *rows = NULL;
    struct sr_row row;
    size_t done, total;
    int rc = sr_rows_open(&rows, path, err);
    while (rc == SR_OK && (rc = sr_rows_next(rows, &row, err)) == SR_OK) {
        rc = evaluate_row(e, path, &row, err);
        sr_rows_progress(rows, &done, &total);
        sr_term_progress("eval (KiB)", done / 1024, total / 1024 + 1);
    }
    sr_term_progress("eval (KiB)", 1, 1);
    sr_rows_close(rows);
    if (rc == SR_ECLOSED)
        rc = e->measure.rows ? SR_OK : sr_err_set(err, SR_EPARSE, "%s: no rows", path);
    return rc;
}

static void print_text(const struct evaluation *e)
{
    const struct sr_measure *m = &e->measure;
    const char *const *labels = e->model.classifier->labels;
    printf("rows               %zu\naccuracy           %.2f %%\nmacro F1           %.2f %%\n", m->rows,
           100 * sr_measure_accuracy(m), 100 * sr_measure_macro_f1(m));
    printf("calibration error  %.2f %% (expected, %d bins)\ntime               %.1f us a row, %.1f MB/s\n\n",
           100 * sr_measure_calibration_error(m), SR_MEASURE_BINS, e->us / (double)m->rows,
           (double)e->bytes / (e->us > 0 ? e->us : 1));
    printf("%-18s %9s %7s %7s %6s\n", "label", "precision", "recall", "F1", "rows");
    for (size_t i = 0; i < m->n_labels; i++)
        printf("%-18s %8.1f%% %6.1f%% %6.1f%% %6zu\n", labels[i], 100 * sr_measure_precision(m, i),
               100 * sr_measure_recall(m, i), 100 * sr_measure_f1(m, i), sr_measure_gold(m, i));
    printf("\nconfusion: a row is the true label, a column the answer\n%18s", "");
    for (size_t i = 0; i < m->n_labels; i++)
        printf(" %5.5s", labels[i]);
    for (size_t i = 0; i < m->n_labels; i++) {
        printf("\n%-18s", labels[i]);
        for (size_t j = 0; j < m->n_labels; j++) {
            if (m->confusion[i][j])
                printf(" %5zu", m->confusion[i][j]);
            else
                printf("     .");
        }
    }
    printf("\n");
}

static void print_json(const struct evaluation *e)
{
    const struct sr_measure *m = &e->measure;
    const char *const *labels = e->model.classifier->labels;
    printf("{\"task\":\"%s\",\"tier\":\"%s\",\"rows\":%zu,\"accuracy\":%.6f,\"macro_f1\":%.6f,"
           "\"calibration_error\":%.6f,\"us\":%.2f,\"labels\":{",
           e->model.classifier->task, e->model.tier, m->rows, sr_measure_accuracy(m), sr_measure_macro_f1(m),
           sr_measure_calibration_error(m), e->us / (double)m->rows);
    for (size_t i = 0; i < m->n_labels; i++)
        printf("%s\"%s\":{\"precision\":%.6f,\"recall\":%.6f,\"f1\":%.6f,\"rows\":%zu}", i ? "," : "",
               labels[i], sr_measure_precision(m, i), sr_measure_recall(m, i), sr_measure_f1(m, i),
               sr_measure_gold(m, i));
    printf("},\"confusion\":{");
    for (size_t i = 0; i < m->n_labels; i++) {
        printf("%s\"%s\":{", i ? "," : "", labels[i]);
        const char *comma = "";
        for (size_t j = 0; j < m->n_labels; j++)
            if (m->confusion[i][j]) {
                printf("%s\"%s\":%zu", comma, labels[j], m->confusion[i][j]);
                comma = ",";
            }
        printf("}");
    }
    printf("}}\n");
}

int sr_cmd_eval(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&usage, argc, argv, 1, &operands, &code))
        return code;
    if (operands.count == 0)
        return sr_cmd_misuse(&usage, "which file? semroute eval --task domain FILE.jsonl");
    if (sr_is_guard_task(&tiers)) {
        struct sr_guards guards;
        if (!sr_guard_task_open(&usage, &tiers, &guards, &code))
            return code;
        code = sr_guard_task_eval(&usage, &guards, operands.items[0], json);
        sr_guard_task_close(&guards);
        return code;
    }
    struct evaluation *e = sr_mem_calloc(1, sizeof *e);
    if (!e)
        return sr_cmd_fail(&usage, SR_EXIT_BROKE, "out of memory");
    if (sr_tiers_open(&usage, &tiers, &e->model, &code)) {
        e->measure.n_labels = e->model.classifier->n_labels;
        int rc = evaluate(e, operands.items[0], &err);
        if (rc != SR_OK)
            code = sr_cmd_fail(&usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_BROKE, "%s", err.message);
        else if (json)
            print_json(e);
        else
            print_text(e);
        sr_tiers_close(&e->model);
    }
    sr_mem_free(e);
    return code;
}
