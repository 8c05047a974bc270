/*
 * The classifiers of a configuration without routing, for callers that classify a text: the same results
 * as the signals domain, jailbreak and pii, whatever rules are configured.
 *
 * Opened with the router or by a command; shared by all threads, immutable.
 */
#ifndef SR_SIGNAL_READERS_H
#define SR_SIGNAL_READERS_H

#include "signal/signal.h"

enum sr_readers_tier {
    SR_READERS_SHIPPED, /* as the configuration says */
    SR_READERS_LINEAR,  /* only the linear tier and the exact recognisers */
    SR_READERS_NEURAL,  /* only the neural classifier */
};

struct sr_readers;

/* The types that can be read alone: bits 1 << enum sr_signal_type. */
unsigned sr_readers_types(void);

/* Opens those of `types` (bits 1 << enum sr_signal_type) that can be opened; keeps a reference of `config`
 * (a configuration built by hand must outlive the readers). With `models` NULL models are opened again.
 * SR_ENOMEM. */
int sr_readers_new(struct sr_readers **out, const struct sr_config *config, struct sr_model_store *models,
                   enum sr_readers_tier tier, unsigned types, struct sr_err *err) SR_WARN_UNUSED;
void sr_readers_free(struct sr_readers *readers); /* NULL is allowed */

/* The signals with a type's one rule, which is called "any", for the caller's own runs; NULL when it is
 * missing. Borrowed. */
struct sr_signals *sr_readers_signals(const struct sr_readers *readers, enum sr_signal_type type);

/* NULL when the type can be read, else the reason; lives as long as the readers. */
const char *sr_readers_missing(const struct sr_readers *readers, enum sr_signal_type type);

/* The tier that answers an available type ("linear", "linear+neural", ...), and its labels; lives as long
 * as the readers. */
struct sr_reader_info {
    const char *tier;
    const char *where;         /* the user's own file or folder that answers; "": the bundled model */
    const char *const *labels; /* [n_labels]; NULL for pii */
    size_t n_labels;
};
struct sr_reader_info sr_readers_info(const struct sr_readers *readers, enum sr_signal_type type);

/* Reads valid UTF-8; waits for late results, so never on an event loop. `system` is the operator's prompt
 * that the text stands beside, which is not read for itself; "": none. *result lives in `arena`. Returns its
 * status; SR_EUNSUPPORTED for a type that is missing. Tenants do not share memoised results. */
int sr_readers_read(const struct sr_readers *readers, enum sr_signal_type type, struct sr_bytes text,
                    struct sr_bytes system, struct sr_bytes tenant, struct sr_arena *arena,
                    const struct sr_signal_result **result) SR_WARN_UNUSED;

#endif
