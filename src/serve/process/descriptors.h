/*
 * File descriptors: raises the process's limit, keeps a part of them for admin listeners and files, and says
 * how many connections fit into the rest.
 */
#ifndef SR_SERVE_PROCESS_DESCRIPTORS_H
#define SR_SERVE_PROCESS_DESCRIPTORS_H

#include <stdint.h>

/* Raises the soft limit to the hard one and reserves descriptors (sr_sock_reserve). Main thread, before a
 * loop runs. */
void sr_descriptors_prepare(void);

/* `wanted` connections of clients, or fewer with a line in the log: each may need a second one, to an
 * upstream. */
uint32_t sr_descriptors_fit(uint32_t wanted);

#endif
