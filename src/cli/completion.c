/*
 * Completion scripts. bash and zsh look words up in `case` tables; fish has one `complete` line for each
 * word.
 */
#include "cli/completion.h"

#include "base/bytes.h"

/* The words of a list, each with a blank before it, with dashes for names of options. */
static void put_words(FILE *out, const char *list, char separator, bool dashes)
{
    for (struct sr_bytes rest = sr_bytes_str(list ? list : ""); rest.n > 0;) {
        struct sr_bytes word = sr_args_word(&rest, separator);
        fprintf(out, " %s%.*s", !dashes ? "" : word.n == 1 ? "-" : "--", (int)word.n, word.p);
    }
}

/* In single quotes; a quote inside becomes the one that no shell minds. */
static void put_quoted(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++)
        fputs(*text == '\'' ? "’" : (char[]){*text, '\0'}, out);
    fputc('\'', out);
}

static void command_words(FILE *out)
{
    for (size_t i = 0; i < sr_n_commands; i++)
        fprintf(out, " %s", sr_commands[i].usage->name);
    fputs(" help", out);
}

/* case "$command": sets `list` to the options and first operands of the command. */
static void words_of_commands(FILE *out)
{
    fputs("    case $command in\n", out);
    for (size_t i = 0; i < sr_n_commands; i++) {
        const struct sr_usage *usage = sr_commands[i].usage;
        fprintf(out, "    %s) list='--help", usage->name);
        for (size_t o = 0; o < usage->n_options; o++)
            put_words(out, usage->options[o].names, ',', true);
        put_words(out, usage->words, '|', false);
        fputs("' ;;\n", out);
    }
    fputs("    help) list='--man --completion", out);
    command_words(out);
    fputs("' ;;\n    esac\n", out);
}

/* case "$command $option": the choices of the option's value. */
static void choices_of_options(FILE *out)
{
    fputs("    case \"$command $option\" in\n", out);
    for (size_t i = 0; i < sr_n_commands; i++) {
        const struct sr_usage *usage = sr_commands[i].usage;
        for (size_t o = 0; o < usage->n_options; o++) {
            if (usage->options[o].kind != SR_OPTION_CHOICE)
                continue;
            struct sr_bytes rest = sr_bytes_str(usage->options[o].names);
            struct sr_bytes name = sr_args_word(&rest, ',');
            fprintf(out, "    '%s --%.*s') list='", usage->name, (int)name.n, name.p);
            put_words(out, usage->options[o].value, '|', false);
            fputs("' ;;\n", out);
        }
    }
    fputs("    'help --completion') list='bash zsh fish' ;;\n    esac\n", out);
}

static void print_bash(FILE *out)
{
    fputs("# bash completion of semroute; made by `semroute help --completion bash`\n"
          "_semroute() {\n"
          "    local command=${COMP_WORDS[1]} option=${COMP_WORDS[COMP_CWORD-1]} list=''\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        command='' list='",
          out);
    command_words(out);
    fputs("'\n    fi\n", out);
    words_of_commands(out);
    choices_of_options(out);
    fputs("    COMPREPLY=($(compgen -W \"$list\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
          "}\n"
          "complete -o default -F _semroute semroute\n",
          out);
}

static void print_zsh(FILE *out)
{
    fputs("#compdef semroute\n"
          "# zsh completion of semroute; made by `semroute help --completion zsh`\n"
          "_semroute() {\n"
          "    local command=${words[2]} option=${words[CURRENT-1]} position=$CURRENT list=''\n"
          "    if [ \"$position\" -eq 2 ]; then\n"
          "        command='' list='",
          out);
    command_words(out);
    fputs("'\n    fi\n", out);
    words_of_commands(out);
    choices_of_options(out);
    fputs("    compadd -- ${=list}\n"
          "    [ \"$position\" -eq 2 ] || _files\n"
          "}\n"
          "compdef _semroute semroute\n",
          out);
}

static void fish_option(FILE *out, const struct sr_usage *usage, const struct sr_option *option)
{
    fprintf(out, "complete -c semroute -n '__fish_seen_subcommand_from %s'", usage->name);
    for (struct sr_bytes rest = sr_bytes_str(option->names); rest.n > 0;) {
        struct sr_bytes name = sr_args_word(&rest, ',');
        fprintf(out, " -%c %.*s", name.n == 1 ? 's' : 'l', (int)name.n, name.p);
    }
    if (option->kind == SR_OPTION_CHOICE) {
        fputs(" -x -a '", out);
        put_words(out, option->value, '|', false);
        fputc('\'', out);
    } else if (option->kind != SR_OPTION_FLAG) {
        fputs(" -r", out);
    }
    fputs(" -d ", out);
    put_quoted(out, option->help);
    fputc('\n', out);
}

static void print_fish(FILE *out)
{
    fputs("# fish completion of semroute; made by `semroute help --completion fish`\n", out);
    for (size_t i = 0; i < sr_n_commands; i++) {
        const struct sr_usage *usage = sr_commands[i].usage;
        fprintf(out, "complete -c semroute -n __fish_use_subcommand -f -a %s -d ", usage->name);
        put_quoted(out, sr_commands[i].summary);
        fputc('\n', out);
        if (usage->words) {
            fprintf(out, "complete -c semroute -n '__fish_seen_subcommand_from %s' -a '", usage->name);
            put_words(out, usage->words, '|', false);
            fputs("'\n", out);
        }
        for (size_t o = 0; o < usage->n_options; o++)
            fish_option(out, usage, &usage->options[o]);
    }
}

void sr_completion_print(const char *shell, FILE *out)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(out);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(out);
    else
        print_fish(out);
}
