/*
 * semroute tail: the requests of a running router as they end.
 */
#include "cli/admin/tail.h"
#include "cli/cmd.h"
#include "cli/term.h"

#include <unistd.h>

static struct sr_admin_tail tail;
static struct sr_admin_where where;
static bool json, text;
static const struct sr_option options[] = {
    {"model", SR_OPTION_TEXT, &tail.model, "M", "only requests to this model, or that asked for it"},
    {"decision", SR_OPTION_TEXT, &tail.decision, "D", "only those of this decision"},
    {"tenant", SR_OPTION_TEXT, &tail.tenant, "T", "only those of this tenant"},
    {"outcome", SR_OPTION_TEXT, &tail.outcome, "O",
     "only these: routed, default, blocked, cached, failed, ..."},
    {"min-ms", SR_OPTION_NUMBER, &tail.min_ms, "N", "only those that took so many milliseconds"},
    {"max-ms", SR_OPTION_NUMBER, &tail.max_ms, "N", "only those that took no more"},
    {"per-second", SR_OPTION_NUMBER, &tail.per_second, "N",
     "requests in a second; of more a sample is shown (50, at most 1000)"},
    {"count", SR_OPTION_NUMBER, &tail.count, "N", "end after so many requests"},
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document a line: the default where there is no terminal"},
    {"text", SR_OPTION_FLAG, &text, NULL, "lines for people: the default on a terminal"},
    SR_ADMIN_OPTIONS(where),
};
const struct sr_usage sr_tail_usage = {
    .name = "tail",
    .synopsis = "[--model M] [--decision D] [--tenant T] [--outcome O] [--min-ms N] [--json|--text]",
    .summary = "Follows the requests of a running router as they end.",
    .text =
        "A line for people is the time, the outcome and the status, the decision and the model, how long it\n"
        "took until the end and until the first token, tokens, cost, and the signals that matched.\n"
        "Nothing of what users write is shown. What is left out is counted on standard error.\n",
    SR_OPTIONS(options),
};

int sr_cmd_tail(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_tail_usage, argc, argv, 0, &operands, &code))
        return code;
    if (json && text)
        return sr_cmd_misuse(&sr_tail_usage, "--json and --text exclude each other");
    if (tail.min_ms < 0 || tail.max_ms < 0 || tail.per_second < 0 || tail.count < 0)
        return sr_cmd_misuse(&sr_tail_usage, "a number is below zero");
    tail.json = json || (!text && sr_term_width(STDOUT_FILENO) == 0);
    tail.colour = sr_term_colour(STDOUT_FILENO);
    return sr_admin_tail(&sr_tail_usage, &where, &tail);
}
