/*
 * One check of the answer guard: a run of the jailbreak signal over the texts that were not classified.
 *
 * Only guard.c uses it. It updates the guard's state: what was found, what was read, what may go.
 */
#ifndef SR_ROUTER_RESPONSE_CHECK_H
#define SR_ROUTER_RESPONSE_CHECK_H

#include "router/response/guard.h"

/* Begins a check when there is enough fresh text, or any fresh text when the client waits for the end.
 * `came`: bytes that have arrived at the gate. */
void sr_response_check_advance(struct sr_response_guard *guard, uint64_t came);

/* True when the client waits for the check in progress. */
bool sr_response_check_is_ending(const struct sr_response_guard *guard);

/* Notes that a text could not be classified; by the plugin's on_error it counts as found. */
void sr_response_check_failed(struct sr_response_guard *guard, int status);

/* Cancels the check in progress. */
void sr_response_check_cancel(struct sr_response_guard *guard);

#endif
