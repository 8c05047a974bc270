/*
 * Private to src/kernel: the table of one instruction set, tiles, packed matrices.
 *
 * A tile is the inner loop of all products: C[rows][columns] = start + A B over `steps` steps of the depth, a
 * step being `unit` adjacent elements (1 fp32, 2 of 16 bits, 4 int8). Drivers (gemm.c, attention.c) know no
 * instruction set; ops_*.c know no threads.
 */
#ifndef SR_KERNEL_PRIVATE_H
#define SR_KERNEL_PRIVATE_H

#include "kernel/kernel.h"

#define SR_KERNEL_ALIGN 64u
#define SR_TILE_ROWS    12u /* no tile has more rows, */
#define SR_TILE_COLUMNS 64u /* or more columns */

enum sr_operand {
    SR_OPERAND_F32,
    SR_OPERAND_BF16,
    SR_OPERAND_S16, /* fixed point: see below */
    SR_OPERAND_S8,
    SR_OPERAND_U8 /* stored as the value plus 128 */
};

/* Sums of 16-bit products have 32 bits. So that none can overflow, activations take SR_FIXED_ROW steps on
 * each side of zero, and the steps of a column of weights add up to SR_FIXED_COLUMN at most. Attention:
 * queries, keys and weights take SR_FIXED_SHORT, values SR_FIXED_VALUE. */
#define SR_FIXED_ROW    8191
#define SR_FIXED_COLUMN (INT32_MAX / SR_FIXED_ROW)
#define SR_FIXED_SHORT  4095
#define SR_FIXED_VALUE  (INT32_MAX / SR_FIXED_SHORT / (int)SR_ATTENTION_KEYS)

struct sr_tile {
    const void *a; /* row-major; `lda` bytes from row to row */
    size_t lda;
    const void *b; /* [steps][columns][unit]; `ldb` bytes from step to step, 64-byte aligned */
    size_t ldb;
    size_t steps;
    const void
        *start; /* the initial value, 4-byte elements, `ld_start` of them from row to row; NULL: zero */
    size_t ld_start;
    void *c; /* float, or int32_t of operands that are integers; may be `start` */
    size_t ldc;
    unsigned rows, vectors; /* vectors: columns / (width of the form) */
    const char *ahead;      /* memory to prefetch during the loop: */
    size_t ahead_lines;     /* 64-byte lines at each step, 0 or 1 or 3 */
};
typedef void sr_tile_fn(const struct sr_tile *tile);

/* A multiplication: the operand types and the tile size. */
struct sr_form {
    const char *name;
    sr_tile_fn *tile;
    double (*spin)(size_t rounds); /* multiplies registers only; returns the operations done */
    /* For many rows: a panel's weights widened to fp32 once, and the tile for them; NULL: none. */
    void (*widen)(const void *panel, size_t steps, size_t columns, float *out);
    sr_tile_fn *wide_tile;
    enum sr_operand a, b;
    unsigned rows, vectors; /* the tile of the linear layers */
    unsigned width;         /* columns of a vector */
    unsigned unit;
};

/* A finished tile before it is stored to y; pointers are at the tile's first column. */
struct sr_finish {
    const void *c, *up; /* up: the second half of GEGLU */
    size_t ldc;
    size_t rows, columns;
    const float *bias, *up_bias;
    const float *scale, *up_scale; /* of columns of integers; NULL: c is float */
    const float *row_scale;
    enum sr_epilogue epilogue;
    void *y;
    size_t ldy;
    enum sr_scalar type;
};

struct sr_norm {
    struct sr_rows x, add, sum, y;
    const float *weight, *bias;
    float eps;
    size_t d;
};

/* One head of one sequence during the computation of its queries. */
struct sr_head {
    const struct sr_attention *a;
    size_t head, first, length; /* `first`: token of the sequence's first position */
    void *keys, *values;        /* packed by this form */
    /* Terms of relative positions, [length][ld_terms], unscaled: of queries (q times each row of keys) and of
     * keys (k times each row of queries), the columns that some score needs; NULL: none. */
    const float *query_terms, *key_terms;
    size_t ld_terms;
};

/* The attention functions of an instruction set for one type of operands. */
struct sr_attention_form {
    size_t (*pack_bytes)(size_t head_dim, size_t length); /* of keys, and of values */
    size_t (*work_bytes)(size_t head_dim);                /* of one thread */
    /* Packs a block of keys and values of neighbouring heads, at most SR_ATTENTION_HEADS: positions [from,
     * to), `from` a multiple of SR_ATTENTION_KEYS, `to` the next or the length. */
    void (*pack)(const struct sr_head *heads, size_t n, size_t from, size_t to);
    /* Computes the queries at positions [from, to), at most SR_ATTENTION_QUERIES. */
    void (*block)(const struct sr_head *head, size_t from, size_t to, void *work);
};
#define SR_ATTENTION_QUERIES 96u
#define SR_ATTENTION_KEYS    192u
#define SR_ATTENTION_HEADS   16u

typedef void sr_dot_fn(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots);

struct sr_ops {
    enum sr_isa isa;
    const struct sr_form *forms[3];        /* by enum sr_precision */
    struct sr_attention_form attention[2]; /* of fp32 and of bf16 qkv */
    void (*finish)(const struct sr_finish *finish);
    /* One row of k elements for a form: converted or quantised (then *scale is set), zeros up to k_padded. */
    void (*prepare)(const void *row, enum sr_scalar type, size_t k, size_t k_padded, enum sr_operand to,
                    void *dst, float *scale);
    void (*norm)(const struct sr_norm *norm, size_t from, size_t to);
    void (*add_row)(const void *row, enum sr_scalar type, size_t d, float *sum);
    void (*convert)(const void *src, enum sr_scalar from, size_t n, void *dst, enum sr_scalar to);
    sr_dot_fn *dot; /* sr_dot_bytes */
};

/* The table of a set; NULL when this build or this CPU does not support it. */
const struct sr_ops *sr_ops_scalar(void);
const struct sr_ops *sr_ops_neon(void);
const struct sr_ops *sr_ops_avx2(void);
const struct sr_ops *sr_ops_avx512(void);
const struct sr_ops *
sr_ops_avx512_fixed(void);                     /* AVX512 for CPUs that also have the sets of the next table */
const struct sr_ops *sr_ops_avx512_bf16(void); /* on CPUs where sr_ops_avx512() is one too */
const struct sr_ops *sr_ops_current(void);
extern const struct sr_form sr_form_scalar_int8, sr_form_avx2_int8, sr_form_avx512_vnni, sr_form_avx512_fixed;

extern sr_dot_fn sr_dot_scalar, sr_dot_avx2, sr_dot_vnni;

struct sr_matrix {
    const struct sr_ops *ops;
    const struct sr_form *form;
    enum sr_precision precision;
    enum sr_epilogue epilogue;
    size_t n, k;
    size_t steps, panel_columns, panel_bytes, panels; /* GEGLU: pairs of panels, gate then up */
    char *weights;                                    /* [panels][steps][panel_columns][unit] */
    float *bias;    /* [panels * panel_columns], zeros where there is none */
    float *scales;  /* of each column of integers, else NULL */
    int32_t *start; /* with U8 activations: -128 * sum of the column; else NULL */
    void *block;
    size_t mapped; /* bytes of `block`; 0: it is of the heap */
    size_t bytes;
};

struct sr_rope {
    size_t half, positions; /* half: head_dim / 2 */
    float *cosines, *sines; /* [positions][half] */
};

static inline size_t sr_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static inline size_t sr_scalar_size(enum sr_scalar type)
{
    return type == SR_SCALAR_F32 ? 4 : 2;
}

static inline size_t sr_operand_size(enum sr_operand operand)
{
    return operand == SR_OPERAND_F32 ? 4 : operand <= SR_OPERAND_S16 ? 2 : 1;
}

/* sr_gemm on this thread, of columns [from, to) of y at least; the others may be written too. No GEGLU. */
void sr_gemm_columns(const struct sr_matrix *matrix, size_t from, size_t to, struct sr_rows x, size_t m,
                     struct sr_rows y, void *scratch);

/* The part-th of `parts` even shares of n, in multiples of `unit`. */
static inline size_t sr_share(size_t n, size_t unit, size_t part, size_t parts)
{
    size_t units = (n + unit - 1) / unit, at = units * part / parts * unit;
    return at < n ? at : n;
}

#endif
