/*
 * semroute bench encoder: whole forward passes of encoders by length, threads and precision, beside the floor
 * that this machine's measured peak sets and beside ONNX Runtime on the same shapes in the same run.
 */
#ifndef SR_BENCH_ENCODER_H
#define SR_BENCH_ENCODER_H

#include "kernel/kernel.h"

/* Options: --json, --model DIR, --shape NAME, --max-tokens N, --threads N, --seconds S, --isa NAME, --python
 * PATH (of an environment with onnx and onnxruntime), --no-peer. Returns the process's exit code (0, 2 wrong
 * usage, 3 it broke). */
int sr_bench_encoder(int argc, char **argv);

/* A trunk that can be made with random weights. */
struct sr_bench_shape {
    const char *name;
    bool modern; /* ModernBERT; BERT otherwise */
    size_t layers, hidden, heads, intermediate, positions;
    size_t window; /* of the layers that are not every third; SIZE_MAX: none */
};

/* Writes a folder with random weights below $TMPDIR; its path into `folder`. SR_EIO. */
int sr_bench_encoder_folder(const struct sr_bench_shape *shape, char folder[256]) SR_WARN_UNUSED;
void sr_bench_encoder_folder_remove(const char *folder);

/* Prints the first part: peaks, products and attention against the peak. */
void sr_bench_encoder_kernels(unsigned threads, double seconds);

#endif
