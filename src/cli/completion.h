/*
 * Completion scripts for shells, made of the table of commands.
 */
#ifndef SR_CLI_COMPLETION_H
#define SR_CLI_COMPLETION_H

#include "cli/commands.h"

/* The script for "bash", "zsh" or "fish". Whatever is no command, option or choice completes as a file. */
void sr_completion_print(const char *shell, FILE *out);

#endif
