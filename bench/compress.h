/* Times the prompt compressor by text and size. */
#ifndef SR_BENCH_COMPRESS_H
#define SR_BENCH_COMPRESS_H

/* Runs `semroute bench compress`; returns the exit code. */
int sr_bench_compress(int argc, char **argv);

#endif
