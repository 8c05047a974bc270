/*
 * semroute train: fits what a user's own data can teach. `selection` is cli/select's.
 */
#include "cli/cmd.h"
#include "cli/select/select.h"

#include <string.h>

static struct sr_train_selection_options selection = {.seed = 1};
static const struct sr_option options[] = {
    {"out,o", SR_OPTION_TEXT, &selection.out, "FILE", "the file that is written, default selection.json"},
    {"vectors", SR_OPTION_TEXT, &selection.log.vectors, "FILE",
     "vectors of the log's lines, as `semroute embed --json --jsonl LOG` printed them"},
    {"seed", SR_OPTION_NUMBER, &selection.seed, "N", "puts texts into other folds, default 1"},
    {"model", SR_OPTION_TEXT, &selection.log.encoder.model, "DIR",
     "a model folder instead of the default one"},
    SR_CLI_ENCODER_OPTIONS(selection.log.encoder),
    {"json", SR_OPTION_FLAG, &selection.json, NULL, "one JSON document"},
};
const struct sr_usage sr_train_usage = {
    .name = "train",
    .synopsis = "selection LOG.jsonl [-o FILE]",
    .summary = "Fits the algorithm `learned` to a log of outcomes.",
    .words = "selection",
    .text =
        "selection LOG      a line is {\"text\", \"model\", \"score\": 0..1 or \"correct\": true|false, "
        "\"cost\"}, or\n"
        "                   one with the results of several models, {\"text\", \"correct\": {MODEL: 0|1}, "
        "\"cost\":\n"
        "                   {MODEL: N}}; `cost` may be missing. - is standard input. The same log and seed "
        "give\n"
        "                   the same file, which `algorithm: {type: learned, learned: {model: FILE}}` "
        "names\n",
    SR_OPTIONS(options),
};

int sr_cmd_train(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_train_usage, argc, argv, 2, &operands, &code))
        return code;
    if (operands.count == 0 || strcmp(operands.items[0], "selection") != 0)
        return sr_cmd_misuse(&sr_train_usage, "what to train is missing or unknown: selection");
    if (operands.count < 2)
        return sr_cmd_misuse(&sr_train_usage, "a file is missing: semroute train selection LOG.jsonl");
    if (!selection.out)
        selection.out = "selection.json";
    return sr_train_selection(&sr_train_usage, &selection, operands.items[1]);
}
