/*
 * Attention of one head, flash style, for one type of operands. Included by an ops_*.c once per type, after
 * rows_template.h, with
 *   AT(name)     the suffix of the functions
 *   AT_BF16      1: operands bf16 (unit 2), 0: fp32 (unit 1)
 *   AT_FORM      the sr_form whose tile multiplies
 *   AT_ROWS, AT_VECTORS        its tile for Q K^T
 *   AT_VALUE_ROWS(vectors), AT_VALUE_VECTORS  its tile for P V
 * Keys lie in blocks of 192 (the last is shorter): [head_dim / unit][keys][unit]; values as [keys /
 * unit][head_dim] [unit]; both padded with zeros to 16 keys. Scores carry log2(e), so that weights are powers
 * of two.
 */
#define AT_UNIT   (AT_BF16 ? 2u : 1u)
#define AT_SIZE   (AT_BF16 ? 2u : 4u)
#define AT_STRIP  24u
#define AT_LOWEST (-3.4e38F) /* a key that does not count */
#define AT_FLOOR  (-1.7e38F) /* a maximum before the first key: far above AT_LOWEST, below every score */

struct AT(attention_work) {
    float scores[AT_STRIP][SR_ATTENTION_KEYS];
    float weights[AT_STRIP][SR_ATTENTION_KEYS]; /* of AT_SIZE; row distance SR_ATTENTION_KEYS elements */
    float most[SR_ATTENTION_QUERIES], total[SR_ATTENTION_QUERIES];
    float rows[]; /* queries [SR_ATTENTION_QUERIES][head_dim], then sums of values, likewise */
};

static size_t AT(pack_bytes)(size_t head_dim, size_t length)
{
    return sr_round_up(length, 16) * head_dim * AT_SIZE;
}

static size_t AT(work_bytes)(size_t head_dim)
{
    return sr_round_up(sizeof(struct AT(attention_work)) +
                           2 * SR_ATTENTION_QUERIES * head_dim * sizeof(float),
                       SR_KERNEL_ALIGN);
}

/* The query (part 0), key (1) or value (2) of a position. */
static const void *AT(find)(const struct sr_head *head, size_t part, size_t position)
{
    const struct sr_attention *a = head->a;
    size_t at = (head->first + position) * a->ld + (part * a->heads + head->head) * a->head_dim;
    return (const char *)a->qkv + at * sr_scalar_size(a->type);
}

/* Rows of a head lie far apart, which the CPU's own prefetching does not see through. */
static void AT(fetch)(const struct sr_head *head, size_t part, size_t position)
{
    if (position >= head->length)
        return;
    const char *row = AT(find)(head, part, position);
    for (size_t i = 0; i < head->a->head_dim * sr_scalar_size(head->a->type); i += 64)
        __builtin_prefetch(row + i, 0, 2);
}

/* Rotates and scales one query or key. */
static void AT(rotate)(const struct sr_head *head, size_t part, size_t position, float scale, void *dst)
{
    const struct sr_attention *a = head->a;
    const void *x = AT(find)(head, part, position);
    enum sr_scalar as = AT_BF16 ? SR_SCALAR_BF16 : SR_SCALAR_F32;
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

static char *AT(key_block)(const struct sr_head *head, size_t block)
{
    return (char *)head->keys + block * SR_ATTENTION_KEYS * head->a->head_dim * AT_SIZE;
}

/* Keys of a block, padding included. */
static size_t AT(block_keys)(const struct sr_head *head, size_t block)
{
    size_t left = sr_round_up(head->length, 16) - block * SR_ATTENTION_KEYS;
    return left < SR_ATTENTION_KEYS ? left : SR_ATTENTION_KEYS;
}

/* Sixteen keys from `at` on: rotated, then turned so that they lie side by side. */
static void AT(pack_keys)(const struct sr_head *head, size_t at, size_t n)
{
    _Alignas(64) uint32_t rows[16 * 128];
    size_t words = head->a->head_dim / AT_UNIT, block = at / SR_ATTENTION_KEYS;
    for (size_t i = 0; i < n; i++) {
        AT(fetch)(head, 2, at + i);
        AT(fetch)(head, 1, at + 16 + i);
        AT(rotate)(head, 1, at + i, 1, rows + i * words);
    }
    if (n < 16)
        memset(rows + n * words, 0, (16 - n) * words * sizeof *rows);
    uint32_t *out = (uint32_t *)(void *)AT(key_block)(head, block) + at % SR_ATTENTION_KEYS;
    v_turn16(rows, words, out, AT(block_keys)(head, block));
}

static void AT(pack_values)(const struct sr_head *head, size_t at, size_t n)
{
    size_t d = head->a->head_dim;
    enum sr_scalar type = head->a->type;
    char *out = (char *)head->values + at * d * AT_SIZE;
    for (size_t i = 0; i < 16; i += AT_UNIT) {
        const void *one = i < n ? AT(find)(head, 2, at + i) : NULL;
        const void *two = i + 1 < n ? AT(find)(head, 2, at + i + 1) : NULL;
        for (size_t j = 0; j < d; j += VL) {
            vf low = one ? load_row(one, type, j, VL) : v_set(0);
#if AT_BF16
            v_store_pairs((uint16_t *)(void *)out + i * d + 2 * j, low,
                          two ? load_row(two, type, j, VL) : v_set(0));
#else
            (void)two;
            v_store((float *)(void *)out + i * d + j, low);
#endif
        }
    }
}

static void AT(pack)(const struct sr_head *head, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += 16) {
        size_t n = to - at < 16 ? to - at : 16;
        AT(pack_keys)(head, at, n);
        AT(pack_values)(head, at, n);
    }
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

/* Scores to weights, in place of the running maximum; returns by what earlier sums have to be multiplied.
 * Only scores [low, high] of the n count. */
static float AT(soften)(float *scores, void *weights, size_t n, size_t low, size_t high, float *most,
                        float *total)
{
    vf top = v_set(*most);
    if (low > 0 || high + 1 < n) {
        for (size_t i = 0; i < n; i += VL) {
            vf v = v_within(v_lanes((float)i), v_set((float)low), v_set((float)high), v_load(scores + i),
                            v_set(AT_LOWEST));
            v_store(scores + i, v);
            top = v_max(top, v);
        }
    } else {
        for (size_t i = 0; i < n; i += VL)
            top = v_max(top, v_load(scores + i));
    }
    float now = v_top(top);
    vf sum = v_set(0), m = v_set(now);
    for (size_t i = 0; i < n; i += VL) {
#if AT_BF16
        vf w = v_exp2_rough(v_sub(v_load(scores + i), m));
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

static void AT(multiply_values)(const struct sr_head *head, const void *weights, unsigned rows, size_t from,
                                size_t to, float *sums)
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
        tile.b = (const char *)head->values + from * d * AT_SIZE + (size_t)v * AT_FORM.width * 4;
        for (unsigned r = 0; r < rows; r += AT_VALUE_ROWS(tile.vectors)) {
            tile.rows = rows - r < AT_VALUE_ROWS(tile.vectors) ? rows - r : AT_VALUE_ROWS(tile.vectors);
            tile.a = (const char *)weights + r * tile.lda;
            tile.c = sums + r * d + (size_t)v * AT_FORM.width;
            tile.start = tile.c;
            AT_FORM.tile(&tile);
        }
    }
}

/* Positions that a query sees: [*low, *high]. */
static void AT(sight)(const struct sr_head *head, size_t position, size_t *low, size_t *high)
{
    size_t window = head->a->window;
    *low = position > window ? position - window : 0;
    *high = window < head->length - 1 - position ? position + window : head->length - 1;
}

/* A strip of queries against one block of keys. */
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
    for (unsigned r = 0; r < rows; r++) {
        size_t low, high;
        AT(sight)(head, first + at + r, &low, &high);
        bool blind = high < from || low >= to; /* sees nothing of this part */
        low = blind ? to - from : low > from ? low - from : 0;
        high = blind ? 0 : high - from;
        float shrink = AT(soften)(work->scores[r], (char *)work->weights + r * SR_ATTENTION_KEYS * AT_SIZE,
                                  to - from, low, high, &work->most[at + r], &work->total[at + r]);
        if (shrink < 1)
            for (size_t i = 0; i < d; i += VL)
                v_store(sums + r * d + i, v_mul(v_load(sums + r * d + i), v_set(shrink)));
    }
    AT(multiply_values)(head, work->weights, rows, from, to, sums);
}

static void AT(block)(const struct sr_head *head, size_t from, size_t to, void *memory)
{
    const struct sr_attention *a = head->a;
    struct AT(attention_work) *work = memory;
    size_t d = a->head_dim, n = to - from, low, high, ignored;
    for (size_t i = 0; i < n; i++) {
        AT(fetch)(head, 0, from + i + 8);
        AT(rotate)(head, 0, from + i, a->scale * 1.44269504F, (char *)work->rows + i * d * AT_SIZE);
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
#undef AT_STRIP
#undef AT_LOWEST
#undef AT_FLOOR
