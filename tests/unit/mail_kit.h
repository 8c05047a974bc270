/* A counted mailbox and its receiver for tests without an event loop: senders may outlive the test's frame.
 */
#ifndef TESTS_UNIT_MAIL_KIT_H
#define TESTS_UNIT_MAIL_KIT_H

#include "cmocka_all.h"

#include "base/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

#define MAIL_MAX 64

struct mail {
    struct sr_mailbox *box;
    pthread_mutex_t lock;
    pthread_cond_t posted;
    struct {
        void (*run)(void *arg);
        void *arg;
    } queue[MAIL_MAX];
    size_t n;
};

/* From any thread, under the mailbox's lock. */
static inline void mail_post(void *ctx, void (*run)(void *arg), void *arg)
{
    struct mail *mail = ctx;
    pthread_mutex_lock(&mail->lock);
    if (mail->n == MAIL_MAX)
        abort();
    mail->queue[mail->n].run = run;
    mail->queue[mail->n++].arg = arg;
    pthread_cond_signal(&mail->posted);
    pthread_mutex_unlock(&mail->lock);
}

static inline void mail_open(struct mail *mail)
{
    mail->n = 0;
    pthread_mutex_init(&mail->lock, NULL);
    pthread_cond_init(&mail->posted, NULL);
    assert_int_equal(sr_mailbox_new(&mail->box, mail_post, mail), SR_OK);
}

/* Runs one delivery. False: none is there and `wait` is false. */
static inline bool mail_run(struct mail *mail, bool wait)
{
    pthread_mutex_lock(&mail->lock);
    while (wait && !mail->n)
        pthread_cond_wait(&mail->posted, &mail->lock);
    bool any = mail->n > 0;
    void (*run)(void *arg) = any ? mail->queue[--mail->n].run : NULL;
    void *arg = any ? mail->queue[mail->n].arg : NULL;
    pthread_mutex_unlock(&mail->lock);
    if (any)
        run(arg); /* takes every message that is queued: the order of deliveries does not matter */
    return any;
}

static inline void mail_close(struct mail *mail)
{
    sr_mailbox_close(mail->box);
    while (mail_run(mail, false))
        ;
    pthread_cond_destroy(&mail->posted);
    pthread_mutex_destroy(&mail->lock);
}

#endif
