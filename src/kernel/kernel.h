/*
 * The arithmetic of encoders: matrix products with prepacked weights, attention, norms.
 *
 * Every operation has a plain C form, which is the reference, and forms for instruction sets, one of which is
 * selected at run time. Tokens are rows; a batch is packed (no padding): sequences follow one another. This
 * layer is independent of models, files and queues. Shapes are in elements, `ld` is the distance between two
 * rows. Operations take a team (NULL: the calling thread alone) and a caller's scratch; they do not allocate.
 */
#ifndef SR_KERNEL_KERNEL_H
#define SR_KERNEL_KERNEL_H

#include "base/err.h"
#include "kernel/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sr_isa { SR_ISA_SCALAR, SR_ISA_NEON, SR_ISA_AVX2, SR_ISA_AVX512, SR_ISA_AVX512_BF16 /* and VNNI */ };

/* The precision of linear layers and of attention over BF16 rows. BF16: 16 bits for each weight, as floats
 * or, where that is faster, in steps of each row's largest value. INT8: weights per output channel,
 * activations per token, both symmetric. */
enum sr_precision { SR_PRECISION_FP32, SR_PRECISION_BF16, SR_PRECISION_INT8 };

/* Q4: blocks of 32 numbers in 18 bytes, for tables and weights as they lie in a file, read by sr_gather and
 * sr_to_float alone: an fp16 step d, then 16 bytes; number j is (low half of byte j - 8) d, number j + 16
 * (high half of byte j - 8) d (ggml's Q4_0). */
enum sr_scalar { SR_SCALAR_F32, SR_SCALAR_F16, SR_SCALAR_BF16, SR_SCALAR_Q4 };

#define SR_Q4_BLOCK 32u /* numbers */
#define SR_Q4_BYTES 18u

/* Bytes of n numbers; n is a multiple of SR_Q4_BLOCK with Q4. */
size_t sr_scalar_bytes(enum sr_scalar type, size_t n);

/* The operation on a product before it is stored. */
enum sr_epilogue {
    SR_EPILOGUE_NONE, /* y = x W^T + b */
    SR_EPILOGUE_GELU, /* y = gelu(x W^T + b), the erf form */
    SR_EPILOGUE_TANH, /* y = tanh(x W^T + b) */
    SR_EPILOGUE_RELU,
    SR_EPILOGUE_ADD,   /* y += x W^T + b */
    SR_EPILOGUE_GEGLU, /* y[m][n/2]: gelu of the first half of the columns times the second half */
};

/* The set in use: the fastest that the CPU has, or the limit of SEMROUTE_ISA (scalar, avx2, avx512, ...) and
 * sr_isa_limit. AVX512 includes VNNI where the CPU has it. On CPUs whose bf16 dot products are no faster than
 * fp32 (Intel's) the fastest is AVX512, which computes bf16 in fixed point of 16 bits. */
enum sr_isa sr_isa_current(void);
const char *sr_isa_name(enum sr_isa isa);
/* For tests and benches: use no set above `isa`; matrices packed before keep the form they were packed for.
 * Not while another thread computes. */
void sr_isa_limit(enum sr_isa isa);

/* A matrix of activations, F32 or BF16. */
struct sr_rows {
    void *p;
    size_t ld;
    enum sr_scalar type;
};

/* Weights of one linear layer, packed for the current instruction set. Immutable; any thread. */
struct sr_matrix;

struct sr_matrix_source {
    const void *weights; /* [n][k] row-major, any alignment */
    enum sr_scalar type;
    size_t n, k;
    const float *bias; /* [n], or NULL; copied */
};

/* SR_ENOMEM; SR_EINVAL for n or k 0 or above 1 << 20, k above 1 << 16 with INT8, or an odd n with GEGLU. */
int sr_matrix_pack(struct sr_matrix **out, const struct sr_matrix_source *source, enum sr_precision precision,
                   enum sr_epilogue epilogue) SR_WARN_UNUSED;
void sr_matrix_free(struct sr_matrix *matrix); /* NULL is allowed */
size_t sr_matrix_bytes(const struct sr_matrix *matrix);
size_t sr_matrix_rows(const struct sr_matrix *matrix);        /* n; n / 2 with GEGLU: columns of y */
size_t sr_matrix_depth(const struct sr_matrix *matrix);       /* k */
const char *sr_matrix_kernel(const struct sr_matrix *matrix); /* "avx512_bf16 8x48", for reports of bench */

/* Bytes of scratch that sr_gemm needs for m rows; must be 64-byte aligned. */
size_t sr_gemm_scratch(const struct sr_matrix *matrix, size_t m);

/* y[m][rows] from x[m][depth]. x and y may not overlap. */
void sr_gemm(struct sr_team *team, const struct sr_matrix *matrix, struct sr_rows x, size_t m,
             struct sr_rows y, void *scratch);

/* Rotary position embedding, rotate-half form over the whole head: tables computed once for a base. */
struct sr_rope;
int sr_rope_new(struct sr_rope **out, double theta, size_t head_dim, size_t max_positions) SR_WARN_UNUSED;
void sr_rope_free(struct sr_rope *rope);

/* Scores by relative position (disentangled attention, DeBERTa, arXiv:2006.03654, equation 4): to q_i k_j is
 * added q_i keys[key_rows[j - i]] + k_j queries[query_rows[i - j]]. One matrix for each head, fp32 or bf16,
 * [n_rows][head_dim]; NULL for a term that the model has not. Both lists point at distance 0, go from
 * -positions to positions, never descend, and ascend by one up to `straight` on each side of 0. */
struct sr_relative {
    struct sr_matrix *const *keys, *const *queries;
    const int32_t *key_rows, *query_rows; /* each below n_rows */
    size_t positions;                     /* the longest sequence has SR_RELATIVE_ROOM tokens fewer */
    size_t straight;
    size_t n_rows;
};
#define SR_RELATIVE_ROOM 32u

/* Exact attention within each sequence, never an n x n matrix; softmax in fp32. */
struct sr_attention {
    const void *qkv; /* [tokens][3 * heads * head_dim]: q, k, v of a token; BF16 or F32 */
    size_t ld;
    enum sr_scalar type;
    struct sr_rows out;     /* [tokens][heads * head_dim] */
    const uint32_t *starts; /* [n_sequences + 1] first token of each sequence, then the number of tokens */
    size_t n_sequences;
    size_t heads, head_dim;             /* head_dim: 16, 32, 64 or 128 */
    float scale;                        /* 1 / sqrt(head_dim) */
    size_t window;                      /* keys with |i - j| <= window count; SIZE_MAX: all */
    const struct sr_rope *rope;         /* applied to q and k with the position in the sequence; NULL: none */
    const struct sr_relative *relative; /* not with `rope`; NULL: none */
    size_t first_query, n_queries;      /* only these tokens are queries, the rest of `out` is untouched;
                                           0, SIZE_MAX: all */
};
size_t sr_attention_scratch(const struct sr_attention *a, unsigned team_size);
void sr_attention(struct sr_team *team, const struct sr_attention *a, void *scratch);

/* y = (x [+ add]) normalised over each row of d, times weight, plus bias (NULL: none). x, y, add: F32 or
 * BF16; y may be x. `sum`, when its p is not NULL, gets x + add (F32; may be x). */
void sr_layer_norm(struct sr_team *team, struct sr_rows x, struct sr_rows add, struct sr_rows sum,
                   const float *weight, const float *bias, float eps, size_t m, size_t d, struct sr_rows y);

/* out[d] = mean of rows [from, to) of x. */
void sr_mean_rows(struct sr_rows x, size_t from, size_t to, size_t d, float *out);

/* dst[i][d] = table[ids[i]][d] (type as given) for m tokens; ids are below the table's rows (the caller
 * checks). From Q4 only to F32, d a multiple of SR_Q4_BLOCK. */
void sr_gather(struct sr_team *team, const void *table, enum sr_scalar type, const int32_t *ids, size_t m,
               size_t d, struct sr_rows dst);

/* Converts n floats of another type to F32; n is a multiple of SR_Q4_BLOCK with Q4. */
void sr_to_float(const void *src, enum sr_scalar type, size_t n, float *dst);

/* dots[i] = sum of rows[i][k] * q[k] for n rows of d bytes; d is a multiple of 64 and at most 65536. Sums of
 * whole numbers: every instruction set gives the same. */
void sr_dot_bytes(const int8_t *q, size_t d, const uint8_t *const *rows, size_t n, int32_t *dots);

/* Peak rate of one core for a precision with the current set, operations per second (2 per multiply-add),
 * measured for about 50 ms by a loop of independent accumulators. */
double sr_kernel_peak(enum sr_precision precision);

#endif
