/*
 * Reader of the safetensors format: named tensors of one file, in memory.
 *
 * The file is untrusted: a strict parser for exactly this grammar (no general JSON) reads its header, every
 * offset is checked before a pointer is computed, and tensors must tile the data section without gaps or
 * overlap, as the format requires. The caller checks the values of tensors. Format: 8 bytes little-endian
 * header length, the header (a JSON object), the data section.
 */
#ifndef SR_MODEL_SAFETENSORS_H
#define SR_MODEL_SAFETENSORS_H

#include "base/bytes.h"
#include "base/err.h"

#include <stdint.h>

#define SR_SAFETENSORS_HEADER_MAX  ((size_t)16 << 20) /* bytes of header */
#define SR_SAFETENSORS_TENSORS_MAX 65536u
#define SR_SAFETENSORS_RANK_MAX    8u

#define SR_DTYPE_LIST(X)                                                                                     \
    X(BOOL, 1)                                                                                               \
    X(U8, 1)                                                                                                 \
    X(I8, 1)                                                                                                 \
    X(U16, 2) X(I16, 2) X(F16, 2) X(BF16, 2) X(U32, 4) X(I32, 4) X(F32, 4) X(U64, 8) X(I64, 8) X(F64, 8)

enum sr_dtype {
#define SR_DTYPE_ENUM(name, size) SR_DTYPE_##name,
    SR_DTYPE_LIST(SR_DTYPE_ENUM)
#undef SR_DTYPE_ENUM
        SR_DTYPES
};

/* Row-major. `data` points into the file and need not be aligned to the element size. */
struct sr_tensor {
    struct sr_bytes name;
    enum sr_dtype dtype;
    uint32_t rank; /* 0 = a scalar */
    uint64_t shape[SR_SAFETENSORS_RANK_MAX];
    const unsigned char *data;
    size_t bytes;
};

struct sr_safetensors;

/* Reads `path` into memory of its own, which later changes of the file do not reach. Errors: SR_ENOENT,
 * SR_EIO, SR_EPARSE (err.offset = byte of the file), SR_ELIMIT, SR_ENOMEM; `*out` is NULL then. Any thread;
 * blocks on I/O. */
int sr_safetensors_open_file(struct sr_safetensors **out, const char *path,
                             struct sr_err *err) SR_WARN_UNUSED;

/* The same over memory that the caller keeps unchanged until close. */
int sr_safetensors_open_memory(struct sr_safetensors **out, const void *p, size_t n,
                               struct sr_err *err) SR_WARN_UNUSED;

/* Frees; all tensors and metadata of the file are invalid afterwards. NULL is allowed. */
void sr_safetensors_close(struct sr_safetensors *file);

/* The following borrow from the file and are valid until close. Immutable: any thread. */
size_t sr_safetensors_count(const struct sr_safetensors *file);
const struct sr_tensor *sr_safetensors_at(const struct sr_safetensors *file,
                                          size_t index); /* sorted by name */
const struct sr_tensor *sr_safetensors_find(const struct sr_safetensors *file,
                                            const char *name); /* or NULL */
struct sr_bytes sr_safetensors_metadata(const struct sr_safetensors *file,
                                        const char *key);               /* p NULL: missing */
struct sr_bytes sr_safetensors_file(const struct sr_safetensors *file); /* all bytes */
struct sr_bytes sr_safetensors_data(const struct sr_safetensors *file); /* the data section */

const char *sr_dtype_name(enum sr_dtype dtype);
size_t sr_dtype_size(enum sr_dtype dtype);

#endif
