/* The lock is held for reading while a question is given away, which never waits. */
#include "signal/consult/consult.h"

#include "base/mem.h"

#include <pthread.h>

struct sr_consults {
    pthread_rwlock_t lock;
    int (*ask)(void *ctx, struct sr_consult *consult);
    void *ctx;
};

int sr_consults_new(struct sr_consults **out)
{
    *out = sr_mem_calloc(1, sizeof **out);
    if (!*out)
        return SR_ENOMEM;
    pthread_rwlock_init(&(*out)->lock, NULL);
    return SR_OK;
}

void sr_consults_free(struct sr_consults *consults)
{
    if (!consults)
        return;
    pthread_rwlock_destroy(&consults->lock);
    sr_mem_free(consults);
}

void sr_consults_serve(struct sr_consults *consults, int (*ask)(void *ctx, struct sr_consult *consult),
                       void *ctx)
{
    pthread_rwlock_wrlock(&consults->lock);
    consults->ask = ask;
    consults->ctx = ctx;
    pthread_rwlock_unlock(&consults->lock);
}

int sr_consults_ask(struct sr_consults *consults, struct sr_consult *consult)
{
    int rc = SR_EUNSUPPORTED;
    if (!consults)
        return rc;
    sr_task_ref(&consult->task);
    pthread_rwlock_rdlock(&consults->lock);
    if (consults->ask)
        rc = consults->ask(consults->ctx, consult);
    pthread_rwlock_unlock(&consults->lock);
    if (rc)
        sr_task_unref(&consult->task);
    return rc;
}
