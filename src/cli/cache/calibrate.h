/*
 * What the subcommands of `semroute cache` are.
 */
#ifndef SR_CLI_CACHE_CALIBRATE_H
#define SR_CLI_CACHE_CALIBRATE_H

#include "cli/args.h"
#include "cli/classify/encoder.h"

struct sr_calibrate_options {
    struct sr_cli_encoder_args encoder;
    const char *max_false_hits; /* percent; NULL: 0.5 */
    const char *svg;            /* file of the plot; NULL: none */
    const char *pairs;          /* file of every pair with its cosine and the gate's reason; NULL: none */
    bool json;
};

/* Runs `semroute cache calibrate FILE`; returns the exit code. */
int sr_cache_calibrate(const struct sr_usage *usage, struct sr_calibrate_options *options, const char *path);

#endif
