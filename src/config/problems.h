/*
 * The mistakes that a load collects, each with its position in the file: bounded, in the order of the file.
 * Prints nothing.
 */
#ifndef SR_CONFIG_PROBLEMS_H
#define SR_CONFIG_PROBLEMS_H

#include "base/buf.h"

#include <stdint.h>

enum sr_severity { SR_PROBLEM_ERROR, SR_PROBLEM_WARNING };

struct sr_problem {
    enum sr_severity severity;
    uint32_t line, column; /* from 1; 0 when the problem has no position */
    char message[SR_ERR_MESSAGE_MAX];
};

/* At most SR_PROBLEMS_MAX are kept; `dropped` counts the rest. Zero-initialise; dispose when done. */
#define SR_PROBLEMS_MAX 200
struct sr_problems {
    struct sr_problem *items;
    size_t count, errors, dropped;
    size_t capacity;
    bool out_of_memory; /* a problem was lost because there was no memory for it */
};

void sr_problems_dispose(struct sr_problems *problems);

/* Appends one; a message that is too long for it is cut (sr_cut_message). It is one line of valid UTF-8.
 * `errors` counts also what is dropped. What was said at the same place is not said again. */
void sr_problems_add(struct sr_problems *problems, enum sr_severity severity, uint32_t line, uint32_t column,
                     const char *fmt, ...) SR_PRINTF(5, 6);

/* In the order of the file; the loaders have done it. */
void sr_problems_sort(struct sr_problems *problems);

/* Appends "PATH:LINE:COL: error: MESSAGE" without a newline. SR_ENOMEM, SR_ELIMIT. */
int sr_problem_format(struct sr_buf *out, const char *path, const struct sr_problem *problem) SR_WARN_UNUSED;

#endif
