/* An event loop that a test runs step by step: the environment of exchanges that wait. */
#ifndef TESTS_UNIT_HAND_LOOP_H
#define TESTS_UNIT_HAND_LOOP_H

#include "tests/unit/cmocka_all.h"

#include <pthread.h>

struct loop {
    pthread_mutex_t lock;
    pthread_cond_t posted;
    struct {
        void (*task)(void *arg);
        void *arg;
    } queue[64];
    int n, ready;
};

static inline void loop_post(void *ctx, void (*task)(void *arg), void *arg)
{
    struct loop *loop = ctx;
    pthread_mutex_lock(&loop->lock);
    assert_true(loop->n < 64);
    loop->queue[loop->n].task = task;
    loop->queue[loop->n++].arg = arg;
    pthread_cond_signal(&loop->posted);
    pthread_mutex_unlock(&loop->lock);
}

static inline void loop_turn(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    while (loop->n == 0)
        pthread_cond_wait(&loop->posted, &loop->lock);
    struct loop taken = *loop;
    loop->n = 0;
    pthread_mutex_unlock(&loop->lock);
    for (int i = 0; i < taken.n; i++)
        taken.queue[i].task(taken.queue[i].arg);
}

#endif
