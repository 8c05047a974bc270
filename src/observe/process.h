/*
 * The operating system's metrics of this process, with the standard names of Prometheus clients: process_*.
 *
 * For the program's /metrics; a host of the library exports its own. Reads /proc, which does not block.
 */
#ifndef SR_OBSERVE_PROCESS_H
#define SR_OBSERVE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#define SR_PROCESS_VALUES 8

struct sr_process_value {
    const char *name, *help;
    bool counts; /* a counter; else a gauge */
    double value;
};

/* CPU time, memory, file descriptors and start time; values that cannot be read are left out. Their number.
 * Any thread. */
size_t sr_process_read(struct sr_process_value out[SR_PROCESS_VALUES]);

#endif
