/*
 * Arguments by table: matching of names, conversion of values, and the help text made of the same table.
 */
#include "cli/args.h"

#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>

struct sr_bytes sr_args_word(struct sr_bytes *rest, char separator)
{
    const char *end = memchr(rest->p, separator, rest->n);
    struct sr_bytes word = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    size_t used = word.n + (end != NULL);
    *rest = sr_bytes_of(rest->p + used, rest->n - used);
    return word;
}

static bool list_has(const char *list, char separator, struct sr_bytes word)
{
    for (struct sr_bytes rest = sr_bytes_str(list); rest.n > 0;)
        if (sr_bytes_eq(sr_args_word(&rest, separator), word))
            return true;
    return false;
}

static const struct sr_option *find(const struct sr_usage *usage, struct sr_bytes name)
{
    for (size_t i = 0; i < usage->n_options; i++)
        if (list_has(usage->options[i].names, ',', name))
            return &usage->options[i];
    return NULL;
}

static int unknown(const struct sr_usage *usage, const char *argument, struct sr_bytes name,
                   struct sr_err *err)
{
    struct sr_bytes best = {0};
    size_t distance = 3;
    for (size_t i = 0; i < usage->n_options; i++)
        for (struct sr_bytes rest = sr_bytes_str(usage->options[i].names); rest.n > 0;) {
            struct sr_bytes known = sr_args_word(&rest, ',');
            size_t d = sr_bytes_edit_distance(known, name);
            if (known.n > 1 && d < distance) {
                distance = d;
                best = known;
            }
        }
    if (best.n)
        return sr_err_set(err, SR_EINVAL, "unknown option `%.60s`, did you mean `--%.*s`?", argument,
                          (int)best.n, best.p);
    return sr_err_set(err, SR_EINVAL,
                      "unknown option `%.60s`; write `--` before text that begins with a dash", argument);
}

static int store(const struct sr_option *option, const char *given, char *value, struct sr_err *err)
{
    if (option->kind == SR_OPTION_NUMBER) {
        unsigned long long n = 0;
        if (!sr_bytes_to_u64(sr_bytes_str(value), &n) || n > 0x7FFFFFFF)
            return sr_err_set(err, SR_EINVAL, "`%.40s` wants a number, not `%.60s`", given, value);
        *(long *)option->out = (long)n;
        return SR_OK;
    }
    if (option->kind == SR_OPTION_CHOICE && !list_has(option->value, '|', sr_bytes_str(value)))
        return sr_err_set(err, SR_EINVAL, "`%.40s` is one of %s, not `%.60s`", given, option->value, value);
    *(const char **)option->out = value;
    return SR_OK;
}

/* One option at argv[*at]; moves *at over its value. */
static int take_option(const struct sr_usage *usage, int argc, char **argv, int *at, struct sr_err *err)
{
    char *argument = argv[*at];
    char *begin = argument + (argument[1] == '-' ? 2 : 1);
    char *equals = strchr(begin, '=');
    struct sr_bytes name = {begin, equals ? (size_t)(equals - begin) : strlen(begin)};
    if (sr_bytes_eq(name, SR_LIT("help")) || sr_bytes_eq(name, SR_LIT("h")))
        return SR_ECANCELED;
    const struct sr_option *option = find(usage, name);
    if (!option)
        return unknown(usage, argument, name, err);
    char given[48];
    snprintf(given, sizeof given, "%.*s", (int)(begin - argument + (long)name.n), argument);
    if (option->kind == SR_OPTION_FLAG) {
        if (equals)
            return sr_err_set(err, SR_EINVAL, "`%s` takes no value", given);
        *(bool *)option->out = true;
        return SR_OK;
    }
    if (equals)
        return store(option, given, equals + 1, err);
    if (*at + 1 >= argc)
        return sr_err_set(err, SR_EINVAL, "`%s` wants a value: %s %s", given, given, option->value);
    return store(option, given, argv[++*at], err);
}

int sr_args_parse(const struct sr_usage *usage, int argc, char **argv, struct sr_operands *operands,
                  struct sr_err *err)
{
    bool only_operands = false;
    *operands = (struct sr_operands){.items = argv + 1};
    for (int i = 1; i < argc; i++) {
        if (!only_operands && strcmp(argv[i], "--") == 0) {
            only_operands = true;
        } else if (!only_operands && argv[i][0] == '-' && argv[i][1] != '\0') {
            int rc = take_option(usage, argc, argv, &i, err);
            if (rc != SR_OK)
                return rc;
        } else {
            operands->items[operands->count++] = argv[i];
        }
    }
    return SR_OK;
}

static void option_head(const struct sr_option *option, char *out, size_t size)
{
    struct sr_bytes rest = sr_bytes_str(option->names);
    size_t n = 0;
    out[0] = '\0';
    while (rest.n > 0 && n < size) {
        struct sr_bytes name = sr_args_word(&rest, ',');
        n += (size_t)snprintf(out + n, size - n, "%s%s%.*s", n ? ", " : "", name.n == 1 ? "-" : "--",
                              (int)name.n, name.p);
    }
    if (option->value && n < size)
        snprintf(out + n, size - n, " %s", option->value);
}

void sr_args_help(const struct sr_usage *usage, FILE *out)
{
    fprintf(out, "semroute %s%s%s\n  %s\n", usage->name, usage->synopsis[0] ? " " : "", usage->synopsis,
            usage->summary);
    if (usage->text)
        fprintf(out, "\n%s", usage->text);
    if (usage->n_options)
        fprintf(out, "\nOptions\n");
    for (size_t i = 0; i < usage->n_options; i++) {
        char head[96];
        option_head(&usage->options[i], head, sizeof head);
        fprintf(out, strlen(head) > 30 ? "  %s\n%34s%s\n" : "  %-30s  %s%s\n", head, "",
                usage->options[i].help);
    }
}
