/* `semroute bench pool`: how well each policy finds the worker whose KV cache has a prompt's beginning. */
#ifndef SR_BENCH_POOL_H
#define SR_BENCH_POOL_H

/* argv[0] is the name. Returns the exit code. */
int sr_bench_pool(int argc, char **argv);

#endif
