/* A task around one read of the embedding reader. */
#include "router/cache/vector.h"

#include "base/mem.h"
#include "base/task.h"

#include <stddef.h>

struct sr_recall_vector {
    struct sr_task task;
    struct sr_embedding_read *read; /* NULL: it could not begin */
    void (*done)(void *ctx);        /* NULL: it is not waited for any more */
    void *ctx;
    bool ended; /* used by the exchange's thread only */
    int status;
    size_t n;
    char text[]; /* [n] */
};

static struct sr_recall_vector *of(struct sr_task *task)
{
    return (struct sr_recall_vector *)((char *)task - offsetof(struct sr_recall_vector, task));
}

static void vector_free(struct sr_task *task)
{
    struct sr_recall_vector *vector = of(task);
    sr_embedding_read_free(vector->read);
    sr_mem_free(vector);
}

/* On a thread of the engine. */
static void read_done(void *ctx, int status)
{
    struct sr_recall_vector *vector = ctx;
    sr_task_complete(&vector->task, status);
}

static void stop(struct sr_task *task)
{
    sr_embedding_read_cancel(of(task)->read);
}

static const struct sr_task_work work = {.stop = stop};

/* On the exchange's thread. */
static void task_done(struct sr_task *task, int status)
{
    struct sr_recall_vector *vector = of(task);
    vector->ended = true;
    vector->status = status;
    if (vector->done)
        vector->done(vector->ctx);
}

struct sr_recall_vector *sr_recall_vector_new(struct sr_embedding_reader *reader, struct sr_bytes text,
                                              uint64_t client, const struct sr_span_ref *origin,
                                              struct sr_mailbox *mailbox, void (*done)(void *ctx), void *ctx)
{
    struct sr_recall_vector *vector = sr_mem_calloc(1, sizeof *vector + text.n);
    if (!vector)
        return NULL;
    sr_task_init(&vector->task, task_done, vector_free, mailbox);
    vector->done = done;
    vector->ctx = ctx;
    vector->n = text.n;
    memcpy(vector->text, text.p, text.n);
    sr_task_ref(&vector->task); /* the producer's: the answer may arrive before the start returns */
    int rc = sr_embedding_read_start(&vector->read, reader, sr_bytes_of(vector->text, vector->n), client,
                                     origin, read_done, vector);
    if (rc == SR_AGAIN) {
        sr_task_ref(&vector->task);
        sr_task_begin(&vector->task, &work);
        sr_task_unref(&vector->task);
        return vector;
    }
    vector->ended = true;
    vector->status = rc;
    sr_task_unref(&vector->task);
    return vector;
}

void sr_recall_vector_free(struct sr_recall_vector *vector)
{
    if (!vector)
        return;
    vector->done = NULL;
    if (!vector->ended)
        sr_task_cancel(&vector->task);
    sr_task_unref(&vector->task);
}

bool sr_recall_vector_ended(const struct sr_recall_vector *vector)
{
    return vector->ended;
}

const float *sr_recall_vector_unit(const struct sr_recall_vector *vector)
{
    if (!vector->ended || vector->status)
        return NULL;
    struct sr_embedding_answer answer = sr_embedding_read_answer(vector->read);
    return answer.read_bytes == vector->n ? answer.vector : NULL;
}
