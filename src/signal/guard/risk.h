/*
 * The risk of a unit from the risks of its windows: the highest of them, where both tiers read the same
 * bytes as both say together.
 *
 * What a window says depends on the bytes near it alone. So text that is added before, behind or around an
 * attack, in the same unit or in others, cannot lower the risk: a mean, or a discount for the number of
 * windows, would let harmless text hide an attack.
 */
#ifndef SR_SIGNAL_GUARD_RISK_H
#define SR_SIGNAL_GUARD_RISK_H

#include "infer/classifier/fusion.h"

#include <stddef.h>

/* No window is certain: a rule whose threshold is 1 matches nothing. */
#define SR_RISK_MAX 0.9999999F

/* System prompts say what a model is and must do, as attacks do: the models take many for attacks. So a text
 * of the system role has its own calibration: its log odds less one of these, of the linear tier alone or of
 * both tiers together. A risk of 0.7 is then as rare in harmless texts of this role as in others.
 * training/calibrate_system.py chooses them, docs/quality/system_prompts.md has the rates. */
#define SR_RISK_SYSTEM_LINEAR 2.80F
#define SR_RISK_SYSTEM_BOTH   1.45F

/* A risk with its log odds lowered by `shift`. Rises with the risk; 0 stays 0. */
float sr_risk_lowered(float risk, float shift);

/* A window as one tier reads it. */
struct sr_risk_window {
    uint32_t start, end; /* bytes of the unit's text */
    float risk;          /* probability of an attack */
    uint32_t label;      /* the likeliest label of an attack */
    uint32_t disguise;   /* bits of enum sr_disguise that were undone in it; 0: none */
};

/* Bytes of the unit's text that the neural classifier has read all of. */
struct sr_risk_range {
    uint32_t start, end;
};

/* What both tiers say of a unit. */
struct sr_risk_sides {
    struct sr_risk_window *linear, *neural; /* sorted by their start by sr_risk_of; NULL: none */
    size_t n_linear, n_neural;
    const struct sr_risk_range *whole;
    size_t n_whole;
};

/* The window with the highest risk, or one with risk 0 if there is none. Windows of both tiers that overlap
 * are mixed with `fusion`. A linear window that the neural classifier has not read all of keeps at least its
 * risk. */
struct sr_risk_window sr_risk_of(struct sr_risk_sides *sides, const struct sr_fusion *fusion);

/* The higher one of two; `a` when they are equal. */
struct sr_risk_window sr_risk_higher(struct sr_risk_window a, struct sr_risk_window b);

#endif
