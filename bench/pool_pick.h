/* `semroute bench pick`: what it costs to pick a worker for a long prompt, by policy. */
#ifndef SR_BENCH_POOL_PICK_H
#define SR_BENCH_POOL_PICK_H

/* Options: --json, --workers N, --picks N. Prints a table or one JSON document; returns the process's exit
 * code (0, 2 wrong usage, 3 internal error). */
int sr_bench_pick(int argc, char **argv);

#endif
