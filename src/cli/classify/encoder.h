/*
 * The neural tier on the command line: the options --model, --precision and --threads, and an encoder with an
 * engine made of them. For embed, classify and models verify; the server has its own.
 */
#ifndef SR_CLI_CLASSIFY_ENCODER_H
#define SR_CLI_CLASSIFY_ENCODER_H

#include "cli/args.h"
#include "infer/engine/engine.h"
#include "infer/locate.h"

/* The embedded default's weights, as its publisher has them (tools/fetch_model.sh takes them). */
#define SR_CLI_ENCODER_SHA256 "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
#define SR_CLI_ENCODER_BYTES  90868376

struct sr_cli_encoder_args {
    const char *model;     /* folder or name; NULL: the default */
    const char *precision; /* "fp32", "bf16", "int8"; NULL: fp32 */
    long threads;          /* 0: as many as there are cores */
};

#define SR_CLI_ENCODER_OPTIONS(args)                                                                         \
    {"precision", SR_OPTION_CHOICE, &(args).precision, "fp32|bf16|int8",                                     \
     "how the neural tier computes; default int8 for the shipped classifiers, else fp32"},                   \
    {                                                                                                        \
        "threads", SR_OPTION_NUMBER, &(args).threads, "N", "threads of the neural tier, default all cores"   \
    }

struct sr_cli_encoder {
    struct sr_encoder *encoder;
    struct sr_infer *infer;
};

/* "fp32", "bf16", "int8"; NULL is fp32. */
enum sr_precision sr_cli_encoder_precision(const char *name);
const char *sr_precision_name(enum sr_precision precision);

/* The last part of the encoder's folder: "all-MiniLM-L6-v2". Lives as long as the encoder. */
const char *sr_cli_encoder_name(const struct sr_encoder *encoder);

/* Where args->model is a models folder instead of a model's, puts the model for `task` in it there: its path
 * is written to `path`, which outlives `args`. False after a message was printed: *code is the exit code. */
bool sr_cli_encoder_choose(const struct sr_usage *usage, struct sr_cli_encoder_args *args, const char *task,
                           char path[SR_LOCATE_MAX], int *code) SR_WARN_UNUSED;

/* Opens the model (NULL: the embedded default) with `heads` (NULL or the folder of heads for it), calls its
 * own head `task` (NULL: as its files do), and starts an engine. False after a message was printed: *code is
 * the exit code. */
bool sr_cli_encoder_open(const struct sr_usage *usage, const struct sr_cli_encoder_args *args,
                         const char *heads, const char *task, struct sr_cli_encoder *out,
                         int *code) SR_WARN_UNUSED;
void sr_cli_encoder_close(struct sr_cli_encoder *encoder); /* a zeroed one is allowed */

#endif
