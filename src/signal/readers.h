/*
 * The classifiers of a configuration by themselves, for callers that want an answer about a text and no
 * routing: domain, jailbreak and pii as the signals of those names give it, whatever rules are configured.
 *
 * Opened with the engine or by a command; shared by any thread, immutable.
 */
#ifndef SR_SIGNAL_READERS_H
#define SR_SIGNAL_READERS_H

#include "signal/signal.h"

enum sr_readers_tier {
    SR_READERS_SHIPPED, /* as the configuration says */
    SR_READERS_LINEAR,  /* the linear tier and the exact recognisers alone */
    SR_READERS_NEURAL,  /* the neural classifier alone */
};

struct sr_readers;

/* The types that can be read alone: bits 1 << enum sr_signal_type. */
unsigned sr_readers_types(void);

/* Opens what can be opened of the types in `types` (bits 1 << enum sr_signal_type); keeps a reference of
 * `config` (of one built by hand its strings, which must outlive it). With `models` NULL models are opened
 * anew. SR_ENOMEM. */
int sr_readers_new(struct sr_readers **out, const struct sr_config *config, struct sr_model_store *models,
                   enum sr_readers_tier tier, unsigned types, struct sr_err *err) SR_WARN_UNUSED;
void sr_readers_free(struct sr_readers *readers); /* NULL is allowed */

/* A type's one rule, which is called "any", for runs of one's own; NULL when it is missing. Borrowed. */
struct sr_signals *sr_readers_signals(const struct sr_readers *readers, enum sr_signal_type type);

/* NULL when the type can be read, else why not: as long as the readers. */
const char *sr_readers_missing(const struct sr_readers *readers, enum sr_signal_type type);

/* Who answers a type that is there ("linear", "linear+neural", ...), and with which labels; as long as the
 * readers. */
struct sr_reader_info {
    const char *tier;
    const char *where;         /* the file or folder of the user's own that answers; "": the bundled model */
    const char *const *labels; /* [n_labels]; NULL for pii */
    size_t n_labels;
};
struct sr_reader_info sr_readers_info(const struct sr_readers *readers, enum sr_signal_type type);

/* Reads valid UTF-8; waits for what answers late, so never on an event loop. *result lives in `arena`.
 * Returns its status; SR_EUNSUPPORTED for a type that is missing. Texts of different tenants share nothing
 * that is remembered. */
int sr_readers_read(const struct sr_readers *readers, enum sr_signal_type type, struct sr_bytes text,
                    struct sr_bytes tenant, struct sr_arena *arena,
                    const struct sr_signal_result **result) SR_WARN_UNUSED;

#endif
