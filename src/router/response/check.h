/*
 * One check of the guard of answers: a run of the jailbreak signal over the texts that were not classified.
 *
 * For guard.c alone, whose state it fills: what was found, what was read, what may go.
 */
#ifndef SR_ROUTER_RESPONSE_CHECK_H
#define SR_ROUTER_RESPONSE_CHECK_H

#include "router/response/guard.h"

/* Begins checks as far as there is enough fresh text, or any when the client waits for the end. `came` is
 * what has come to the gate. */
void sr_response_check_advance(struct sr_response_guard *guard, uint64_t came);

/* The client waits for what is classified now. */
bool sr_response_check_is_ending(const struct sr_response_guard *guard);

/* Drops what is in progress. */
void sr_response_check_cancel(struct sr_response_guard *guard);

#endif
