/*
 * semroute version.
 */
#include "cli/cmd.h"

#include "semroute/semroute.h"

const struct sr_usage sr_version_usage = {
    .name = "version",
    .synopsis = "",
    .summary = "Prints the version of the program.",
};

int sr_cmd_version(int argc, char **argv)
{
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&sr_version_usage, argc, argv, 0, &operands, &code))
        return code;
    printf("semroute %s\n", sr_version());
    return SR_EXIT_DONE;
}
