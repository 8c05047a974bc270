/*
 * A log of outcomes with the vectors of its texts: from an encoder, or from a file that `semroute embed`
 * wrote for the same log. For train and eval.
 */
#ifndef SR_CLI_SELECT_LOG_H
#define SR_CLI_SELECT_LOG_H

#include "cli/classify/encoder.h"
#include "select/fit/outcomes.h"

struct sr_cli_log_args {
    struct sr_cli_encoder_args encoder;
    const char *vectors; /* NULL: the encoder makes them */
};

struct sr_cli_log {
    struct sr_outcomes outcomes;
    float *vectors; /* [texts, dimensions] */
    size_t dimensions;
    char encoder[256]; /* its name */
};

/* Reads a log (`-`: standard input) and the vectors. False after a message was printed: *code is the exit
 * code. */
bool sr_cli_log_read(const struct sr_usage *usage, struct sr_cli_log_args *args, const char *path,
                     struct sr_cli_log *out, int *code) SR_WARN_UNUSED;
void sr_cli_log_dispose(struct sr_cli_log *log); /* a zeroed one is allowed */

#endif
