/*
 * The paper's baseline on this machine: ONNX Runtime with three classifiers of mmBERT-base's shape (random
 * weights), one after the other, in a process that lives while the bench runs.
 */
#ifndef SR_BENCH_GUARDS_PEER_H
#define SR_BENCH_GUARDS_PEER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#define SR_GUARDS_PEER_TOKENS 8192u /* beyond these the baseline was not run in the paper either */

struct sr_guards_peer {
    pid_t pid;
    FILE *in, *out;
    bool quick;
    char why[160]; /* why there is none */
};

/* `python`: an interpreter with onnx and onnxruntime; `quick`: two layers of the shape, to see that it runs.
 * SR_ENOENT with `why` when it cannot be had. */
int sr_guards_peer_start(struct sr_guards_peer *peer, const char *python, bool quick) SR_WARN_UNUSED;
void sr_guards_peer_stop(struct sr_guards_peer *peer); /* harmless when it does not run */

/* Milliseconds of three passes over `tokens`; below 0: does not fit, and `megabytes` says what it needs; 0:
 * there is no peer. */
double sr_guards_peer_ask(struct sr_guards_peer *peer, size_t tokens, double *megabytes);

#endif
