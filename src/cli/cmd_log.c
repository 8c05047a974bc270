/*
 * semroute log: which lines a running router logs.
 */
#include "base/log.h"
#include "cli/admin/log.h"
#include "cli/cmd.h"

static struct sr_admin_where where;
static bool json;
static const struct sr_option options[] = {
    {"json", SR_OPTION_FLAG, &json, NULL, "one JSON document"},
    SR_ADMIN_OPTIONS(where),
};
const struct sr_usage sr_log_usage = {
    .name = "log",
    .synopsis = "[debug|info|warn|error]",
    .summary = "Shows or changes the least level that a running router logs.",
    .words = "debug|info|warn|error",
    .text = "With debug every request has a line, without its texts. A reload or a start sets the level to\n"
            "what the configuration says (global.semroute.log_level).\n",
    SR_OPTIONS(options),
};

int sr_cmd_log(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_log_usage, argc, argv, 1, &operands, &code))
        return code;
    const char *level = operands.count ? operands.items[0] : NULL;
    if (level && sr_log_level_of(sr_bytes_str(level)) < 0)
        return sr_cmd_misuse(&sr_log_usage, "`%.40s` is no level: debug, info, warn or error", level);
    return sr_admin_log(&sr_log_usage, &where, level, json);
}
