/*
 * Attacks: recall and false positives at the threshold, and recall where 1 % of the harmless texts are wrong,
 * of all of them together and as the mean over their files.
 */
#include "cli/eval/eval.h"

#include "base/grow.h"
#include "base/mem.h"
#include "cli/classify/guards.h"
#include "cli/cmd.h"
#include "cli/measure.h"

#include <math.h>
#include <stdlib.h>

#define RATE       0.01 /* of false positives */
#define SCORES_MAX ((size_t)1 << 28)

struct score {
    float value;
    uint32_t file;
};

struct scores {
    struct score *items;
    size_t n, cap;
};

struct attacks {
    struct sr_guards guards;
    double threshold;
    struct scores attacks, harmless;
};

static bool attacks_open(void **task, const struct sr_eval_options *options, int *code)
{
    struct attacks *all = sr_mem_calloc(1, sizeof *all);
    *task = all;
    if (!all) {
        *code = sr_cmd_fail(options->usage, SR_EXIT_FAILED, "out of memory");
        return false;
    }
    all->threshold = options->threshold;
    return sr_guard_task_open(options->usage, &options->tiers, &all->guards, code);
}

static void attacks_close(void *task)
{
    struct attacks *all = task;
    if (!all)
        return;
    sr_guard_task_close(&all->guards);
    sr_mem_free(all->attacks.items);
    sr_mem_free(all->harmless.items);
    sr_mem_free(all);
}

static int add_score(struct scores *scores, float value, size_t file)
{
    int rc = sr_grow(&scores->items, &scores->cap, scores->n + 1, sizeof *scores->items, SCORES_MAX);
    if (rc)
        return rc;
    scores->items[scores->n++] = (struct score){value, (uint32_t)file};
    return SR_OK;
}

static bool is_harmless(struct sr_bytes label)
{
    static const char *const names[] = {"benign", "safe", "normal"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (sr_bytes_eq_nocase(label, sr_bytes_str(names[i])))
            return true;
    return false;
}

static int attacks_row(void *task, const struct sr_eval_row *row, struct sr_tally_row *counted,
                       struct sr_err *err)
{
    struct attacks *all = task;
    const struct sr_signal_result *result;
    struct sr_signal_finding finding;
    struct sr_arena arena;
    if (!row->label.p)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: no string `label` (benign=FILE says it of a whole file)",
                          row->path, row->row->line);
    bool harmless = is_harmless(row->label);
    sr_arena_init(&arena, SR_GUARDS_SCRATCH);
    int rc = sr_guard_task_read(&all->guards, row->row->text, &arena, &result, &finding);
    if (rc == SR_OK) {
        bool found = (double)finding.confidence >= all->threshold;
        counted->rates[harmless] = (struct sr_tally_rate){.hits = found, .of = 1};
        counted->values[SR_TALLY_TIER] = sr_bytes_str(result->tier);
        counted->values[SR_TALLY_LABEL] = row->label;
        rc = add_score(harmless ? &all->harmless : &all->attacks, finding.confidence, row->file);
    }
    sr_arena_dispose(&arena);
    return rc;
}

static int worst_first(const void *a, const void *b)
{
    float x = ((const struct score *)a)->value, y = ((const struct score *)b)->value;
    return x > y ? -1 : x < y;
}

/* How much one harmless text of a file weighs in the rate. */
static double weight_of(const struct scores *harmless, uint32_t file, bool by_file, size_t files)
{
    size_t n = 0;
    if (!by_file)
        return 1 / (double)harmless->n;
    for (size_t i = 0; i < harmless->n; i++)
        n += harmless->items[i].file == file;
    return 1 / (double)n / (double)files;
}

/* The least threshold that at most RATE of the harmless texts reach; `by_file`: as the mean of the files'
 * rates. */
static double threshold_at_rate(struct scores *harmless, bool by_file, size_t files)
{
    double rate = 0, weight = 0;
    uint32_t file = UINT32_MAX;
    if (harmless->n == 0)
        return 0;
    qsort(harmless->items, harmless->n, sizeof *harmless->items, worst_first);
    for (size_t i = 0; i < harmless->n; i++) {
        const struct score *score = &harmless->items[i];
        if (score->file != file)
            weight = weight_of(harmless, score->file, by_file, files);
        file = score->file;
        rate += weight;
        if (rate > RATE + 1e-9)
            return (double)nextafterf(score->value, 2.0F);
    }
    return 0;
}

static size_t reach(const struct scores *scores, double threshold)
{
    size_t n = 0;
    for (size_t i = 0; i < scores->n; i++)
        n += (double)scores->items[i].value >= threshold;
    return n;
}

static void put_json(const struct attacks *all, size_t found, size_t wrong, const double at[2], double mean,
                     size_t files, struct sr_report *out)
{
    size_t attacks = all->attacks.n, harmless = all->harmless.n, right = found + harmless - wrong;
    struct sr_json_writer *w = &out->json;
    sr_json_object(w, NULL);
    sr_json_text(w, "task", "jailbreak");
    sr_json_text(w, "tier", all->guards.tier);
    if (all->guards.precision)
        sr_json_text(w, "neural_precision", all->guards.precision);
    sr_json_uint(w, "rows", attacks + harmless);
    sr_json_uint(w, "attacks", attacks);
    sr_json_uint(w, "benign", harmless);
    sr_json_real(w, "threshold", "%.6f", all->threshold);
    sr_report_rate(out, "accuracy", right, attacks + harmless);
    sr_report_rate(out, "recall", found, attacks);
    sr_report_rate(out, "false_positive_rate", wrong, harmless);
    if (harmless == 0)
        return;
    sr_json_uint(w, "benign_files", files);
    sr_json_real(w, "false_positive_rate_mean", "%.6f", mean);
    sr_json_real(w, "threshold_at_1_fpr", "%.6f", at[0]);
    sr_report_rate(out, "recall_at_1_fpr", reach(&all->attacks, at[0]), attacks);
    sr_json_real(w, "threshold_at_1_mean_fpr", "%.6f", at[1]);
    sr_report_rate(out, "recall_at_1_mean_fpr", reach(&all->attacks, at[1]), attacks);
}

static void put_line(struct sr_report *out, const char *what, size_t hits, size_t of)
{
    sr_report_put(out, "%-24s", what);
    sr_report_percent(out, hits, of);
    sr_report_put(out, "\n");
}

static void put_text(const struct attacks *all, size_t found, size_t wrong, const double at[2], double mean,
                     size_t files, struct sr_report *out)
{
    size_t attacks = all->attacks.n, harmless = all->harmless.n;
    sr_report_put(out,
                  "rows                    %zu (%zu attacks, %zu benign)\nthreshold               %.4f\n",
                  attacks + harmless, attacks, harmless, all->threshold);
    put_line(out, "accuracy", found + harmless - wrong, attacks + harmless);
    put_line(out, "recall", found, attacks);
    put_line(out, "false positives", wrong, harmless);
    if (harmless && files > 1)
        sr_report_put(out, "false positives, mean   %6.2f %% over %zu files\n", 100 * mean, files);
    if (harmless == 0)
        return;
    sr_report_put(out, "threshold at 1 %% FPR    %.4f\n", at[0]);
    put_line(out, "recall at 1 % FPR", reach(&all->attacks, at[0]), attacks);
    if (files < 2)
        return;
    sr_report_put(out, "at 1 %% mean FPR         %.4f\n", at[1]);
    put_line(out, "recall at 1 % mean FPR", reach(&all->attacks, at[1]), attacks);
}

static void attacks_put(void *task, const struct sr_tally *tally, double us, bool json, struct sr_report *out)
{
    struct attacks *all = task;
    size_t files, found = reach(&all->attacks, all->threshold), wrong = reach(&all->harmless, all->threshold);
    double mean = sr_tally_mean(tally, 1, &files);
    double at[2] = {threshold_at_rate(&all->harmless, false, files),
                    threshold_at_rate(&all->harmless, true, files)};
    (json ? put_json : put_text)(all, found, wrong, at, mean, files, out);
    sr_tally_put_end(tally, us, json, out);
}

const struct sr_eval_ops sr_eval_attacks = {
    .name = "jailbreak",
    .rates = {"recall", "false_positive_rate"},
    .titles = {"recall", "false positives"},
    .open = attacks_open,
    .row = attacks_row,
    .put = attacks_put,
    .close = attacks_close,
};
