/* `semroute tail`: follows a running router's live stream of requests, and prints it. */
#ifndef SR_CLI_ADMIN_TAIL_H
#define SR_CLI_ADMIN_TAIL_H

#include "cli/admin/call.h"

/* NULL and 0: not given. */
struct sr_admin_tail {
    const char *model, *decision, *tenant, *outcome;
    long min_ms, max_ms, per_second;
    long count;  /* end after so many */
    bool json;   /* documents as they come; else lines for people */
    bool colour; /* of those lines */
};

/* Prints until the stream ends; returns the exit code of the command. */
int sr_admin_tail(const struct sr_usage *usage, const struct sr_admin_where *where,
                  const struct sr_admin_tail *tail);

#endif
