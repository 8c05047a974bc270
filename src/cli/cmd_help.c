/*
 * semroute help: the overview, the help of one command, and what is made of the same tables for other
 * programs: manual pages and shell completions.
 */
#include "cli/cmd.h"

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/manual.h"

static bool man, names;
static const char *shell;
static const struct sr_option options[] = {
    {"man", SR_OPTION_FLAG, &man, NULL,
     "the manual page instead, in roff: `semroute help --man serve | man -l -`"},
    {"completion", SR_OPTION_CHOICE, &shell, "bash|zsh|fish", "the completion script of a shell"},
    {"names", SR_OPTION_FLAG, &names, NULL, "the names of the commands, one a line"},
};
const struct sr_usage sr_help_usage = {
    .name = "help",
    .synopsis = "[--man] [COMMAND] | --completion SHELL | --names",
    .summary = "Shows the commands, or the options of one.",
    SR_OPTIONS(options),
};

static int help_of(const struct sr_command *command)
{
    char name[16], ask[] = "--help";
    snprintf(name, sizeof name, "%s", command->usage->name);
    char *asked[] = {name, ask, NULL};
    return command->run(2, asked);
}

int sr_cmd_help(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_help_usage, argc, argv, 1, &operands, &code))
        return code;
    const struct sr_command *command = NULL;
    if (operands.count && !(command = sr_command_find(operands.items[0])))
        return sr_command_unknown(operands.items[0]);
    if (names)
        for (size_t i = 0; i < sr_n_commands; i++)
            printf("%s\n", sr_commands[i].usage->name);
    else if (shell)
        sr_completion_print(shell, stdout);
    else if (man)
        sr_manual_print(command, stdout);
    else if (command)
        return help_of(command);
    else
        sr_commands_print(stdout);
    return SR_EXIT_DONE;
}
