/*
 * The command line: finds the command, gives it its arguments, returns its exit code. Knows no command's
 * options.
 */
#include "cli/cmd.h"
#include "cli/commands.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A program that was started with a standard stream closed must not get a socket or a file in its place, and
 * write messages into it. Standard output is opened for reading: a command still notices that it cannot
 * write. */
static void open_standard_streams(void)
{
    static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
            _exit(SR_EXIT_FAILED);
}

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
    open_standard_streams();
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
