/*
 * semroute train selection and semroute eval --task selection: from a log of outcomes to a predictor, and
 * what it is worth.
 */
#ifndef SR_CLI_SELECT_SELECT_H
#define SR_CLI_SELECT_SELECT_H

#include "cli/select/log.h"

struct sr_train_selection_options {
    struct sr_cli_log_args log;
    const char *out; /* the file that is written */
    long seed;
    bool json;
};

/* Returns the exit code. */
int sr_train_selection(const struct sr_usage *usage, struct sr_train_selection_options *options,
                       const char *path);

struct sr_eval_selection_options {
    struct sr_cli_log_args log;
    const char *predictor; /* NULL: fitted by cross-validation on the log itself */
    const char *svg;       /* NULL: no picture */
    long seed;
    bool json;
};

int sr_eval_selection(const struct sr_usage *usage, struct sr_eval_selection_options *options,
                      const char *path);

#endif
