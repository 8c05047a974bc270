/*
 * The table of commands: what `semroute help`, the manual pages and the shell completions are made of.
 */
#ifndef SR_CLI_COMMANDS_H
#define SR_CLI_COMMANDS_H

#include "cli/args.h"

struct sr_command {
    const char *arguments; /* the ones that matter most, for the overview */
    const char *summary;   /* a few words, for the overview */
    const struct sr_usage *usage;
    int (*run)(int argc, char **argv);
};

extern const struct sr_command sr_commands[];
extern const size_t sr_n_commands;

/* NULL when there is no such command. */
const struct sr_command *sr_command_find(const char *name);

/* Prints to standard error that there is no such command, and the nearest one; returns SR_EXIT_USAGE. */
int sr_command_unknown(const char *name);

/* The overview: every command with one line. */
void sr_commands_print(FILE *out);

#endif
