/*
 * A workload on a simulated clock: the mock's engines and the pool's policies in one process, without sockets
 * and without waiting. The same workload gives the same answers in every run, on any machine and beside any
 * load.
 *
 * What it leaves out: the router's own time, connections, and the way of KV events and tokens, which are
 * there at once. `meaning` has no vectors here.
 */
#ifndef SR_BENCH_POOL_SIM_H
#define SR_BENCH_POOL_SIM_H

#include "bench/pool_run.h"

/* Fills the results of `run`, whose ports, speed and limit do not count, with eight engines of `blocks`
 * blocks behind this policy. SR_ENOENT: there is no such policy; SR_ENOMEM; the errors of the mock's reader.
 */
int sr_bench_sim_trace(struct sr_bench_run *run, const char *policy, size_t blocks) SR_WARN_UNUSED;

#endif
