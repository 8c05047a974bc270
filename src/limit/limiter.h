/*
 * The counters of a process: a table in memory, or a remote that several processes share.
 *
 * Any thread; no call waits. While there is a remote, only it counts.
 */
#ifndef SR_LIMIT_LIMITER_H
#define SR_LIMIT_LIMITER_H

#include "limit/query.h"

struct sr_limiter;

int sr_limiter_new(struct sr_limiter **out, size_t counters) SR_WARN_UNUSED;
void sr_limiter_free(struct sr_limiter *limiter); /* NULL is allowed; closes the remote */

/* Replaces the remote (NULL: none); the one before is closed, and its queries have ended, when this returns.
 * Not on an event loop. */
void sr_limiter_set_remote(struct sr_limiter *limiter, struct sr_limit_remote *remote);

/* SR_OK: `result` is filled. SR_AGAIN: there is a remote; `done` will be called with *query, of which the
 * caller has a reference, on the mailbox's thread. SR_ENOMEM. `mailbox` NULL: nothing can be waited for, the
 * table counts. */
int sr_limiter_take(struct sr_limiter *limiter, const struct sr_limit *limits, size_t n, uint64_t now_ms,
                    struct sr_limit_result *result, struct sr_mailbox *mailbox,
                    void (*done)(struct sr_task *task, int status), void *ctx,
                    struct sr_limit_query **query) SR_WARN_UNUSED;

void sr_limiter_change(struct sr_limiter *limiter, const struct sr_limit_change *changes, size_t n,
                       uint64_t now_ms);

/* True when a remote counts. */
bool sr_limiter_is_remote(struct sr_limiter *limiter);

struct sr_limit_table *sr_limiter_table(struct sr_limiter *limiter);

#endif
