/*
 * Shared declarations of the jailbreak signal's files, private to them.
 *
 * jailbreak_models.c opens the two tiers; jailbreak_choice.c chooses what the neural classifier reads,
 * jailbreak_ask.c which one reads what;
 * jailbreak_unit.c combines both results for one unit; jailbreak_second.c has a second reader of what is then
 * uncertain; jailbreak.c is the signal: it reads the units of an input and writes the result. contrastive.c
 * finds disguised parts with jailbreak_unit.c.
 */
#ifndef SR_SIGNAL_GUARD_JAILBREAK_H
#define SR_SIGNAL_GUARD_JAILBREAK_H

#include "signal/guard/jailbreak_reader.h"
#include "signal/neural/ask.h"
#include "signal/neural/multilingual.h"
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
    struct sr_multilingual *other; /* reads other scripts; NULL: the neural classifier reads all */
    struct sr_fusion other_fusion;
    struct sr_fusion_second second; /* the other one is asked about uncertain texts, too */
    bool reads_twice;               /* ... if this is set */
    bool bundled;                   /* the models are those that the calibrations of risk.h are for */
};

/* Opens the configured models or the bundled ones. Dispose of them whatever it returns. Errors of models. */
int sr_jailbreak_models_open(struct sr_jailbreak_models *set, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err) SR_WARN_UNUSED;
void sr_jailbreak_models_dispose(struct sr_jailbreak_models *set);

/* A unit of a request, and what was found in it so far. */
struct sr_jailbreak_unit {
    uint32_t unit; /* index in the input's units */
    bool current;
    bool system;      /* a text of the system role, for which these models have a calibration of its own */
    bool mixed;       /* both tiers have read it */
    size_t stretches; /* of a text for which these models have the calibration of long ones; else 0 */
    struct sr_jailbreak_reading linear; /* the linear tier's windows */
    struct sr_risk_window worst;        /* the result */
    struct sr_risk_part *parts;         /* [n_parts] of a long unit that may be read again; else NULL */
    size_t n_parts;
    struct sr_risk_window rest;              /* beside the parts */
    const struct sr_jailbreak_region *first; /* the regions of this unit; NULL: none */
};

/* A part of a unit that the neural classifier is asked about, with its disguised parts undisguised. */
struct sr_jailbreak_region {
    struct sr_jailbreak_unit *of;
    struct sr_jailbreak_region *next; /* of the same unit */
    struct sr_bytes text;
    size_t from;  /* where it begins in the unit's text */
    size_t bytes; /* that count as read; 0 in a seam */
    struct sr_undisguised_list views;
    const struct sr_signal_question *plain, *undisguised; /* the questions about it; NULL: not asked */
    const struct sr_signal_question *stretches;           /* [n_stretches] in other scripts, parts of it */
    size_t n_stretches;
    const struct sr_signal_question *alone;        /* [n_alone] passages of a long unit */
    const struct sr_risk_window *const *alone_are; /* [n_alone] the same as the linear tier reads them */
    size_t n_alone;
};

/* ---- jailbreak_unit.c ---- */

/* Classifies a unit's text with the linear tier; counts memoised results. */
int sr_jailbreak_unit_read(struct sr_jailbreak_unit *unit, struct sr_jailbreak_session *session,
                           struct sr_bytes text, struct sr_arena *arena,
                           struct sr_signal_result *result) SR_WARN_UNUSED;

/* The unit's risk so far, in the calibration of its role. */
float sr_jailbreak_unit_risk(const struct sr_jailbreak_unit *unit);

/* What the linear tier alone says of one of its windows, in the calibration of the unit's role. */
float sr_jailbreak_linear_risk(const struct sr_jailbreak_unit *unit, float risk);

/* Finds the disguised parts of a region; `*out` is all of them undisguised, one line each, in the arena;
 * empty without any. `*instead`: these are read instead of the text. */
int sr_jailbreak_region_views(struct sr_jailbreak_region *region, struct sr_arena *arena,
                              struct sr_bytes *out, bool *instead) SR_WARN_UNUSED;

/* Bytes of the region that the neural classifier has read. */
size_t sr_jailbreak_region_read(const struct sr_jailbreak_region *region);

/* After all answers: what both tiers say of a unit with regions. SR_ENOMEM. */
int sr_jailbreak_unit_mix(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                          struct sr_arena *arena) SR_WARN_UNUSED;

/* ---- jailbreak_second.c ---- */

/* What the second reader is to read. */
struct sr_jailbreak_again {
    struct sr_jailbreak_unit *unit;
    struct sr_risk_part *part; /* of a long unit; NULL: all of a short one */
    struct sr_bytes text;
    float risk; /* by the first judgement, in all calibrations */
};

/* Puts one into a list of at most `room`, those of current units first, then by risk; the last one may lose
 * its place. */
void sr_jailbreak_again_insert(struct sr_jailbreak_again *list, size_t *n, size_t room,
                               struct sr_jailbreak_again new);

/* What is to be read of a unit, which the first judgement gives `risk`, in all calibrations; `text` is the
 * unit's. At most `room` texts, with the highest risk. 0: the unit is certain, of the system role, or was not
 * read by the first neural classifier alone. */
size_t sr_jailbreak_second_texts(const struct sr_jailbreak_models *models, struct sr_jailbreak_unit *unit,
                                 struct sr_bytes text, float risk, struct sr_jailbreak_again *out,
                                 size_t room);

/* True for the risk of a unit that is not read again, and so high that no other one of the same rules need
 * be. */
bool sr_jailbreak_second_is_moot(const struct sr_jailbreak_models *models, float risk);

/* The unit's risk with the second reader's answer; without one it stays. */
void sr_jailbreak_second_mix(const struct sr_jailbreak_again *again, const struct sr_jailbreak_models *models,
                             const struct sr_signal_question *question);

/* ---- jailbreak_ask.c ---- */

/* Who reads a text; NULL: the first neural classifier. `opens`: the other one is opened for it. */
struct sr_neural *sr_jailbreak_reader_of(const struct sr_jailbreak_models *models, struct sr_bytes text,
                                         bool opens);

/* The questions about the regions [n], in the arena, each with `about`; links the regions to them. */
int sr_jailbreak_ask(const struct sr_jailbreak_models *models, struct sr_jailbreak_region *regions, size_t n,
                     void *about, struct sr_arena *arena, struct sr_signal_question **out,
                     size_t *n_out) SR_WARN_UNUSED;

/* ---- jailbreak_choice.c ---- */

#define SR_JAILBREAK_REGIONS_MAX 1024u /* of one request */

/* Chooses what of the units [n] the neural classifier is asked about, at most `budget` bytes: all of it, or
 * first what is near the windows with the highest linear risk, of which the highest is always read, then
 * windows in rounds, one of each unit, the last user turn first and then by risk. So a unit has no worse
 * place because of where others stand. The most suspicious regions come first. `texts` are all units of the
 * input. Links the regions to their units. SR_ENOMEM; SR_ELIMIT: with the budget SIZE_MAX all must be read,
 * and there are too many units for that. */
int sr_jailbreak_choose(struct sr_jailbreak_unit *units, size_t n, const struct sr_signal_unit *texts,
                        size_t budget, struct sr_arena *arena, struct sr_jailbreak_region **out,
                        size_t *n_out) SR_WARN_UNUSED;

#endif
