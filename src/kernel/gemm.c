/*
 * The product of activations with packed weights: the distribution of tiles over threads, and their order.
 *
 * Rows are processed in blocks that fit the second-level cache after conversion to the form's operand type;
 * within a block a panel of weights is multiplied with all rows before the next panel. With few rows the
 * members share the panels, with many they share the rows.
 */
#include "kernel/private.h"

#include <assert.h>
#include <string.h>

#define BLOCK_BYTES  ((size_t)512 << 10) /* of activations */
#define ROWS_MOST    1024u               /* rows converted at a time */
#define WIDE_ROWS    64u
#define WIDE_DEPTH   1536u /* depth of a panel, or of a GEGLU's two, that is widened on the stack */
#define WIDE_COLUMNS 48u
#define SMALL        8192u /* elements up to which the caller converts alone */

struct product {
    const struct sr_matrix *m;
    struct sr_rows x, y;
    size_t rows;
    char *operands; /* x in the form's type, or x itself */
    size_t ld;      /* bytes */
    float *scales;  /* of rows, int8 */
    bool convert;
    size_t row_parts;
    size_t first, last; /* panels */
};

static size_t depth_padded(const struct sr_matrix *m)
{
    return m->steps * m->form->unit;
}

/* True when x needs no conversion. */
static bool ready(const struct sr_matrix *m, enum sr_scalar type)
{
    enum sr_scalar wanted = m->form->a == SR_OPERAND_BF16 ? SR_SCALAR_BF16 : SR_SCALAR_F32;
    return m->form->a <= SR_OPERAND_BF16 && type == wanted && depth_padded(m) == m->k;
}

static size_t operand_stride(const struct sr_matrix *m)
{
    return sr_round_up(depth_padded(m) * sr_operand_size(m->form->a), SR_KERNEL_ALIGN);
}

size_t sr_gemm_scratch(const struct sr_matrix *matrix, size_t m)
{
    size_t rows = m < ROWS_MOST ? m : ROWS_MOST;
    return rows * operand_stride(matrix) + sr_round_up(rows * sizeof(float), SR_KERNEL_ALIGN);
}

static void convert(const struct product *p, size_t from, size_t to)
{
    const struct sr_matrix *m = p->m;
    for (size_t i = from; i < to; i++)
        m->ops->prepare((const char *)p->x.p + i * p->x.ld * sr_scalar_size(p->x.type), p->x.type, m->k,
                        depth_padded(m), m->form->a, p->operands + i * p->ld, p->scales + i);
}

static void convert_part(void *ctx, unsigned part, unsigned parts)
{
    const struct product *p = ctx;
    convert(p, sr_share(p->rows, 1, part, parts), sr_share(p->rows, 1, part + 1, parts));
}

/* The weights of one panel, or of a GEGLU's two, in the form that a tile reads. */
struct panel {
    const char *weights;
    size_t bytes; /* of one */
    sr_tile_fn *tile;
};

/* Computes one tile, or with GEGLU the pair, and its epilogue. */
static void tile(const struct product *p, const struct panel *from, size_t panel, size_t row, size_t rows,
                 struct sr_tile *t)
{
    const struct sr_matrix *m = p->m;
    size_t at = panel * m->panel_columns, halves = m->epilogue == SR_EPILOGUE_GEGLU ? 2 : 1;
    size_t left = at / halves, columns = sr_matrix_rows(m) - left;
    _Alignas(64) float sums[2][SR_TILE_ROWS * SR_TILE_COLUMNS];
    size_t wide = columns < m->panel_columns ? columns : m->panel_columns, size = sr_scalar_size(p->y.type);
    char *y = (char *)p->y.p + (row * p->y.ld + left) * size;
    for (size_t i = 0; i < rows; i++) /* prefetched for the next tile */
        for (size_t line = 0; line < wide * size; line += 64)
            __builtin_prefetch(y + i * p->y.ld * size + line, 1, 2);
    t->a = p->operands + row * p->ld;
    t->rows = (unsigned)rows;
    for (size_t i = 0; i < halves; i++) {
        t->b = from->weights + i * from->bytes;
        t->start = m->start ? m->start + at + i * m->panel_columns : NULL;
        t->c = sums[i];
        from->tile(t);
        t->ahead += t->steps * t->ahead_lines * 64;
    }
    m->ops->finish(&(struct sr_finish){
        .c = sums[0],
        .up = sums[1],
        .ldc = m->panel_columns,
        .rows = rows,
        .columns = wide,
        .bias = m->bias + at,
        .up_bias = m->bias + at + m->panel_columns,
        .scale = m->scales ? m->scales + at : NULL,
        .up_scale = m->scales ? m->scales + at + m->panel_columns : NULL,
        .row_scale = p->scales + row,
        .epilogue = m->epilogue,
        .y = y,
        .ldy = p->y.ld,
        .type = p->y.type,
    });
}

/* Multiplies rows [from, to) with one panel or pair, whose weights are `with`, and prefetches `next`. */
static void multiply_panel(const struct product *p, size_t from, size_t to, size_t panel,
                           const struct panel *with, struct sr_tile *t, const char *next)
{
    size_t most = p->m->form->rows, tiles = (to - from + most - 1) / most, lines = t->ldb / 64;
    t->ahead = next;
    for (size_t i = 0; i < tiles; i++) {
        size_t row = from + (to - from) * i / tiles, end = from + (to - from) * (i + 1) / tiles;
        if (tiles < lines)
            t->ahead_lines = i ? 0 : lines;
        else
            t->ahead_lines = i < lines;
        tile(p, with, panel, row, end - row, t);
    }
}

/* Multiplies rows [from, to) with panels [first, last). */
static void multiply(const struct product *p, size_t from, size_t to, size_t first, size_t last)
{
    const struct sr_matrix *m = p->m;
    size_t step = m->epilogue == SR_EPILOGUE_GEGLU ? 2 : 1;
    struct sr_tile t = {.lda = p->ld,
                        .ldb = m->panel_columns * m->form->unit * sr_operand_size(m->form->b),
                        .steps = m->steps,
                        .ldc = m->panel_columns,
                        .vectors = m->form->vectors};
    for (size_t panel = first; panel < last; panel += step) {
        struct panel with = {m->weights + panel * m->panel_bytes, m->panel_bytes, m->form->tile};
        size_t next = panel + step < last ? panel + step : first;
        multiply_panel(p, from, to, panel, &with, &t, m->weights + next * m->panel_bytes);
    }
}

/* The same, but widens each panel first: faster with enough rows. */
static void multiply_widened(const struct product *p, size_t from, size_t to, size_t first, size_t last)
{
    const struct sr_matrix *m = p->m;
    _Alignas(64) float wide[WIDE_DEPTH * WIDE_COLUMNS];
    size_t step = m->epilogue == SR_EPILOGUE_GEGLU ? 2 : 1, depth = depth_padded(m);
    struct panel with = {(const char *)wide, depth * m->panel_columns * sizeof(float), m->form->wide_tile};
    struct sr_tile t = {.lda = p->ld,
                        .ldb = m->panel_columns * sizeof(float),
                        .steps = depth,
                        .ldc = m->panel_columns,
                        .vectors = m->form->vectors};
    for (size_t panel = first; panel < last; panel += step) {
        size_t next = panel + step < last ? panel + step : first;
        m->form->widen(m->weights + panel * m->panel_bytes, step * m->steps, m->panel_columns, wide);
        multiply_panel(p, from, to, panel, &with, &t, m->weights + next * m->panel_bytes);
    }
}

static bool widens(const struct sr_matrix *m, size_t rows)
{
    size_t step = m->epilogue == SR_EPILOGUE_GEGLU ? 2 : 1;
    return m->form->widen && rows >= WIDE_ROWS && step * depth_padded(m) <= WIDE_DEPTH &&
           m->panel_columns <= WIDE_COLUMNS;
}

static void multiply_part(void *ctx, unsigned part, unsigned parts)
{
    const struct product *p = ctx;
    const struct sr_matrix *m = p->m;
    size_t row_parts = p->row_parts, column_parts = parts / row_parts;
    size_t step = m->epilogue == SR_EPILOGUE_GEGLU ? 2 : 1;
    size_t row_part = part / column_parts, column_part = part % column_parts;
    if (row_part >= row_parts)
        return;
    size_t from = sr_share(p->rows, m->form->rows, row_part, row_parts);
    size_t to = sr_share(p->rows, m->form->rows, row_part + 1, row_parts);
    size_t first = p->first + sr_share(p->last - p->first, step, column_part, column_parts);
    size_t last = p->first + sr_share(p->last - p->first, step, column_part + 1, column_parts);
    if (p->convert && column_parts == 1)
        convert(p, from, to);
    size_t block = sr_round_up(BLOCK_BYTES / p->ld + 1, m->form->rows);
    for (size_t row = from; row < to && first < last; row += block)
        (widens(m, to - from < block ? to - from : block) ? multiply_widened : multiply)(
            p, row, to - row < block ? to : row + block, first, last);
}

/* Chooses the number of shares of rows: the busiest member gets the least work, and columns are split before
 * rows while the weights are larger than the rows. */
static size_t choose_row_parts(const struct sr_matrix *m, size_t rows, size_t parts)
{
    size_t step = m->epilogue == SR_EPILOGUE_GEGLU ? 2 : 1, panels = m->panels / step;
    size_t tiles = (rows + m->form->rows - 1) / m->form->rows, best = 1, least = SIZE_MAX;
    for (size_t r = 1; r <= parts; r++) {
        size_t c = parts / r;
        if (parts % r)
            continue;
        size_t work = ((tiles + r - 1) / r) * ((panels + c - 1) / c);
        bool tie = work == least && rows >= 32 * parts;
        if (work < least || tie) {
            least = work;
            best = r;
        }
    }
    return best;
}

static void multiply_panels(struct sr_team *team, const struct sr_matrix *matrix, size_t first, size_t last,
                            struct sr_rows x, size_t m, struct sr_rows y, void *scratch)
{
    const struct sr_form *form = matrix->form;
    size_t parts = sr_team_size(team);
    bool as_it_is = ready(matrix, x.type);
    assert(!as_it_is || x.ld >= matrix->k);
    for (size_t at = 0; at < m; at += ROWS_MOST) {
        struct product p = {.m = matrix,
                            .x = x,
                            .y = y,
                            .rows = m - at < ROWS_MOST ? m - at : ROWS_MOST,
                            .first = first,
                            .last = last};
        p.x.p = (char *)x.p + at * x.ld * sr_scalar_size(x.type);
        p.y.p = (char *)y.p + at * y.ld * sr_scalar_size(y.type);
        p.operands = as_it_is ? p.x.p : scratch;
        p.ld = as_it_is ? x.ld * sr_operand_size(form->a) : operand_stride(matrix);
        p.scales =
            (float *)(void *)((char *)scratch + (m < ROWS_MOST ? m : ROWS_MOST) * operand_stride(matrix));
        p.row_parts = choose_row_parts(matrix, p.rows, parts);
        p.convert = !as_it_is;
        if (p.convert && p.row_parts < parts) {
            if (p.rows * matrix->k <= SMALL)
                convert(&p, 0, p.rows);
            else
                sr_team_run(team, convert_part, &p);
            p.convert = false;
        }
        sr_team_run(team, multiply_part, &p);
    }
}

void sr_gemm(struct sr_team *team, const struct sr_matrix *matrix, struct sr_rows x, size_t m,
             struct sr_rows y, void *scratch)
{
    multiply_panels(team, matrix, 0, matrix->panels, x, m, y, scratch);
}

void sr_gemm_columns(const struct sr_matrix *matrix, size_t from, size_t to, struct sr_rows x, size_t m,
                     struct sr_rows y, void *scratch)
{
    assert(from < to && to <= matrix->n && matrix->epilogue != SR_EPILOGUE_GEGLU);
    multiply_panels(NULL, matrix, from / matrix->panel_columns, (to - 1) / matrix->panel_columns + 1, x, m, y,
                    scratch);
}
