/* `semroute bench tools`: choosing from a tool database when the question's vector is there. */
#ifndef SR_BENCH_TOOLS_H
#define SR_BENCH_TOOLS_H

/* Options: --json, --seconds S per row. Prints a table or one JSON document; returns the process's exit code
 * (0, 2 wrong usage, 3 it broke). */
int sr_bench_tools(int argc, char **argv);

#endif
