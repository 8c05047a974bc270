/*
 * What the files of the jailbreak signal share. Private to them.
 *
 * jailbreak_models.c opens the two tiers; jailbreak_turn.c assesses one turn by what both say; jailbreak.c is
 * the signal: it reads the turns of an input and writes the result.
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
    struct sr_jailbreak_reader *reader; /* NULL: the neural classifier alone */
    struct sr_neural *neural;           /* NULL: the linear tier alone */
    const struct sr_head_info *head;    /* the neural classifier's */
    uint64_t attack;                    /* mask of the head's labels */
    struct sr_fusion fusion;
};

/* Opens what the configuration names, or what came along. Dispose them whatever it returns. Errors of models.
 */
int sr_jailbreak_models_open(struct sr_jailbreak_models *set, const struct sr_config *config,
                             struct sr_model_store *models, struct sr_err *err) SR_WARN_UNUSED;
void sr_jailbreak_models_dispose(struct sr_jailbreak_models *set);

/* A turn that is read: what the linear tier says, and what stands undisguised beside it. Begins with its
 * `finding.turn`, `current`, and `neural` negative. */
struct sr_jailbreak_turn {
    struct sr_signal_finding finding;
    bool current;
    const struct sr_undisguised *views;
    size_t n_views;
    size_t instead; /* bytes of the turn that its views stand for, so that the neural classifier reads them
                       alone; 0 */
    float neural;   /* the neural classifier's risk so far; negative: none */
    bool unread;    /* the neural classifier has not read all of it */
    uint32_t label;
    size_t start, end;
    uint32_t disguise;
};

/* What the linear tier says of a turn's text; counts what was remembered. */
int sr_jailbreak_turn_read(struct sr_jailbreak_turn *turn, const struct sr_jailbreak_models *models,
                           struct sr_bytes text, struct sr_bytes tenant,
                           struct sr_signal_result *result) SR_WARN_UNUSED;

/* Finds the disguised parts of a turn's text; `*out` is all of them undisguised, one below the other, in the
 * arena, and empty where there are none. */
int sr_jailbreak_turn_views(struct sr_jailbreak_turn *turn, struct sr_bytes text, struct sr_arena *arena,
                            struct sr_bytes *out) SR_WARN_UNUSED;

/* Are the views read in the place of the text? */
bool sr_jailbreak_turn_is_views(const struct sr_jailbreak_turn *turn, struct sr_bytes text);

/* What the neural classifier says of a question about a turn: the text, or (`extra`) its views. */
void sr_jailbreak_turn_answer(struct sr_jailbreak_turn *turn, const struct sr_jailbreak_models *models,
                              const struct sr_signal_question *question);

/* After all answers: what both tiers say of the turn becomes its finding. */
void sr_jailbreak_turn_mix(struct sr_jailbreak_turn *turn, const struct sr_jailbreak_models *models);

#endif
