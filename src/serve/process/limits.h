/* The store of the limits' counters, as the configuration names it. */
#ifndef SR_SERVE_PROCESS_LIMITS_H
#define SR_SERVE_PROCESS_LIMITS_H

#include "config/config.h"
#include "router/runtime.h"

struct sr_spent_file;

/* Opens the store and the file that `config` names, or closes them; `before`: the configuration until now,
 * NULL at the start. One that is the same stays. What fails is logged, and this process counts in its memory.
 */
void sr_limits_open(sr_runtime *runtime, struct sr_spent_file **file, const struct sr_config *config,
                    const struct sr_config *before);

/* Writes what is spent of budgets, and closes their file. */
void sr_limits_close(struct sr_spent_file **file);

#endif
