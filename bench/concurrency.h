/* semroute bench concurrency: how many texts a second the inference engine reads for many clients at once. */
#ifndef SR_BENCH_CONCURRENCY_H
#define SR_BENCH_CONCURRENCY_H

int sr_bench_concurrency(int argc, char **argv);

#endif
