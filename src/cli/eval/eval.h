/*
 * What eval measures, one implementation for each kind of task: classes, attacks, private data.
 *
 * The command reads the rows and counts by file, language, length and tier; a task asks its model about a row
 * and says what the row adds to its rates, and at the end writes the figures of its own.
 */
#ifndef SR_CLI_EVAL_EVAL_H
#define SR_CLI_EVAL_EVAL_H

#include "cli/classify/tiers.h"
#include "cli/eval/tally.h"
#include "cli/rows.h"
#include "text/entity/entity.h"

struct sr_eval_options {
    const struct sr_usage *usage;
    struct sr_tiers tiers;
    double threshold;                       /* of guards */
    bool types[SR_ENTITY_TYPES], all_types; /* of private data that are counted */
};

struct sr_eval_row {
    const char *path;         /* of its file, for messages */
    size_t file;              /* which one, from 0 */
    const struct sr_row *row; /* its text is valid UTF-8 */
    struct sr_bytes label;    /* the row's own, or its file's; p NULL: it has none */
};

struct sr_eval_ops {
    const char *name;
    const char *rates[SR_TALLY_RATES]; /* as in struct sr_tally */
    const char *titles[SR_TALLY_RATES];
    /* Opens the model. False after a message was printed: *code is the exit code. */
    bool (*open)(void **task, const struct sr_eval_options *options, int *code);
    /* Asks about a row and writes its rates, its label and its tier. SR_EPARSE when the row is malformed,
     * with a message of the form FILE:LINE: what; other errors with or without one. */
    int (*row)(void *task, const struct sr_eval_row *row, struct sr_tally_row *counted, struct sr_err *err);
    /* The whole document, or the text for people, `tally` and the time of a row in it. */
    void (*put)(void *task, const struct sr_tally *tally, double us, bool json, struct sr_report *report);
    void (*close)(void *task);
};

extern const struct sr_eval_ops sr_eval_classes, sr_eval_attacks, sr_eval_spans;

#endif
