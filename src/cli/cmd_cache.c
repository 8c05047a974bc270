/*
 * semroute cache: the subcommands of the semantic cache. What they do is cli/cache's.
 */
#include "cli/admin/cache.h"
#include "cli/admin/warm.h"
#include "cli/cache/calibrate.h"
#include "cli/cmd.h"

static struct sr_calibrate_options calibrate;
static struct sr_admin_where where;
static struct sr_admin_purge purge;
static const struct sr_option options[] = {
    {"max-false-hits", SR_OPTION_TEXT, &calibrate.max_false_hits, "P",
     "calibrate: percent of the pairs that differ, default 0.5"},
    {"svg", SR_OPTION_TEXT, &calibrate.svg, "FILE", "calibrate: write the plot as a picture"},
    {"pairs", SR_OPTION_TEXT, &calibrate.pairs, "FILE",
     "calibrate: write each pair with its similarity and what the gate says"},
    {"model", SR_OPTION_TEXT, &calibrate.encoder.model, "DIR", "a model folder instead of the default one"},
    SR_CLI_ENCODER_OPTIONS(calibrate.encoder),
    SR_ADMIN_OPTIONS(where),
    {"tenant", SR_OPTION_TEXT, &purge.tenant, "T", "purge: entries of this tenant"},
    {"user", SR_OPTION_TEXT, &purge.user, "U", "purge: entries of this user"},
    {"of-model", SR_OPTION_TEXT, &purge.model, "M", "purge: answers of this model"},
    {"older-than", SR_OPTION_NUMBER, &purge.older_than, "SECONDS", "purge: entries made before that"},
    {"all", SR_OPTION_FLAG, &purge.all, NULL, "purge: every entry"},
    {"dry-run", SR_OPTION_FLAG, &purge.dry, NULL, "purge: only count"},
    {"json", SR_OPTION_FLAG, &calibrate.json, NULL, "one JSON document"},
};
const struct sr_usage sr_cache_usage = {
    .name = "cache",
    .synopsis = "stats | purge SELECTION | warm FILE.jsonl | calibrate LOG.jsonl",
    .summary = "Shows, empties, fills and calibrates the response cache.",
    .words = "stats|purge|warm|calibrate",
    .text =
        "stats              what a running router's cache has and does\n"
        "purge              removes entries from it: --all, or those that agree with all of --tenant, "
        "--user,\n"
        "                   --of-model and --older-than\n"
        "warm FILE          fills it with known answers. A line is {\"question\": ..., \"answer\": ...}, or\n"
        "                   {\"request\": {...}, \"response\": {...}} of a log; docs/cache.md has all "
        "members.\n"
        "                   - is standard input. Exit code 1 when a line is invalid, or none was taken\n"
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

static int run_stats(const char *operand)
{
    if (operand)
        return sr_cmd_misuse(&sr_cache_usage, "stats takes no operand");
    return sr_admin_cache_stats(&sr_cache_usage, &where, calibrate.json);
}

static int run_purge(const char *operand)
{
    if (operand)
        return sr_cmd_misuse(&sr_cache_usage, "purge takes options only: --tenant, --user, --all, ...");
    return sr_admin_cache_purge(&sr_cache_usage, &where, &purge, calibrate.json);
}

static int run_warm(const char *path)
{
    if (!path)
        return sr_cmd_misuse(&sr_cache_usage, "a file is missing: semroute cache warm FILE.jsonl");
    return sr_admin_cache_warm(&sr_cache_usage, &where, path, calibrate.json);
}

static const struct {
    const char *name;
    int (*run)(const char *operand); /* NULL: there is none */
} subcommands[] = {
    {"stats", run_stats}, {"purge", run_purge}, {"warm", run_warm}, {"calibrate", run_calibrate}};

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
