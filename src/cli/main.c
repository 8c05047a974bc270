/*
 * The command line: finds the command, gives it its arguments, returns its exit code. Knows no command's
 * options.
 */
#include "base/bytes.h"
#include "cli/cmd.h"

#include <signal.h>

static const struct {
    const char *name;
    const char *arguments;
    const char *summary;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"serve", "[-c FILE]", "run the gateway", sr_cmd_serve},
    {"check", "FILE", "report every mistake in a configuration", sr_cmd_check},
    {"explain", "[-c FILE] TEXT", "show how a request is routed, and why", sr_cmd_explain},
    {"classify", "--task domain TEXT", "classify a text", sr_cmd_classify},
    {"embed", "[--model DIR] TEXT", "compute the embedding of a text", sr_cmd_embed},
    {"compress", "[--budget N] < TEXT", "keep the most informative sentences", sr_cmd_compress},
    {"eval", "--task domain FILE.jsonl", "measure a classifier on labelled texts", sr_cmd_eval},
    {"bench", "NAME", "measure speed on this machine", sr_cmd_bench},
    {"models", "list|info|verify", "list, describe and verify models", sr_cmd_models},
    {"migrate", "OLD.yaml", "convert a flat v0.1 configuration", sr_cmd_migrate},
    {"mock", "[--port N] [--workers K]", "run OpenAI-compatible upstreams for demos and tests", sr_cmd_mock},
    {"version", "", "print the version", sr_cmd_version},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void print_commands(FILE *out)
{
    fprintf(out,
            "semroute reads what an LLM request means and decides which model answers it.\n\nCommands\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  semroute %-8s %-25s %s\n", commands[i].name, commands[i].arguments,
                commands[i].summary);
    fprintf(out, "\n`semroute help COMMAND` shows a command's options.\n"
                 "Exit codes: 0 success, 1 input rejected, 2 wrong usage, 3 internal error.\n");
}

static int find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return (int)i;
    return -1;
}

static int unknown(const char *name)
{
    size_t best = N_COMMANDS, distance = 3;
    for (size_t i = 0; i < N_COMMANDS; i++) {
        size_t d = sr_bytes_edit_distance(sr_bytes_str(commands[i].name), sr_bytes_str(name));
        if (d < distance) {
            distance = d;
            best = i;
        }
    }
    fprintf(stderr, "semroute: unknown command `%.60s`", name);
    if (best < N_COMMANDS)
        fprintf(stderr, ", did you mean `%s`?", commands[best].name);
    fprintf(stderr, "\n`semroute help` lists the commands\n");
    return SR_EXIT_USAGE;
}

static int help(int argc, char **argv)
{
    if (argc < 2) {
        print_commands(stdout);
        return SR_EXIT_DONE;
    }
    int command = find(argv[1]);
    if (command < 0)
        return unknown(argv[1]);
    char ask[] = "--help";
    char *asked[] = {argv[1], ask, NULL};
    return commands[command].run(2, asked);
}

static int run(int argc, char **argv)
{
    const char *name = argv[0];
    if (strcmp(name, "help") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return help(argc, argv);
    if (strcmp(name, "--version") == 0)
        name = "version";
    int command = find(name);
    return command < 0 ? unknown(name) : commands[command].run(argc, argv);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        print_commands(stderr);
        return SR_EXIT_USAGE;
    }
    int code = run(argc - 1, argv + 1);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "semroute: cannot write to standard output\n");
        return SR_EXIT_BROKE;
    }
    return code;
}
