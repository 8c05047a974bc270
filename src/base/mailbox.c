/* A locked queue: the lock is held for two pointer writes, never while a message runs. */
#include "base/mailbox.h"

void sr_mailbox_init(struct sr_mailbox *box, void (*wake)(void *ctx), void *wake_ctx)
{
    *box = (struct sr_mailbox){.wake = wake, .wake_ctx = wake_ctx};
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

int sr_mailbox_send(struct sr_mailbox *box, struct sr_message *message)
{
    message->next = NULL;
    pthread_mutex_lock(&box->lock);
    bool closed = box->closed;
    if (!closed) {
        *box->tail = message;
        box->tail = &message->next;
    }
    pthread_mutex_unlock(&box->lock);
    if (closed)
        return SR_ECLOSED;
    if (box->wake)
        box->wake(box->wake_ctx);
    return SR_OK;
}

void sr_mailbox_run(struct sr_mailbox *box)
{
    run_all(mailbox_take(box, false), false);
}
