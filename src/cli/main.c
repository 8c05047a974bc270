/*
 * The command line: finds the command, gives it its arguments, returns its exit code. Knows no command's
 * options.
 */
#include "cli/cmd.h"
#include "cli/commands.h"

#include <signal.h>

static int run(int argc, char **argv)
{
    const char *name = argv[0];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return sr_cmd_help(argc, argv);
    const struct sr_command *command = sr_command_find(strcmp(name, "--version") == 0 ? "version" : name);
    return command ? command->run(argc, argv) : sr_command_unknown(name);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        sr_commands_print(stderr);
        return SR_EXIT_USAGE;
    }
    int code = run(argc - 1, argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "semroute: cannot write to standard output\n");
        return SR_EXIT_FAILED;
    }
    return code;
}
