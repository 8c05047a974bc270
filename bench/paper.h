/* Rebuilds tables of the paper (arXiv 2603.12646) with what this tree has. */
#ifndef SR_BENCH_PAPER_H
#define SR_BENCH_PAPER_H

/* Runs `semroute bench paper`; returns the exit code. */
int sr_bench_paper(int argc, char **argv);

#endif
