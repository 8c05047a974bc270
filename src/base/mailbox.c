/* A locked queue: the lock is held for two pointer writes and a post, never while a message runs. */
#include "base/mailbox.h"

#include "base/mem.h"

void sr_mailbox_init(struct sr_mailbox *box, void (*wake)(void *ctx), void *wake_ctx)
{
    *box = (struct sr_mailbox){.wake = wake, .ctx = wake_ctx};
    pthread_mutex_init(&box->lock, NULL);
    box->tail = &box->head;
}

static struct sr_message *mailbox_take(struct sr_mailbox *box, bool close)
{
    pthread_mutex_lock(&box->lock);
    struct sr_message *list = box->head;
    box->head = NULL;
    box->tail = &box->head;
    if (close)
        box->closed = true;
    pthread_mutex_unlock(&box->lock);
    return list;
}

static void run_all(struct sr_message *list, bool closed)
{
    while (list) {
        struct sr_message *next = list->next;
        list->run(list, closed);
        list = next;
    }
}

void sr_mailbox_dispose(struct sr_mailbox *box)
{
    run_all(mailbox_take(box, true), true);
    pthread_mutex_destroy(&box->lock);
}

int sr_mailbox_new(struct sr_mailbox **out, sr_mailbox_post *post, void *ctx)
{
    struct sr_mailbox *box = sr_mem_calloc(1, sizeof *box);
    if (!box)
        return SR_ENOMEM;
    sr_mailbox_init(box, NULL, ctx);
    box->post = post;
    sr_ref_init(&box->ref);
    *out = box;
    return SR_OK;
}

void sr_mailbox_ref(struct sr_mailbox *box)
{
    if (box && box->post)
        sr_ref_get(&box->ref);
}

void sr_mailbox_unref(struct sr_mailbox *box)
{
    if (!box || !box->post || !sr_ref_put(&box->ref))
        return;
    sr_mailbox_dispose(box);
    sr_mem_free(box);
}

void sr_mailbox_close(struct sr_mailbox *box)
{
    if (!box)
        return;
    pthread_mutex_lock(&box->lock);
    box->closed = true;
    pthread_mutex_unlock(&box->lock);
    sr_mailbox_unref(box);
}

/* Receiver's thread, as posted. */
static void run_posted(void *arg)
{
    struct sr_mailbox *box = arg;
    sr_mailbox_run(box);
    sr_mailbox_unref(box);
}

int sr_mailbox_send(struct sr_mailbox *box, struct sr_message *message)
{
    message->next = NULL;
    pthread_mutex_lock(&box->lock);
    bool closed = box->closed;
    if (!closed) {
        *box->tail = message;
        box->tail = &message->next;
    }
    if (!closed && box->post) { /* under the lock: the mailbox posts no delivery after a close */
        sr_ref_get(&box->ref);
        box->post(box->ctx, run_posted, box);
    }
    pthread_mutex_unlock(&box->lock);
    if (closed)
        return SR_ECLOSED;
    if (box->wake)
        box->wake(box->ctx);
    return SR_OK;
}

void sr_mailbox_run(struct sr_mailbox *box)
{
    run_all(mailbox_take(box, false), false);
}
