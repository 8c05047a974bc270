/*
 * Attention of one head, flash style, for one type of operands. Included by an ops_*.c once per type, after
 * rows_template.h, with
 *   AT(name)     the suffix of the functions
 *   AT_KIND      AT_F32, AT_BF16 or AT_FIXED (16 bits, see private.h): the operands
 *   AT_FORM      the sr_form whose tile multiplies
 *   AT_ROWS, AT_VECTORS        its tile for Q K^T
 *   AT_VALUE_ROWS(vectors), AT_VALUE_VECTORS  its tile for P V
 * Keys lie in blocks of 192 (the last is shorter): [head_dim / unit][keys][unit]; values as [keys /
 * unit][head_dim] [unit]; both padded with zeros to 16 keys. Scores carry log2(e), so that weights are powers
 * of two. In fixed point each key has a scale and each column of a block of values: floats before the block.
 */
#ifndef AT_F32
#define AT_F32   0
#define AT_BF16  1
#define AT_FIXED 2
#endif
#define AT_UNIT   (AT_KIND == AT_F32 ? 1u : 2u)
#define AT_SIZE   (AT_KIND == AT_F32 ? 4u : 2u)
#define AT_EXTRA  (AT_KIND == AT_FIXED ? 4u : 0) /* bytes of scales for a unit of head_dim and 16 keys */
#define AT_STRIP  24u
#define AT_TURNED ((AT_STRIP + VL - 1) / VL * VL) /* whole vectors of a strip's queries */
#define AT_LOWEST (-3.4e38F)                      /* score of a masked key */
#define AT_FLOOR  (-1.7e38F) /* a maximum before the first key: far above AT_LOWEST, below every score */

struct AT(attention_work) {
    float scores[AT_STRIP][SR_ATTENTION_KEYS];
    float weights[AT_STRIP][SR_ATTENTION_KEYS]; /* of AT_SIZE; row distance SR_ATTENTION_KEYS elements */
    float terms[AT_TURNED][SR_ATTENTION_KEYS];  /* of keys, as the scores lie */
    float most[SR_ATTENTION_QUERIES], total[SR_ATTENTION_QUERIES];
#if AT_KIND == AT_FIXED
    float scale[SR_ATTENTION_QUERIES]; /* of queries */
    float shrink[AT_STRIP];
    int32_t products[AT_STRIP * 128]; /* of weights and values, [AT_STRIP][head_dim] */
#endif
    float rows[]; /* queries [SR_ATTENTION_QUERIES][head_dim], then sums of values, likewise */
};

static size_t AT(pack_bytes)(size_t head_dim, size_t length)
{
    return sr_round_up(length, 16) / 16 * head_dim * (16 * AT_SIZE + AT_EXTRA);
}

static size_t AT(work_bytes)(size_t head_dim)
{
    return sr_round_up(sizeof(struct AT(attention_work)) +
                           2 * SR_ATTENTION_QUERIES * head_dim * sizeof(float),
                       SR_KERNEL_ALIGN);
}

/* Returns the query (part 0), key (1) or value (2) of a position. */
static const void *AT(find)(const struct sr_head *head, size_t part, size_t position)
{
    const struct sr_attention *a = head->a;
    size_t at = (head->first + position) * a->ld + (part * a->heads + head->head) * a->head_dim;
    return (const char *)a->qkv + at * sr_scalar_size(a->type);
}

/* Rows of a head are far apart in memory, so the CPU's hardware prefetcher does not detect them. */
static void AT(fetch)(const struct sr_head *head, size_t part, size_t position)
{
    if (position >= head->length)
        return;
    const char *row = AT(find)(head, part, position);
    for (size_t i = 0; i < head->a->head_dim * sr_scalar_size(head->a->type); i += 64)
        __builtin_prefetch(row + i, 0, 2);
}

/* Rotates and scales one query or key. */
static void AT(turn)(const struct sr_head *head, size_t part, size_t position, float scale, void *dst)
{
    const struct sr_attention *a = head->a;
    const void *x = AT(find)(head, part, position);
    enum sr_scalar as = AT_KIND == AT_BF16 ? SR_SCALAR_BF16 : SR_SCALAR_F32;
    size_t half = a->head_dim / 2;
    vf s = v_set(scale);
    if (!a->rope) {
        for (size_t i = 0; i < a->head_dim; i += VL)
            store_row(dst, as, i, v_mul(load_row(x, a->type, i, VL), s), VL);
        return;
    }
    const float *cosines = a->rope->cosines + position * half, *sines = a->rope->sines + position * half;
    for (size_t i = 0; i < half; i += VL) {
        size_t n = half % VL ? lanes_left(half, i) : VL;
        vf cosine = v_mul(n == VL ? v_load(cosines + i) : v_load_n(cosines + i, n), s);
        vf sine = v_mul(n == VL ? v_load(sines + i) : v_load_n(sines + i, n), s);
        vf low = load_row(x, a->type, i, n), high = load_row(x, a->type, half + i, n);
        store_row(dst, as, i, v_sub(v_mul(low, cosine), v_mul(high, sine)), n);
        store_row(dst, as, half + i, v_fma(high, cosine, v_mul(low, sine)), n);
    }
}

/* Stores it as an operand; `own` is its scale in fixed point. */
static void AT(rotate)(const struct sr_head *head, size_t part, size_t position, float scale, void *dst,
                       float *own)
{
#if AT_KIND == AT_FIXED
    _Alignas(64) float row[128];
    AT(turn)(head, part, position, scale, row);
    fix_as(row, SR_SCALAR_F32, head->a->head_dim, head->a->head_dim, SR_FIXED_SHORT, dst, own);
#else
    (void)own;
    AT(turn)(head, part, position, scale, dst);
#endif
}

/* Number of keys of a block, padding included. */
static size_t AT(block_keys)(const struct sr_head *head, size_t block)
{
    size_t left = sr_round_up(head->length, 16) - block * SR_ATTENTION_KEYS;
    return left < SR_ATTENTION_KEYS ? left : SR_ATTENTION_KEYS;
}

static float *AT(key_scales)(const struct sr_head *head, size_t block)
{
    return (float *)(void *)((char *)head->keys +
                             AT(pack_bytes)(head->a->head_dim, block * SR_ATTENTION_KEYS));
}

static char *AT(key_block)(const struct sr_head *head, size_t block)
{
    return (char *)(AT(key_scales)(head, block) + (AT_KIND == AT_FIXED ? AT(block_keys)(head, block) : 0));
}

static float *AT(value_scales)(const struct sr_head *head, size_t block)
{
    return (float *)(void *)((char *)head->values +
                             AT(pack_bytes)(head->a->head_dim, block * SR_ATTENTION_KEYS));
}

static char *AT(value_block)(const struct sr_head *head, size_t block)
{
    return (char *)(AT(value_scales)(head, block) + (AT_KIND == AT_FIXED ? head->a->head_dim : 0));
}

/* Sixteen keys from `at` on: rotated, then transposed. */
static void AT(pack_keys)(const struct sr_head *head, size_t at, size_t n)
{
    _Alignas(64) uint32_t rows[16 * 128];
    float scales[16] = {0};
    size_t words = head->a->head_dim / AT_UNIT, block = at / SR_ATTENTION_KEYS;
    for (size_t i = 0; i < n; i++) {
        AT(fetch)(head, 1, at + 16 + i);
        AT(rotate)(head, 1, at + i, 1, rows + i * words, scales + i);
    }
    if (AT_KIND == AT_FIXED)
        memcpy(AT(key_scales)(head, block) + at % SR_ATTENTION_KEYS, scales, sizeof scales);
    if (n < 16)
        memset(rows + n * words, 0, (16 - n) * words * sizeof *rows);
    uint32_t *out = (uint32_t *)(void *)AT(key_block)(head, block) + at % SR_ATTENTION_KEYS;
    v_turn16(rows, words, out, AT(block_keys)(head, block));
}

#if AT_KIND == AT_FIXED
/* Updates `tops`, the largest magnitudes per column, with n values. */
static void AT(measure_values)(const struct sr_head *head, size_t at, size_t n, float *tops)
{
    for (size_t i = 0; i < n; i++)
        AT(fetch)(head, 2, at + 16 + i);
    for (size_t j = 0; j < head->a->head_dim; j += VL) {
        vf top = v_load(tops + j);
        for (size_t i = 0; i < n; i++)
            top = v_max(top, v_abs(load_row(AT(find)(head, 2, at + i), head->a->type, j, VL)));
        v_store(tops + j, top);
    }
}
#endif

/* Packs sixteen values from `at` on, of which n exist; updates `tops` in fixed point. */
static void AT(pack_values)(const struct sr_head *head, size_t at, size_t n, const float *tops)
{
    size_t d = head->a->head_dim, block = at / SR_ATTENTION_KEYS;
    enum sr_scalar type = head->a->type;
    char *out = AT(value_block)(head, block) + at % SR_ATTENTION_KEYS * d * AT_SIZE;
    for (size_t j = 0; j < d; j += VL) {
#if AT_KIND == AT_FIXED
        vf top = v_load(tops + j), step = v_mul(v_inverse(top), v_set(SR_FIXED_VALUE));
        if (at % SR_ATTENTION_KEYS == 0)
            v_store(AT(value_scales)(head, block) + j, v_mul(top, v_set(1.0F / SR_FIXED_VALUE)));
#else
        (void)tops;
#endif
        for (size_t i = 0; i < 16; i += AT_UNIT) {
            vf low = i < n ? load_row(AT(find)(head, 2, at + i), type, j, VL) : v_set(0);
            vf high =
                AT_UNIT == 2 && i + 1 < n ? load_row(AT(find)(head, 2, at + i + 1), type, j, VL) : v_set(0);
#if AT_KIND == AT_FIXED
            v_store_fixed_pairs((int16_t *)(void *)out + i * d + 2 * j, v_mul(low, step), v_mul(high, step));
#elif AT_KIND == AT_BF16
            v_store_pairs((uint16_t *)(void *)out + i * d + 2 * j, low, high);
#else
            (void)high;
            v_store((float *)(void *)out + i * d + j, low);
#endif
        }
    }
}

/* Packs sixteen positions of all heads before the next sixteen: a token's heads are adjacent in memory, its
 * neighbours are not. */
static void AT(pack)(const struct sr_head *heads, size_t n, size_t from, size_t to)
{
    float tops[SR_ATTENTION_HEADS][128];
    for (size_t h = 0; h < n; h++)
        for (size_t j = 0; j < 128; j++)
            tops[h][j] = 1e-30F;
    for (size_t at = from; at < to; at += 16)
        for (size_t h = 0; h < n; h++) {
            AT(pack_keys)(&heads[h], at, to - at < 16 ? to - at : 16);
#if AT_KIND == AT_FIXED
            AT(measure_values)(&heads[h], at, to - at < 16 ? to - at : 16, tops[h]);
#endif
        }
    for (size_t at = from; at < to; at += 16)
        for (size_t h = 0; h < n; h++)
            AT(pack_values)(&heads[h], at, to - at < 16 ? to - at : 16, tops[h]);
}

/* The scores of one strip: queries `rows` against keys [from, to) of a block; from and to are multiples
 * of 16. */
static void AT(multiply_keys)(const struct sr_head *head, const char *queries, unsigned rows, size_t block,
                              size_t from, size_t to, float *scores)
{
    size_t d = head->a->head_dim, keys = AT(block_keys)(head, block);
    size_t columns = (size_t)AT_FORM.width * AT_VECTORS;
    struct sr_tile tile = {
        .lda = d * AT_SIZE, .ldb = keys * 4, .steps = d / AT_UNIT, .ldc = SR_ATTENTION_KEYS};
    for (size_t at = from; at < to; at += columns) {
        tile.vectors = (unsigned)((to - at < columns ? to - at : columns) / AT_FORM.width);
        tile.b = AT(key_block)(head, block) + at * 4;
        for (unsigned r = 0; r < rows; r += AT_ROWS) {
            tile.rows = rows - r < AT_ROWS ? rows - r : AT_ROWS;
            tile.a = queries + r * tile.lda;
            tile.c = scores + r * SR_ATTENTION_KEYS + (at - from);
            AT_FORM.tile(&tile);
        }
    }
}

/* The inputs that a strip's queries share: n keys and, in fixed point, their scales; NULL when the scores are
 * floats already. */
struct AT(seen) {
    size_t n;
    const float *scales;
};

/* Loads a vector of scores; `own` is the query's scale. */
SR_INLINE vf AT(score)(const float *scores, const struct AT(seen) * seen, vf own, size_t i)
{
#if AT_KIND == AT_FIXED
    if (!seen->scales)
        return v_load(scores + i);
    return v_mul(v_mul(v_load_i32((const int32_t *)(const void *)scores + i), own), v_load(seen->scales + i));
#else
    (void)seen;
    (void)own;
    return v_load(scores + i);
#endif
}

/* Turns scores into weights with the running maximum; returns the factor for earlier sums. Only the scores
 * [low, high] count. */
static float AT(soften)(float *scores, const struct AT(seen) * seen, float scale, void *weights, size_t low,
                        size_t high, float *most, float *total)
{
    size_t n = seen->n;
    vf top = v_set(*most), own = v_set(scale);
    if (low > 0 || high + 1 < n) {
        for (size_t i = 0; i < n; i += VL) {
            vf v = v_within(v_lanes((float)i), v_set((float)low), v_set((float)high),
                            AT(score)(scores, seen, own, i), v_set(AT_LOWEST));
            v_store(scores + i, v);
            top = v_max(top, v);
        }
    } else {
        for (size_t i = 0; i < n; i += VL) {
            vf v = AT(score)(scores, seen, own, i);
            if (AT_KIND == AT_FIXED)
                v_store(scores + i, v);
            top = v_max(top, v);
        }
    }
    float now = v_top(top);
    vf sum = v_set(0), m = v_set(now);
    for (size_t i = 0; i < n; i += VL) {
#if AT_KIND == AT_FIXED
        vf w = v_exp2_rough(v_sub(v_load(scores + i), m), SR_FIXED_SHORT);
        v_store_fixed((int16_t *)weights + i, w, VL);
#elif AT_KIND == AT_BF16
        vf w = v_exp2_rough(v_sub(v_load(scores + i), m), 1);
        v_store_bf16((uint16_t *)weights + i, w, VL);
#else
        vf w = v_exp2(v_sub(v_load(scores + i), m));
        v_store((float *)weights + i, w);
#endif
        sum = v_add(sum, w);
    }
    float shrink = 1;
    if (now > *most)
        shrink = *most <= AT_FLOOR ? 0 : exp2f(*most - now);
    *total = *total * shrink + v_sum(sum);
    *most = now;
    return shrink;
}

/* The weights of a strip times keys [from, to) of a block of values; added to `sums`; with `fresh` replaces
 * them. */
static void AT(multiply_values)(const struct sr_head *head, const void *weights, unsigned rows, size_t block,
                                size_t from, size_t to, void *sums, bool fresh)
{
    size_t d = head->a->head_dim;
    unsigned vectors = (unsigned)d / AT_FORM.width;
    struct sr_tile tile = {.lda = SR_ATTENTION_KEYS * AT_SIZE,
                           .ldb = d * 4,
                           .steps = (to - from) / AT_UNIT,
                           .ld_start = d,
                           .ldc = d};
    for (unsigned v = 0; v < vectors; v += tile.vectors) {
        tile.vectors = vectors - v < AT_VALUE_VECTORS ? vectors - v : AT_VALUE_VECTORS;
        tile.b = AT(value_block)(head, block) + from * d * AT_SIZE + (size_t)v * AT_FORM.width * 4;
        for (unsigned r = 0; r < rows; r += AT_VALUE_ROWS(tile.vectors)) {
            tile.rows = rows - r < AT_VALUE_ROWS(tile.vectors) ? rows - r : AT_VALUE_ROWS(tile.vectors);
            tile.a = (const char *)weights + r * tile.lda;
            tile.c = (float *)sums + r * d + (size_t)v * AT_FORM.width;
            tile.start = fresh ? NULL : tile.c;
            AT_FORM.tile(&tile);
        }
    }
}

#if AT_KIND == AT_FIXED
/* Adds the result of a block to the sums of a strip. */
static void AT(join)(const struct sr_head *head, const struct AT(attention_work) * work, unsigned rows,
                     size_t block, float *sums)
{
    size_t d = head->a->head_dim;
    const float *scales = AT(value_scales)(head, block);
    for (unsigned r = 0; r < rows; r++) {
        vf shrink = v_set(work->shrink[r]);
        for (size_t i = r * d, j = 0; j < d; i += VL, j += VL)
            v_store(sums + i, v_fma(v_load_i32(work->products + i), v_load(scales + j),
                                    v_mul(v_load(sums + i), shrink)));
    }
}
#endif

/* A vector of a row of terms for the distances from `distance` on; rows of distances near 0 are adjacent. */
SR_INLINE vf AT(terms_at)(const struct sr_relative *relative, const float *terms, const int32_t *rows,
                          ptrdiff_t distance)
{
    ptrdiff_t straight = (ptrdiff_t)relative->straight;
    if (distance >= -straight && distance + (ptrdiff_t)VL - 1 <= straight)
        return v_load(terms + rows[distance]);
    return v_pick(terms, rows + distance);
}

/* The terms of keys from `from` on, n of them (a multiple of 16), for a strip of queries. In memory the terms
 * of one key are adjacent, in the scores those of one query. */
static void AT(turn_terms)(const struct sr_head *head, size_t position, size_t from, size_t n, float *out)
{
    _Alignas(64) float rows[16 * AT_TURNED];
    const struct sr_relative *relative = head->a->relative;
    for (size_t at = 0; at < n; at += 16) {
        for (size_t j = 0; j < 16; j++) {
            size_t key = from + at + j < head->length ? from + at + j : head->length - 1; /* padding: any */
            const float *terms = head->key_terms + key * head->ld_terms;
            for (size_t i = 0; i < AT_TURNED; i += VL)
                v_store(rows + j * AT_TURNED + i, AT(terms_at)(relative, terms, relative->query_rows,
                                                               (ptrdiff_t)(position + i) - (ptrdiff_t)key));
        }
        v_turn16((const uint32_t *)(const void *)rows, AT_TURNED, (uint32_t *)(void *)(out + at),
                 SR_ATTENTION_KEYS);
    }
}

/* Adds the terms of relative positions to the scores of the query at `position` for the keys from `from` on;
 * the scores are floats then. `turned`: its terms of keys. */
static void AT(add_terms)(const struct sr_head *head, size_t position, size_t from,
                          const struct AT(seen) * seen, float own, const float *turned, float *scores)
{
    const struct sr_relative *relative = head->a->relative;
    const float *of_query = head->query_terms ? head->query_terms + position * head->ld_terms : NULL;
    ptrdiff_t distance = (ptrdiff_t)from - (ptrdiff_t)position;
    vf scale = v_set(head->a->scale * 1.44269504F), mine = v_set(own);
    for (size_t i = 0; i < seen->n; i += VL) {
        vf term = head->key_terms ? v_load(turned + i) : v_set(0);
        if (of_query)
            term = v_add(term, AT(terms_at)(relative, of_query, relative->key_rows, distance + (ptrdiff_t)i));
        v_store(scores + i, v_fma(term, scale, AT(score)(scores, seen, mine, i)));
    }
}

/* Positions that a query sees: [*low, *high]. */
static void AT(sight)(const struct sr_head *head, size_t position, size_t *low, size_t *high)
{
    size_t window = head->a->window;
    *low = position > window ? position - window : 0;
    *high = window < head->length - 1 - position ? position + window : head->length - 1;
}

/* Computes a strip of queries against one block of keys. */
static void AT(strip)(const struct sr_head *head, struct AT(attention_work) * work, size_t first, size_t at,
                      unsigned rows, size_t block)
{
    size_t d = head->a->head_dim, from, to, ignored;
    AT(sight)(head, first + at, &from, &ignored);
    AT(sight)(head, first + at + rows - 1, &ignored, &to);
    size_t base = block * SR_ATTENTION_KEYS, end = base + AT(block_keys)(head, block);
    from = from > base ? from / 16 * 16 : base;
    to = to + 1 < end ? sr_round_up(to + 1, 16) : end;
    if (from >= to)
        return;
    float *sums = work->rows + (SR_ATTENTION_QUERIES + at) * d;
    AT(multiply_keys)
    (head, (const char *)work->rows + at * d * AT_SIZE, rows, block, from - base, to - base, work->scores[0]);
    struct AT(seen) seen = {.n = to - from};
    float scale = 1;
    if (AT_KIND == AT_FIXED)
        seen.scales = AT(key_scales)(head, block) + (from - base);
    if (head->a->relative && head->key_terms)
        AT(turn_terms)(head, first + at, from, to - from, work->terms[0]);
    for (unsigned r = 0; r < rows; r++) {
        size_t low, high;
        AT(sight)(head, first + at + r, &low, &high);
        bool blind = high < from || low >= to; /* the query sees no key of this block */
        low = blind ? to - from : low > from ? low - from : 0;
        high = blind ? 0 : high - from;
#if AT_KIND == AT_FIXED
        scale = work->scale[at + r];
#endif
        struct AT(seen) now = seen;
        if (head->a->relative) {
            AT(add_terms)(head, first + at + r, from, &seen, scale, work->terms[r], work->scores[r]);
            now.scales = NULL;
        }
        float shrink =
            AT(soften)(work->scores[r], &now, scale, (char *)work->weights + r * SR_ATTENTION_KEYS * AT_SIZE,
                       low, high, &work->most[at + r], &work->total[at + r]);
#if AT_KIND == AT_FIXED
        work->shrink[r] = shrink;
#else
        if (shrink < 1)
            for (size_t i = 0; i < d; i += VL)
                v_store(sums + r * d + i, v_mul(v_load(sums + r * d + i), v_set(shrink)));
#endif
    }
#if AT_KIND == AT_FIXED
    AT(multiply_values)(head, work->weights, rows, block, from - base, to - base, work->products, true);
    AT(join)(head, work, rows, block, sums);
#else
    AT(multiply_values)(head, work->weights, rows, block, from - base, to - base, sums, false);
#endif
}

static void AT(block)(const struct sr_head *head, size_t from, size_t to, void *memory)
{
    const struct sr_attention *a = head->a;
    struct AT(attention_work) *work = memory;
    size_t d = a->head_dim, n = to - from, low, high, ignored;
    for (size_t i = 0; i < n; i++) {
        AT(fetch)(head, 0, from + i + 8);
        float scale;
        AT(rotate)(head, 0, from + i, a->scale * 1.44269504F, (char *)work->rows + i * d * AT_SIZE, &scale);
#if AT_KIND == AT_FIXED
        work->scale[i] = scale;
#endif
        work->most[i] = AT_FLOOR;
        work->total[i] = 0;
    }
    memset(work->rows + SR_ATTENTION_QUERIES * d, 0, n * d * sizeof(float));
    AT(sight)(head, from, &low, &ignored);
    AT(sight)(head, to - 1, &ignored, &high);
    for (size_t block = low / SR_ATTENTION_KEYS; block <= high / SR_ATTENTION_KEYS; block++)
        for (size_t at = 0; at < n; at += AT_STRIP)
            AT(strip)(head, work, from, at, (unsigned)(n - at < AT_STRIP ? n - at : AT_STRIP), block);
    for (size_t i = 0; i < n; i++) {
        const float *sums = work->rows + (SR_ATTENTION_QUERIES + i) * d;
        void *out =
            (char *)row_at(&a->out, head->first + from + i) + head->head * d * sr_scalar_size(a->out.type);
        vf inverse = v_set(1 / work->total[i]);
        for (size_t j = 0; j < d; j += VL)
            store_row(out, a->out.type, j, v_mul(v_load(sums + j), inverse), VL);
    }
}

#undef AT_UNIT
#undef AT_SIZE
#undef AT_EXTRA
#undef AT_STRIP
#undef AT_TURNED
#undef AT_LOWEST
#undef AT_FLOOR
