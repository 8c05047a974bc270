/*
 * The units of a request while private data is looked for in them: which of them the neural classifier
 * reads, and one list of all findings, in which what seams show is added to what their strings show.
 */
#ifndef SR_SIGNAL_GUARD_PII_UNITS_H
#define SR_SIGNAL_GUARD_PII_UNITS_H

#include "signal/guard/pii_reader.h"
#include "signal/neural/ask.h"

#define SR_PII_QUESTIONS_MAX 1024u /* of one request */

struct sr_pii_unit {
    struct sr_pii_findings found;
    uint32_t unit; /* index in the input's units */
    uint32_t at;   /* its first finding in the list of all */
    struct sr_bytes text;
    size_t own; /* bytes that count as read; 0 for a seam */
    const struct sr_pii_units *all;
};

struct sr_pii_units {
    struct sr_pii_unit *items; /* [n], by unit */
    size_t n;
    size_t short_bytes; /* of strings that are read in seams only */
};

/* Chooses what the neural classifier is asked about, at most `budget` bytes: all, or in rounds a share of
 * each unit from its end on, the last user turn first. So a long unit leaves the others their share. `texts`
 * are all units of the input. A question is about its unit, its text a part of the unit's. SR_ENOMEM;
 * SR_ELIMIT: with the budget SIZE_MAX all must be read, and there are too many units for that. */
int sr_pii_choose(const struct sr_pii_units *units, const struct sr_signal_unit *texts, size_t budget,
                  struct sr_arena *arena, struct sr_signal_question **out, size_t *n) SR_WARN_UNUSED;

/* Writes the findings of all units to the result, by unit and offset but for those of seams. `units` is the
 * input's, NULL when it is one text. SR_ENOMEM. */
int sr_pii_gather(const struct sr_pii_units *read, const struct sr_signal_units *units,
                  struct sr_arena *arena, struct sr_signal_result *result) SR_WARN_UNUSED;

#endif
