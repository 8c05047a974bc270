/*
 * What heads make of the trunk's rows: pooling, the small layers behind it, logits and vectors for the items.
 *
 * Pooled rows are gathered in groups, so that sequences of a batch share the heads' matrix products.
 */
#include "infer/encoder/private.h"

#include <math.h>
#include <string.h>

size_t sr_enc_layers_of(const struct sr_encoder *e, const struct sr_encoder_item *item, size_t h)
{
    if (e->heads[h].kind == SR_HEAD_EMBEDDING && item->layers)
        return item->layers;
    return e->heads[h].layers ? e->heads[h].layers : e->config.layers;
}

/* The rows area: two slots of group rows (pooled, behind a dense layer), then the logits. */
static struct sr_rows group_rows(const struct sr_enc_pass *pass, size_t slot, size_t ld)
{
    return (struct sr_rows){pass->rows + slot * pass->plan.group * pass->plan.wide, ld, SR_SCALAR_F32};
}

/* Heads' layers behind `in` (m <= group rows); logits of all rows follow each other at the result. */
static const float *classify(struct sr_enc_pass *pass, size_t h, struct sr_rows in, size_t m)
{
    const struct sr_enc_head *head = &pass->e->heads[h];
    size_t hidden = pass->e->config.hidden, labels = pass->e->head_info[h].n_labels;
    struct sr_rows middle = group_rows(pass, 1, hidden), out = group_rows(pass, 2, labels), none = {0};
    if (head->dense) {
        sr_gemm(pass->team, head->dense, in, m, middle, pass->scratch);
        if (head->norm.weight)
            sr_layer_norm(pass->team, middle, none, none, head->norm.weight, head->norm.bias,
                          pass->e->config.eps, m, hidden, middle);
        in = middle;
    }
    sr_gemm(pass->team, head->classifier, in, m, out, pass->scratch);
    return out.p;
}

/* The dense layers behind the pooled rows, in turns between the two slots. */
static struct sr_rows project(struct sr_enc_pass *pass, size_t h, struct sr_rows in, size_t m)
{
    const struct sr_enc_config *c = &pass->e->config;
    for (size_t i = 0; i < c->n_dense; i++) {
        struct sr_rows out = group_rows(pass, (i + 1) % 2, c->dense[i].out);
        sr_gemm(pass->team, pass->e->heads[h].after[i], in, m, out, pass->scratch);
        in = out;
    }
    return in;
}

/* `row` [n] at length 1 into `out`, which may be `row`. */
static void scale_to_one(const float *row, size_t n, float *out)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)row[i] * row[i];
    float scale = (float)(1.0 / fmax(sqrt(sum), 1e-12));
    for (size_t i = 0; i < n; i++)
        out[i] = row[i] * scale;
}

/* Pooled rows in the first slot: whose each is, and whether it is the first of its sequence. */
struct pooled {
    uint32_t sequences[SR_ENC_GROUP];
    bool first[SR_ENC_GROUP];
    size_t n;
};

/* How far a label stands over the first, which means that nothing was found. */
static float margin(const float *logits, size_t labels)
{
    float most = -INFINITY;
    for (size_t i = 1; i < labels; i++)
        most = fmaxf(most, logits[i] - logits[0]);
    return most;
}

/* Of the rows of a sequence the one with the largest margin counts. */
static void finish_pooled(struct sr_enc_pass *pass, size_t h, const struct pooled *rows)
{
    const struct sr_enc_head *head = &pass->e->heads[h];
    size_t hidden = pass->e->config.hidden, labels = pass->e->head_info[h].n_labels;
    struct sr_rows in = group_rows(pass, 0, hidden);
    bool sequence = head->kind == SR_HEAD_SEQUENCE;
    const float *said = sequence ? classify(pass, h, in, rows->n) : project(pass, h, in, rows->n).p;
    for (size_t i = 0; i < rows->n; i++, said += labels) {
        const struct sr_encoder_item *item = &pass->items[pass->order[rows->sequences[i]]];
        if (!sequence)
            scale_to_one(said, item->dimensions ? item->dimensions : labels, item->out[h]);
        else if (rows->first[i] || margin(said, labels) > margin(item->out[h], labels))
            memcpy(item->out[h], said, labels * sizeof(float));
    }
}

/* The mean of the rows `from` to `to` of sequence `s`. */
static void pool(struct sr_enc_pass *pass, size_t h, struct sr_rows final, size_t s, size_t from, size_t to,
                 struct pooled *rows)
{
    size_t hidden = pass->e->config.hidden;
    float *row = (float *)group_rows(pass, 0, hidden).p + rows->n * hidden;
    sr_mean_rows(final, from, to, hidden, row);
    if (pass->e->heads[h].unit)
        scale_to_one(row, hidden, row);
    rows->sequences[rows->n] = (uint32_t)s;
    rows->first[rows->n++] = from == pass->starts[s];
    if (rows->n == pass->plan.group) {
        finish_pooled(pass, h, rows);
        rows->n = 0;
    }
}

/* How many of the `n` rows that are left the next mean is of. */
static size_t pooled_rows(const struct sr_enc_head *head, size_t n)
{
    if (head->pooling == SR_ENC_CLS)
        return 1;
    return head->pooling == SR_ENC_SLIDING && head->width < n ? head->width : n;
}

static void emit_pooled(struct sr_enc_pass *pass, size_t h, size_t layers, struct sr_rows final)
{
    const struct sr_enc_head *head = &pass->e->heads[h];
    struct pooled rows = {.n = 0};
    for (size_t s = 0; s < pass->n; s++) {
        const struct sr_encoder_item *item = &pass->items[pass->order[s]];
        if (!(item->heads >> h & 1) || sr_enc_layers_of(pass->e, item, h) != layers)
            continue;
        size_t from = pass->starts[s], end = pass->starts[s + 1], to;
        for (;; from += head->step) {
            to = from + pooled_rows(head, end - from);
            pool(pass, h, final, s, from, to, &rows);
            if (head->pooling != SR_ENC_SLIDING || to == end)
                break;
        }
    }
    if (rows.n)
        finish_pooled(pass, h, &rows);
}

static void emit_tokens(struct sr_enc_pass *pass, size_t h, struct sr_rows final)
{
    size_t labels = pass->e->head_info[h].n_labels;
    for (size_t s = 0; s < pass->n; s++) {
        const struct sr_encoder_item *item = &pass->items[pass->order[s]];
        if (!(item->heads >> h & 1))
            continue;
        for (size_t i = 0; i < item->n_ids; i += pass->plan.group) {
            size_t m = item->n_ids - i < pass->plan.group ? item->n_ids - i : pass->plan.group;
            struct sr_rows in = final;
            in.p = (float *) final.p + (pass->starts[s] + i) * final.ld;
            memcpy(item->out[h] + i * labels, classify(pass, h, in, m), m * labels * sizeof(float));
        }
    }
}

/* Is head `h` due now for any sequence? */
static bool due(const struct sr_enc_pass *pass, size_t h, size_t layers)
{
    for (size_t s = 0; s < pass->n; s++) {
        const struct sr_encoder_item *item = &pass->items[pass->order[s]];
        if ((item->heads >> h & 1) && sr_enc_layers_of(pass->e, item, h) == layers)
            return true;
    }
    return false;
}

void sr_enc_emit(struct sr_enc_pass *pass, size_t layers)
{
    const struct sr_encoder *e = pass->e;
    size_t hidden = e->config.hidden;
    struct sr_rows x = {pass->x, hidden, SR_SCALAR_F32}, final = x, none = {0};
    bool normed = !e->final_norm.weight;
    for (size_t h = 0; h < e->info.n_heads; h++) {
        if (e->heads[h].trunk != pass->trunk || !due(pass, h, layers))
            continue;
        if (!normed) {
            final.p = pass->q;
            sr_layer_norm(pass->team, x, none, none, e->final_norm.weight, e->final_norm.bias, e->config.eps,
                          pass->starts[pass->n], hidden, final);
            normed = true;
        }
        if (e->heads[h].kind == SR_HEAD_TOKEN)
            emit_tokens(pass, h, final);
        else
            emit_pooled(pass, h, layers, final);
    }
}
