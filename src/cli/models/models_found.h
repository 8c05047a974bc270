/*
 * semroute models list DIR: which folder of a models folder serves which task, and why it and not another.
 */
#ifndef SR_CLI_MODELS_MODELS_FOUND_H
#define SR_CLI_MODELS_MODELS_FOUND_H

#include "cli/args.h"

#include <stdbool.h>

/* Prints what sr_encoder_candidates says for each task. Returns an exit code; SR_EXIT_NO when there is a
 * folder for none of them. */
int sr_models_print_found(const struct sr_usage *usage, const char *folder, bool json) SR_WARN_UNUSED;

#endif
