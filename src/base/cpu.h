/*
 * The process's one budget of CPU threads, shared between event loops and inference.
 *
 * Counts the cores that this process may really use: the affinity mask, cut by the cgroup's CPU quota.
 */
#ifndef SR_BASE_CPU_H
#define SR_BASE_CPU_H

/* Usable cores, at least 1. */
int sr_cpu_cores(void);

/* Splits the cores: `loops` event-loop threads and `workers` threads for long jobs. A wish <= 0 means
 * "default": one loop per core, and as many workers as cores (they run at lower priority than loops and
 * sleep when idle). Wishes above 256 are cut. */
void sr_cpu_split(int wish_loops, int wish_workers, int *loops, int *workers);

/* The CPU's model name for bench reports; static storage. */
const char *sr_cpu_name(void);

#endif
