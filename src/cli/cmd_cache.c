/*
 * semroute cache: the subcommands of the semantic cache. What they do is cli/cache's.
 */
#include "cli/cache/calibrate.h"
#include "cli/cmd.h"

static struct sr_calibrate_options calibrate;
static const struct sr_option options[] = {
    {"max-false-hits", SR_OPTION_TEXT, &calibrate.max_false_hits, "P",
     "calibrate: percent of the pairs that differ, default 0.5"},
    {"svg", SR_OPTION_TEXT, &calibrate.svg, "FILE", "calibrate: write the plot as a picture"},
    {"pairs", SR_OPTION_TEXT, &calibrate.pairs, "FILE",
     "calibrate: write each pair with its similarity and what the gate says"},
    {"model", SR_OPTION_TEXT, &calibrate.encoder.model, "DIR", "a model folder instead of the default one"},
    SR_CLI_ENCODER_OPTIONS(calibrate.encoder),
    {"json", SR_OPTION_FLAG, &calibrate.json, NULL, "one JSON document"},
};
const struct sr_usage sr_cache_usage = {
    .name = "cache",
    .synopsis = "calibrate LOG.jsonl [--max-false-hits P] [--svg FILE] [--json]",
    .summary = "Looks after the semantic cache.",
    .words = "calibrate",
    .text =
        "calibrate FILE     proposes a threshold: hit rate against false-hit rate, with and without the\n"
        "                   gate. A line is {\"a\": ..., \"b\": ..., \"same\": true|false}, or one question\n"
        "                   {\"text\": ...}: then pairs are guessed from near neighbours. - is standard "
        "input\n",
    SR_OPTIONS(options),
};

static int run_calibrate(const char *path)
{
    if (!path)
        return sr_cmd_misuse(&sr_cache_usage, "a file is missing: semroute cache calibrate LOG.jsonl");
    return sr_cache_calibrate(&sr_cache_usage, &calibrate, path);
}

static const struct {
    const char *name;
    int (*run)(const char *operand); /* NULL: there is none */
} subcommands[] = {{"calibrate", run_calibrate}};

int sr_cmd_cache(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_cache_usage, argc, argv, 2, &operands, &code))
        return code;
    const char *name = operands.count ? operands.items[0] : "";
    for (size_t i = 0; i < sizeof subcommands / sizeof subcommands[0]; i++)
        if (strcmp(subcommands[i].name, name) == 0)
            return subcommands[i].run(operands.count > 1 ? operands.items[1] : NULL);
    return sr_cmd_misuse(&sr_cache_usage, "what to do is missing or unknown: %s", sr_cache_usage.words);
}
