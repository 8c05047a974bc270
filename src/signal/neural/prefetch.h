/*
 * Speculative prefetch: while a request still arrives, asks the neural classifiers what its signals will ask
 * them, so that the results are remembered or pending when they are needed.
 *
 * A turn is given whole when it is complete, or piece by piece while it arrives; of the latter complete
 * windows are read. Everything asked here is of the lowest priority until a signal asks for it. Decides
 * nothing and changes no answer: what was not asked, or came to nothing, is asked again by the signal. One
 * thread at a time; at most SR_SIGNAL_PREFETCH_MAX texts and windows are pending for one request.
 */
#ifndef SR_SIGNAL_NEURAL_PREFETCH_H
#define SR_SIGNAL_NEURAL_PREFETCH_H

#include "signal/signal.h"

#define SR_SIGNAL_PREFETCH_MAX 128u

struct sr_signal_prefetch;

/* Does one of `types` (bits 1 << enum sr_signal_type) ask a neural classifier whose questions can be
 * prefetched? */
bool sr_signals_can_prefetch(const struct sr_signals *signals, uint32_t types);

/* For a request of this tenant, as its turns will say. Keeps a reference of the signals. NULL when out
 * of memory. */
struct sr_signal_prefetch *sr_signal_prefetch_new(struct sr_signals *signals, struct sr_bytes tenant);

/* Cancels what has no other waiters. NULL is allowed. */
void sr_signal_prefetch_free(struct sr_signal_prefetch *prefetch);

/* The types that the request will need, as far as is known; none at first. */
void sr_signal_prefetch_want(struct sr_signal_prefetch *prefetch, uint32_t types);

/* A turn that is complete, valid UTF-8; `current` does not count. */
void sr_signal_prefetch_turn(struct sr_signal_prefetch *prefetch, const struct sr_signal_turn *turn);

/* A turn begins to arrive (what was arriving is done with), and more of its text. */
void sr_signal_prefetch_begin(struct sr_signal_prefetch *prefetch, enum sr_signal_role role);
void sr_signal_prefetch_feed(struct sr_signal_prefetch *prefetch, struct sr_bytes piece);

#endif
