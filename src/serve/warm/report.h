/* What became of the lines of a warming file: counts, and the first problems by line. */
#ifndef SR_SERVE_WARM_REPORT_H
#define SR_SERVE_WARM_REPORT_H

#include "base/buf.h"

#include <stdint.h>

#define SR_WARM_PROBLEMS_MAX 100 /* that are told; all are counted */

struct sr_warm_problem {
    uint64_t line; /* from 1 */
    char code[32], message[256];
};

struct sr_warm_report {
    uint64_t lines;                   /* that are not empty */
    uint64_t taken;                   /* of them: kept in all their forms */
    uint64_t skipped;                 /* a rule forbids to keep them */
    uint64_t invalid;                 /* they are not what a line must be */
    uint64_t entries;                 /* that were kept */
    uint64_t exact_only;              /* of them: without a vector */
    struct sr_warm_problem *problems; /* [n_problems] */
    size_t n_problems;
};

void sr_warm_report_dispose(struct sr_warm_report *report);

/* Notes why a line is not taken. */
void sr_warm_report_note(struct sr_warm_report *report, uint64_t line, const char *code, const char *message);

/* Appends it as a JSON object, with how many entries there are now and were evicted meanwhile. SR_ENOMEM,
 * SR_ELIMIT. */
int sr_warm_report_write(const struct sr_warm_report *report, uint64_t total, uint64_t evicted,
                         struct sr_buf *out) SR_WARN_UNUSED;

#endif
