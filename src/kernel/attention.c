/*
 * Attention over a packed batch: heads are processed in groups whose packed keys and values fit the scratch.
 * In each group the team's members first pack, then compute blocks of queries; a member that is done takes
 * the next block. With relative positions, their terms are computed before the blocks: products of queries,
 * and of keys, with the rows of the distances at which they meet.
 */
#include "kernel/private.h"

#include <assert.h>
#include <stdatomic.h>

#define GROUP_BYTES ((size_t)8 << 20)
#define TERM_ROWS   96u /* tokens whose terms are computed at a time */

struct plan {
    const struct sr_attention *a;
    const struct sr_attention_form *form;
    size_t rows;       /* of keys in a head's pack, over all sequences */
    size_t head_bytes; /* of keys and values each */
    size_t group;      /* heads in a group */
    size_t first, end; /* tokens that are queries */
    size_t first_head, heads;
    char *packs, *work;
    size_t ld_terms;   /* 0: no relative positions */
    size_t head_terms; /* floats of a head's terms: of all queries, then of all keys */
    float *terms;
    char *products; /* scratch of sr_gemm, `product_bytes` for each member */
    size_t product_bytes;
    atomic_size_t next;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Any of the matrices: they have one shape. */
static const struct sr_matrix *any_term(const struct sr_relative *relative)
{
    return relative->keys ? relative->keys[0] : relative->queries[0];
}

/* A row of terms ends a cache line later than a power of two: the terms of one query are in as many rows as
 * there are keys. */
static void plan_terms(struct plan *p, size_t tokens)
{
    const struct sr_relative *relative = p->a->relative;
    if (!relative)
        return;
    p->ld_terms = sr_round_up(relative->n_rows, 16) + 16;
    p->head_terms = 2 * tokens * p->ld_terms;
    p->product_bytes =
        sr_round_up(sr_gemm_scratch(any_term(relative), least(tokens, TERM_ROWS)), SR_KERNEL_ALIGN);
}

static void plan_init(struct plan *p, const struct sr_attention *a, unsigned team_size)
{
    const struct sr_ops *ops = sr_ops_current();
    size_t tokens = a->starts[a->n_sequences];
    p->a = a;
    p->form = &ops->attention[a->type == SR_SCALAR_F32 ? 0 : 1];
    p->rows = tokens / 16 * 16 + 16 * a->n_sequences;
    p->head_bytes = p->form->pack_bytes(a->head_dim, p->rows);
    plan_terms(p, tokens);
    size_t fit = GROUP_BYTES / (2 * p->head_bytes + p->head_terms * sizeof(float));
    p->group = least(a->heads, fit > team_size ? fit : team_size);
    p->first = least(a->first_query, tokens);
    p->end = a->n_queries < tokens - p->first ? p->first + a->n_queries : tokens;
}

size_t sr_attention_scratch(const struct sr_attention *a, unsigned team_size)
{
    struct plan p = {0};
    plan_init(&p, a, team_size);
    return 2 * p.group * p.head_bytes + team_size * (p.form->work_bytes(a->head_dim) + p.product_bytes) +
           p.group * p.head_terms * sizeof(float) + SR_KERNEL_ALIGN;
}

static struct sr_head head_of(const struct plan *p, size_t sequence, size_t index)
{
    const struct sr_attention *a = p->a;
    struct sr_head head = {.a = a, .head = p->first_head + index, .first = a->starts[sequence]};
    head.length = a->starts[sequence + 1] - head.first;
    size_t offset = p->form->pack_bytes(a->head_dim, head.first / 16 * 16 + 16 * sequence);
    head.keys = p->packs + 2 * index * p->head_bytes + offset;
    head.values = (char *)head.keys + p->head_bytes;
    if (p->ld_terms) {
        const float *terms = p->terms + index * p->head_terms + head.first * p->ld_terms;
        head.ld_terms = p->ld_terms;
        head.query_terms = a->relative->keys ? terms : NULL;
        head.key_terms = a->relative->queries ? terms + p->head_terms / 2 : NULL;
    }
    return head;
}

/* The queries of a sequence: positions [*from, *to); none when they are equal. */
static void queries_of(const struct plan *p, const struct sr_head *head, size_t *from, size_t *to)
{
    *from = p->first > head->first ? p->first - head->first : 0;
    *to = p->end > head->first ? least(p->end - head->first, head->length) : 0;
    *from = least(*from, *to);
}

/* Packs blocks of keys, for all heads of the group or for a share of them, so that each member has work. */
static void pack_part(void *ctx, unsigned part, unsigned parts)
{
    struct plan *p = ctx;
    (void)part;
    size_t together = least((p->heads + parts - 1) / parts, SR_ATTENTION_HEADS);
    size_t shares = (p->heads + together - 1) / together, index = 0, mine = atomic_fetch_add(&p->next, 1);
    for (size_t s = 0; s < p->a->n_sequences; s++) {
        struct sr_head heads[SR_ATTENTION_HEADS] = {head_of(p, s, 0)};
        size_t from, to, length = heads[0].length;
        queries_of(p, &heads[0], &from, &to);
        size_t pieces = from < to ? (length + SR_ATTENTION_KEYS - 1) / SR_ATTENTION_KEYS * shares : 0;
        for (; mine < index + pieces; mine = atomic_fetch_add(&p->next, 1)) {
            size_t at = (mine - index) / shares * SR_ATTENTION_KEYS, h = (mine - index) % shares * together;
            size_t n = least(together, p->heads - h);
            for (size_t i = 0; i < n; i++)
                heads[i] = head_of(p, s, h + i);
            p->form->pack(heads, n, at, least(at + SR_ATTENTION_KEYS, length));
        }
        index += pieces;
    }
}

/* The terms of positions [from, to) of a sequence, whose others are [low, high): of queries for those keys
 * (part 0) or of keys for those queries (part 1). Only the rows of distances between the two are multiplied.
 */
static void compute_terms(const struct plan *p, const struct sr_head *head, size_t part, size_t from,
                          size_t to, size_t low, size_t high, void *work)
{
    const struct sr_attention *a = p->a;
    struct sr_matrix *const *matrices = part ? a->relative->queries : a->relative->keys;
    const int32_t *rows = part ? a->relative->query_rows : a->relative->key_rows;
    const float *terms = part ? head->key_terms : head->query_terms;
    if (!matrices)
        return;
    size_t at = (head->first + from) * a->ld + (part * a->heads + head->head) * a->head_dim;
    struct sr_rows x = {(char *)(uintptr_t)a->qkv + at * sr_scalar_size(a->type), a->ld, a->type};
    struct sr_rows y = {(float *)(uintptr_t)(terms + from * p->ld_terms), p->ld_terms, SR_SCALAR_F32};
    int32_t first = rows[(ptrdiff_t)low - (ptrdiff_t)(to - 1)];
    int32_t last = rows[(ptrdiff_t)(high - 1) - (ptrdiff_t)from];
    sr_gemm_columns(matrices[head->head], (size_t)first, (size_t)last + 1, x, to - from, y, work);
}

/* Terms of queries that are asked for, and of the keys that they meet. */
static void terms_part(void *ctx, unsigned part, unsigned parts)
{
    struct plan *p = ctx;
    (void)parts;
    void *work = p->products + part * p->product_bytes;
    size_t index = 0, mine = atomic_fetch_add(&p->next, 1);
    for (size_t h = 0; h < p->heads; h++)
        for (size_t s = 0; s < p->a->n_sequences; s++) {
            struct sr_head head = head_of(p, s, h);
            size_t first, end;
            queries_of(p, &head, &first, &end);
            size_t of_queries = (end - first + TERM_ROWS - 1) / TERM_ROWS;
            size_t pieces = first < end ? of_queries + (head.length + TERM_ROWS - 1) / TERM_ROWS : 0;
            for (; mine < index + pieces; mine = atomic_fetch_add(&p->next, 1)) {
                size_t piece = mine - index, of_key = piece < of_queries ? 0 : 1;
                size_t from = of_key ? (piece - of_queries) * TERM_ROWS : first + piece * TERM_ROWS;
                size_t to = least(from + TERM_ROWS, of_key ? head.length : end);
                compute_terms(p, &head, of_key, from, to, of_key ? first : 0, of_key ? end : head.length,
                              work);
            }
            index += pieces;
        }
}

/* Computes blocks of queries, head after head. */
static void answer_part(void *ctx, unsigned part, unsigned parts)
{
    struct plan *p = ctx;
    (void)parts;
    void *work = p->work + part * p->form->work_bytes(p->a->head_dim);
    size_t index = 0, mine = atomic_fetch_add(&p->next, 1);
    for (size_t h = 0; h < p->heads; h++)
        for (size_t s = 0; s < p->a->n_sequences; s++) {
            struct sr_head head = head_of(p, s, h);
            size_t from, to;
            queries_of(p, &head, &from, &to);
            size_t pieces = (to - from + SR_ATTENTION_QUERIES - 1) / SR_ATTENTION_QUERIES;
            for (; mine < index + pieces; mine = atomic_fetch_add(&p->next, 1)) {
                size_t at = from + (mine - index) * SR_ATTENTION_QUERIES;
                p->form->block(&head, at, least(at + SR_ATTENTION_QUERIES, to), work);
            }
            index += pieces;
        }
}

static void run_part(struct sr_team *team, void (*part)(void *, unsigned, unsigned), struct plan *p)
{
    atomic_store(&p->next, 0);
    sr_team_run(team, part, p);
}

void sr_attention(struct sr_team *team, const struct sr_attention *a, void *scratch)
{
    struct plan p = {0};
    plan_init(&p, a, sr_team_size(team));
    assert(a->head_dim == 16 || a->head_dim == 32 || a->head_dim == 64 || a->head_dim == 128);
    assert(!a->relative || !a->rope);
    p.packs = (char *)(((uintptr_t)scratch + SR_KERNEL_ALIGN - 1) / SR_KERNEL_ALIGN * SR_KERNEL_ALIGN);
    p.work = p.packs + 2 * p.group * p.head_bytes;
    p.products = p.work + sr_team_size(team) * p.form->work_bytes(a->head_dim);
    p.terms = (float *)(void *)(p.products + sr_team_size(team) * p.product_bytes);
    for (; p.first_head < a->heads; p.first_head += p.group) {
        p.heads = least(p.group, a->heads - p.first_head);
        run_part(team, pack_part, &p);
        if (p.ld_terms)
            run_part(team, terms_part, &p);
        run_part(team, answer_part, &p);
    }
}
