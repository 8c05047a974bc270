/* The workspace of a pass: one allocation, laid out anew for each batch, kept for the next. */
#include "infer/encoder/private.h"

#include "base/cpu.h"
#include "base/mem.h"

#define ALIGN    64u
#define CHUNK    1024u /* rows of the MLP at a time: their hidden rows stay near the cores */
#define WORK_MIN ((size_t)64 << 10)

static size_t place(struct sr_enc_plan *plan, size_t bytes)
{
    size_t at = plan->bytes;
    plan->bytes += (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    return at;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Keys are packed in blocks of 16 that begin anew with each sequence: one long sequence stands for all. */
static size_t attention_scratch(const struct sr_encoder *e, const struct sr_enc_plan *plan, size_t sequences,
                                unsigned team)
{
    const struct sr_enc_config *c = &e->config;
    uint32_t starts[2] = {0, (uint32_t)(plan->tokens + 16 * (sequences - 1))};
    struct sr_attention a = {.ld = 3 * c->hidden,
                             .type = plan->act,
                             .starts = starts,
                             .n_sequences = 1,
                             .heads = c->heads,
                             .head_dim = c->head_dim,
                             .scale = 1,
                             .window = SIZE_MAX,
                             .rope = e->rope[1],
                             .n_queries = SIZE_MAX};
    size_t whole = sr_attention_scratch(&a, team);
    a.window = c->window;
    return larger(whole, sr_attention_scratch(&a, team));
}

/* With relative positions: of the most tokens that attend at a time, all of one sequence or each its own. */
static size_t relative_scratch(const struct sr_encoder *e, const struct sr_enc_plan *plan, size_t sequences,
                               unsigned team)
{
    const struct sr_enc_config *c = &e->config;
    struct sr_relative relative = sr_enc_relative_of(e, 0, 0);
    size_t run = larger(SR_ENC_RUN, e->info.max_tokens), tokens = plan->tokens < run ? plan->tokens : run;
    size_t most = sequences < SR_ENC_RUN ? sequences : SR_ENC_RUN;
    uint32_t starts[SR_ENC_RUN + 1] = {0};
    starts[most] = (uint32_t)tokens;
    struct sr_attention a = {.ld = 3 * c->hidden,
                             .type = plan->act,
                             .starts = starts,
                             .n_sequences = most,
                             .heads = c->heads,
                             .head_dim = c->head_dim,
                             .scale = 1,
                             .window = SIZE_MAX,
                             .relative = &relative,
                             .n_queries = SIZE_MAX};
    return sr_attention_scratch(&a, team);
}

/* The most that any operation of a pass asks for. */
static size_t scratch_bytes(const struct sr_encoder *e, const struct sr_enc_plan *plan, size_t sequences,
                            unsigned team)
{
    size_t most = (e->config.relative ? relative_scratch : attention_scratch)(e, plan, sequences, team);
    for (size_t t = 0; t < e->n_trunks; t++)
        for (size_t i = 0; i < e->config.layers; i++) {
            const struct sr_enc_layer *l = &e->trunks[t]->layers[i];
            most = larger(most, sr_gemm_scratch(l->qkv, plan->tokens));
            most = larger(most, sr_gemm_scratch(l->out, plan->tokens));
            most = larger(most, sr_gemm_scratch(l->up, plan->chunk));
            most = larger(most, sr_gemm_scratch(l->down, plan->chunk));
        }
    if (e->conv.matrix)
        most = larger(most, sr_gemm_scratch(e->conv.matrix, plan->group));
    for (size_t h = 0; h < e->info.n_heads; h++) {
        if (e->heads[h].dense)
            most = larger(most, sr_gemm_scratch(e->heads[h].dense, plan->group));
        if (e->heads[h].classifier)
            most = larger(most, sr_gemm_scratch(e->heads[h].classifier, plan->group));
        for (size_t i = 0; e->heads[h].kind == SR_HEAD_EMBEDDING && i < e->config.n_dense; i++)
            most = larger(most, sr_gemm_scratch(e->heads[h].after[i], plan->group));
    }
    return most;
}

void sr_enc_plan_make(const struct sr_encoder *e, size_t tokens, size_t sequences, unsigned team,
                      struct sr_enc_plan *plan)
{
    const struct sr_enc_config *c = &e->config;
    size_t labels = 0;
    *plan = (struct sr_enc_plan){.tokens = tokens};
    plan->act = e->info.precision == SR_PRECISION_FP32 ? SR_SCALAR_F32 : SR_SCALAR_BF16;
    size_t size = plan->act == SR_SCALAR_F32 ? sizeof(float) : sizeof(uint16_t);
    plan->chunk = tokens < CHUNK ? tokens : CHUNK;
    plan->group = tokens < SR_ENC_GROUP ? tokens : SR_ENC_GROUP;
    for (size_t h = 0; h < e->info.n_heads; h++)
        labels = larger(labels, e->head_info[h].n_labels);
    plan->wide = c->hidden;
    for (size_t i = 0; i < c->n_dense; i++)
        plan->wide = larger(plan->wide, c->dense[i].out);
    plan->x = place(plan, tokens * c->hidden * sizeof(float));
    plan->a = place(plan, tokens * c->hidden * size);
    size_t q = larger(tokens * 3 * c->hidden, plan->chunk * c->intermediate) * size;
    q = larger(q, plan->group * c->conv * c->hidden * sizeof(float));
    plan->q = place(plan, larger(q, tokens * c->hidden * sizeof(float)));
    plan->rows = place(plan, plan->group * (2 * plan->wide + labels) * sizeof(float));
    plan->starts = place(plan, (tokens + 1) * sizeof(uint32_t));
    plan->order = place(plan, tokens * sizeof(uint32_t));
    plan->first = place(plan, c->conv ? tokens * c->hidden * sizeof(float) : 0);
    bool forks = false;
    for (size_t t = 1; t < e->n_trunks; t++)
        forks |= e->trunks[t]->shared > 0;
    plan->fork = place(plan, forks ? tokens * c->hidden * sizeof(float) : 0);
    plan->fork_starts = place(plan, forks ? (tokens + 1) * sizeof(uint32_t) : 0);
    plan->fork_order = place(plan, forks ? tokens * sizeof(uint32_t) : 0);
    plan->scratch = place(plan, scratch_bytes(e, plan, sequences, team));
}

size_t sr_encoder_need(const struct sr_encoder *encoder, size_t tokens)
{
    struct sr_enc_plan plan;
    if (tokens == 0 || tokens > UINT32_MAX / 2)
        return tokens ? SIZE_MAX : 0;
    sr_enc_plan_make(encoder, tokens, 1, (unsigned)sr_cpu_cores(), &plan);
    return plan.bytes + ALIGN;
}

int sr_encoder_work_new(struct sr_encoder_work **out, size_t max_bytes)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    (*out)->max = max_bytes;
    return SR_OK;
}

void sr_encoder_work_free(struct sr_encoder_work *work)
{
    if (!work)
        return;
    sr_mem_free(work->raw);
    sr_mem_free(work);
}

size_t sr_encoder_work_bytes(const struct sr_encoder_work *work)
{
    return work->bytes;
}

int sr_enc_work_reserve(struct sr_encoder_work *work, size_t bytes)
{
    size_t want = bytes + ALIGN, roomy = want + want / 4;
    if (want > work->max)
        return SR_ELIMIT;
    if (want <= work->bytes)
        return SR_OK;
    if (roomy < WORK_MIN)
        roomy = WORK_MIN;
    if (roomy > work->max)
        roomy = work->max;
    sr_mem_free(work->raw); /* before the new one: the two together could exceed the ceiling */
    work->bytes = 0;
    work->raw = sr_mem_alloc(roomy);
    if (!work->raw)
        return SR_ENOMEM;
    work->bytes = roomy;
    work->p = (unsigned char *)(((uintptr_t)work->raw + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    return SR_OK;
}
