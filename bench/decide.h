/* `semroute bench decide`: signals without a model, and decisions, in comparison with a peer's published
 * figures. */
#ifndef SR_BENCH_DECIDE_H
#define SR_BENCH_DECIDE_H

/* Options: --json, --seconds S per row. Prints a table or one JSON document; returns the process's exit code
 * (0, 2 wrong usage, 3 it broke). */
int sr_bench_decide(int argc, char **argv);

#endif
