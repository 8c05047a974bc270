/*
 * Asks models of the configuration for signals (signal/consult/consult.h): one HTTP request a question, on a
 * thread with a loop of its own, so that no door and no worker waits.
 *
 * Begins with the first configuration that needs it. A question has its model's timeout; SR_CONSULTS_MAX may
 * be in progress. Does not try again and follows no redirects.
 */
#ifndef SR_SERVE_CONSULT_CONSULTER_H
#define SR_SERVE_CONSULT_CONSULTER_H

#include "router/runtime.h"

#define SR_CONSULTS_MAX 256

struct sr_consulter;

/* Answers the runtime's questions until the stop. SR_ENOMEM, SR_EIO. */
int sr_consulter_start(struct sr_consulter **out, sr_runtime *runtime,
                       const struct sr_config *config) SR_WARN_UNUSED;

/* Of a new configuration; not on a loop. */
void sr_consulter_configure(struct sr_consulter *consulter, const struct sr_config *config);

/* Questions in progress end with SR_ECLOSED. No exchange may live any more. NULL is allowed. */
void sr_consulter_stop(struct sr_consulter *consulter);

#endif
