/*
 * Manual pages, in roff with the man macros, made of the table of commands.
 */
#ifndef SR_CLI_MANUAL_H
#define SR_CLI_MANUAL_H

#include "cli/commands.h"

/* semroute-COMMAND(1), or semroute(1) for NULL. */
void sr_manual_print(const struct sr_command *command, FILE *out);

#endif
