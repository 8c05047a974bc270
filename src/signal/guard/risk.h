/*
 * The risk of a unit from the risks of its windows: the highest of them, where both tiers read the same
 * bytes as both say together.
 *
 * What a window says depends on the bytes near it alone. So text that is added before, behind or around an
 * attack in a short unit, or in other units, cannot lower the risk.
 *
 * Of a long unit the neural classifier reads many windows, and each of them can be wrong. So its bar rises
 * with the logarithm of the length, up to SR_RISK_LONG_MOST, and a passage beside an attack takes off no more
 * than SR_RISK_ALONE_MOST: what text around an attack can cost it is bounded. And a window of a long text
 * often holds several texts that have nothing to do with each other, which n-grams take for an attack too
 * easily: there the linear tier reads passages, one by one. Where it has read alone its windows count as in a
 * short unit.
 */
#ifndef SR_SIGNAL_GUARD_RISK_H
#define SR_SIGNAL_GUARD_RISK_H

#include "infer/classifier/fusion.h"

#include <stdbool.h>
#include <stddef.h>

/* No window is certain: a rule whose threshold is 1 matches nothing. */
#define SR_RISK_MAX 0.9999999F

/* System prompts say what a model is and must do, as attacks do: the models take many for attacks. So a text
 * of the system role has its own calibration: its log odds less one of these, of the linear tier alone, of
 * both tiers together, or of both with the neural classifier of other scripts. A risk of 0.7 is then rarer in
 * harmless texts of this role than in others. training/calibrate_system.py chooses the first two, rates are
 * in docs/quality/system_prompts.md; training/multilingual_guard.py the last, docs/quality/multilingual.md.
 */
#define SR_RISK_SYSTEM_LINEAR 2.70F
#define SR_RISK_SYSTEM_BOTH   1.40F
#define SR_RISK_SYSTEM_OTHER  1.60F

/* Units of at least SR_RISK_LONG_FROM stretches of SR_RISK_STRETCH bytes are long. Their log odds, where both
 * tiers have read: of a window of the neural classifier with weight SR_RISK_LONG_NEURAL, and of the passage
 * in it that the linear tier gives the highest risk with the rest of the weight, no further from even than
 * SR_RISK_LONG_LIMIT. Less SR_RISK_LONG_SHIFT for each natural logarithm of the number of stretches, at most
 * SR_RISK_LONG_MOST. training/calibrate_long.py measures what they do, docs/quality/long.md has the rates. */
#define SR_RISK_STRETCH     1024u
#define SR_RISK_LONG_FROM   4u
#define SR_RISK_LONG_NEURAL 0.70F
#define SR_RISK_LONG_LIMIT  4.00F
#define SR_RISK_LONG_SHIFT  0.12F
#define SR_RISK_LONG_MOST   0.50F

/* Of a long unit the neural classifier also reads passages alone: in each stretch that one which the linear
 * tier gives the highest risk, from SR_RISK_ALONE_FROM on, SR_RISK_ALONE_PASSAGES of a unit. What is alone in
 * a window reads as it does alone, whatever stands beside it. Both tiers' log odds of the passage, as of a
 * short text, count with weight SR_RISK_ALONE, those of the window around it with the rest; a passage takes
 * no more than SR_RISK_ALONE_MOST off, or harmless ones would hide what stands beside them. */
#define SR_RISK_ALONE          0.50F
#define SR_RISK_ALONE_MOST     0.25F
#define SR_RISK_ALONE_FROM     0.50F
#define SR_RISK_ALONE_PASSAGES 256u

/* A second reader is asked about a unit whose log odds are at least those of a risk of SR_RISK_SECOND_AT, as
 * rules' thresholds are near it, or no further below than a band; if the unit is short. So alarms are read
 * twice, however high. How its answer joins the first judgement is in the config.json of its heads (struct
 * sr_fusion_second), which may have another band and another number of tokens than these. Not of the system
 * role: its calibration is that of two tiers.
 *
 * Of a long unit it is asked about the windows from the same band on. Its own log odds count with weight
 * SR_RISK_LONG_SECOND, those of the first judgement, under the bar of the length, with the rest, and the sum
 * is raised by SR_RISK_LONG_SECOND_SHIFT.
 *
 * Of a request SR_RISK_SECOND_TEXTS texts at most, those with the highest risk. */
#define SR_RISK_SECOND_AT         0.70F
#define SR_RISK_SECOND_BAND       1.50F
#define SR_RISK_SECOND_TOKENS     256u  /* as the first neural classifier counts them */
#define SR_RISK_SECOND_WINDOW     4096u /* bytes of a window; more: words that are in no vocabulary */
#define SR_RISK_SECOND_TEXTS      8u
#define SR_RISK_SECOND_MOST       0.982F /* its own risk counts up to here, and down to the rest: log odds of 4 */
#define SR_RISK_LONG_SECOND       0.30F
#define SR_RISK_LONG_SECOND_SHIFT 0.10F

/* How far the log odds of a risk are from those of SR_RISK_SECOND_AT, on either side. */
float sr_risk_distance(float risk);

/* Stretches of a text; the last one may be shorter. */
static inline size_t sr_risk_stretches(size_t bytes)
{
    return bytes / SR_RISK_STRETCH + (bytes % SR_RISK_STRETCH != 0);
}

/* What the number of stretches of a unit takes off its log odds; 0 if it is not long. */
float sr_risk_long_shift(size_t stretches);

/* A risk with its log odds lowered by `shift`, raised if that is negative. Rises with the risk; 0 stays 0. */
float sr_risk_lowered(float risk, float shift);

/* A window as one tier reads it. */
struct sr_risk_window {
    uint32_t start, end; /* bytes of the unit's text */
    float risk;          /* probability of an attack */
    uint16_t label;      /* the likeliest label of an attack */
    bool other;          /* the neural classifier of other scripts has read it */
    uint32_t disguise;   /* bits of enum sr_disguise that were undone in it; 0: none */
};

/* Bytes of the unit's text that the neural classifier has read all of. */
struct sr_risk_range {
    uint32_t start, end;
};

/* A window of the neural classifier in a long unit, and what all that was read in it says together, before
 * the bar for the unit's length. */
struct sr_risk_part {
    uint32_t start, end; /* of the window */
    bool plain;          /* the first neural classifier has read the unit's own bytes there */
    struct sr_risk_window all;
};

/* What both tiers say of a unit. */
struct sr_risk_sides {
    struct sr_risk_window *linear, *neural; /* sorted by their start by sr_risk_of; NULL: none */
    size_t n_linear, n_neural;
    const struct sr_fusion
        *other; /* mixes windows of the neural classifier of other scripts, if there are any */
    const struct sr_risk_range *whole;
    size_t n_whole;
    struct sr_risk_window *passages; /* of a long unit, as the linear tier reads each alone; sorted, too */
    size_t n_passages;
    struct sr_risk_window *alone; /* of a long unit: passages as both tiers read each alone; sorted, too */
    size_t n_alone;
    size_t stretches;           /* of a long unit; less than SR_RISK_LONG_FROM: it is not long */
    struct sr_risk_part *parts; /* [n_neural] of a long unit, written by sr_risk_of; NULL: not wanted */
    struct sr_risk_window rest; /* of a long unit, also written: the highest of what no part has read */
};

/* The window with the highest risk, or one with risk 0 if there is none. Windows of both tiers that overlap
 * are mixed with `fusion`, in a long unit those of the neural classifier with passages, as above, and these
 * with what was read alone in them; those of the other neural classifier with `sides->other`. A linear window
 * that the neural classifier has not read all of keeps at least its risk. */
struct sr_risk_window sr_risk_of(struct sr_risk_sides *sides, const struct sr_fusion *fusion);

/* The same of a long unit from its parts, whose risks may have changed since, and the rest. */
struct sr_risk_window sr_risk_of_parts(const struct sr_risk_part *parts, size_t n, size_t stretches,
                                       struct sr_risk_window rest);

/* The higher one of two; `a` when they are equal. */
struct sr_risk_window sr_risk_higher(struct sr_risk_window a, struct sr_risk_window b);

#endif
