/*
 * Spans of the neural classifiers as entities, beside those of the exact recognisers.
 *
 * Drops what has not the form of its type, and what lies in a part of the text that the other classifier
 * reads. Knows no rules.
 */
#ifndef SR_SIGNAL_GUARD_PII_SPANS_H
#define SR_SIGNAL_GUARD_PII_SPANS_H

#include "signal/guard/pii_other.h"
#include "signal/guard/pii_units.h"

/* The kinds of spans of the neural classifier that reads Latin script. */
struct sr_pii_kinds {
    int8_t types[SR_BIO_TYPES_MAX]; /* as enum sr_entity_type; -1: none of ours */
    float least[SR_BIO_TYPES_MAX];  /* thresholds of its training */
};

/* Thresholds are those of rules. Returns how many of the names [n] are types of ours. */
size_t sr_pii_kinds_init(struct sr_pii_kinds *kinds, const char *const *names, size_t n);

/* Adds the spans of an answered question, which is about a struct sr_pii_unit, to the unit's findings, in the
 * arena. SR_ENOMEM, SR_ELIMIT. */
int sr_pii_join_spans(const struct sr_pii_kinds *kinds, const struct sr_pii_other *other,
                      const struct sr_signal_question *question, struct sr_arena *arena) SR_WARN_UNUSED;

#endif
