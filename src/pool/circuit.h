/*
 * The circuit of a worker: closed while it answers, open (in cooldown) after failures, then half open.
 *
 * A worker that is half open is given one request at a time, the trial, until one is answered well; all
 * others go past it. A circuit only orders candidates: when all workers of a group are open, they are chosen
 * anyway. Atomic, without a lock. Private to this folder.
 */
#ifndef SR_POOL_CIRCUIT_H
#define SR_POOL_CIRCUIT_H

#include "pool/private.h"

/* It is in cooldown or down. */
bool sr_circuit_is_cooling(const struct sr_pool_worker *worker, uint64_t now_ns);

/* It is cooling, or has its trial in progress: chosen after all others. */
bool sr_circuit_is_open(const struct sr_pool_worker *worker, uint64_t now_ns);

/* It is down, or in a cooldown for its failures: what it has may never be answered. */
bool sr_circuit_is_ejected(const struct sr_pool_worker *worker, uint64_t now_ns);

/* Begins the trial of a worker that is half open. False: another request is its trial. `*trial` becomes true
 * when this request is it, which then ends it. */
bool sr_circuit_enter(struct sr_pool_worker *worker, bool *trial) SR_WARN_UNUSED;
void sr_circuit_end_trial(struct sr_pool_worker *worker);

/* The worker asks for a cooldown of `ns`, at most SR_POOL_COOLDOWN_MAX_NS. */
void sr_circuit_cool(struct sr_pool_worker *worker, uint64_t ns);

/* What came of a request: the worker could not be reached; it failed, and may be ejected if this
 * is one failure too many; it was reached; it answered well. */
void sr_circuit_unreachable(struct sr_pool_worker *worker);
void sr_circuit_failed(struct sr_pool_worker *worker, const struct sr_pool_ejection *ejection,
                       bool may_eject);
void sr_circuit_reached(struct sr_pool_worker *worker);
void sr_circuit_well(struct sr_pool_worker *worker);

#endif
