/*
 * The paper's tables of speed on this machine: IV, VI to X and XII, with the paper's own figures.
 */
#ifndef SR_BENCH_PAPER_TABLES_H
#define SR_BENCH_PAPER_TABLES_H

/* argv as of `semroute bench paper`. Returns the process's exit code (0, 2 wrong usage, 3 it broke). */
int sr_bench_paper_tables(int argc, char **argv);

#endif
