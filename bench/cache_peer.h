/*
 * The libraries that the index is compared with, in a Python process that lives while the bench runs and
 * reads the same vectors from shared memory.
 */
#ifndef SR_BENCH_CACHE_PEER_H
#define SR_BENCH_CACHE_PEER_H

#include "bench/cache_vectors.h"

#include <stdio.h>
#include <sys/types.h>

struct sr_cache_peer {
    pid_t pid;
    FILE *in, *out;
};

/* `name`: hnswlib or faiss; `python`: an interpreter that has it. SR_ENOENT: it cannot be had. */
int sr_cache_peer_start(struct sr_cache_peer *peer, const char *python, const char *name,
                        const struct sr_cache_vectors *v) SR_WARN_UNUSED;
void sr_cache_peer_stop(struct sr_cache_peer *peer); /* harmless when it does not run */

/* Adds the first n vectors on `threads` threads, each with so many candidates: seconds, and bytes of its
 * memory. SR_EIO: it ended. */
int sr_cache_peer_build(struct sr_cache_peer *peer, size_t n, unsigned threads, unsigned candidates,
                        double *seconds, double *bytes) SR_WARN_UNUSED;

/* Chooses the least number of candidates with this recall, or its largest; the recall that it has then, and
 * the microseconds of a call on an index of one vector. */
int sr_cache_peer_tune(struct sr_cache_peer *peer, double *recall, unsigned *candidates,
                       double *call_us) SR_WARN_UNUSED;

/* Asks every question once; v->times are set. */
int sr_cache_peer_search(struct sr_cache_peer *peer) SR_WARN_UNUSED;

#endif
