/* Norms, means, table look-ups and conversions, with the rows shared between the members of a team. */
#include "kernel/bits.h"
#include "kernel/private.h"

#include <string.h>

/* Below this number of rows a second thread costs more than it saves. */
#define ROWS_FEW 8u

static void norm_part(void *ctx, unsigned part, unsigned parts)
{
    const struct sr_norm *norm = ((void **)ctx)[0];
    size_t m = *(const size_t *)((void **)ctx)[1];
    sr_ops_current()->norm(norm, sr_share(m, 1, part, parts), sr_share(m, 1, part + 1, parts));
}

void sr_layer_norm(struct sr_team *team, struct sr_rows x, struct sr_rows add, struct sr_rows sum,
                   const float *weight, const float *bias, float eps, size_t m, size_t d, struct sr_rows y)
{
    struct sr_norm norm = {
        .x = x, .add = add, .sum = sum, .y = y, .weight = weight, .bias = bias, .eps = eps, .d = d};
    void *ctx[2] = {&norm, &m};
    sr_team_run(m < ROWS_FEW ? NULL : team, norm_part, ctx);
}

void sr_mean_rows(struct sr_rows x, size_t from, size_t to, size_t d, float *out)
{
    const struct sr_ops *ops = sr_ops_current();
    memset(out, 0, d * sizeof *out);
    for (size_t i = from; i < to; i++)
        ops->add_row((const char *)x.p + i * x.ld * sr_scalar_size(x.type), x.type, d, out);
    for (size_t i = 0; i < d; i++)
        out[i] /= (float)(to - from);
}

struct gather {
    const char *table;
    enum sr_scalar type;
    const int32_t *ids;
    size_t m, d;
    struct sr_rows dst;
};

size_t sr_scalar_bytes(enum sr_scalar type, size_t n)
{
    return type == SR_SCALAR_Q4 ? n / SR_Q4_BLOCK * SR_Q4_BYTES : n * sr_scalar_size(type);
}

static void q4_to_float(const unsigned char *p, size_t n, float *dst)
{
    for (size_t i = 0; i < n; i += SR_Q4_BLOCK, p += SR_Q4_BYTES) {
        float d = sr_float_of_f16((uint16_t)(p[0] | (unsigned)p[1] << 8));
        for (size_t j = 0; j < SR_Q4_BLOCK / 2; j++) {
            dst[i + j] = (float)((int)(p[2 + j] & 15) - 8) * d;
            dst[i + j + SR_Q4_BLOCK / 2] = (float)((p[2 + j] >> 4) - 8) * d;
        }
    }
}

static void gather_part(void *ctx, unsigned part, unsigned parts)
{
    const struct gather *g = ctx;
    const struct sr_ops *ops = sr_ops_current();
    for (size_t i = sr_share(g->m, 1, part, parts), end = sr_share(g->m, 1, part + 1, parts); i < end; i++) {
        const char *row = g->table + (size_t)g->ids[i] * sr_scalar_bytes(g->type, g->d);
        char *to = (char *)g->dst.p + i * g->dst.ld * sr_scalar_size(g->dst.type);
        if (g->type == SR_SCALAR_Q4)
            q4_to_float((const unsigned char *)row, g->d, (float *)(void *)to);
        else
            ops->convert(row, g->type, g->d, to, g->dst.type);
    }
}

void sr_gather(struct sr_team *team, const void *table, enum sr_scalar type, const int32_t *ids, size_t m,
               size_t d, struct sr_rows dst)
{
    struct gather g = {.table = table, .type = type, .ids = ids, .m = m, .d = d, .dst = dst};
    sr_team_run(m < ROWS_FEW ? NULL : team, gather_part, &g);
}

void sr_dot_bytes(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots)
{
    sr_ops_current()->dot(q, d, rows, n, dots);
}

void sr_to_float(const void *src, enum sr_scalar type, size_t n, float *dst)
{
    if (type == SR_SCALAR_Q4)
        q4_to_float(src, n, dst);
    else
        sr_ops_current()->convert(src, type, n, dst, SR_SCALAR_F32);
}
