/* `semroute bench signals`: what each signal adds to the pass of the trunk that all of them share. */
#ifndef SR_BENCH_SIGNALS_H
#define SR_BENCH_SIGNALS_H

int sr_bench_signals(int argc, char **argv);

#endif
