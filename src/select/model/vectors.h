/*
 * Known requests with the model that did best at each: the user's own JSON of nearest neighbours, in the
 * shape that vLLM Semantic Router's training writes. Immutable once it is read.
 */
#ifndef SR_SELECT_MODEL_VECTORS_H
#define SR_SELECT_MODEL_VECTORS_H

#include "base/arena.h"

#define SR_VECTORS_FILE_MAX ((size_t)256 << 20) /* bytes of a file */
#define SR_VECTORS_MAX      20000               /* known requests */
#define SR_VECTORS_WIDE     4096                /* dimensions */
#define SR_VECTORS_K_MAX    1024

struct sr_vectors {
    struct sr_arena arena;
    size_t n, dimensions;
    int k;               /* 0: the file does not say it */
    float *rows;         /* [n, dimensions] */
    float *halves;       /* [n]: half of each row's squared length */
    const char **labels; /* [n]: the model of each */
    double *votes;       /* [n]: what each counts, of its quality and its latency */
};

/* Reads {"k", "embeddings": [[...]], "labels": [...], "qualities": [...], "latencies": [...]}; the last two
 * may be missing. A vote is 0.9 of the quality (at least 0.01, 0.5 where it is missing) and 0.1 of the speed
 * among the latencies. SR_EPARSE with a message: no JSON, or another shape; SR_ELIMIT; SR_ENOMEM. The text is
 * not kept. */
int sr_vectors_parse(struct sr_vectors *out, struct sr_bytes text, struct sr_err *err) SR_WARN_UNUSED;

/* The same from a file. SR_ENOENT, SR_EIO. */
int sr_vectors_load(struct sr_vectors *out, const char *path, struct sr_err *err) SR_WARN_UNUSED;
void sr_vectors_dispose(struct sr_vectors *vectors); /* a zeroed one is allowed */

/* The `k` nearest rows to `vector` [dimensions] by Euclidean distance, the nearest first, into
 * `nearest[k]`; of equally near ones the earlier. Returns how many there are. */
size_t sr_vectors_nearest(const struct sr_vectors *vectors, const float *vector, size_t k, size_t *nearest);

#endif
