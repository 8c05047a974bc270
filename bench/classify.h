/* `semroute bench classify`: the linear tier by text size, in comparison with the machine's memory. */
#ifndef SR_BENCH_CLASSIFY_H
#define SR_BENCH_CLASSIFY_H

/* Options: --json, --model FILE (default: the embedded one), --seconds S per size. Prints a table or one JSON
 * document; returns the process's exit code (0, 2 wrong usage, 3 it broke). */
int sr_bench_classify(int argc, char **argv);

#endif
