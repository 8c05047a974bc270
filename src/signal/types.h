/* Functions that registry, runs and types share. Private to the layer. */
#ifndef SR_SIGNAL_TYPES_H
#define SR_SIGNAL_TYPES_H

#include "signal/signal.h"

struct sr_signal_shortener;

struct sr_signals {
    struct sr_ref ref;
    const struct sr_config *config;        /* sets borrow its strings */
    struct sr_signal_shortener *shortener; /* NULL: no signal reads short texts */
    struct sr_signal_set *sets[SR_SIGNAL_TYPES];
    uint32_t needs[SR_SIGNAL_TYPES];   /* of sr_signals_needs */
    struct sr_model_store *own_models; /* NULL: the caller's were used */
};

#define SR_SIGNAL_EXTERN(TYPE, name) extern const struct sr_signal_ops name;
SR_SIGNAL_LIST(SR_SIGNAL_EXTERN)
#undef SR_SIGNAL_EXTERN

/* True when a result of this set may be late. */
bool sr_signal_type_is_late(enum sr_signal_type type, const struct sr_signal_set *set);

/* The input that `type` reads, without a new reference: `input` itself, or one with the short text. Any
 * thread. */
struct sr_signal_input sr_signal_input_seen_by(const struct sr_signal_input *input, enum sr_signal_type type);

/* Sets signals->shortener if the configuration asks for one; call it after the sets are made. */
int sr_signal_shortener_new(struct sr_signals *signals, struct sr_model_store *models,
                            struct sr_err *err) SR_WARN_UNUSED;
void sr_signal_shortener_unref(struct sr_signal_shortener *shortener); /* NULL is allowed */

/* The result of a type that failed: `status` is the reason. */
struct sr_signal_result sr_signal_failed(int status);

/* Writes status and time of an evaluation that ended on the calling thread to the result. */
void sr_signal_write_status(struct sr_signal_task *task, int status);

/* Allocates `n` hits, all unmatched without a value; NULL when out of memory. */
struct sr_signal_hit *sr_signal_hits(struct sr_arena *arena, size_t n);

/* True when all bounds of `predicate` hold for `value`. NAN fails. `any`: whether there is a bound. */
bool sr_predicate_holds(const struct sr_config_predicate *predicate, double value);
bool sr_predicate_any(const struct sr_config_predicate *predicate);

#endif
