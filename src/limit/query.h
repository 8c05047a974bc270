/*
 * One question to counters that are elsewhere, and the interface of what answers it.
 *
 * A query is a task (base/task.h): the one who asks starts it and gets its end on the mailbox's thread, the
 * remote completes it on its own thread, once, in bounded time.
 */
#ifndef SR_LIMIT_QUERY_H
#define SR_LIMIT_QUERY_H

#include "base/task.h"
#include "limit/table.h"

struct sr_limit_query {
    struct sr_task task; /* first */
    void *ctx;           /* of the one who asks */
    size_t n;
    struct sr_limit limits[SR_LIMIT_MAX];
    struct sr_limit_result result; /* once it ended with SR_OK */
    struct sr_message message;     /* the remote's */
    void *remote;                  /* the remote's */
};

/* A pending query with the caller's reference; `done` as in sr_task_init. SR_ENOMEM. */
int sr_limit_query_new(struct sr_limit_query **out, const struct sr_limit *limits, size_t n,
                       void (*done)(struct sr_task *task, int status), void *ctx,
                       struct sr_mailbox *mailbox) SR_WARN_UNUSED;

struct sr_limit_remote;

struct sr_limit_remote_ops {
    const char *name; /* for logs and metrics */
    /* Any thread, returns at once; takes a reference of its own and completes the query, on its thread:
     * SR_OK, SR_ECLOSED (away), SR_ETIMEOUT, SR_EBUSY (too many wait). */
    void (*take)(struct sr_limit_remote *remote, struct sr_limit_query *query);
    /* Any thread, returns at once: adds and takes back; dropped when it is away or too many wait. */
    void (*change)(struct sr_limit_remote *remote, const struct sr_limit_change *changes, size_t n);
    /* Ends what waits, and frees. */
    void (*close)(struct sr_limit_remote *remote);
};

/* The head of a remote's own object. */
struct sr_limit_remote {
    const struct sr_limit_remote_ops *ops;
};

#endif
