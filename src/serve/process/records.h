/* The file that keeps records of requests, as the configuration names it. */
#ifndef SR_SERVE_PROCESS_RECORDS_H
#define SR_SERVE_PROCESS_RECORDS_H

#include "config/config.h"
#include "router/runtime.h"

struct sr_history_file;

/* Opens the file that `config` names, or closes it; `before`: the configuration until now, NULL at the start.
 * One that is the same stays. What fails is logged, and records are kept in memory only. */
void sr_records_open(sr_runtime *runtime, struct sr_history_file **file, const struct sr_config *config,
                     const struct sr_config *before);

/* Writes what is queued, and closes it. */
void sr_records_close(struct sr_history_file **file);

#endif
