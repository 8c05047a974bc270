/* `semroute bench scan`: the JSON scanner and splices by body size, in comparison with jansson. */
#ifndef SR_BENCH_SCAN_H
#define SR_BENCH_SCAN_H

/* Options: --json, --seconds S per row. Prints a table or one JSON document; returns the process's exit code
 * (0, 2 wrong usage, 3 it broke). */
int sr_bench_scan(int argc, char **argv);

#endif
