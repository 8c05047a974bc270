/* One read with a list of those that wait for it. No lock is held while the reader or an asker is called. */
#include "signal/topic/vector.h"

#include "base/mem.h"

#include <pthread.h>

enum state { UNASKED, READING, ENDING, ENDED };

struct sr_signal_vector {
    struct sr_ref ref; /* of the input, of each asker, and of a read in progress */
    pthread_mutex_t lock;
    enum state state;
    int status; /* when it has ended */
    struct sr_bytes text;
    struct sr_embedding_read *read;
    struct sr_vector_ask *asks; /* that wait */
};

struct sr_signal_vector *sr_signal_vector_new(void)
{
    struct sr_signal_vector *vector = sr_mem_calloc(1, sizeof *vector);
    if (!vector)
        return NULL;
    sr_ref_init(&vector->ref);
    pthread_mutex_init(&vector->lock, NULL);
    return vector;
}

struct sr_signal_vector *sr_signal_vector_ref(struct sr_signal_vector *vector)
{
    sr_ref_get(&vector->ref);
    return vector;
}

void sr_signal_vector_unref(struct sr_signal_vector *vector)
{
    if (!vector || !sr_ref_put(&vector->ref))
        return;
    sr_embedding_read_free(vector->read);
    pthread_mutex_destroy(&vector->lock);
    sr_mem_free(vector);
}

/* Takes the asker out of the list; false when it is not there. The lock is held. */
static bool take_out(struct sr_signal_vector *vector, struct sr_vector_ask *ask)
{
    for (struct sr_vector_ask **at = &vector->asks; *at; at = &(*at)->next)
        if (*at == ask) {
            *at = ask->next;
            return true;
        }
    return false;
}

/* The read has ended: tells all that wait but `own`, which is told by a return value. */
static void end(struct sr_signal_vector *vector, int status, struct sr_vector_ask *own)
{
    pthread_mutex_lock(&vector->lock);
    vector->state = ENDED;
    vector->status = status;
    if (own)
        (void)take_out(vector, own);
    struct sr_vector_ask *ask = vector->asks;
    vector->asks = NULL;
    pthread_mutex_unlock(&vector->lock);
    while (ask) {
        struct sr_vector_ask *next = ask->next; /* the asker may go in `done` */
        ask->done(ask->ctx, status);
        ask = next;
    }
}

static void read_done(void *ctx, int status)
{
    struct sr_signal_vector *vector = ctx;
    end(vector, status, NULL);
    sr_signal_vector_unref(vector);
}

int sr_signal_vector_ask(struct sr_vector_ask *ask, struct sr_embedding_reader *reader, struct sr_bytes text,
                         uint64_t client, const struct sr_span_ref *origin)
{
    struct sr_signal_vector *vector = ask->vector;
    pthread_mutex_lock(&vector->lock);
    bool first = vector->state == UNASKED;
    int rc = vector->state == ENDED ? vector->status : vector->state == ENDING ? SR_ECANCELED : SR_AGAIN;
    if (first) {
        vector->state = READING;
        vector->text = text;
    }
    if (rc == SR_AGAIN) {
        ask->next = vector->asks;
        vector->asks = ask;
    }
    pthread_mutex_unlock(&vector->lock);
    if (!first)
        return rc;
    sr_signal_vector_ref(vector);
    rc = sr_embedding_read_start(&vector->read, reader, text, client, origin, read_done, vector);
    if (rc == SR_AGAIN)
        return rc;
    end(vector, rc, ask);
    sr_signal_vector_unref(vector);
    return rc;
}

bool sr_signal_vector_is_of(struct sr_signal_vector *vector, struct sr_bytes text)
{
    pthread_mutex_lock(&vector->lock);
    bool same = vector->state == UNASKED || (vector->text.p == text.p && vector->text.n == text.n);
    pthread_mutex_unlock(&vector->lock);
    return same;
}

void sr_signal_vector_leave(struct sr_vector_ask *ask)
{
    struct sr_signal_vector *vector = ask->vector;
    sr_signal_vector_ref(vector);
    pthread_mutex_lock(&vector->lock);
    bool waited = take_out(vector, ask);
    bool last = waited && !vector->asks && vector->state == READING;
    if (last)
        vector->state = ENDING;
    pthread_mutex_unlock(&vector->lock);
    if (last)
        sr_embedding_read_cancel(vector->read);
    if (waited)
        ask->done(ask->ctx, SR_ECANCELED);
    sr_signal_vector_unref(vector);
}

struct sr_embedding_answer sr_signal_vector_answer(const struct sr_signal_vector *vector)
{
    return sr_embedding_read_answer(vector->read);
}
