/*
 * Messages between threads: many senders, one receiver.
 *
 * A message is a function and its argument, run on the receiver's thread by sr_mailbox_run. Sending never
 * blocks on the receiver. There are two kinds of mailbox. An embedded one (init, dispose) lives in its
 * receiver and wakes it through a callback; messages that are pending when the mailbox is disposed are run
 * with `closed` true so that they can free their memory. A counted one (new, close) posts its own delivery to
 * the receiver's loop; senders hold references, so the receiver may end at any time.
 */
#ifndef SR_BASE_MAILBOX_H
#define SR_BASE_MAILBOX_H

#include "base/err.h"
#include "base/ref.h"

#include <pthread.h>
#include <stdbool.h>

/* Embedded in the sender's object; must stay valid until `run` was called. */
struct sr_message {
    struct sr_message *next;
    void (*run)(struct sr_message *self, bool closed);
};

/* Calls run(arg) on the receiver's thread, soon and once. Any thread; short; does not call run inside
 * post. */
typedef void sr_mailbox_post(void *ctx, void (*run)(void *arg), void *arg);

struct sr_mailbox {
    pthread_mutex_t lock;
    struct sr_message *head, **tail;
    bool closed;
    void (*wake)(void *ctx); /* embedded: any thread; must be cheap and safe to call spuriously */
    sr_mailbox_post *post;   /* counted; NULL in an embedded one */
    void *ctx;
    struct sr_ref ref; /* counted */
};

void sr_mailbox_init(struct sr_mailbox *box, void (*wake)(void *ctx), void *wake_ctx);

/* Runs every undelivered message with closed = true, then frees the lock. Receiver's thread. */
void sr_mailbox_dispose(struct sr_mailbox *box);

/* A counted mailbox. The reference is the receiver's. SR_ENOMEM. */
int sr_mailbox_new(struct sr_mailbox **out, sr_mailbox_post *post, void *ctx) SR_WARN_UNUSED;

/* Receiver's thread: no message is accepted any more, and `ctx` may be freed. Drops the receiver's reference.
 * Messages that were posted are still run, so the objects that they refer to must have been detached before.
 * NULL is allowed. */
void sr_mailbox_close(struct sr_mailbox *box);

/* Any thread. No effect on an embedded one or NULL. */
void sr_mailbox_ref(struct sr_mailbox *box);
void sr_mailbox_unref(struct sr_mailbox *box);

/* Any thread, with a reference. SR_ECLOSED after sr_mailbox_dispose or sr_mailbox_close; then the message is
 * still the caller's. */
int sr_mailbox_send(struct sr_mailbox *box, struct sr_message *message) SR_WARN_UNUSED;

/* Receiver's thread: runs every message that is queued now, in order of sending. */
void sr_mailbox_run(struct sr_mailbox *box);

#endif
