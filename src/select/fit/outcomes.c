/* Reads lines; finds texts by a table of their hashes. */
#include "select/fit/outcomes.h"

#include "base/hash.h"
#include "base/mem.h"
#include "select/model/number.h"

#include <math.h>
#include <string.h>

void sr_outcomes_init(struct sr_outcomes *o)
{
    *o = (struct sr_outcomes){0};
    sr_arena_init(&o->arena, SR_OUTCOMES_BYTES);
}

void sr_outcomes_dispose(struct sr_outcomes *o)
{
    sr_arena_dispose(&o->arena);
    sr_mem_free(o->texts);
    sr_mem_free(o->rows);
    sr_mem_free(o->slots);
    *o = (struct sr_outcomes){0};
}

/* ---- texts and models, once each ---- */

static bool grow_slots(struct sr_outcomes *o)
{
    size_t n = o->n_slots ? 2 * o->n_slots : 1024;
    uint32_t *slots = sr_mem_calloc(n, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < o->n_texts; i++) {
        size_t at = sr_hash64(o->texts[i], 0) & (n - 1);
        while (slots[at])
            at = (at + 1) & (n - 1);
        slots[at] = (uint32_t)i + 1;
    }
    sr_mem_free(o->slots);
    o->slots = slots;
    o->n_slots = n;
    return true;
}

static int append_text(struct sr_outcomes *o, struct sr_bytes text)
{
    if (o->n_texts == SR_OUTCOMES_TEXTS)
        return SR_ELIMIT;
    if (o->n_texts == o->cap_texts) {
        size_t cap = o->cap_texts ? 2 * o->cap_texts : 256;
        struct sr_bytes *texts = sr_mem_realloc(o->texts, cap * sizeof *texts);
        if (!texts)
            return SR_ENOMEM;
        o->texts = texts;
        o->cap_texts = cap;
    }
    struct sr_bytes copy = sr_arena_dup(&o->arena, text);
    if (!copy.p)
        return SR_ENOMEM;
    o->texts[o->n_texts++] = copy;
    return SR_OK;
}

static int text_number(struct sr_outcomes *o, struct sr_bytes text, uint32_t *out)
{
    if (2 * (o->n_texts + 1) > o->n_slots && !grow_slots(o))
        return SR_ENOMEM;
    size_t at = sr_hash64(text, 0) & (o->n_slots - 1);
    while (o->slots[at] && !sr_bytes_eq(o->texts[o->slots[at] - 1], text))
        at = (at + 1) & (o->n_slots - 1);
    if (!o->slots[at]) {
        int rc = append_text(o, text);
        if (rc)
            return rc;
        o->slots[at] = (uint32_t)o->n_texts;
    }
    *out = o->slots[at] - 1;
    return SR_OK;
}

static int model_number(struct sr_outcomes *o, struct sr_bytes name, uint32_t *out)
{
    for (size_t i = 0; i < o->n_models; i++) {
        if (sr_bytes_eq(sr_bytes_str(o->models[i]), name)) {
            *out = (uint32_t)i;
            return SR_OK;
        }
    }
    if (o->n_models == SR_OUTCOMES_MODELS)
        return SR_ELIMIT;
    o->models[o->n_models] = sr_arena_dup(&o->arena, name).p;
    if (!o->models[o->n_models])
        return SR_ENOMEM;
    *out = (uint32_t)o->n_models++;
    return SR_OK;
}

static int append_row(struct sr_outcomes *o, struct sr_outcome row)
{
    if (o->n == SR_OUTCOMES_ROWS)
        return SR_ELIMIT;
    if (o->n == o->cap_rows) {
        size_t cap = o->cap_rows ? 2 * o->cap_rows : 1024;
        struct sr_outcome *rows = sr_mem_realloc(o->rows, cap * sizeof *rows);
        if (!rows)
            return SR_ENOMEM;
        o->rows = rows;
        o->cap_rows = cap;
    }
    o->rows[o->n++] = row;
    return SR_OK;
}

/* ---- lines ---- */

static bool score_of(sr_json_view value, float *out)
{
    double number;
    if (value.p && (value.p[0] == 't' || value.p[0] == 'f')) {
        *out = value.p[0] == 't';
        return true;
    }
    if (!sr_number_read(value, &number) || number < 0 || number > 1)
        return false;
    *out = (float)number;
    return true;
}

static bool cost_of(sr_json_view value, float *out)
{
    double number;
    *out = NAN;
    if (sr_json_view_is_null(value))
        return true;
    if (!sr_number_read(value, &number) || number < 0 || number > 1e30)
        return false;
    *out = (float)number;
    return true;
}

static int decode(struct sr_arena *arena, sr_json_view string, struct sr_bytes *out, struct sr_err *err)
{
    return sr_json_view_dup(string, arena, out) ? SR_OK : sr_err_set(err, SR_ENOMEM, "out of memory");
}

static int add_one(struct sr_outcomes *o, uint32_t text, struct sr_bytes model, sr_json_view score,
                   sr_json_view cost, struct sr_err *err)
{
    struct sr_outcome row = {.text = text};
    if (!score_of(score, &row.score))
        return sr_err_set(err, SR_EPARSE, "the score of `%.60s` is not from 0 to 1, true or false", model.p);
    if (!cost_of(cost, &row.cost))
        return sr_err_set(err, SR_EPARSE, "the cost of `%.60s` is no number from 0 on", model.p);
    int rc = model.n ? model_number(o, model, &row.model) : sr_err_set(err, SR_EPARSE, "a model has no name");
    if (rc == SR_OK)
        rc = append_row(o, row);
    return rc == SR_ELIMIT ? sr_err_set(err, rc, "more than %d models, or %d outcomes", SR_OUTCOMES_MODELS,
                                        SR_OUTCOMES_ROWS)
                           : rc;
}

static int add_many(struct sr_outcomes *o, uint32_t text, sr_json_view scores, sr_json_view costs,
                    struct sr_arena *arena, struct sr_err *err)
{
    sr_json_view name, value, cost;
    struct sr_bytes model, other;
    size_t at = 0;
    int rc = SR_OK;
    while (rc == SR_OK && sr_json_view_next(scores, &at, &name, &value)) {
        sr_json_view mine = {0}, key;
        size_t k = 0;
        rc = decode(arena, name, &model, err);
        while (rc == SR_OK && sr_json_view_is_object(costs) && sr_json_view_next(costs, &k, &key, &cost)) {
            rc = decode(arena, key, &other, err);
            if (rc == SR_OK && sr_bytes_eq(model, other))
                mine = cost;
        }
        if (rc == SR_OK)
            rc = add_one(o, text, model, value, mine, err);
    }
    return rc;
}

static int add_root(struct sr_outcomes *o, sr_json_view root, struct sr_arena *arena, struct sr_err *err)
{
    struct sr_bytes text, name;
    uint32_t number = 0;
    sr_json_view score = sr_json_view_get(root, "score"), correct = sr_json_view_get(root, "correct");
    sr_json_view model = sr_json_view_get(root, "model"), cost = sr_json_view_get(root, "cost");
    score = score.p ? score : correct;
    if (!sr_json_view_is_string(sr_json_view_get(root, "text")) || !score.p)
        return sr_err_set(err, SR_EPARSE, "expected `text`, `model`, and `score` or `correct`");
    if (!sr_json_view_is_object(score) && !sr_json_view_is_string(model))
        return sr_err_set(err, SR_EPARSE, "`model` is missing");
    int rc = decode(arena, sr_json_view_get(root, "text"), &text, err);
    if (rc == SR_OK && (rc = text_number(o, text, &number)) == SR_ELIMIT)
        return sr_err_set(err, rc, "more than %d texts", SR_OUTCOMES_TEXTS);
    if (rc)
        return rc;
    if (sr_json_view_is_object(score))
        return add_many(o, number, score, cost, arena, err);
    rc = decode(arena, model, &name, err);
    return rc ? rc : add_one(o, number, name, score, cost, err);
}

int sr_outcomes_add(struct sr_outcomes *o, struct sr_bytes line, struct sr_err *err)
{
    struct sr_arena arena;
    sr_json_view root;
    sr_arena_init(&arena, 16 * line.n + (1u << 20));
    int rc = sr_json_view_open(&root, line, err);
    if (rc == SR_OK)
        rc = add_root(o, root, &arena, err);
    sr_arena_dispose(&arena);
    return rc;
}

/* ---- as matrices ---- */

void sr_outcomes_scores(const struct sr_outcomes *o, float *scores)
{
    for (size_t i = 0; i < o->n_texts * o->n_models; i++)
        scores[i] = NAN;
    for (size_t i = 0; i < o->n; i++) {
        float *at = &scores[o->rows[i].text * o->n_models + o->rows[i].model];
        *at = isnan(*at) ? o->rows[i].score : (*at + o->rows[i].score) / 2;
    }
}

void sr_outcomes_costs(const struct sr_outcomes *o, double *costs)
{
    size_t counts[SR_OUTCOMES_MODELS] = {0};
    for (size_t m = 0; m < o->n_models; m++)
        costs[m] = 0;
    for (size_t i = 0; i < o->n; i++) {
        if (isnan(o->rows[i].cost))
            continue;
        costs[o->rows[i].model] += (double)o->rows[i].cost;
        counts[o->rows[i].model]++;
    }
    for (size_t m = 0; m < o->n_models; m++)
        costs[m] = counts[m] ? costs[m] / (double)counts[m] : 1;
}
