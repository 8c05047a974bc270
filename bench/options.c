#include "bench/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(const struct sr_bench_options *options, FILE *out)
{
    fprintf(out, "semroute bench %s [--json]%s [--seconds S]\n  %s\n  Defaults:", options->name,
            options->repeats ? " [--repeats N]" : "", options->text);
    if (options->repeats)
        fprintf(out, " --repeats %d,", options->repeats);
    fprintf(out, " --seconds %g\n", options->seconds);
    return out == stdout ? 0 : 2;
}

static int wrong(const struct sr_bench_options *defaults, const char *what, const char *value)
{
    fprintf(stderr, "semroute bench %s: %s%s\n", defaults->name, what, value);
    return usage(defaults, stderr);
}

bool sr_bench_is_help(int argc, char **argv, const char *usage)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return fputs(usage, stdout) >= 0;
    return false;
}

int sr_bench_wrong(const char *name, const char *what, const char *usage)
{
    bool option = !strncmp(what, "-", 1) && !strchr(what, ' ');
    fprintf(stderr, "semroute bench %s: %s%s\n%s", name,
            option ? "unknown option, or one without its value: " : "", what, usage);
    return 2;
}

int sr_bench_options_read(struct sr_bench_options *options, int argc, char **argv)
{
    const struct sr_bench_options defaults = *options;
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
            return usage(&defaults, stdout);
        if (!strcmp(argv[i], "--json"))
            options->json = true;
        else if (!strcmp(argv[i], "--seconds") && more)
            options->seconds = atof(argv[++i]);
        else if (!strcmp(argv[i], "--repeats") && more && defaults.repeats)
            options->repeats = atoi(argv[++i]);
        else
            return wrong(&defaults, "unknown option, or one without its value: ", argv[i]);
    }
    if (!(options->seconds > 0 && options->seconds <= SR_BENCH_SECONDS_MAX))
        return wrong(&defaults, "--seconds must be above 0 and at most 600", "");
    if (defaults.repeats && (options->repeats < 1 || options->repeats > SR_BENCH_REPEATS_MAX))
        return wrong(&defaults, "--repeats must be 1 to 101", "");
    return -1;
}
