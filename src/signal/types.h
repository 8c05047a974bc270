/* The signal types that the registry lists, and what registry and runs share. Private to the layer. */
#ifndef SR_SIGNAL_TYPES_H
#define SR_SIGNAL_TYPES_H

#include "signal/signal.h"

struct sr_signals {
    struct sr_ref ref;
    const struct sr_config *config; /* sets borrow its strings */
    struct sr_signal_set *sets[SR_SIGNAL_TYPES];
};

extern const struct sr_signal_ops sr_signal_context;
extern const struct sr_signal_ops sr_signal_keyword;
extern const struct sr_signal_ops sr_signal_structure;
extern const struct sr_signal_ops sr_signal_language;
extern const struct sr_signal_ops sr_signal_domain;

/* Room for `n` hits, all unmatched with no value; NULL when the arena is full. */
struct sr_signal_hit *sr_signal_hits(struct sr_arena *arena, size_t n);

/* Do all bounds of `predicate` hold for `value`? NAN fails. `any` tells whether there is a bound at all. */
bool sr_predicate_holds(const struct sr_config_predicate *predicate, double value);
bool sr_predicate_any(const struct sr_config_predicate *predicate);

#endif
