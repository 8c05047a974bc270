/*
 * The second reader: which units it is asked about after the first judgement, and what both say together.
 *
 * It reads a short unit as the first neural classifier has read it: the text, or what its disguised parts say
 * where that decided; of a long one the windows that decide, each by itself. Of a text that is longer than
 * one of its windows the worst window counts, as everywhere.
 */
#include "signal/guard/jailbreak.h"

#include <math.h>
#include <string.h>

static float log_odds(float p)
{
    return logf(p / (1 - p));
}

/* The question whose text decided, if the first neural classifier alone has read all of the unit. */
static const struct sr_signal_question *decided(const struct sr_jailbreak_unit *unit, struct sr_bytes text)
{
    const struct sr_jailbreak_region *region = unit->first;
    if (unit->stretches >= SR_RISK_LONG_FROM || unit->worst.other || !region || region->next ||
        region->text.n != text.n)
        return NULL;
    if (region->n_stretches && region->stretches[0].text.n == text.n) /* it has read it already */
        return NULL;
    const struct sr_signal_question *question = region->plain;
    if (region->undisguised && (unit->worst.disguise || !question))
        question = region->undisguised;
    return question && !question->neural && sr_signal_question_is_whole(question) ? question : NULL;
}

/* Is the first judgement uncertain, or an alarm? */
static bool is_asked(const struct sr_jailbreak_models *models, float risk)
{
    return risk >= SR_RISK_SECOND_AT || sr_risk_distance(risk) <= models->second.band;
}

/* A short unit is read as a whole. */
static size_t whole_text(const struct sr_jailbreak_models *models, struct sr_jailbreak_unit *unit,
                         struct sr_bytes text, float risk, struct sr_jailbreak_again *out)
{
    const struct sr_signal_question *question = is_asked(models, risk) ? decided(unit, text) : NULL;
    size_t tokens = models->second.tokens;
    if (!question || question->text.n > tokens * SR_FUSION_TOKEN_BYTES ||
        sr_neural_scope(question->result).tokens > tokens)
        return 0;
    *out = (struct sr_jailbreak_again){unit, NULL, question->text, risk};
    return 1;
}

static float place(const struct sr_jailbreak_again *again)
{
    return again->risk + (again->unit->current ? 1 : 0);
}

void sr_jailbreak_again_insert(struct sr_jailbreak_again *list, size_t *n, size_t room,
                               struct sr_jailbreak_again new)
{
    size_t at = *n;
    while (at && place(&list[at - 1]) < place(&new))
        at--;
    if (at == room)
        return;
    *n += *n < room;
    memmove(list + at + 1, list + at, (*n - 1 - at) * sizeof *list);
    list[at] = new;
}

/* Of a long unit the windows that may decide. None where another one decides anyway: what cannot be read
 * again, or more windows than are read. */
static size_t parts_of(const struct sr_jailbreak_models *models, struct sr_jailbreak_unit *unit,
                       struct sr_bytes text, float risk, struct sr_jailbreak_again *out, size_t room)
{
    const float high = log_odds(SR_RISK_SECOND_AT), low = high - models->second.band;
    /* from what all say of a part to its risk in all calibrations */
    const float raise = log_odds(risk) - log_odds(unit->worst.risk);
    const float shift = raise - sr_risk_long_shift(unit->stretches);
    size_t n = 0, above = 0;
    if (log_odds(unit->rest.risk) + raise >= high)
        return 0;
    for (size_t i = 0; i < unit->n_parts; i++) {
        struct sr_risk_part *part = &unit->parts[i];
        float odds = log_odds(part->all.risk) + shift;
        size_t bytes = part->end - part->start;
        bool readable = part->plain && bytes <= SR_RISK_SECOND_WINDOW;
        above += odds >= high;
        if (above > room || (odds >= high && !readable))
            return 0;
        if (odds >= low && readable)
            sr_jailbreak_again_insert(out, &n, room,
                                      (struct sr_jailbreak_again){unit, part,
                                                                  sr_bytes_of(text.p + part->start, bytes),
                                                                  sr_risk_lowered(part->all.risk, -shift)});
    }
    return n;
}

size_t sr_jailbreak_second_texts(const struct sr_jailbreak_models *models, struct sr_jailbreak_unit *unit,
                                 struct sr_bytes text, float risk, struct sr_jailbreak_again *out,
                                 size_t room)
{
    if (!models->reads_twice || !unit->mixed || unit->system || room == 0)
        return 0;
    return unit->parts ? parts_of(models, unit, text, risk, out, room)
                       : whole_text(models, unit, text, risk, out);
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

/* The highest risk of the answer's windows; below 0: there is none. */
static float risk_of(const struct sr_jailbreak_models *models, const struct sr_signal_question *question)
{
    const struct sr_head_info *head =
        question->status == SR_OK ? sr_neural_head(question->neural, SR_JAILBREAK_TASK) : NULL;
    float worst = -1;
    uint32_t start, end;
    if (!head || !sr_signal_question_is_whole(question))
        return worst;
    for (size_t i = 0; i < sr_neural_scope(question->result).windows; i++) {
        const float *p = sr_neural_window(question->result, head, i, &start, &end);
        float risk = 0;
        for (size_t k = 0; k < head->n_labels; k++)
            risk += models->attack >> k & 1 ? p[k] : 0;
        worst = fmaxf(worst, risk);
    }
    return worst;
}

/* What both say together. */
static float mixed(const struct sr_fusion *fusion, float first, float second)
{
    float other[2], both[2] = {1 - first, first};
    other[1] = fminf(fmaxf(second, 1 - SR_RISK_SECOND_MOST), SR_RISK_SECOND_MOST);
    other[0] = 1 - other[1];
    sr_fusion_mix(fusion, other, both, 2, both);
    return fminf(both[1], SR_RISK_MAX);
}

void sr_jailbreak_second_mix(const struct sr_jailbreak_again *again, const struct sr_jailbreak_models *models,
                             const struct sr_signal_question *question)
{
    static const struct sr_fusion of_long = {.neural = SR_RISK_LONG_SECOND,
                                             .linear = 1 - SR_RISK_LONG_SECOND,
                                             .temperature = 1,
                                             .shift = SR_RISK_LONG_SECOND_SHIFT};
    struct sr_jailbreak_unit *unit = again->unit;
    float second = risk_of(models, question);
    if (second < 0)
        return;
    if (again->part) {
        float shift = sr_risk_long_shift(unit->stretches), *risk = &again->part->all.risk;
        *risk = sr_risk_lowered(mixed(&of_long, sr_risk_lowered(*risk, shift), second), -shift);
        unit->worst = sr_risk_of_parts(unit->parts, unit->n_parts, unit->stretches, unit->rest);
        return;
    }
    float both = mixed(&models->second.mix, unit->worst.risk, second);
    if (!has_parts(unit) || both > unit->worst.risk)
        unit->worst.risk = both;
}
