/*
 * semroute eval: a classifier on labelled texts, measured. Reads files and counts groups; what is measured is
 * cli/eval/classes.c's, attacks.c's and spans.c's; of selection, cli/select's.
 */
#include "cli/cmd.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/classify/guards.h"
#include "cli/eval/eval.h"
#include "cli/select/select.h"
#include "cli/term.h"
#include "text/estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TASKS "domain, jailbreak, pii or selection"

static struct sr_eval_options what = {.tiers = {.tasks = TASKS}};
static const char *threshold, *skip, *types, *group;
static bool json;
static struct sr_eval_selection_options selection = {.seed = 1};
static const struct sr_option options[] = {
    SR_TIERS_OPTIONS(what.tiers, TASKS),
    {"threshold", SR_OPTION_TEXT, &threshold, "T",
     "jailbreak, pii: the score from which a finding counts, default 0.7"},
    {"skip", SR_OPTION_TEXT, &skip, "LABELS", "leave out rows with these labels (a,b,c)"},
    {"types", SR_OPTION_TEXT, &types, "TYPES", "pii: count these types only (PERSON,GPE)"},
    {"by", SR_OPTION_TEXT, &group, "MEMBER", "report figures by this member of the rows too (kind)"},
    {"selection", SR_OPTION_TEXT, &selection.predictor, "FILE",
     "selection: a file of `semroute train selection`; without it the log is fitted by folds"},
    {"vectors", SR_OPTION_TEXT, &selection.log.vectors, "FILE",
     "selection: vectors of the log's lines, as `semroute embed --json --jsonl LOG` printed them"},
    {"svg", SR_OPTION_TEXT, &selection.svg, "FILE", "selection: write the plot as a picture"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
};
const struct sr_usage sr_eval_usage = {
    .name = "eval",
    .synopsis = "--task domain|jailbreak|pii|selection [--tier linear|neural|both|cascade] [--json] "
                "[LABEL=]FILE.jsonl...",
    .summary = "Measures a classifier on labelled texts.",
    .text =
        "Each line of a file is {\"text\": ..., \"label\": ...}, and where known `lang`; - is standard "
        "input.\n"
        "LABEL=FILE gives every row of a file that label. For jailbreak the labels benign, safe and normal "
        "are\n"
        "harmless and all others are attacks; for pii a line has `spans`, each with `start`, `end` (in\n"
        "characters) and `label`. All rates stand with 95 % intervals (Wilson), for all files and by file,\n"
        "language, length and the tier that answered.\n"
        "For selection the one file is a log of outcomes, as for `semroute train`: quality against cost, "
        "beside\n"
        "a coin, each model alone and the best possible choice.\n",
    SR_OPTIONS(options),
};

/* One operand: a file, and the label that its rows get. */
struct file {
    const char *path;
    struct sr_bytes label; /* p NULL: their own */
    struct sr_bytes name;  /* in tables */
    size_t number;
};

struct evaluation {
    const struct sr_eval_ops *ops;
    void *task;
    struct sr_tally tally;
    double us; /* sum */
    size_t rows, skipped;
};

/* The last two parts of a path: enough to tell the files of several folders apart. */
static struct sr_bytes short_name(const char *path)
{
    size_t n = strlen(path), slashes = 0;
    if (strcmp(path, "-") == 0)
        return SR_LIT("standard input");
    while (n > 0 && slashes < 2)
        slashes += path[--n] == '/';
    return sr_bytes_str(path + n + (slashes == 2));
}

static struct file file_of(const char *operand, size_t number)
{
    const char *equals = strchr(operand, '='), *slash = strchr(operand, '/');
    struct file file = {.path = operand, .number = number};
    if (equals && equals > operand && (!slash || slash > equals) && access(operand, F_OK) != 0) {
        file.label = sr_bytes_of(operand, (size_t)(equals - operand));
        file.path = equals + 1;
    }
    file.name = short_name(file.path);
    return file;
}

/* Is `word` one of a list "a,b,c"? */
static bool list_has(const char *list, struct sr_bytes word)
{
    for (const char *at = list; at;) {
        const char *comma = strchr(at, ',');
        if (sr_bytes_eq(sr_bytes_of(at, comma ? (size_t)(comma - at) : strlen(at)), word))
            return true;
        at = comma ? comma + 1 : NULL;
    }
    return false;
}

static int count_row(struct evaluation *e, const struct file *file, struct sr_row *row, struct sr_err *err)
{
    const char *path = strcmp(file->path, "-") == 0 ? "standard input" : file->path;
    struct sr_tally_row counted = {.tokens =
                                       sr_estimate_tokens(sr_estimate_tenths(sr_estimate_of(row->text)))};
    struct sr_eval_row asked = {.path = path, .file = file->number, .row = row};
    asked.label = file->label.p ? file->label : row->label;
    if (skip && asked.label.p && list_has(skip, asked.label)) {
        e->skipped++;
        return SR_OK;
    }
    if (!sr_utf8_valid(row->text))
        return sr_err_set(err, SR_EPARSE, "%s:%zu: `text` is not valid UTF-8", path, row->line);
    counted.values[SR_TALLY_FILE] = file->name;
    counted.values[SR_TALLY_LANG] = row->lang;
    counted.values[SR_TALLY_GROUP] = row->group.p ? row->group : SR_LIT("(none)");
    uint64_t start = sr_clock_ns();
    int rc = e->ops->row(e->task, &asked, &counted, err);
    e->us += (double)(sr_clock_ns() - start) / 1e3;
    e->rows++;
    if (rc == SR_OK)
        rc = sr_tally_add(&e->tally, &counted);
    return rc == SR_OK || err->message[0]
               ? rc
               : sr_err_set(err, rc, "%s:%zu: %s", path, row->line, sr_strerror(rc));
}

static int read_file(struct evaluation *e, const struct file *file, struct sr_err *err)
{
    struct sr_rows *rows = NULL;
    struct sr_row row;
    size_t done, total, before = e->rows + e->skipped;
    int rc = sr_rows_open_grouped(&rows, file->path, group, err);
    while (rc == SR_OK && (rc = sr_rows_next(rows, &row, err)) == SR_OK) {
        rc = count_row(e, file, &row, err);
        sr_rows_progress(rows, &done, &total);
        sr_term_progress("eval (KiB)", done / 1024, total / 1024 + 1);
    }
    sr_term_progress("eval (KiB)", 1, 1);
    sr_rows_close(rows);
    if (rc == SR_ECLOSED)
        rc = e->rows + e->skipped > before ? SR_OK : sr_err_set(err, SR_EPARSE, "%s: no rows", file->path);
    return rc;
}

static int read_files(struct evaluation *e, const struct sr_operands *operands, struct sr_err *err)
{
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < operands->count; i++) {
        struct file file = file_of(operands->items[i], i);
        rc = read_file(e, &file, err);
    }
    return rc || e->rows ? rc : sr_err_set(err, SR_EPARSE, "no rows are left");
}

/* ---- options ---- */

static bool read_threshold(int *code)
{
    char *end;
    what.threshold = SR_GUARDS_THRESHOLD;
    if (!threshold)
        return true;
    what.threshold = strtod(threshold, &end);
    if (end != threshold && *end == '\0' && what.threshold > 0 && what.threshold <= 1)
        return true;
    *code = sr_cmd_misuse(&sr_eval_usage, "`--threshold` needs a number above 0 and up to 1, not `%.40s`",
                          threshold);
    return false;
}

static bool read_types(int *code)
{
    what.all_types = types == NULL;
    for (const char *at = types; at;) {
        const char *comma = strchr(at, ',');
        struct sr_bytes word = sr_bytes_of(at, comma ? (size_t)(comma - at) : strlen(at));
        int type = sr_entity_find_type(word);
        if (type < 0) {
            *code = sr_cmd_misuse(&sr_eval_usage, "`--types`: there is no type `%.*s`",
                                  (int)(word.n < 40 ? word.n : 40), word.p);
            return false;
        }
        what.types[type] = true;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

/* The fixed columns of the tables are no groups: their names would occur twice in one document. */
static bool check_group(int *code)
{
    static const char *const taken[] = {"file", "label", "lang", "tokens", "tier", "text", "id"};
    for (size_t i = 0; group && i < sizeof taken / sizeof taken[0]; i++) {
        if (strcmp(group, taken[i]) != 0)
            continue;
        *code = sr_cmd_misuse(&sr_eval_usage,
                              "`--by %s` is not possible: the tables have it anyway, or it is each row's own",
                              group);
        return false;
    }
    return true;
}

static const struct sr_eval_ops *ops_of(const struct sr_tiers *tiers)
{
    if (!sr_is_guard_task(tiers))
        return &sr_eval_classes;
    return strcmp(tiers->task, "pii") == 0 ? &sr_eval_spans : &sr_eval_attacks;
}

static int print(const struct evaluation *e)
{
    struct sr_report report;
    int code = SR_EXIT_DONE;
    sr_report_init(&report);
    e->ops->put(e->task, &e->tally, e->us / (double)e->rows, json, &report);
    if (report.json.rc)
        code = sr_cmd_fail(&sr_eval_usage, SR_EXIT_FAILED, "%s", sr_strerror(report.json.rc));
    else if (!sr_cmd_put(sr_buf_view(&report.text)))
        code = sr_cmd_fail(&sr_eval_usage, SR_EXIT_FAILED, "cannot write to standard output");
    sr_report_dispose(&report);
    return code;
}

static int eval_selection(const struct sr_operands *operands)
{
    if (operands->count > 1)
        return sr_cmd_misuse(&sr_eval_usage, "one log at a time: --task selection LOG.jsonl");
    selection.log.encoder = what.tiers.encoder;
    selection.json = json;
    return sr_eval_selection(&sr_eval_usage, &selection, operands->items[0]);
}

int sr_cmd_eval(int argc, char **argv)
{
    struct sr_operands operands;
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_eval_usage, argc, argv, SIZE_MAX, &operands, &code))
        return code;
    if (operands.count == 0)
        return sr_cmd_misuse(&sr_eval_usage, "a file is missing: semroute eval --task domain FILE.jsonl");
    if (what.tiers.task && strcmp(what.tiers.task, "selection") == 0)
        return eval_selection(&operands);
    if (!read_threshold(&code) || !read_types(&code) || !check_group(&code))
        return code;
    sr_log_set_level(SR_LOG_WARN); /* a model that opens is no news here */
    what.usage = &sr_eval_usage;
    struct evaluation e = {.ops = ops_of(&what.tiers)};
    for (size_t i = 0; i < SR_TALLY_RATES; i++) {
        e.tally.rates[i] = e.ops->rates[i];
        e.tally.titles[i] = e.ops->titles[i];
    }
    e.tally.group = group;
    if (e.ops->open(&e.task, &what, &code)) {
        int rc = read_files(&e, &operands, &err);
        code =
            rc ? sr_cmd_fail(&sr_eval_usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_FAILED, "%s", err.message)
               : print(&e);
    }
    e.ops->close(e.task);
    sr_tally_dispose(&e.tally);
    return code;
}
