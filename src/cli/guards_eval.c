/*
 * Figures of the guards' tasks. Attacks: recall and false positives at the shipped threshold, and recall at
 * 1 % false positives. Private data: precision, recall and F1 of spans, a span counting as found when one of
 * its type overlaps it.
 */
#include "base/mem.h"
#include "cli/cmd.h"
#include "cli/guards.h"
#include "cli/term.h"
#include "json/doc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define RATE 0.01 /* of false positives */

/* ---- attacks ---- */

struct scores {
    float *items;
    size_t n, cap;
};

static int add_score(struct scores *scores, float score)
{
    if (scores->n == scores->cap) {
        size_t cap = scores->cap ? scores->cap * 2 : 1024;
        float *items = sr_mem_realloc(scores->items, cap * sizeof *items);
        if (!items)
            return SR_ENOMEM;
        scores->items = items;
        scores->cap = cap;
    }
    scores->items[scores->n++] = score;
    return SR_OK;
}

static int by_score(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

static double share_from(const struct scores *scores, double threshold)
{
    size_t n = 0;
    for (size_t i = 0; i < scores->n; i++)
        n += (double)scores->items[i] >= threshold;
    return scores->n ? (double)n / (double)scores->n : 0;
}

/* The least threshold that at most RATE of the harmless texts reach. */
static double threshold_at_rate(struct scores *harmless)
{
    if (harmless->n == 0)
        return 0;
    qsort(harmless->items, harmless->n, sizeof *harmless->items, by_score);
    size_t allowed = (size_t)(RATE * (double)harmless->n);
    float first = harmless->items[harmless->n - 1 - allowed];
    return (double)nextafterf(first, 2.0F);
}

struct attacks {
    struct scores attacks, harmless;
    const char *tier;
};

static int eval_attack(const struct sr_guards *guards, const struct sr_row *row, void *ctx,
                       struct sr_err *err)
{
    struct attacks *all = ctx;
    const struct sr_signal_result *result;
    struct sr_signal_find find;
    struct sr_arena arena;
    if (!row->label.p)
        return sr_err_set(err, SR_EPARSE, "line %zu: no string `label`", row->line);
    bool harmless =
        sr_bytes_eq_nocase(row->label, SR_LIT("benign")) || sr_bytes_eq_nocase(row->label, SR_LIT("safe"));
    sr_arena_init(&arena, (size_t)1 << 30);
    int rc = sr_guard_task_read(guards, row->text, &arena, &result, &find);
    all->tier = rc ? all->tier : result->tier;
    sr_arena_dispose(&arena);
    return rc ? rc : add_score(harmless ? &all->harmless : &all->attacks, find.confidence);
}

static void print_attacks(struct attacks *all, bool json)
{
    double rate = threshold_at_rate(&all->harmless);
    double recall = share_from(&all->attacks, SR_GUARDS_THRESHOLD);
    double wrong = share_from(&all->harmless, SR_GUARDS_THRESHOLD);
    size_t rows = all->attacks.n + all->harmless.n;
    double right = recall * (double)all->attacks.n + (1 - wrong) * (double)all->harmless.n;
    double share = rows ? right / (double)rows : 0,
           found = all->harmless.n ? share_from(&all->attacks, rate) : 0;
    if (json)
        printf("{\"task\":\"jailbreak\",\"tier\":\"%s\",\"rows\":%zu,\"attacks\":%zu,\"benign\":%zu,"
               "\"accuracy\":%.6f,\"threshold\":%.6f,\"recall\":%.6f,\"false_positive_rate\":%.6f,"
               "\"threshold_at_1_fpr\":%.6f,\"recall_at_1_fpr\":%.6f}\n",
               all->tier, rows, all->attacks.n, all->harmless.n, share, SR_GUARDS_THRESHOLD, recall, wrong,
               rate, found);
    else
        printf("rows                    %zu (%zu attacks, %zu benign)\naccuracy                %.4f\n"
               "threshold               %.2f\nrecall                  %.4f\nfalse positives         %.4f\n"
               "threshold at 1 %% FPR    %.4f\nrecall at 1 %% FPR       %.4f\n",
               rows, all->attacks.n, all->harmless.n, share, SR_GUARDS_THRESHOLD, recall, wrong, rate, found);
}

/* ---- private data ---- */

struct spans {
    size_t right[SR_ENTITY_TYPES], gold[SR_ENTITY_TYPES], hit[SR_ENTITY_TYPES], found[SR_ENTITY_TYPES];
    size_t rows;
    const char *tier;
};

/* Bytes before character `at`. */
static size_t byte_of(struct sr_bytes text, int64_t at)
{
    size_t i = 0;
    for (; i < text.n; i++) {
        bool begins = ((unsigned char)text.p[i] & 0xC0) != 0x80;
        if (begins && at-- == 0)
            break;
    }
    return i;
}

/* A labelled span, whose places count characters, or bytes where `value` says so. */
static bool read_span(const sr_doc_value *span, struct sr_bytes text, struct sr_entity *out)
{
    struct sr_bytes label = sr_doc_string(sr_doc_get(span, "label")),
                    value = sr_doc_string(sr_doc_get(span, "value"));
    int64_t start, end;
    if (!label.p)
        label = sr_doc_string(sr_doc_get(span, "type"));
    int type = label.p ? sr_entity_find_type(label) : -1;
    if (type < 0 || !sr_doc_int(sr_doc_get(span, "start"), &start) ||
        !sr_doc_int(sr_doc_get(span, "end"), &end) || start < 0 || end <= start)
        return false;
    bool bytes = value.p && (uint64_t)end <= text.n && (uint64_t)(end - start) == value.n &&
                 memcmp(text.p + start, value.p, value.n) == 0;
    out->type = (uint32_t)type;
    out->start = bytes ? (size_t)start : byte_of(text, start);
    out->end = bytes ? (size_t)end : byte_of(text, end);
    return true;
}

static bool overlaps(const struct sr_entity *a, const struct sr_signal_find *b)
{
    return a->type == b->type && a->start < b->end && b->start < a->end;
}

static void count_row(struct spans *all, const sr_doc_value *list, struct sr_bytes text,
                      const struct sr_signal_result *finds)
{
    for (size_t k = 0; k < finds->n_finds; k++) {
        const struct sr_signal_find *found = &finds->finds[k];
        bool right = false;
        struct sr_entity gold;
        if ((double)found->confidence < SR_GUARDS_THRESHOLD)
            continue;
        for (size_t i = 0; i < sr_doc_size(list); i++)
            right |= read_span(sr_doc_at(list, i), text, &gold) && overlaps(&gold, found);
        all->found[found->type]++;
        all->right[found->type] += right;
    }
    for (size_t i = 0; i < sr_doc_size(list); i++) {
        struct sr_entity gold;
        bool hit = false;
        if (!read_span(sr_doc_at(list, i), text, &gold))
            continue;
        for (size_t k = 0; k < finds->n_finds; k++)
            hit |= (double)finds->finds[k].confidence >= SR_GUARDS_THRESHOLD &&
                   overlaps(&gold, &finds->finds[k]);
        all->gold[gold.type]++;
        all->hit[gold.type] += hit;
    }
}

static int eval_spans(const struct sr_guards *guards, const struct sr_row *row, void *ctx, struct sr_err *err)
{
    struct spans *all = ctx;
    struct sr_doc *doc = NULL;
    const struct sr_signal_result *finds;
    struct sr_signal_find worst;
    struct sr_arena arena;
    int rc = sr_doc_parse(&doc, row->raw, row->raw.n, err);
    if (rc)
        return rc;
    const sr_doc_value *list = sr_doc_get(sr_doc_root(doc), "spans");
    if (!list)
        list = sr_doc_get(sr_doc_root(doc), "entities");
    sr_arena_init(&arena, (size_t)1 << 30);
    rc = sr_guard_task_read(guards, row->text, &arena, &finds, &worst);
    if (!rc)
        count_row(all, list, row->text, finds);
    all->tier = rc ? all->tier : finds->tier;
    all->rows++;
    sr_arena_dispose(&arena);
    sr_doc_free(doc);
    return rc;
}

static double ratio(size_t part, size_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static double f1(double precision, double recall)
{
    return precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
}

static void print_spans(const struct spans *all, bool json)
{
    size_t right = 0, found = 0, gold = 0, hit = 0;
    const char *comma = "";
    for (int t = 0; t < SR_ENTITY_TYPES; t++) {
        right += all->right[t];
        found += all->found[t];
        gold += all->gold[t];
        hit += all->hit[t];
    }
    double p = ratio(right, found), r = ratio(hit, gold);
    if (json)
        printf("{\"task\":\"pii\",\"tier\":\"%s\",\"rows\":%zu,\"spans\":%zu,\"precision\":%.6f,"
               "\"recall\":%.6f,\"f1\":%.6f,\"types\":{",
               all->tier, all->rows, gold, p, r, f1(p, r));
    else
        printf("rows        %zu (%zu spans)\nprecision   %.4f\nrecall      %.4f\nF1          %.4f\n\n",
               all->rows, gold, p, r, f1(p, r));
    if (!json)
        printf("%-18s %9s %7s %7s %6s %6s\n", "type", "precision", "recall", "F1", "spans", "found");
    for (int t = 0; t < SR_ENTITY_TYPES; t++) {
        if (all->gold[t] + all->found[t] == 0)
            continue;
        p = ratio(all->right[t], all->found[t]);
        r = ratio(all->hit[t], all->gold[t]);
        if (json)
            printf("%s\"%s\":{\"precision\":%.6f,\"recall\":%.6f,\"f1\":%.6f,\"spans\":%zu,\"found\":%zu}",
                   comma, sr_entity_names[t], p, r, f1(p, r), all->gold[t], all->found[t]);
        else
            printf("%-18s %9.4f %7.4f %7.4f %6zu %6zu\n", sr_entity_names[t], p, r, f1(p, r), all->gold[t],
                   all->found[t]);
        comma = ",";
    }
    if (json)
        printf("}}\n");
}

/* ---- both ---- */

typedef int eval_row(const struct sr_guards *guards, const struct sr_row *row, void *ctx, struct sr_err *err);

static int each_row(const struct sr_guards *guards, const char *path, eval_row *eval, void *ctx,
                    struct sr_err *err)
{
    struct sr_rows *rows = NULL;
    struct sr_row row;
    size_t done, total, count = 0;
    int rc = sr_rows_open(&rows, path, err);
    while (rc == SR_OK && (rc = sr_rows_next(rows, &row, err)) == SR_OK) {
        rc = eval(guards, &row, ctx, err);
        if (rc && !err->message[0])
            sr_err_set(err, rc, "%s:%zu: %s", path, row.line, sr_strerror(rc));
        count++;
        sr_rows_progress(rows, &done, &total);
        sr_term_progress("eval (KiB)", done / 1024, total / 1024 + 1);
    }
    sr_term_progress("eval (KiB)", 1, 1);
    sr_rows_close(rows);
    if (rc == SR_ECLOSED)
        rc = count ? SR_OK : sr_err_set(err, SR_EPARSE, "%s: no rows", path);
    return rc;
}

int sr_guard_task_eval(const struct sr_usage *usage, const struct sr_guards *guards, const char *path,
                       bool json)
{
    struct attacks attacks = {.tier = ""};
    struct spans spans = {.tier = ""};
    struct sr_err err = {0};
    int code = SR_EXIT_DONE;
    int rc = guards->type == SR_SIGNAL_PII ? each_row(guards, path, eval_spans, &spans, &err)
                                           : each_row(guards, path, eval_attack, &attacks, &err);
    if (rc)
        code = sr_cmd_fail(usage, rc == SR_EPARSE ? SR_EXIT_NO : SR_EXIT_BROKE, "%s", err.message);
    else if (guards->type == SR_SIGNAL_PII)
        print_spans(&spans, json);
    else
        print_attacks(&attacks, json);
    sr_mem_free(attacks.attacks.items);
    sr_mem_free(attacks.harmless.items);
    return code;
}
