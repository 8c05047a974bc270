/*
 * Classifies a text of any length for attacks: windows with overlap through a classifier, gathered
 * (signal/guard/risk.h).
 *
 * The text is read as it stands and, where something in it is disguised, undisguised too; windows that are
 * disguised as a whole are read undisguised only. Results are kept in the memo. A reader is immutable
 * and shared; it holds a model and no thresholds.
 */
#ifndef SR_SIGNAL_GUARD_JAILBREAK_READER_H
#define SR_SIGNAL_GUARD_JAILBREAK_READER_H

#include "base/arena.h"
#include "config/config.h"
#include "infer/model_store.h"
#include "model/memo.h"

#define SR_JAILBREAK_WINDOW  ((size_t)1536) /* bytes: about 350 tokens of English */
#define SR_JAILBREAK_OVERLAP ((size_t)512)

struct sr_jailbreak_reader;

/* The worst that was found in a text. */
struct sr_jailbreak_finding {
    float risk;        /* probability of the attack labels together, of all windows */
    uint32_t label;    /* the likeliest attack label: index in the classifier's */
    size_t start, end; /* the worst window, in bytes of the text as it was given */
    uint32_t disguise; /* SR_DISGUISE_* that were undone in it; 0: as it stands */
    uint32_t windows;  /* that were read; 0: all was remembered */
};

/* Which of a model's labels mean an attack, as a mask: those in `labels`; where that is empty, all but
 * benign, safe and normal. */
uint64_t sr_jailbreak_attacks(const char *const *names, size_t n, const struct sr_strings *labels);

/* `labels`: those that mean an attack, empty: all but benign, safe and normal. `path` "" is the embedded
 * model. SR_EINVAL when no label of the model means an attack; else the errors of sr_model_store_linear. */
int sr_jailbreak_reader_new(struct sr_jailbreak_reader **out, const char *path,
                            const struct sr_strings *labels, struct sr_model_store *models,
                            struct sr_err *err) SR_WARN_UNUSED;
void sr_jailbreak_reader_free(struct sr_jailbreak_reader *reader); /* NULL is allowed */

/* The model's labels, as long as the reader lives. */
const char *const *sr_jailbreak_labels(const struct sr_jailbreak_reader *reader, size_t *n);
const char *sr_jailbreak_tier(const struct sr_jailbreak_reader *reader); /* "linear" */

/* Reads valid UTF-8. `arena` is scratch. Texts of different tenants do not share what is remembered.
 * SR_ENOMEM. Any thread. */
int sr_jailbreak_read(const struct sr_jailbreak_reader *reader, struct sr_bytes text, struct sr_bytes tenant,
                      struct sr_arena *arena, struct sr_jailbreak_finding *out) SR_WARN_UNUSED;

#endif
