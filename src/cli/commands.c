/*
 * The table of commands, search by name, and the overview. Knows no command's options.
 */
#include "cli/commands.h"

#include "base/bytes.h"
#include "cli/cmd.h"

#define COMMAND(name, arguments, summary)                                                                    \
    {                                                                                                        \
        arguments, summary, &sr_##name##_usage, sr_cmd_##name                                                \
    }

const struct sr_command sr_commands[] = {
    COMMAND(serve, "[-c FILE]", "run the gateway"),
    COMMAND(check, "FILE", "report every mistake in a configuration"),
    COMMAND(doctor, "[-c FILE]", "look whether this machine is ready for a configuration"),
    COMMAND(explain, "[-c FILE] TEXT", "show how a request is routed, and why"),
    COMMAND(classify, "--task TASK TEXT", "classify a text: domain, jailbreak or pii"),
    COMMAND(embed, "[--model DIR] TEXT", "compute the embedding of a text"),
    COMMAND(compress, "[--budget N] < TEXT", "keep the most informative sentences"),
    COMMAND(tokenize, "--tokenizer FILE", "show the tokens of prompts"),
    COMMAND(eval, "--task TASK FILE.jsonl", "measure a classifier on labelled texts"),
    COMMAND(train, "selection LOG.jsonl", "fit the choice of a model to a log of outcomes"),
    COMMAND(bench, "NAME", "measure speed on this machine"),
    COMMAND(cache, "stats|purge|warm|calibrate", "show, empty, fill and calibrate the response cache"),
    COMMAND(tail, "[--model M] [--decision D]", "follow the requests of a running router"),
    COMMAND(log, "[LEVEL]", "show or change what a running router logs"),
    COMMAND(models, "list|info|verify|pull", "list, describe, verify and download models"),
    COMMAND(keys, "[--name NAME]", "make a key for a client"),
    COMMAND(migrate, "OLD.yaml", "convert a flat v0.1 configuration"),
    COMMAND(mock, "[--port N] [--workers K]", "run OpenAI-compatible upstreams for demos and tests"),
    COMMAND(version, "", "print the version"),
};
const size_t sr_n_commands = sizeof sr_commands / sizeof sr_commands[0];

const struct sr_command *sr_command_find(const char *name)
{
    for (size_t i = 0; i < sr_n_commands; i++)
        if (strcmp(sr_commands[i].usage->name, name) == 0)
            return &sr_commands[i];
    return NULL;
}

int sr_command_unknown(const char *name)
{
    const char *best = NULL;
    size_t distance = 3;
    for (size_t i = 0; i < sr_n_commands; i++) {
        const char *known = sr_commands[i].usage->name;
        size_t d = sr_bytes_edit_distance(sr_bytes_str(known), sr_bytes_str(name));
        if (d < distance) {
            distance = d;
            best = known;
        }
    }
    fprintf(stderr, "semroute: unknown command `%.60s`", name);
    if (best)
        fprintf(stderr, ", did you mean `%s`?", best);
    fprintf(stderr, "\n`semroute help` lists the commands\n");
    return SR_EXIT_USAGE;
}

void sr_commands_print(FILE *out)
{
    fprintf(out,
            "semroute reads what an LLM request means and decides which model answers it.\n\nCommands\n");
    for (size_t i = 0; i < sr_n_commands; i++)
        fprintf(out, "  semroute %-8s %-26s %s\n", sr_commands[i].usage->name, sr_commands[i].arguments,
                sr_commands[i].summary);
    fprintf(out, "\n`semroute help COMMAND` shows a command's options.\n"
                 "Exit codes: 0 success, 1 input rejected, 2 wrong usage, 3 internal error.\n");
}
