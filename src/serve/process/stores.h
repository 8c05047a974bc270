/*
 * Opens the stores that the configuration names for the response cache and for conversations of Responses,
 * and changes them at a reload.
 *
 * A store that is away is no error: what uses it goes on in memory. What cannot work at all (a file that is
 * no database, a key that does not fit) is said in the log, and the cache has no store then. The thread that
 * loads configurations.
 */
#ifndef SR_SERVE_PROCESS_STORES_H
#define SR_SERVE_PROCESS_STORES_H

#include "router/runtime.h"

/* Opens the store of `config` unless `before` (NULL: none) names the same one in the same way. */
void sr_stores_open(sr_runtime *runtime, const struct sr_config *config, const struct sr_config *before);

/* The same for the store of conversations of Responses. */
void sr_conversations_open(sr_runtime *runtime, const struct sr_config *config,
                           const struct sr_config *before);

#endif
