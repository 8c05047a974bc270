/*
 * One call of a running router's admin API, for commands: sends, waits for the whole answer, and returns it.
 *
 * A loop of its own; blocks. Knows no call.
 */
#ifndef SR_CLI_ADMIN_CALL_H
#define SR_CLI_ADMIN_CALL_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"

/* Where the router is, as options of a command. */
struct sr_admin_where {
    const char *api;   /* "ADDR:PORT"; NULL: 127.0.0.1:8080 */
    const char *token; /* NULL: the variable SEMROUTE_ADMIN_TOKEN, if it is set */
};
#define SR_ADMIN_OPTIONS(where)                                                                              \
    {"api", SR_OPTION_TEXT, &(where).api, "ADDR:PORT", "the router's API listener (127.0.0.1:8080)"},        \
    {                                                                                                        \
        "token", SR_OPTION_TEXT, &(where).token, "TOKEN",                                                    \
            "its `admin.token`; else the variable SEMROUTE_ADMIN_TOKEN"                                      \
    }

/* GET without a body, else POST. SR_OK: there was an answer, with this status. SR_EINVAL: no address;
 * SR_ECLOSED, SR_ETIMEOUT, SR_EIO, SR_EPROTO, SR_ELIMIT with a message that says what to do; SR_ENOMEM. */
int sr_admin_call(const struct sr_admin_where *where, const char *path, struct sr_bytes body,
                  struct sr_buf *answer, int *status, struct sr_err *err) SR_WARN_UNUSED;

/* The same for an answer of a 200 that does not end: `slice` gets its bytes as they come, and returns false
 * to stop; the body of another status is in `answer`. SR_OK: it ended, or was stopped. */
int sr_admin_stream(const struct sr_admin_where *where, const char *path,
                    bool (*slice)(void *ctx, struct sr_bytes bytes), void *ctx, struct sr_buf *answer,
                    int *status, struct sr_err *err) SR_WARN_UNUSED;

#endif
