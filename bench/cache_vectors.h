/*
 * A million vectors as a cache would hold them, and questions to them: embeddings of real texts, mixed in
 * pairs and perturbed. The same ones in every run; in memory that a peer's process shares.
 */
#ifndef SR_BENCH_CACHE_VECTORS_H
#define SR_BENCH_CACHE_VECTORS_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define SR_CACHE_QUERIES 1000u

/* All arrays lie in one shared file, in this order. */
struct sr_cache_vectors {
    int fd;
    size_t n, dimension, n_base; /* vectors, and embeddings of texts that they are made of */
    size_t bytes;
    float *base;     /* [n_base][dimension], not shared */
    float *vectors;  /* [n][dimension], of length 1 */
    float *queries;  /* [SR_CACHE_QUERIES][dimension] */
    uint64_t *truth; /* [SR_CACHE_QUERIES] the nearest vector of each, by comparing all */
    uint64_t *times; /* [SR_CACHE_QUERIES] where a peer puts its nanoseconds */
};

/* n vectors. `data`: a folder with intent-banking77/train.jsonl and intent-clinc150/train.jsonl; NULL: runs
 * of words of the texts that the benches ship. `model`: as for sr_locate_model. */
int sr_cache_vectors_new(struct sr_cache_vectors *v, size_t n, const char *data, const char *model,
                         struct sr_err *err) SR_WARN_UNUSED;
void sr_cache_vectors_dispose(struct sr_cache_vectors *v);

/* Questions to the first `n` vectors, half of them paraphrases of one, half of them new, and their truth.
 * SR_ENOMEM. */
int sr_cache_vectors_ask(struct sr_cache_vectors *v, size_t n) SR_WARN_UNUSED;

#endif
