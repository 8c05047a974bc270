/* `semroute cache stats` and `semroute cache purge`: calls of a running router's cache API. */
#ifndef SR_CLI_ADMIN_CACHE_H
#define SR_CLI_ADMIN_CACHE_H

#include "cli/admin/call.h"

/* Which entries go; NULL: not given. */
struct sr_admin_purge {
    const char *tenant, *user, *model;
    long older_than; /* seconds; 0: any age */
    bool all, dry;
};

/* Print and return the exit code of the command. */
int sr_admin_cache_stats(const struct sr_usage *usage, const struct sr_admin_where *where, bool json);
int sr_admin_cache_purge(const struct sr_usage *usage, const struct sr_admin_where *where,
                         const struct sr_admin_purge *purge, bool json);

#endif
