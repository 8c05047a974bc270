/*
 * Manual pages: only this file writes roff, so escaping is in one file.
 */
#include "cli/manual.h"

#include "base/bytes.h"
#include "semroute/semroute.h"

/* Plain text: a backslash, a hyphen and a line that begins like a request are escaped. */
static void put(FILE *out, struct sr_bytes text)
{
    bool start = true;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (start && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
        start = c == '\n';
    }
}

static void put_text(FILE *out, const char *text)
{
    put(out, sr_bytes_str(text));
}

static void heading(FILE *out, const char *command, const char *summary)
{
    fprintf(out, ".TH semroute%s%s 1 \"\" \"semroute ", command ? "\\-" : "", command ? command : "");
    put_text(out, sr_version());
    fprintf(out, "\"\n.SH NAME\nsemroute%s%s \\- ", command ? "\\-" : "", command ? command : "");
    put_text(out, summary);
    fputc('\n', out);
}

static void option(FILE *out, const struct sr_option *option)
{
    const char *before = ".TP\n\\fB";
    for (struct sr_bytes rest = sr_bytes_str(option->names); rest.n > 0; before = ", \\fB") {
        struct sr_bytes name = sr_args_word(&rest, ',');
        fputs(before, out);
        fputs(name.n == 1 ? "\\-" : "\\-\\-", out);
        put(out, name);
        fputs("\\fR", out);
    }
    if (option->value) {
        fputs(" \\fI", out);
        put_text(out, option->value);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_text(out, option->help);
    fputc('\n', out);
}

static void page_of(const struct sr_command *command, FILE *out)
{
    const struct sr_usage *usage = command->usage;
    heading(out, usage->name, command->summary);
    fprintf(out, ".SH SYNOPSIS\n\\fBsemroute %s\\fR ", usage->name);
    put_text(out, usage->synopsis);
    fputs("\n.SH DESCRIPTION\n", out);
    put_text(out, usage->summary);
    fputc('\n', out);
    if (usage->text) {
        fputs(".PP\n.nf\n", out);
        put_text(out, usage->text);
        fputs(".fi\n", out);
    }
    if (usage->n_options)
        fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < usage->n_options; i++)
        option(out, &usage->options[i]);
    fputs(".SH SEE ALSO\n.BR semroute (1)\n", out);
}

static void overview(FILE *out)
{
    heading(out, NULL, "reads what an LLM request means and decides which model answers it");
    fputs(".SH SYNOPSIS\n\\fBsemroute\\fR \\fICOMMAND\\fR [\\fIARGUMENT\\fR...]\n.SH COMMANDS\n", out);
    for (size_t i = 0; i < sr_n_commands; i++) {
        fprintf(out, ".TP\n\\fBsemroute %s\\fR ", sr_commands[i].usage->name);
        put_text(out, sr_commands[i].arguments);
        fputc('\n', out);
        put_text(out, sr_commands[i].summary);
        fprintf(out, "; \\fBsemroute\\-%s\\fR(1)\n", sr_commands[i].usage->name);
    }
    fputs(".SH EXIT STATUS\n.TP\n0\nSuccess.\n.TP\n1\nInput rejected: a wrong configuration, a request that "
          "would "
          "be refused.\n.TP\n2\nWrong usage.\n.TP\n3\nInternal error: no such file, out of memory, a port "
          "that is "
          "taken.\n",
          out);
    fputs(".SH FILES\n.TP\n\\&./semroute.yaml\nThe configuration where \\-c is not given.\n", out);
}

void sr_manual_print(const struct sr_command *command, FILE *out)
{
    if (command)
        page_of(command, out);
    else
        overview(out);
}
