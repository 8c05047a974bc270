/*
 * Private data: precision, recall and F1 of spans, by type. A span counts as found when one of its type
 * overlaps it.
 */
#include "cli/eval/eval.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "cli/classify/guards.h"
#include "cli/cmd.h"
#include "cli/measure.h"
#include "json/doc.h"

struct spans {
    struct sr_guards guards;
    double threshold;
    bool types[SR_ENTITY_TYPES];
    size_t right[SR_ENTITY_TYPES], gold[SR_ENTITY_TYPES], hit[SR_ENTITY_TYPES], found[SR_ENTITY_TYPES];
    size_t rows, others; /* labelled spans of types that are not counted */
};

/* One row's labelled spans. */
struct gold {
    struct sr_entity *items;
    size_t n, others;
};

static bool spans_open(void **task, const struct sr_eval_options *options, int *code)
{
    struct spans *all = sr_mem_calloc(1, sizeof *all);
    *task = all;
    if (!all) {
        *code = sr_cmd_fail(options->usage, SR_EXIT_FAILED, "out of memory");
        return false;
    }
    all->threshold = options->threshold;
    for (int t = 0; t < SR_ENTITY_TYPES; t++)
        all->types[t] = options->all_types || options->types[t];
    return sr_guard_task_open(options->usage, &options->tiers, &all->guards, code);
}

static void spans_close(void *task)
{
    struct spans *all = task;
    if (all)
        sr_guard_task_close(&all->guards);
    sr_mem_free(all);
}

/* Bytes before character `at`; more than text.n when there are fewer. */
static size_t byte_of(struct sr_bytes text, int64_t at)
{
    size_t i = 0;
    for (; i < text.n; i++) {
        bool begins = !sr_utf8_is_tail(text.p[i]);
        if (begins && at-- == 0)
            return i;
    }
    return at > 0 ? text.n + 1 : text.n;
}

/* A labelled span, whose offsets count characters, or bytes where `value` says so. What is wrong with it, or
 * NULL; type -1: it is of a type that is not known here. */
static const char *read_span(const sr_doc_value *span, struct sr_bytes text, struct sr_entity *out, int *type)
{
    struct sr_bytes label = sr_doc_string(sr_doc_get(span, "label")),
                    value = sr_doc_string(sr_doc_get(span, "value"));
    int64_t start, end;
    if (!label.p)
        label = sr_doc_string(sr_doc_get(span, "type"));
    if (!label.p)
        return "no string `label`";
    if (!sr_doc_int(sr_doc_get(span, "start"), &start) || !sr_doc_int(sr_doc_get(span, "end"), &end))
        return "no integers `start` and `end`";
    if (start < 0 || end <= start)
        return "`end` is not after `start`";
    bool bytes = value.p && (uint64_t)end <= text.n && (uint64_t)(end - start) == value.n &&
                 memcmp(text.p + start, value.p, value.n) == 0;
    *type = sr_entity_find_type(label);
    out->type = (uint32_t)*type;
    out->start = bytes ? (size_t)start : byte_of(text, start);
    out->end = bytes ? (size_t)end : byte_of(text, end);
    return out->end > text.n ? "it ends after the text" : NULL;
}

static int read_gold(const struct spans *all, const struct sr_eval_row *row, const struct sr_doc *doc,
                     struct sr_arena *arena, struct gold *gold, struct sr_err *err)
{
    const sr_doc_value *list = sr_doc_get(sr_doc_root(doc), "spans");
    if (!list)
        list = sr_doc_get(sr_doc_root(doc), "entities");
    if (sr_doc_kind(list) != SR_JSON_ARRAY)
        return sr_err_set(err, SR_EPARSE, "%s:%zu: no array `spans`", row->path, row->row->line);
    gold->items = sr_arena_calloc(arena, sr_doc_size(list) + 1, sizeof *gold->items);
    if (!gold->items)
        return SR_ENOMEM;
    for (size_t i = 0; i < sr_doc_size(list); i++) {
        int type = -1;
        const char *wrong = read_span(sr_doc_at(list, i), row->row->text, &gold->items[gold->n], &type);
        if (wrong)
            return sr_err_set(err, SR_EPARSE, "%s:%zu: span %zu: %s", row->path, row->row->line, i + 1,
                              wrong);
        if (type >= 0 && all->types[type])
            gold->n++;
        else
            gold->others++;
    }
    return SR_OK;
}

static bool overlaps(const struct sr_entity *a, const struct sr_signal_finding *b)
{
    return a->type == b->type && a->start < b->end && b->start < a->end;
}

static bool counts(const struct spans *all, const struct sr_signal_finding *finding)
{
    return all->types[finding->type] && (double)finding->confidence >= all->threshold;
}

static void count_row(struct spans *all, const struct gold *gold, const struct sr_signal_result *findings,
                      struct sr_tally_row *counted)
{
    struct sr_tally_rate recall = {0, gold->n}, precision = {0};
    for (size_t k = 0; k < findings->n_findings; k++) {
        const struct sr_signal_finding *found = &findings->findings[k];
        bool right = false;
        if (!counts(all, found))
            continue;
        for (size_t i = 0; i < gold->n; i++)
            right |= overlaps(&gold->items[i], found);
        all->found[found->type]++;
        all->right[found->type] += right;
        precision.of++;
        precision.hits += right;
    }
    for (size_t i = 0; i < gold->n; i++) {
        bool hit = false;
        for (size_t k = 0; k < findings->n_findings; k++)
            hit |= counts(all, &findings->findings[k]) && overlaps(&gold->items[i], &findings->findings[k]);
        all->gold[gold->items[i].type]++;
        all->hit[gold->items[i].type] += hit;
        recall.hits += hit;
    }
    counted->rates[0] = precision;
    counted->rates[1] = recall;
}

static int spans_row(void *task, const struct sr_eval_row *row, struct sr_tally_row *counted,
                     struct sr_err *err)
{
    struct spans *all = task;
    struct sr_doc *doc = NULL;
    const struct sr_signal_result *findings;
    struct sr_signal_finding worst;
    struct gold gold = {0};
    struct sr_arena arena;
    struct sr_err why = {0};
    int rc = sr_doc_parse(&doc, row->row->raw, row->row->raw.n, &why);
    if (rc)
        return sr_err_set(err, rc, "%s:%zu: %.200s", row->path, row->row->line, why.message);
    sr_arena_init(&arena, SR_GUARDS_SCRATCH);
    rc = read_gold(all, row, doc, &arena, &gold, err);
    if (rc == SR_OK)
        rc = sr_guard_task_read(&all->guards, row->row->text, &arena, &findings, &worst);
    if (rc == SR_OK) {
        count_row(all, &gold, findings, counted);
        counted->values[SR_TALLY_TIER] = sr_bytes_str(findings->tier);
        all->rows++;
        all->others += gold.others;
    }
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

/* Precision, recall and F1 as members; the intervals where there is something to count. */
static void put_rates(struct sr_report *out, const struct sr_tally_rate *precision,
                      const struct sr_tally_rate *recall)
{
    double x = ratio(precision->hits, precision->of), y = ratio(recall->hits, recall->of);
    sr_json_real(&out->json, "precision", "%.6f", x);
    sr_json_real(&out->json, "recall", "%.6f", y);
    sr_json_real(&out->json, "f1", "%.6f", f1(x, y));
    sr_report_interval(out, "precision_interval", precision->hits, precision->of);
    sr_report_interval(out, "recall_interval", recall->hits, recall->of);
}

static void put_type_text(struct sr_report *out, int type, const struct sr_tally_rate *p,
                          const struct sr_tally_rate *r)
{
    sr_report_put(out, "%-18s ", sr_entity_names[type]);
    sr_report_percent(out, p->hits, p->of);
    sr_report_put(out, "  ");
    sr_report_percent(out, r->hits, r->of);
    sr_report_put(out, " %7.4f %6zu %6zu\n", f1(ratio(p->hits, p->of), ratio(r->hits, r->of)), r->of, p->of);
}

static void put_type_json(struct sr_report *out, int type, const struct sr_tally_rate *p,
                          const struct sr_tally_rate *r)
{
    sr_json_object(&out->json, sr_entity_names[type]);
    put_rates(out, p, r);
    sr_json_uint(&out->json, "spans", r->of);
    sr_json_uint(&out->json, "found", p->of);
    sr_json_object_end(&out->json);
}

static void put_types(const struct spans *all, bool json, struct sr_report *out)
{
    if (!json)
        sr_report_put(out, "\n%-18s %21s  %21s %7s %6s %6s\n", "type", "precision", "recall", "F1", "spans",
                      "found");
    for (int t = 0; t < SR_ENTITY_TYPES; t++) {
        struct sr_tally_rate p = {all->right[t], all->found[t]}, r = {all->hit[t], all->gold[t]};
        if (p.of + r.of)
            (json ? put_type_json : put_type_text)(out, t, &p, &r);
    }
}

static void put_json(const struct spans *all, const struct sr_tally_rate *p, const struct sr_tally_rate *r,
                     struct sr_report *out)
{
    struct sr_json_writer *w = &out->json;
    sr_json_object(w, NULL);
    sr_json_text(w, "task", "pii");
    sr_json_text(w, "tier", all->guards.tier);
    if (all->guards.precision)
        sr_json_text(w, "neural_precision", all->guards.precision);
    sr_json_uint(w, "rows", all->rows);
    sr_json_uint(w, "spans", r->of);
    sr_json_uint(w, "other_spans", all->others);
    sr_json_uint(w, "found", p->of);
    sr_json_real(w, "threshold", "%.6f", all->threshold);
    put_rates(out, p, r);
    sr_json_object(w, "types");
    put_types(all, true, out);
    sr_json_object_end(w);
}

static void spans_put(void *task, const struct sr_tally *tally, double us, bool json, struct sr_report *out)
{
    const struct spans *all = task;
    struct sr_tally_rate p = {0}, r = {0};
    for (int t = 0; t < SR_ENTITY_TYPES; t++) {
        p.hits += all->right[t];
        p.of += all->found[t];
        r.hits += all->hit[t];
        r.of += all->gold[t];
    }
    if (json) {
        put_json(all, &p, &r, out);
    } else {
        sr_report_put(out, "rows        %zu (%zu spans", all->rows, r.of);
        if (all->others)
            sr_report_put(out, ", %zu of types that are not counted", all->others);
        sr_report_put(out, ")\nthreshold   %.4f\nprecision   ", all->threshold);
        sr_report_percent(out, p.hits, p.of);
        sr_report_put(out, "\nrecall      ");
        sr_report_percent(out, r.hits, r.of);
        sr_report_put(out, "\nF1          %.4f\n", f1(ratio(p.hits, p.of), ratio(r.hits, r.of)));
        put_types(all, false, out);
    }
    sr_tally_put_end(tally, us, json, out);
}

const struct sr_eval_ops sr_eval_spans = {
    .name = "pii",
    .rates = {"precision", "recall"},
    .titles = {"precision", "recall"},
    .open = spans_open,
    .row = spans_row,
    .put = spans_put,
    .close = spans_close,
};
