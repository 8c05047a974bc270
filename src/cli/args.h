/*
 * The arguments of one command, by a small table: --name VALUE, --name=VALUE, -n VALUE, and -name VALUE as
 * other programs of this kind write it.
 *
 * Parses and prints help; runs nothing. `--` ends the options; a lone `-` is an operand (standard input).
 */
#ifndef SR_CLI_ARGS_H
#define SR_CLI_ARGS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum sr_option_kind {
    SR_OPTION_FLAG,   /* bool: set to true */
    SR_OPTION_TEXT,   /* const char *: points into argv */
    SR_OPTION_NUMBER, /* long, not negative */
    SR_OPTION_CHOICE, /* const char *: one of the words in `value`, which are separated by `|` */
};

struct sr_option {
    const char *names; /* "config,c": the first is shown in help, all are accepted; one letter = short form */
    enum sr_option_kind kind;
    void *out; /* keeps its default when the option is not given; the last one wins when it is repeated */
    const char *value; /* what the value is called: "FILE", "N", "linear|neural|both"; NULL for flags */
    const char *help;  /* one line */
};

struct sr_usage {
    const char *name;     /* "check" */
    const char *synopsis; /* "[--lenient] FILE" */
    const char *summary;  /* one line */
    const char *text;     /* paragraphs below it, with line ends; NULL = none */
    const struct sr_option *options;
    size_t n_options;
    const char *words; /* what the first operand can be, separated by `|`; NULL = anything */
};

struct sr_operands {
    char **items; /* points into argv, whose entries are reordered */
    size_t count;
};

/* Takes the next word of a list in a table off `rest`: of `names` by ',', of choices by '|'. */
struct sr_bytes sr_args_word(struct sr_bytes *rest, char separator);

#define SR_OPTIONS(table) .options = (table), .n_options = sizeof(table) / sizeof(table)[0]

/* Reads argv[1..]. SR_OK; SR_EINVAL with a message that says what to do; SR_ECANCELED when help was asked for
 * (-h, --help), which is then the caller's to print. */
int sr_args_parse(const struct sr_usage *usage, int argc, char **argv, struct sr_operands *operands,
                  struct sr_err *err) SR_WARN_UNUSED;

void sr_args_help(const struct sr_usage *usage, FILE *out);

#endif
