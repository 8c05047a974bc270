/*
 * The findings of `semroute doctor`, in their order, and how they are printed. Knows no check.
 */
#ifndef SR_CLI_DOCTOR_DIAGNOSIS_H
#define SR_CLI_DOCTOR_DIAGNOSIS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum sr_condition { SR_CONDITION_GOOD, SR_CONDITION_WARNING, SR_CONDITION_BAD };

#define SR_DIAGNOSIS_MAX 512 /* findings; those after them are counted, not kept */

struct sr_finding_line {
    enum sr_condition condition;
    const char *area; /* static */
    char text[320];
    const char *advice; /* static; NULL where there is nothing to do */
};

struct sr_diagnosis {
    struct sr_finding_line *lines;
    size_t n, max, lost;
    size_t of[3]; /* by condition */
};

void sr_diagnosis_dispose(struct sr_diagnosis *diagnosis);

/* Adds a finding; `area` and `advice` must be static. Without memory it is only counted. */
void sr_diagnosis_add(struct sr_diagnosis *diagnosis, enum sr_condition condition, const char *area,
                      const char *advice, const char *fmt, ...) SR_PRINTF(5, 6);

/* Lines for people: state, area, text, and what to do below it. */
void sr_diagnosis_print(const struct sr_diagnosis *diagnosis);

/* {"good": true, "warnings": N, "errors": N, "findings": [{"state", "area", "text", "advice"}]}. SR_ENOMEM,
 * SR_ELIMIT. */
int sr_diagnosis_json(const struct sr_diagnosis *diagnosis, struct sr_buf *out) SR_WARN_UNUSED;

#endif
