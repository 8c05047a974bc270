/* The store of the limits' counters, as the configuration names it. */
#ifndef SR_SERVE_PROCESS_LIMITS_H
#define SR_SERVE_PROCESS_LIMITS_H

#include "config/config.h"
#include "router/runtime.h"

/* Opens the store that `config` names, or closes it; `before`: the configuration until now, NULL at the start.
 * One that is the same stays. What fails is logged, and this process counts by itself. */
void sr_limits_open(sr_runtime *runtime, const struct sr_config *config, const struct sr_config *before);

#endif
