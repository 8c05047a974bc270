/* `semroute bench plot`: a picture (SVG) of what a measurement says with --json. */
#ifndef SR_BENCH_PLOT_H
#define SR_BENCH_PLOT_H

/* A file, "-" for standard input; the picture goes to standard output. Returns the process's exit code (0, 1
 * the document is of no measurement that has a picture, 2 wrong usage, 3 it broke). */
int sr_bench_plot(int argc, char **argv);

#endif
