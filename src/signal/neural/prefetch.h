/*
 * Speculative prefetch: while a request still arrives, classifies the texts that its signals will need, so
 * that the results are memoised or pending when they are needed.
 *
 * A unit is given whole when it is complete, or in pieces while it arrives; then its complete windows are
 * read. Prefetches have the lowest priority until a signal asks for them. They decide nothing and change
 * no result: a signal classifies again what was not prefetched or failed. One thread at a time; at most
 * SR_SIGNAL_PREFETCH_MAX texts and windows are pending for one request.
 */
#ifndef SR_SIGNAL_NEURAL_PREFETCH_H
#define SR_SIGNAL_NEURAL_PREFETCH_H

#include "signal/signal.h"

#define SR_SIGNAL_PREFETCH_MAX 128u

struct sr_signal_prefetch;

/* True when one of `types` (bits 1 << enum sr_signal_type) uses a neural classifier whose texts can be
 * prefetched. */
bool sr_signals_can_prefetch(const struct sr_signals *signals, uint32_t types);

/* Makes a prefetch for a request of this tenant, which must be the tenant of its units. Keeps a reference
 * of the signals. NULL when out of memory. */
struct sr_signal_prefetch *sr_signal_prefetch_new(struct sr_signals *signals, struct sr_bytes tenant);

/* Frees, and cancels work that no signal waits for. NULL is allowed. */
void sr_signal_prefetch_free(struct sr_signal_prefetch *prefetch);

/* Sets the types that the request is known to need; none at first. */
void sr_signal_prefetch_want(struct sr_signal_prefetch *prefetch, uint32_t types);

/* Prefetches a complete unit, valid UTF-8; `current` is ignored. */
void sr_signal_prefetch_unit(struct sr_signal_prefetch *prefetch, const struct sr_signal_unit *unit);

/* Begin a unit that still arrives (this ends the one before), and add text to it. */
void sr_signal_prefetch_begin(struct sr_signal_prefetch *prefetch, enum sr_signal_role role);
void sr_signal_prefetch_feed(struct sr_signal_prefetch *prefetch, struct sr_bytes piece);

#endif
