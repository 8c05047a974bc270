/*
 * The clock of this folder: the machine's, or that of a simulation, whose time passes when it says so.
 *
 * One for the process. Private to this folder, except for simulations (bench/pool_sim.c) and tests.
 */
#ifndef SR_POOL_CLOCK_H
#define SR_POOL_CLOCK_H

#include <stdint.h>

/* Nanoseconds, monotonic; never 0. Any thread. */
uint64_t sr_pool_clock_ns(void);

/* From now on it is `now_ns`, until it is set anew; 0: the machine's again. Before any other thread uses a
 * pool. */
void sr_pool_clock_set(uint64_t now_ns);

#endif
