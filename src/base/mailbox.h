/*
 * Messages between threads: many senders, one receiver.
 *
 * A message is a function and its argument, run on the receiver's thread by sr_mailbox_run. Sending
 * never blocks on the receiver and wakes it through the injected callback. Owns its queue; a message
 * that is not delivered when the mailbox is closed is run with `closed` true so that it can free things.
 */
#ifndef SR_BASE_MAILBOX_H
#define SR_BASE_MAILBOX_H

#include "base/err.h"

#include <pthread.h>
#include <stdbool.h>

/* Embedded in the sender's object; must stay valid until `run` was called. */
struct sr_message {
    struct sr_message *next;
    void (*run)(struct sr_message *self, bool closed);
};

struct sr_mailbox {
    pthread_mutex_t lock;
    struct sr_message *head, **tail;
    bool closed;
    void (*wake)(void *ctx); /* any thread; must be cheap and safe to call spuriously */
    void *wake_ctx;
};

void sr_mailbox_init(struct sr_mailbox *box, void (*wake)(void *ctx), void *wake_ctx);

/* Runs every undelivered message with closed = true, then frees the lock. Receiver's thread. */
void sr_mailbox_dispose(struct sr_mailbox *box);

/* Any thread. SR_ECLOSED after sr_mailbox_dispose began; then the message is still the caller's. */
int sr_mailbox_send(struct sr_mailbox *box, struct sr_message *message) SR_WARN_UNUSED;

/* Receiver's thread: runs everything that is queued now, in order of sending. */
void sr_mailbox_run(struct sr_mailbox *box);

#endif
