/* `semroute bench dialect`: translating between chat completions, Responses and Messages. */
#ifndef SR_BENCH_DIALECT_H
#define SR_BENCH_DIALECT_H

/* Options: --json, --seconds S per row. Prints a table or one JSON document; returns the
 * process's exit code (0, 2 wrong usage, 3 internal error). */
int sr_bench_dialect(int argc, char **argv);

#endif
