/* Patterns of endpoints that each worker of a pool has: `tcp://{host}:{port+8}`. */
#ifndef SR_CONFIG_WORKER_PATTERN_H
#define SR_CONFIG_WORKER_PATTERN_H

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

#define SR_WORKER_PATTERN_MAX 384 /* bytes of what a pattern becomes */

/* Writes the pattern for a worker: `{host}` is its host, an IPv6 address in brackets; `{port}` its port, and
 * `{port+8}`, `{port-8}` one beside it. False: another word in braces, a port outside of 1 to 65535, or too
 * long. */
bool sr_worker_pattern(char out[SR_WORKER_PATTERN_MAX], const char *pattern, struct sr_bytes host, int port);

#endif
