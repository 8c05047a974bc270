/*
 * semroute bench encoder: whole forward passes of encoders by length, threads and precision, in comparison
 * with the floor that this machine's measured peak sets and with ONNX Runtime on the same shapes in the same
 * run.
 */
#ifndef SR_BENCH_ENCODER_H
#define SR_BENCH_ENCODER_H

#include "infer/encoder/encoder.h"

/* Options: --json, --model DIR, --shape NAME, --max-tokens N, --threads N, --seconds S (of a row), --minutes
 * M (of the whole; lengths that would not end in time are left out), --isa NAME, --python PATH (of an
 * environment with onnx and onnxruntime), --no-peer. Returns the process's exit code (0, 2 wrong usage, 3 it
 * broke). */
int sr_bench_encoder(int argc, char **argv);

/* A trunk that can be made with random weights. */
struct sr_bench_shape {
    const char *name;
    bool modern; /* ModernBERT; BERT or DeBERTa otherwise */
    size_t layers, hidden, heads, intermediate, positions;
    size_t window; /* of the layers that are not every third; SIZE_MAX: none */
    size_t span;   /* DeBERTa: buckets of distances on each side of zero; 0: another architecture */
};

/* Writes a folder with random weights below $TMPDIR, and in its folder `heads` a bundle of three heads; its
 * path into `folder`. SR_EIO. */
int sr_bench_encoder_folder(const struct sr_bench_shape *shape, char folder[256]) SR_WARN_UNUSED;
void sr_bench_encoder_folder_remove(const char *folder);

/* Prints the first part: peaks, products and attention against the peak. */
void sr_bench_encoder_kernels(unsigned threads, double seconds);

#define SR_BENCH_LENGTHS 6u
#define SR_BENCH_THREADS 2u /* rows of thread counts: 1, and what is asked for */
extern const size_t sr_bench_lengths[SR_BENCH_LENGTHS];

/* One measured pass. */
struct sr_bench_cell {
    size_t tokens;
    unsigned threads;
    double ms, peak_mb, share; /* ms 0: not measured; below 0: does not fit */
    char kernel[32];
};

enum sr_bench_encoder_kind {
    SR_BENCH_EACH_LENGTH,
    SR_BENCH_ONE_LENGTH /* 512, one thread */,
    SR_BENCH_HEADS
};

/* What one process measures. */
struct sr_bench_encoder_job {
    enum sr_bench_encoder_kind kind;
    const struct sr_bench_shape *shape;
    const char *folder, *heads; /* heads: NULL, or a bundle's folder */
    enum sr_precision precision;
    bool lowered; /* to `isa` */
    enum sr_isa isa;
    size_t max_tokens;
    unsigned threads;
    double seconds;
    uint64_t deadline_ns; /* 0: none */
};

/* Runs a job in this process and writes its cells to `fd`. Returns an exit code. */
int sr_bench_encoder_passes(const struct sr_bench_encoder_job *job, int fd);

#endif
