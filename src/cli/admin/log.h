/* `semroute log`: the level of a running router's process log. */
#ifndef SR_CLI_ADMIN_LOG_H
#define SR_CLI_ADMIN_LOG_H

#include "cli/admin/call.h"

/* Prints the level, which becomes `level` first unless that is NULL. Returns the exit code of the command. */
int sr_admin_log(const struct sr_usage *usage, const struct sr_admin_where *where, const char *level,
                 bool json);

#endif
