/* `semroute cache warm`: sends a file of known answers to a running router, in parts. */
#ifndef SR_CLI_ADMIN_WARM_H
#define SR_CLI_ADMIN_WARM_H

#include "cli/admin/call.h"

/* Prints what became of the lines, and those that were not taken as FILE:LINE: message on standard error.
 * Returns the exit code: SR_EXIT_NO when a line is invalid, or none was taken. */
int sr_admin_cache_warm(const struct sr_usage *usage, const struct sr_admin_where *where, const char *path,
                        bool json);

#endif
