/*
 * The bench's vectors in a real Milvus, through the backend that the cache uses: one lookup after another, as
 * one request would see it. Starts the server (PyPI's milvus-lite) and ends it.
 */
#ifndef SR_BENCH_CACHE_MILVUS_H
#define SR_BENCH_CACHE_MILVUS_H

#include "bench/cache_vectors.h"

#define SR_CACHE_MILVUS_QUERIES 200u /* a lookup takes milliseconds */

struct sr_cache_milvus {
    double inserts; /* records a second, with this process's own work */
    double bytes;   /* the server's memory an entry */
    double recall;
};

/* Puts the first n vectors, each with a short record, and asks the first SR_CACHE_MILVUS_QUERIES questions
 * of sr_cache_vectors_ask `rounds` times; ns[q] becomes the shortest time of a question so far. `program`: of
 * milvus-lite. SR_ENOENT: it cannot be started; SR_ETIMEOUT; SR_EIO: it failed; SR_ENOMEM. */
int sr_cache_milvus_run(struct sr_cache_milvus *out, const char *program, const struct sr_cache_vectors *v,
                        size_t n, unsigned rounds, double ns[SR_CACHE_MILVUS_QUERIES],
                        struct sr_err *err) SR_WARN_UNUSED;

#endif
