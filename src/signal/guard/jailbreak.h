/*
 * Shared declarations of the jailbreak signal's files, private to them.
 *
 * jailbreak_models.c opens the two tiers; jailbreak_unit.c combines both results for one unit; jailbreak.c
 * is the signal: it reads the units of an input and writes the result.
 */
#ifndef SR_SIGNAL_GUARD_JAILBREAK_H
#define SR_SIGNAL_GUARD_JAILBREAK_H

#include "signal/guard/jailbreak_reader.h"
#include "signal/neural/ask.h"
#include "signal/neural/neural.h"
#include "signal/types.h"
#include "text/disguise/deobfuscate.h"

#define SR_JAILBREAK_TASK "jailbreak"

/* The two tiers, one of which may be missing. */
struct sr_jailbreak_models {
    struct sr_jailbreak_reader *reader; /* NULL: only the neural classifier */
    struct sr_neural *neural;           /* NULL: only the linear tier */
    const struct sr_head_info *head;    /* the neural classifier's */
    uint64_t attack;                    /* mask of the head's labels */
    struct sr_fusion fusion;
};

/* Opens the configured models or the bundled ones. Dispose of them whatever it returns. Errors of models. */
int sr_jailbreak_models_open(struct sr_jailbreak_models *set, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err) SR_WARN_UNUSED;
void sr_jailbreak_models_dispose(struct sr_jailbreak_models *set);

/* A unit: the linear tier's result, and its undisguised views. Initialise `finding.unit`, `current`, and
 * `neural` to a negative number. */
struct sr_jailbreak_unit {
    struct sr_signal_finding finding;
    bool current;
    const struct sr_undisguised *views;
    size_t n_views;
    size_t instead; /* bytes of the unit that its views stand for, so that the neural classifier reads them
                       alone; 0 */
    float neural;   /* the neural classifier's risk so far; negative: none */
    bool unread;    /* the neural classifier has not read all of it */
    uint32_t label;
    size_t start, end;
    uint32_t disguise;
};

/* Classifies a unit's text with the linear tier; counts memoised results. */
int sr_jailbreak_unit_read(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                           struct sr_bytes text, struct sr_bytes tenant,
                           struct sr_signal_result *result) SR_WARN_UNUSED;

/* Finds the disguised parts of a unit's text; `*out` is all of them undisguised, one line each, in the
 * arena; empty without any. */
int sr_jailbreak_unit_views(struct sr_jailbreak_unit *unit, struct sr_bytes text, struct sr_arena *arena,
                            struct sr_bytes *out) SR_WARN_UNUSED;

/* True when the views are read instead of the text. */
bool sr_jailbreak_unit_is_views(const struct sr_jailbreak_unit *unit, struct sr_bytes text);

/* Takes the neural classifier's result for a unit's text or (`view`) its views. */
void sr_jailbreak_unit_answer(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                              const struct sr_signal_question *question);

/* After all answers: combines the results of both tiers to the unit's finding. */
void sr_jailbreak_unit_mix(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models);

#endif
