/*
 * semroute bench start: from the start of `semroute serve` to its first answer, and the memory it then holds,
 * with and without an encoder.
 */
#ifndef SR_BENCH_START_H
#define SR_BENCH_START_H

/* argv[0] is the measurement's name. Returns an exit code of the program. */
int sr_bench_start(int argc, char **argv);

#endif
