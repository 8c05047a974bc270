/* Where two classifiers read parts of one text, each is asked about its own. */
#include "signal/guard/pii_spans.h"

#include <string.h>

#define AT_LEAST 0.7F /* the confidence that a span at its type's shipped threshold has */

size_t sr_pii_kinds_init(struct sr_pii_kinds *kinds, const char *const *names, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        kinds->types[i] = (int8_t)sr_entity_of_label(sr_bytes_str(names[i]));
        kinds->least[i] = AT_LEAST;
        known += kinds->types[i] >= 0;
    }
    return known;
}

/* The neural classifier's confidence on the scale of rules: a span at its type's shipped threshold has
 * AT_LEAST. */
static float scaled(float confidence, float least)
{
    if (confidence < least)
        return AT_LEAST * confidence / least;
    return least < 1 ? AT_LEAST + (1 - AT_LEAST) * (confidence - least) / (1 - least) : confidence;
}

/* Adds a span of the question's reader, if it is an entity. */
static int add_span(const struct sr_pii_kinds *kinds, const struct sr_pii_other *other,
                    const struct sr_signal_question *question, const struct sr_bio_span *span, size_t from,
                    struct sr_entities *list)
{
    struct sr_bytes text = question->text;
    int found = question->neural ? sr_pii_other_type(question, span->type) : kinds->types[span->type];
    enum sr_entity_type type = (enum sr_entity_type)found;
    if (found < 0 || span->end <= span->start || span->end > text.n ||
        !sr_entity_plausible(type, sr_bytes_of(text.p + span->start, span->end - span->start)))
        return SR_OK;
    if (type == SR_ENTITY_AGE && sr_entity_is_operand(text, span->start, span->end))
        return SR_OK;
    float least = question->neural ? other->least[type] : kinds->least[span->type];
    return sr_entities_add(list, type, from + span->start, from + span->end, scaled(span->confidence, least));
}

/* Is the span in a part of the text that another classifier reads? */
static bool is_others(const struct sr_script_stretch *parts, size_t n, const struct sr_bio_span *span)
{
    for (size_t i = 0; i < n; i++)
        if (span->start < parts[i].end && span->end > parts[i].start)
            return true;
    return false;
}

int sr_pii_join_spans(const struct sr_pii_kinds *kinds, const struct sr_pii_other *other,
                      const struct sr_signal_question *question, struct sr_arena *arena)
{
    struct sr_pii_unit *unit = question->about;
    struct sr_pii_findings *found = &unit->found;
    size_t n, from = (size_t)(question->text.p - unit->text.p);
    const struct sr_bio_span *spans = sr_neural_spans(question->result, &n);
    struct sr_script_stretch parts[SR_SCRIPT_STRETCHES_MAX];
    size_t n_parts = sr_pii_other_parts(other, question, parts);
    struct sr_entities list;
    int rc = SR_OK;
    sr_entities_init(&list, SR_PII_ENTITIES_MAX);
    for (size_t i = 0; rc == SR_OK && i < found->n; i++)
        rc = sr_entities_add(&list, found->items[i].type, found->items[i].start, found->items[i].end,
                             found->items[i].confidence);
    for (size_t i = 0; rc == SR_OK && i < found->n; i++)
        list.items[i].disguised = found->items[i].disguised;
    for (size_t i = 0; rc == SR_OK && i < n; i++)
        if (!is_others(parts, n_parts, &spans[i]))
            rc = add_span(kinds, other, question, &spans[i], from, &list);
    if (rc == SR_OK && list.n) {
        sr_entities_resolve(&list);
        struct sr_entity *items = sr_arena_alloc(arena, list.n * sizeof *items);
        rc = items ? SR_OK : SR_ENOMEM;
        if (items)
            memcpy(items, list.items, list.n * sizeof *items);
        found->items = items;
        found->n = list.n;
    }
    sr_entities_dispose(&list);
    return rc;
}
