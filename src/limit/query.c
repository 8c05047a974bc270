/* Makes a query; its memory is the task's. */
#include "limit/query.h"

#include "base/mem.h"

#include <string.h>

static void query_free(struct sr_task *task)
{
    sr_mem_free((struct sr_limit_query *)task);
}

int sr_limit_query_new(struct sr_limit_query **out, const struct sr_limit *limits, size_t n,
                       void (*done)(struct sr_task *task, int status), void *ctx, struct sr_mailbox *mailbox)
{
    struct sr_limit_query *query = sr_mem_calloc(1, sizeof *query);
    *out = NULL;
    if (!query)
        return SR_ENOMEM;
    sr_task_init(&query->task, done, query_free, mailbox);
    query->ctx = ctx;
    query->n = n;
    memcpy(query->limits, limits, n * sizeof *limits);
    *out = query;
    return SR_OK;
}
