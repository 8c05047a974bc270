/*
 * The second reader: which units it is asked about after the first judgement, and what both say together.
 *
 * It reads a unit as the first neural classifier has read it: the text, or what its disguised parts say where
 * that decided. Of a text that is longer than one of its windows the worst window counts, as everywhere.
 */
#include "signal/guard/jailbreak.h"

#include <math.h>

/* The question whose text decided, if the first neural classifier alone has read all of the unit. */
static const struct sr_signal_question *decided(const struct sr_jailbreak_unit *unit, struct sr_bytes text)
{
    const struct sr_jailbreak_region *region = unit->first;
    if (!unit->mixed || unit->system || unit->stretches >= SR_RISK_LONG_FROM || unit->worst.other ||
        !region || region->next || region->text.n != text.n)
        return NULL;
    if (region->n_stretches && region->stretches[0].text.n == text.n) /* it has read it already */
        return NULL;
    const struct sr_signal_question *question = region->plain;
    if (region->undisguised && (unit->worst.disguise || !question))
        question = region->undisguised;
    return question && !question->neural && sr_signal_question_is_whole(question) ? question : NULL;
}

const struct sr_signal_question *sr_jailbreak_second_text(const struct sr_jailbreak_models *models,
                                                          const struct sr_jailbreak_unit *unit,
                                                          struct sr_bytes text, float risk)
{
    const struct sr_signal_question *question =
        models->reads_twice && sr_risk_distance(risk) <= models->second.band ? decided(unit, text) : NULL;
    size_t tokens = models->second.tokens;
    if (!question || question->text.n > tokens * SR_FUSION_TOKEN_BYTES)
        return NULL;
    return sr_neural_scope(question->result).tokens <= tokens ? question : NULL;
}

bool sr_jailbreak_second_is_moot(const struct sr_jailbreak_models *models, float risk)
{
    return risk > SR_RISK_SECOND_AT && sr_risk_distance(risk) > models->second.band;
}

/* Has a part of the unit, or what it says undisguised, been read by itself? That was not read again. */
static bool has_parts(const struct sr_jailbreak_unit *unit)
{
    const struct sr_jailbreak_region *region = unit->first;
    return region->n_stretches || (region->plain && region->undisguised);
}

void sr_jailbreak_second_mix(struct sr_jailbreak_unit *unit, const struct sr_jailbreak_models *models,
                             const struct sr_signal_question *question)
{
    const struct sr_head_info *head =
        question->status == SR_OK ? sr_neural_head(question->neural, SR_JAILBREAK_TASK) : NULL;
    float worst = -1, both[2];
    uint32_t start, end;
    if (!head || !sr_signal_question_is_whole(question))
        return;
    for (size_t i = 0; i < sr_neural_scope(question->result).windows; i++) {
        const float *p = sr_neural_window(question->result, head, i, &start, &end);
        float risk = 0;
        for (size_t k = 0; k < head->n_labels; k++)
            risk += models->attack >> k & 1 ? p[k] : 0;
        worst = fmaxf(worst, risk);
    }
    if (worst < 0)
        return;
    worst = fminf(fmaxf(worst, 1 - SR_RISK_SECOND_MOST), SR_RISK_SECOND_MOST);
    float other[2] = {1 - worst, worst}, first[2] = {1 - unit->worst.risk, unit->worst.risk};
    sr_fusion_mix(&models->second.mix, other, first, 2, both);
    if (!has_parts(unit) || both[1] > unit->worst.risk)
        unit->worst.risk = fminf(both[1], SR_RISK_MAX);
}
