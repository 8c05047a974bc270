/* The plain C form of all operations: the reference for tests, and the fallback for other CPUs. */
#include "kernel/vec_scalar.h"

#include "kernel/rows_template.h"

static void tile_f32(const struct sr_tile *t)
{
    for (unsigned r = 0; r < t->rows; r++) {
        const float *a = (const float *)(const void *)((const char *)t->a + r * t->lda);
        const float *start = t->start ? (const float *)t->start + r * t->ld_start : NULL;
        float sums[SR_TILE_COLUMNS];
        for (unsigned j = 0; j < t->vectors; j++)
            sums[j] = start ? start[j] : 0;
        for (size_t s = 0; s < t->steps; s++) {
            const float *b = (const float *)(const void *)((const char *)t->b + s * t->ldb);
            float x = sr_load_scalar(a, SR_SCALAR_F32, s);
            for (unsigned j = 0; j < t->vectors; j++)
                sums[j] += x * b[j];
        }
        memcpy((float *)t->c + r * t->ldc, sums, t->vectors * sizeof *sums);
    }
}

static void tile_bf16(const struct sr_tile *t)
{
    for (unsigned r = 0; r < t->rows; r++) {
        const char *a = (const char *)t->a + r * t->lda;
        const float *start = t->start ? (const float *)t->start + r * t->ld_start : NULL;
        float sums[SR_TILE_COLUMNS];
        for (unsigned j = 0; j < t->vectors; j++)
            sums[j] = start ? start[j] : 0;
        for (size_t s = 0; s < t->steps; s++) {
            const uint16_t *b = (const uint16_t *)(const void *)((const char *)t->b + s * t->ldb);
            float low = sr_load_scalar(a, SR_SCALAR_BF16, 2 * s),
                  high = sr_load_scalar(a, SR_SCALAR_BF16, 2 * s + 1);
            for (unsigned j = 0; j < t->vectors; j++)
                sums[j] += low * sr_float_of_bf16(b[2 * j]) + high * sr_float_of_bf16(b[2 * j + 1]);
        }
        memcpy((float *)t->c + r * t->ldc, sums, t->vectors * sizeof *sums);
    }
}

static void tile_s8(const struct sr_tile *t)
{
    for (unsigned r = 0; r < t->rows; r++) {
        const int8_t *a = (const int8_t *)t->a + r * t->lda;
        int32_t sums[SR_TILE_COLUMNS] = {0};
        for (size_t s = 0; s < t->steps; s++) {
            const int8_t *b = (const int8_t *)t->b + s * t->ldb;
            for (unsigned j = 0; j < t->vectors; j++)
                for (unsigned i = 0; i < 4; i++)
                    sums[j] += a[4 * s + i] * b[4 * j + i];
        }
        memcpy((int32_t *)t->c + r * t->ldc, sums, t->vectors * sizeof *sums);
    }
}

/* Transposes `words` columns of 16 rows of 32-bit words into rows, `ld` words apart. */
static void v_turn16(const uint32_t *rows, size_t words, uint32_t *out, size_t ld)
{
    for (size_t i = 0; i < words; i++)
        for (size_t j = 0; j < 16; j++)
            out[i * ld + j] = rows[j * words + i];
}

static double spin(size_t rounds)
{
    static float sink[16];
    float sums[16] = {0};
    for (size_t r = 0; r < rounds; r++)
        for (size_t i = 0; i < 16; i++)
            sums[i] = sums[i] * 0.999F + 1.0F;
    memcpy(sink, sums, sizeof sink);
    return 32.0 * (double)rounds;
}

static const struct sr_form form_f32 = {.name = "scalar 6x16",
                                        .tile = tile_f32,
                                        .spin = spin,
                                        .a = SR_OPERAND_F32,
                                        .b = SR_OPERAND_F32,
                                        .rows = 6,
                                        .vectors = 16,
                                        .width = 1,
                                        .unit = 1};
static const struct sr_form form_bf16 = {.name = "scalar 6x16 of bf16",
                                         .tile = tile_bf16,
                                         .spin = spin,
                                         .a = SR_OPERAND_BF16,
                                         .b = SR_OPERAND_BF16,
                                         .rows = 6,
                                         .vectors = 16,
                                         .width = 1,
                                         .unit = 2};
const struct sr_form sr_form_scalar_int8 = {.name = "scalar 6x16 of int8",
                                            .tile = tile_s8,
                                            .spin = spin,
                                            .a = SR_OPERAND_S8,
                                            .b = SR_OPERAND_S8,
                                            .rows = 6,
                                            .vectors = 16,
                                            .width = 1,
                                            .unit = 4};

#define AT(name)              name##_f32
#define AT_KIND               AT_F32
#define AT_FORM               form_f32
#define AT_ROWS               6u
#define AT_VECTORS            16u
#define AT_VALUE_ROWS(vector) 6u
#define AT_VALUE_VECTORS      16u
#include "kernel/attention_template.h"

#define ATTENTION                                                                                            \
    {                                                                                                        \
        .pack_bytes = pack_bytes_f32, .work_bytes = work_bytes_f32, .pack = pack_f32, .block = block_f32     \
    }

void sr_dot_scalar(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots)
{
    for (size_t i = 0; i < n; i++) {
        int32_t sum = 0;
        for (size_t k = 0; k < d; k++)
            sum += rows[i][k] * q[k];
        dots[i] = sum;
    }
}

static const struct sr_ops ops = {
    .isa = SR_ISA_SCALAR,
    .forms = {&form_f32, &form_bf16, &sr_form_scalar_int8},
    .attention = {ATTENTION, ATTENTION},
    .finish = finish_tile,
    .prepare = prepare_row,
    .norm = norm_rows,
    .add_row = add_row,
    .convert = convert_row,
    .dot = sr_dot_scalar,
};

const struct sr_ops *sr_ops_scalar(void)
{
    return &ops;
}
