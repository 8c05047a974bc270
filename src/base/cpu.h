/*
 * The CPU budget of the process, which event loops and inference share.
 *
 * Counts the cores that this process may use: the affinity mask, limited by the cgroup's CPU quota.
 */
#ifndef SR_BASE_CPU_H
#define SR_BASE_CPU_H

#include "base/err.h"

#include <sched.h>

/* Usable cores, at least 1. */
int sr_cpu_cores(void);

/* Splits the cores: `loops` event-loop threads and `workers` threads for long jobs. A value <= 0 means
 * "default": one loop per core, and as many workers as cores (they run at lower priority than loops and sleep
 * when idle). Values above 256 are reduced to 256. */
void sr_cpu_split(int wish_loops, int wish_workers, int *loops, int *workers);

/* Reads a list of CPUs such as "0-3,8" into `set`. SR_EINVAL when it is malformed or names a CPU above
 * CPU_SETSIZE. */
int sr_cpu_list_parse(const char *list, cpu_set_t *set, struct sr_err *err) SR_WARN_UNUSED;

/* Checks a list as sr_cpu_list_parse does, without a result. */
int sr_cpu_list_check(const char *list, struct sr_err *err) SR_WARN_UNUSED;

/* The CPU's model name for bench reports; static storage. */
const char *sr_cpu_name(void);

#endif
