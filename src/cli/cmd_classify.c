/*
 * semroute classify: one text, or each row of a JSON Lines file, through a classifier.
 */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/json_write.h"
#include "base/log.h"
#include "cli/classify/guards.h"
#include "cli/classify/tiers.h"
#include "cli/rows.h"
#include "cli/term.h"

#include <unistd.h>

#define TEXT_MAX ((size_t)256 << 20)
#define SHOWN    5 /* labels in the picture for people */

static struct sr_tiers tiers = {.tasks = SR_TASKS};
static const char *jsonl;
static bool json;
static const struct sr_option options[] = {
    SR_TIERS_OPTIONS(tiers, SR_TASKS),
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
    {"jsonl", SR_OPTION_TEXT, &jsonl, "FILE",
     "classify `text` of each line; one JSON line each; - is standard input"},
};
const struct sr_usage sr_classify_usage = {
    .name = "classify",
    .synopsis =
        "--task domain|jailbreak|pii [--tier linear|neural|both|cascade] [--json] TEXT | --jsonl FILE",
    .summary = "Prints the label of a text and its confidence.",
    .text = "Without TEXT it reads standard input.\n",
    SR_OPTIONS(options),
};

struct answer {
    float probabilities[SR_CLASSIFIER_LABELS_MAX];
    size_t top;
    const char *tier;
    double us;
};

static int classify(const struct sr_tiers_model *model, struct sr_bytes text, struct answer *answer)
{
    uint64_t start = sr_clock_ns();
    int rc = sr_tiers_ask(model, text, answer->probabilities, &answer->tier);
    answer->us = (double)(sr_clock_ns() - start) / 1e3;
    answer->top = sr_classifier_top(answer->probabilities, model->classifier->n_labels);
    return rc;
}

static int put_json(struct sr_buf *out, const struct sr_tiers_model *model, const struct answer *answer,
                    struct sr_bytes id)
{
    const struct sr_classifier *c = model->classifier;
    struct sr_json_writer w = sr_json_writer_of(out);
    sr_json_object(&w, NULL);
    if (id.p)
        sr_json_raw(&w, "id", id);
    sr_json_text(&w, "task", c->task);
    sr_json_text(&w, "tier", answer->tier);
    sr_json_text(&w, "label", c->labels[answer->top]);
    sr_json_real(&w, "confidence", "%.6f", (double)answer->probabilities[answer->top]);
    sr_json_object(&w, "probabilities");
    for (size_t i = 0; i < c->n_labels; i++) {
        sr_json_name(&w, sr_bytes_str(c->labels[i]));
        sr_json_real(&w, NULL, "%.6f", (double)answer->probabilities[i]);
    }
    sr_json_object_end(&w);
    sr_json_real(&w, "us", "%.1f", answer->us);
    sr_json_object_end(&w);
    return w.rc ? w.rc : sr_buf_append(out, "\n", 1);
}

static int put_picture(struct sr_buf *out, const struct sr_tiers_model *model, const struct answer *answer,
                       bool colour)
{
    const char *const *labels = model->classifier->labels;
    float left[SR_CLASSIFIER_LABELS_MAX];
    size_t n = model->classifier->n_labels;
    memcpy(left, answer->probabilities, sizeof left);
    int rc = sr_buf_printf(out, "%s%s%s  %.1f %%  (%s, %s, %.0f us)\n", colour ? "\033[1m" : "",
                           labels[answer->top], colour ? "\033[0m" : "",
                           100 * (double)answer->probabilities[answer->top], model->classifier->task,
                           answer->tier, answer->us);
    for (size_t shown = 0; shown < SHOWN && shown < n && rc == SR_OK; shown++) {
        static const char bar[] = "########################################";
        size_t best = sr_classifier_top(left, n);
        int length = (int)(left[best] * (float)(sizeof bar - 1) + 0.5F);
        rc = sr_buf_printf(out, "  %-18s %5.1f %%%s%.*s\n", labels[best], 100 * (double)left[best],
                           length ? "  " : "", length, bar);
        left[best] = -1;
    }
    return rc;
}

static int classify_rows(const struct sr_tiers_model *model)
{
    struct sr_rows *rows = NULL;
    struct sr_row row;
    struct sr_err err = {0};
    struct sr_buf out;
    size_t done, total;
    int code = SR_EXIT_DONE, rc = sr_rows_open(&rows, jsonl, &err);
    if (rc != SR_OK)
        return sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "%s", err.message);
    sr_buf_init(&out, (size_t)1 << 20);
    while ((rc = sr_rows_next(rows, &row, &err)) == SR_OK) {
        struct answer answer;
        rc = classify(model, row.text, &answer);
        if (rc != SR_OK) {
            sr_err_set(&err, rc, "%s:%zu: %s", jsonl, row.line, sr_strerror(rc));
            break;
        }
        sr_buf_clear(&out);
        if (put_json(&out, model, &answer, row.id) != SR_OK ||
            fwrite(out.data, 1, out.len, stdout) != out.len)
            break;
        sr_rows_progress(rows, &done, &total);
        if (!isatty(STDOUT_FILENO))
            sr_term_progress("classify", done / 1024, total / 1024 + 1);
    }
    sr_term_progress("classify", 1, 1);
    if (rc == SR_OK || fflush(stdout) != 0)
        code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "cannot write to standard output");
    else if (rc != SR_ECLOSED)
        code =
            sr_cmd_fail(&sr_classify_usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_FAILED, "%s", err.message);
    sr_buf_dispose(&out);
    sr_rows_close(rows);
    return code;
}

static int classify_text(const struct sr_tiers_model *model, const struct sr_operands *operands)
{
    struct sr_buf input, out;
    struct sr_err err = {0};
    struct answer answer;
    int code = SR_EXIT_DONE;
    sr_buf_init(&input, TEXT_MAX);
    sr_buf_init(&out, (size_t)1 << 20);
    if (operands->count == 0 && sr_cmd_read("-", &input, &err) != SR_OK) {
        code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "%s", err.message);
    } else {
        struct sr_bytes text =
            operands->count ? sr_bytes_str(operands->items[0]) : sr_bytes_trim(sr_buf_view(&input));
        int rc = classify(model, text, &answer);
        if (rc == SR_OK)
            rc = json ? put_json(&out, model, &answer, (struct sr_bytes){0})
                      : put_picture(&out, model, &answer, sr_term_colour(STDOUT_FILENO));
        if (rc != SR_OK)
            code = sr_cmd_fail(&sr_classify_usage, rc == SR_ELIMIT ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                               sr_strerror(rc));
        else if (!sr_cmd_put(sr_buf_view(&out)))
            code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "cannot write to standard output");
    }
    sr_buf_dispose(&input);
    sr_buf_dispose(&out);
    return code;
}

/* jailbreak and pii: each line, for jailbreak beside its `system`, or the text. */
static int guard_rows(struct sr_guards *guards)
{
    struct sr_rows *rows = NULL;
    struct sr_row row;
    struct sr_err err = {0};
    struct sr_buf out;
    int rc = sr_rows_open_grouped(&rows, jsonl, "system", &err), code = SR_EXIT_DONE;
    sr_buf_init(&out, TEXT_MAX);
    while (rc == SR_OK && (rc = sr_rows_next(rows, &row, &err)) == SR_OK) {
        sr_buf_clear(&out);
        guards->system = row.group;
        rc = sr_guard_task_put_json(guards, row.text, row.id, &out);
        if (rc == SR_OK && fwrite(out.data, 1, out.len, stdout) != out.len)
            rc = sr_err_set(&err, SR_EIO, "cannot write to standard output");
    }
    if (rc != SR_ECLOSED)
        code = sr_cmd_fail(&sr_classify_usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_FAILED, "%s",
                           err.message[0] ? err.message : sr_strerror(rc));
    else if (fflush(stdout) != 0)
        code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_buf_dispose(&out);
    sr_rows_close(rows);
    return code;
}

static int guard_text(const struct sr_guards *guards, const struct sr_operands *operands)
{
    struct sr_buf input, out;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    sr_buf_init(&input, TEXT_MAX);
    sr_buf_init(&out, TEXT_MAX);
    if (operands->count == 0 && sr_cmd_read("-", &input, &err) != SR_OK) {
        code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "%s", err.message);
    } else {
        struct sr_bytes text =
            operands->count ? sr_bytes_str(operands->items[0]) : sr_bytes_trim(sr_buf_view(&input));
        int rc = json ? sr_guard_task_put_json(guards, text, (struct sr_bytes){NULL, 0}, &out)
                      : sr_guard_task_put_picture(guards, text, sr_term_colour(STDOUT_FILENO), &out);
        if (rc != SR_OK)
            code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "%s", sr_strerror(rc));
        else if (!sr_cmd_put(sr_buf_view(&out)))
            code = sr_cmd_fail(&sr_classify_usage, SR_EXIT_FAILED, "cannot write to standard output");
    }
    sr_buf_dispose(&input);
    sr_buf_dispose(&out);
    return code;
}

int sr_cmd_classify(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_tiers_model model;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_classify_usage, argc, argv, 1, &operands, &code))
        return code;
    if (jsonl && operands.count)
        return sr_cmd_misuse(&sr_classify_usage, "give TEXT or --jsonl, not both");
    sr_log_set_level(SR_LOG_WARN); /* a model that opens is no news here */
    if (sr_is_guard_task(&tiers)) {
        struct sr_guards guards;
        if (!sr_guard_task_open(&sr_classify_usage, &tiers, &guards, &code))
            return code;
        code = jsonl ? guard_rows(&guards) : guard_text(&guards, &operands);
        sr_guard_task_close(&guards);
        return code;
    }
    if (!sr_tiers_open(&sr_classify_usage, &tiers, &model, &code))
        return code;
    code = jsonl ? classify_rows(&model) : classify_text(&model, &operands);
    sr_tiers_close(&model);
    return code;
}
