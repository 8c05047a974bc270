/*
 * Which model answers a task on the command line: the options --task, --tier and --model that classify and
 * eval share.
 */
#ifndef SR_CLI_TIERS_H
#define SR_CLI_TIERS_H

#include "cli/args.h"
#include "model/linear.h"

struct sr_tiers {
    const char *task, *tier, *model; /* as given; NULL = not given */
};

#define SR_TIERS_OPTIONS(tiers)                                                                              \
    {"task", SR_OPTION_TEXT, &(tiers).task, "TASK", "what to ask: domain"},                                  \
    {                                                                                                        \
        "tier", SR_OPTION_CHOICE, &(tiers).tier, "linear|neural|both", "which model answers, default linear" \
    }

/* Opens the model. *code is the exit code after a message was printed when it returns false. */
bool sr_tiers_open(const struct sr_usage *usage, const struct sr_tiers *tiers, struct sr_linear **model,
                   int *code) SR_WARN_UNUSED;

#endif
