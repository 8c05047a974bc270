/*
 * semroute version.
 */
#include "cli/cmd.h"

#include "semroute/semroute.h"

int sr_cmd_version(int argc, char **argv)
{
    static const struct sr_usage usage = {
        .name = "version", .synopsis = "", .summary = "Prints the version of the program."};
    struct sr_operands operands;
    int code = SR_EXIT_DONE;
    if (!sr_cmd_begin(&usage, argc, argv, 0, &operands, &code))
        return code;
    printf("semroute %s\n", sr_version());
    return SR_EXIT_DONE;
}
