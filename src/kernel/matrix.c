/* Weights of linear layers: converted or quantised once, and laid out in the order in which tiles read them.
 */
#include "kernel/private.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE_MOST  ((size_t)1 << 20)
#define DEPTH_MOST ((size_t)1 << 16) /* of int8: limits a sum to 32 bits */
#define HUGE       ((size_t)2 << 20)
#define MAPPED_MIN ((size_t)64 << 10)

/* The matrix's row that is column `column` of panel `panel`; SIZE_MAX for padding. */
static size_t row_of(const struct sr_matrix *m, size_t panel, size_t column)
{
    if (m->epilogue != SR_EPILOGUE_GEGLU) {
        size_t row = panel * m->panel_columns + column;
        return row < m->n ? row : SIZE_MAX;
    }
    size_t row = panel / 2 * m->panel_columns + column;
    return row < m->n / 2 ? row + panel % 2 * (m->n / 2) : SIZE_MAX;
}

/* Quantises one row of the source to 16 bits so that the sum of its steps stays below SR_FIXED_COLUMN after
 * rounding. Returns the size of a step. */
static float fix_weights(const struct sr_matrix *m, const void *from, enum sr_scalar type, float *floats,
                         int16_t *out)
{
    double sum = 0, most = 0;
    m->ops->convert(from, type, m->k, floats, SR_SCALAR_F32);
    for (size_t i = 0; i < m->k; i++) {
        double size = fabs((double)floats[i]);
        sum += size;
        most = fmax(most, size);
    }
    memset(out, 0, m->steps * sizeof(uint32_t));
    if (!(most > 1e-30 && most < 1e37))
        return 0;
    double steps = fmin(INT16_MAX / most, (SR_FIXED_COLUMN - (double)m->k / 2) / sum);
    for (size_t i = 0; i < m->k; i++)
        out[i] = (int16_t)lrint(floats[i] * steps);
    return (float)(1 / steps);
}

/* Converts one row of the source in `row`, which has room for it and m->k floats, and spreads it over its
 * panel: a word of 32 bits at each step. */
static void pack_column(struct sr_matrix *m, const struct sr_matrix_source *source, size_t index,
                        size_t panel, size_t column, uint32_t *row)
{
    const char *from = (const char *)source->weights + index * m->k * sr_scalar_size(source->type);
    size_t at = panel * m->panel_columns + column;
    uint32_t *out = (uint32_t *)(void *)(m->weights + panel * m->panel_bytes) + column;
    float scale = 0;
    if (m->form->b == SR_OPERAND_S16)
        scale = fix_weights(m, from, source->type, (float *)(void *)(row + m->steps), (int16_t *)(void *)row);
    else
        m->ops->prepare(from, source->type, m->k, m->steps * m->form->unit, m->form->b, row, &scale);
    for (size_t i = 0; i < m->steps; i++)
        out[i * m->panel_columns] = row[i];
    if (source->bias)
        m->bias[at] = source->bias[index];
    if (m->scales)
        m->scales[at] = scale;
    if (!m->start)
        return;
    int32_t sum = 0;
    for (size_t i = 0; i < m->k; i++)
        sum += ((const int8_t *)row)[i];
    m->start[at] = -128 * sum;
}

/* A large block is a mapping of its own: when a model is replaced, its memory goes back to the operating
 * system at once and whole, where the heap would keep it between what is still in use. */
static void *take_block(struct sr_matrix *m, size_t size)
{
    if (size < MAPPED_MIN)
        return sr_mem_alloc(size);
    void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m->mapped = block == MAP_FAILED ? 0 : size;
    return block == MAP_FAILED ? NULL : block;
}

static void free_block(struct sr_matrix *m)
{
    if (m->mapped)
        munmap(m->block, m->mapped);
    else
        sr_mem_free(m->block);
}

/* Allocates panels of a large matrix in huge pages where the system supports them. */
static bool allocate(struct sr_matrix *m)
{
    size_t columns = m->panels * m->panel_columns;
    bool quantised = m->form->b >= SR_OPERAND_S16;
    size_t weights = m->panels * m->panel_bytes, vectors = columns * sizeof(float) * (quantised ? 3 : 1);
    size_t align = weights >= HUGE ? HUGE : SR_KERNEL_ALIGN;
    m->bytes = weights + vectors;
    m->block = take_block(m, m->bytes + align + SR_KERNEL_ALIGN);
    if (!m->block)
        return false;
    m->weights = (char *)(((uintptr_t)m->block + align - 1) / align * align);
    if (weights >= HUGE)
        (void)madvise(m->weights, weights / HUGE * HUGE, MADV_HUGEPAGE);
    memset(m->weights, 0, m->bytes);
    m->bias = (float *)(void *)(m->weights + weights);
    m->scales = quantised ? m->bias + columns : NULL;
    m->start = m->form->a == SR_OPERAND_U8 ? (int32_t *)(void *)(m->bias + 2 * columns) : NULL;
    return true;
}

int sr_matrix_pack(struct sr_matrix **out, const struct sr_matrix_source *source, enum sr_precision precision,
                   enum sr_epilogue epilogue)
{
    if (!source->n || !source->k || source->n > SIZE_MOST || source->k > SIZE_MOST ||
        (precision == SR_PRECISION_INT8 && source->k > DEPTH_MOST) ||
        (epilogue == SR_EPILOGUE_GEGLU && source->n % 2))
        return SR_EINVAL;
    struct sr_matrix *m = sr_mem_calloc(1, sizeof *m);
    if (!m)
        return SR_ENOMEM;
    m->ops = sr_ops_current();
    m->form = m->ops->forms[precision];
    if (m->form->b == SR_OPERAND_S16 && m->k > DEPTH_MOST) /* too deep for a useful step size */
        m->form = m->ops->forms[SR_PRECISION_FP32];
    m->precision = precision;
    m->epilogue = epilogue;
    m->n = source->n;
    m->k = source->k;
    m->steps = sr_round_up(m->k, m->form->unit) / m->form->unit;
    m->panel_columns = (size_t)m->form->width * m->form->vectors;
    m->panel_bytes = m->steps * m->panel_columns * m->form->unit * sr_operand_size(m->form->b);
    size_t columns = sr_matrix_rows(m);
    m->panels = (columns + m->panel_columns - 1) / m->panel_columns * (epilogue == SR_EPILOGUE_GEGLU ? 2 : 1);
    uint32_t *row = sr_mem_alloc((m->steps + m->k) * sizeof *row);
    if (!row || !allocate(m)) {
        sr_mem_free(row);
        sr_mem_free(m);
        return SR_ENOMEM;
    }
    for (size_t panel = 0; panel < m->panels; panel++)
        for (size_t column = 0; column < m->panel_columns; column++) {
            size_t index = row_of(m, panel, column);
            if (index != SIZE_MAX)
                pack_column(m, source, index, panel, column, row);
        }
    sr_mem_free(row);
    *out = m;
    return SR_OK;
}

void sr_matrix_free(struct sr_matrix *matrix)
{
    if (!matrix)
        return;
    free_block(matrix);
    sr_mem_free(matrix);
}

size_t sr_matrix_bytes(const struct sr_matrix *matrix)
{
    return matrix->bytes;
}

size_t sr_matrix_rows(const struct sr_matrix *matrix)
{
    return matrix->epilogue == SR_EPILOGUE_GEGLU ? matrix->n / 2 : matrix->n;
}

size_t sr_matrix_depth(const struct sr_matrix *matrix)
{
    return matrix->k;
}

const char *sr_matrix_kernel(const struct sr_matrix *matrix)
{
    return matrix->form->name;
}
