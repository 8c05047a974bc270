/*
 * A pass: a packed batch of sequences through one trunk, layer by layer.
 *
 * Between layers only the residual stream lives, so a sequence whose heads are all answered can leave the
 * batch there; and where only the first tokens are wanted after the last layer, its attention asks for their
 * rows alone and the rest of that layer runs on one row a sequence. Layers that an adapted trunk shares with
 * the plain one run with the plain one's; the rows behind them are kept for it. All three are exact.
 */
#include "infer/encoder/private.h"

#include <string.h>

static struct sr_rows rows_of(void *p, size_t row, size_t ld, enum sr_scalar type)
{
    size_t size = type == SR_SCALAR_F32 ? sizeof(float) : sizeof(uint16_t);
    return (struct sr_rows){(unsigned char *)p + row * ld * size, ld, type};
}

static struct sr_rows x_rows(const struct sr_enc_pass *pass, size_t row)
{
    return rows_of(pass->x, row, pass->e->config.hidden, SR_SCALAR_F32);
}

static struct sr_rows a_rows(const struct sr_enc_pass *pass, size_t row)
{
    return rows_of(pass->a, row, pass->e->config.hidden, pass->plan.act);
}

static void norm(const struct sr_enc_pass *pass, struct sr_rows x, const struct sr_enc_norm *n, size_t m,
                 struct sr_rows y)
{
    struct sr_rows none = {0};
    sr_layer_norm(pass->team, x, none, none, n->weight, n->bias, pass->e->config.eps, m,
                  pass->e->config.hidden, y);
}

/* ---- the embeddings ---- */

/* RoBERTa counts only real tokens and gives padding tokens, which a text may name, a place of their own. */
static void fill_places(const struct sr_enc_config *c, const struct sr_encoder_item *item, int32_t *places)
{
    size_t next = c->offset;
    for (size_t i = 0; i < item->n_ids; i++) {
        bool pad = c->family == SR_ENC_ROBERTA && item->ids[i] == c->pad;
        places[i] = c->no_positions ? 0 : pad ? c->pad : (int32_t)next;
        next += !pad;
    }
}

static void embed(struct sr_enc_pass *pass)
{
    const struct sr_encoder *e = pass->e;
    const struct sr_enc_config *c = &e->config;
    size_t tokens = pass->starts[pass->n];
    for (size_t s = 0; s < pass->n; s++) {
        const struct sr_encoder_item *item = &pass->items[pass->order[s]];
        sr_gather(pass->team, e->words, e->word_type, item->ids, item->n_ids, c->hidden,
                  x_rows(pass, pass->starts[s]));
    }
    struct sr_rows none = {0}, add = {0};
    if (e->places) {
        int32_t *places = (int32_t *)pass->a;
        add = rows_of(pass->q, 0, c->hidden, SR_SCALAR_F32);
        for (size_t s = 0; s < pass->n; s++)
            fill_places(c, &pass->items[pass->order[s]], places + pass->starts[s]);
        sr_gather(pass->team, e->places, SR_SCALAR_F32, places, tokens, c->hidden, add);
    }
    sr_layer_norm(pass->team, x_rows(pass, 0), add, none, e->embedding_norm.weight, e->embedding_norm.bias,
                  c->eps, tokens, c->hidden, x_rows(pass, 0));
}

/* ---- a layer ---- */

/* Sequences [from, to), of SR_ENC_RUN tokens together, or one. */
static void attend_some(struct sr_enc_pass *pass, struct sr_attention a, size_t from, size_t to)
{
    uint32_t starts[SR_ENC_RUN + 1], first = pass->starts[from];
    for (size_t s = from; s <= to; s++)
        starts[s - from] = pass->starts[s] - first;
    a.qkv = rows_of(pass->q, first, a.ld, a.type).p;
    a.out = a_rows(pass, first);
    a.starts = starts;
    a.n_sequences = to - from;
    sr_attention(pass->team, &a, pass->scratch);
}

/* All sequences at once, unless first tokens alone are asked for: then one by one; or relative positions need
 * memory by the token: then as many as SR_ENC_RUN allows. */
static void attend(struct sr_enc_pass *pass, size_t layer, bool first_only)
{
    const struct sr_enc_config *c = &pass->e->config;
    bool global = c->family != SR_ENC_MODERNBERT || c->global[layer];
    struct sr_relative relative = sr_enc_relative_of(pass->e, pass->trunk, layer);
    struct sr_attention a = {
        .qkv = pass->q,
        .ld = 3 * c->hidden,
        .type = pass->plan.act,
        .out = a_rows(pass, 0),
        .starts = pass->starts,
        .n_sequences = pass->n,
        .heads = c->heads,
        .head_dim = c->head_dim,
        .scale = c->scale,
        .window = global ? SIZE_MAX : c->window,
        .rope = pass->e->rope[global],
        .relative = c->relative ? &relative : NULL,
        .n_queries = first_only ? 1 : SIZE_MAX,
    };
    if (!first_only && !a.relative) {
        sr_attention(pass->team, &a, pass->scratch);
        return;
    }
    for (size_t from = 0, to; from < pass->n; from = to) {
        to = from + 1;
        while (!first_only && to < pass->n && pass->starts[to + 1] - pass->starts[from] <= SR_ENC_RUN)
            to++;
        attend_some(pass, a, from, to);
    }
}

/* Moves rows [from, from + n) to the earlier row `to`. */
static void move_rows(struct sr_rows rows, size_t to, size_t from, size_t n)
{
    size_t size = rows.type == SR_SCALAR_F32 ? sizeof(float) : sizeof(uint16_t);
    unsigned char *p = rows.p;
    if (to != from)
        memmove(p + to * rows.ld * size, p + from * rows.ld * size, n * rows.ld * size);
}

/* Keeps the first row of each sequence, of the residual stream and of what attention gave. */
static void shrink(struct sr_enc_pass *pass)
{
    for (size_t s = 0; s < pass->n; s++) {
        move_rows(x_rows(pass, 0), s, pass->starts[s], 1);
        move_rows(a_rows(pass, 0), s, pass->starts[s], 1);
    }
    for (size_t s = 0; s <= pass->n; s++)
        pass->starts[s] = (uint32_t)s;
}

static void mlp_modern(struct sr_enc_pass *pass, const struct sr_enc_layer *l, size_t row, size_t m)
{
    struct sr_rows hidden = rows_of(pass->q, 0, pass->e->config.intermediate, pass->plan.act);
    norm(pass, x_rows(pass, row), &l->mlp_norm, m, a_rows(pass, row));
    sr_gemm(pass->team, l->up, a_rows(pass, row), m, hidden, pass->scratch);
    sr_gemm(pass->team, l->down, hidden, m, x_rows(pass, row), pass->scratch);
}

static void mlp_bert(struct sr_enc_pass *pass, const struct sr_enc_layer *l, size_t row, size_t m)
{
    struct sr_rows hidden = rows_of(pass->q, 0, pass->e->config.intermediate, pass->plan.act);
    sr_gemm(pass->team, l->up, x_rows(pass, row), m, hidden, pass->scratch);
    sr_gemm(pass->team, l->down, hidden, m, x_rows(pass, row), pass->scratch);
    norm(pass, x_rows(pass, row), &l->mlp_norm, m, x_rows(pass, row));
}

static void run_layer(struct sr_enc_pass *pass, size_t layer, bool first_only)
{
    const struct sr_enc_config *c = &pass->e->config;
    const struct sr_enc_layer *l = &pass->e->trunks[pass->trunk]->layers[layer];
    bool modern = c->family == SR_ENC_MODERNBERT;
    size_t tokens = pass->starts[pass->n];
    struct sr_rows in = x_rows(pass, 0);
    if (layer == 0 && c->conv)
        memcpy(pass->first, pass->x, tokens * c->hidden * sizeof *pass->x);
    if (modern && l->attention_norm.weight) {
        in = a_rows(pass, 0);
        norm(pass, x_rows(pass, 0), &l->attention_norm, tokens, in);
    }
    sr_gemm(pass->team, l->qkv, in, tokens, rows_of(pass->q, 0, 3 * c->hidden, pass->plan.act),
            pass->scratch);
    attend(pass, layer, first_only);
    if (first_only)
        shrink(pass);
    tokens = pass->starts[pass->n];
    sr_gemm(pass->team, l->out, a_rows(pass, 0), tokens, x_rows(pass, 0), pass->scratch);
    if (!modern)
        norm(pass, x_rows(pass, 0), &l->attention_norm, tokens, x_rows(pass, 0));
    size_t steps = (tokens + pass->plan.chunk - 1) / pass->plan.chunk;
    for (size_t i = 0; i < steps; i++) {
        size_t row = tokens * i / steps, m = tokens * (i + 1) / steps - row;
        (modern ? mlp_modern : mlp_bert)(pass, l, row, m);
    }
    if (layer == 0 && c->conv)
        sr_enc_convolve(pass);
}

/* ---- the pass ---- */

static bool asked(const struct sr_enc_pass *pass, const struct sr_encoder_item *item, size_t h)
{
    return (item->heads >> h & 1) && pass->e->heads[h].trunk == pass->trunk;
}

/* The most layers that a head of this trunk needs; 0: no head is used. */
static size_t last_layer(const struct sr_enc_pass *pass, const struct sr_encoder_item *item)
{
    size_t most = 0;
    for (size_t h = 0; h < pass->e->info.n_heads; h++)
        if (asked(pass, item, h)) {
            size_t layers = sr_enc_layers_of(pass->e, item, h);
            most = layers > most ? layers : most;
        }
    return most;
}

/* Do all heads that are due after the last layer read first tokens alone? */
static bool wants_first_only(const struct sr_enc_pass *pass)
{
    for (size_t s = 0; s < pass->n; s++) {
        const struct sr_encoder_item *item = &pass->items[pass->order[s]];
        for (size_t h = 0; h < pass->e->info.n_heads; h++)
            if (asked(pass, item, h) && sr_enc_layers_of(pass->e, item, h) == pass->e->config.layers &&
                (pass->e->heads[h].kind == SR_HEAD_TOKEN || pass->e->heads[h].pooling != SR_ENC_CLS))
                return false;
    }
    return true;
}

/* Does the item need a layer of this trunk beyond the first `layers`? */
static bool goes_on(const struct sr_enc_pass *pass, const struct sr_encoder_item *item, size_t layers)
{
    return last_layer(pass, item) > layers;
}

/* Does the item need an adapted trunk? */
static bool wants_fork(const struct sr_enc_pass *pass, const struct sr_encoder_item *item)
{
    for (size_t h = 0; h < pass->e->info.n_heads; h++)
        if ((item->heads >> h & 1) && pass->e->heads[h].trunk)
            return true;
    return false;
}

/* Copies the rows of the sequences that need an adapted trunk to where each of those begins. */
static void fork_rows(struct sr_enc_pass *pass)
{
    size_t hidden = pass->e->config.hidden, row = 0;
    pass->n_fork = 0;
    for (size_t s = 0; s < pass->n; s++) {
        size_t m = pass->starts[s + 1] - pass->starts[s];
        if (!wants_fork(pass, &pass->items[pass->order[s]]))
            continue;
        memcpy(pass->fork + row * hidden, x_rows(pass, pass->starts[s]).p, m * hidden * sizeof *pass->x);
        pass->fork_order[pass->n_fork] = pass->order[s];
        pass->fork_starts[pass->n_fork++] = (uint32_t)row;
        row += m;
    }
    pass->fork_starts[pass->n_fork] = (uint32_t)row;
}

/* Drops the sequences that need no further layer, of this trunk or before another begins. */
static void drop_finished(struct sr_enc_pass *pass, size_t layers)
{
    size_t n = 0, row = 0;
    bool shared = pass->trunk == 0 && layers < pass->shared;
    for (size_t s = 0; s < pass->n; s++) {
        const struct sr_encoder_item *item = &pass->items[pass->order[s]];
        size_t from = pass->starts[s], m = pass->starts[s + 1] - from;
        if (!goes_on(pass, item, layers) && !(shared && wants_fork(pass, item)))
            continue;
        move_rows(x_rows(pass, 0), row, from, m);
        pass->order[n] = pass->order[s];
        pass->starts[n++] = (uint32_t)row;
        row += m;
    }
    pass->starts[n] = (uint32_t)row;
    pass->n = n;
}

/* The sequences that need this trunk, or, with the plain one, layers that others share with it. */
static void begin(struct sr_enc_pass *pass, size_t n_items)
{
    pass->n = 0;
    pass->starts[0] = 0;
    for (size_t i = 0; i < n_items; i++) {
        const struct sr_encoder_item *item = &pass->items[i];
        if (!goes_on(pass, item, 0) && !(pass->trunk == 0 && pass->shared && wants_fork(pass, item)))
            continue;
        pass->order[pass->n] = (uint32_t)i;
        pass->starts[pass->n + 1] = pass->starts[pass->n] + (uint32_t)item->n_ids;
        pass->n++;
    }
    if (pass->n)
        embed(pass);
}

/* The same behind the shared layers: with the rows that fork_rows kept. */
static void begin_shared(struct sr_enc_pass *pass)
{
    size_t hidden = pass->e->config.hidden, row = 0;
    pass->n = 0;
    for (size_t s = 0; s < pass->n_fork; s++) {
        size_t from = pass->fork_starts[s], m = pass->fork_starts[s + 1] - from;
        if (!goes_on(pass, &pass->items[pass->fork_order[s]], 0))
            continue;
        memcpy(x_rows(pass, row).p, pass->fork + from * hidden, m * hidden * sizeof *pass->x);
        pass->order[pass->n] = pass->fork_order[s];
        pass->starts[pass->n++] = (uint32_t)row;
        row += m;
    }
    pass->starts[pass->n] = (uint32_t)row;
}

static int run_trunk(struct sr_enc_pass *pass, size_t n_items, const struct sr_encoder_between *between)
{
    size_t layers = pass->e->config.layers, first = pass->trunk ? pass->shared : 0;
    if (first)
        begin_shared(pass);
    else
        begin(pass, n_items);
    for (size_t i = first; i < layers && pass->n; i++) {
        if (between && between->stops(between->ctx))
            return SR_ECANCELED;
        run_layer(pass, i, i + 1 == layers && (i || !pass->e->config.conv) && wants_first_only(pass));
        sr_enc_emit(pass, i + 1);
        if (!pass->trunk && i + 1 == pass->shared)
            fork_rows(pass);
        drop_finished(pass, i + 1);
    }
    return SR_OK;
}

/* Layers that all adapted trunks of the batch share with the plain one; 0: none is asked, or one shares none.
 */
static size_t shared_layers(const struct sr_enc_pass *pass, size_t n_items)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < n_items; i++)
        for (size_t h = 0; h < pass->e->info.n_heads; h++) {
            size_t trunk = pass->e->heads[h].trunk;
            if (trunk && (pass->items[i].heads >> h & 1) && pass->e->trunks[trunk]->shared < least)
                least = pass->e->trunks[trunk]->shared;
        }
    return least == SIZE_MAX ? 0 : least;
}

static int check_item(const struct sr_encoder *e, const struct sr_encoder_item *item)
{
    if (!item->n_ids || item->n_ids > e->info.max_tokens || !item->heads || item->heads >> e->info.n_heads ||
        item->layers > e->config.layers || item->dimensions > e->config.vector)
        return SR_EINVAL;
    for (size_t h = 0; h < e->info.n_heads; h++)
        if ((item->heads >> h & 1) && !item->out[h])
            return SR_EINVAL;
    for (size_t i = 0; i < item->n_ids; i++)
        if (item->ids[i] < 0 || (size_t)item->ids[i] >= e->config.vocab)
            return SR_EINVAL;
    return SR_OK;
}

int sr_encoder_run(const struct sr_encoder *encoder, struct sr_team *team, struct sr_encoder_work *work,
                   const struct sr_encoder_item *items, size_t n_items,
                   const struct sr_encoder_between *between)
{
    struct sr_enc_pass pass = {.e = encoder, .team = team, .items = items};
    size_t tokens = 0;
    int rc = SR_OK;
    for (size_t i = 0; rc == SR_OK && i < n_items; i++) {
        rc = check_item(encoder, &items[i]);
        tokens += items[i].n_ids;
    }
    if (rc || n_items == 0)
        return rc;
    if (tokens > UINT32_MAX / 2)
        return SR_ELIMIT;
    sr_enc_plan_make(encoder, tokens, n_items, sr_team_size(team), &pass.plan);
    rc = sr_enc_work_reserve(work, pass.plan.bytes);
    if (rc)
        return rc;
    pass.x = (float *)(void *)(work->p + pass.plan.x);
    pass.a = work->p + pass.plan.a;
    pass.q = work->p + pass.plan.q;
    pass.rows = (float *)(void *)(work->p + pass.plan.rows);
    pass.first = (float *)(void *)(work->p + pass.plan.first);
    pass.scratch = work->p + pass.plan.scratch;
    pass.starts = (uint32_t *)(void *)(work->p + pass.plan.starts);
    pass.order = (uint32_t *)(void *)(work->p + pass.plan.order);
    pass.fork = (float *)(void *)(work->p + pass.plan.fork);
    pass.fork_starts = (uint32_t *)(void *)(work->p + pass.plan.fork_starts);
    pass.fork_order = (uint32_t *)(void *)(work->p + pass.plan.fork_order);
    pass.shared = shared_layers(&pass, n_items);
    for (pass.trunk = 0; rc == SR_OK && pass.trunk < encoder->n_trunks; pass.trunk++)
        rc = run_trunk(&pass, n_items, between);
    return rc;
}
